import numpy
import pytest
import spacy
from thinc.api import Adam, Config, registry

import spacy_entlm
from spacy_entlm.training.adam import build_adam
from spacy_entlm.training.schedule import StepsToZero

SETTINGS = {"L2": 0.0, "grad_clip": 0.0, "eps": 1e-8, "use_averages": False}
AVERAGES = {**SETTINGS, "use_averages": True}
KEY = (1, "weights")


def steps(optimizer, n, shape, seed=0, scale=1.0):
    random = numpy.random.default_rng(seed)
    weights = random.normal(size=shape).astype("float32")
    for _ in range(n):
        gradient = scale * random.normal(size=shape).astype("float32")
        weights, gradient = optimizer(KEY, weights, gradient)
        assert not gradient.any()
    return weights


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-8])
@pytest.mark.parametrize("shape", [(7,), (5, 3)])
def test_fused_step_is_thincs_step(shape, scale):
    ours = steps(build_adam(0.01), 5, shape, scale=scale)
    thincs = steps(Adam(0.01, **SETTINGS), 5, shape, scale=scale)
    numpy.testing.assert_allclose(ours, thincs, rtol=2e-5, atol=1e-6)
    assert numpy.abs(ours - steps(build_adam(0.02), 5, shape, scale=scale)).max() > 0


def test_settings_of_thincs_adam_have_their_effect():
    decayed = steps(build_adam(0.01, L2=0.1), 3, (4,))
    expected = steps(Adam(0.01, **{**SETTINGS, "L2": 0.1}), 3, (4,))
    numpy.testing.assert_allclose(decayed, expected, rtol=2e-5)
    ours, thincs = build_adam(0.01, use_averages=True), Adam(0.01, **AVERAGES)
    for optimizer in (ours, thincs):
        steps(optimizer, 3, (4,))
    averages = (optimizer.averages[KEY] for optimizer in (ours, thincs))
    numpy.testing.assert_allclose(*averages, rtol=2e-5)


def test_weights_that_moved_in_memory_are_stepped_on():
    """As those of a pipeline that was to another device and back."""
    stay, move = build_adam(0.1), build_adam(0.1)
    weights, moved = (numpy.ones(4, dtype="float32") for _ in range(2))
    for step in range(4):
        gradient = numpy.arange(4, dtype="float32") - step
        stay(KEY, weights, gradient.copy())
        moved = moved.copy()
        move(KEY, moved, gradient)
        numpy.testing.assert_array_equal(moved, weights)
    assert not (weights == 1).any()


def test_parameters_at_once_are_stepped_as_alone():
    """Also one that comes later, one that is left out for a step, and one that is not
    contiguous."""
    random = numpy.random.default_rng(0)
    shapes = {"a": (7,), "b": (5, 3), "late": (2, 2), "across": (3, 4)}
    first = {
        key: random.normal(size=shape).astype("f") for key, shape in shapes.items()
    }
    each, together = ({k: w.copy() for k, w in first.items()} for _ in range(2))
    for weights in (each, together):
        weights["across"] = weights["across"].T
    alone, at_once = (build_adam(rates(6, 0.01), start_pull=1.2) for _ in range(2))
    for step in range(5):
        present = [k for k in shapes if step > 1 or k != "late"]
        present = [k for k in present if step != 3 or k != "a"]
        gradients = {k: random.normal(size=each[k].shape).astype("f") for k in present}
        arrays = {(1, k): (together[k], gradients[k].copy()) for k in present}
        for (_, k), weights in at_once.step_all(arrays).items():
            together[k] = weights
        for k in present:
            each[k], _ = alone((1, k), each[k], gradients[k])
        for optimizer in (alone, at_once):
            optimizer.step_schedules()
    for k in shapes:
        numpy.testing.assert_array_equal(together[k], each[k])
        assert not numpy.isclose(together[k].ravel().sum(), first[k].sum(), atol=1e-4)


def test_arrays_it_cannot_fuse_take_thincs_step():
    weights = numpy.ones((3, 4), dtype="float32").T  # not contiguous
    gradient = numpy.ones((4, 3), dtype="float32")
    updated, _ = build_adam(0.1)(KEY, weights, gradient)
    numpy.testing.assert_allclose(updated, 0.9, rtol=1e-4)


def test_registered_with_schedules():
    config = Config().from_str(
        """
        [optimizer]
        @optimizers = "spacy-entlm.Adam.v1"

        [optimizer.learn_rate]
        @schedules = "warmup_linear.v1"
        initial_rate = 0.1
        warmup_steps = 0
        total_steps = 10
        """
    )
    optimizer = registry.resolve(config)["optimizer"]
    first = optimizer.learn_rate
    optimizer.step_schedules()
    optimizer.step_schedules()
    assert optimizer.learn_rate < first


def rates(n_steps, first=0.001):
    return StepsToZero(first, n_steps)


def train(optimizer, weights, n_steps, key=KEY):
    for _ in range(n_steps):
        optimizer(key, weights, numpy.ones_like(weights))
        optimizer.step_schedules()


@pytest.mark.parametrize("fused", [True, False])
def test_weights_are_held_near_to_where_they_began(fused):
    settings = {"L2": 0.0 if fused else 1e-9}
    moved = []
    for start_pull in (0.0, 1.2, 12.0):
        weights = numpy.linspace(-1, 1, 6, dtype="float32")
        first = weights.copy()
        optimizer = build_adam(rates(100), start_pull=start_pull, **settings)
        train(optimizer, weights, 100)
        moved.append(first - weights)
    free, held, tight = moved
    numpy.testing.assert_allclose(free, 0.0505, rtol=1e-3)
    assert (held < 0.8 * free).all() and (held > 0.5 * free).all()
    assert (tight < 0.3 * free).all() and (tight > 0).all()


def test_the_pull_is_the_same_over_a_long_training_as_over_a_short_one():
    moved = []
    for n_steps in (50, 500):
        weights = numpy.zeros(2, dtype="float32")
        optimizer = build_adam(rates(n_steps), start_pull=1.2)
        train(optimizer, weights, n_steps)
        free = numpy.zeros(2, dtype="float32")
        train(build_adam(rates(n_steps), start_pull=0.0), free, n_steps)
        moved.append(weights / free)
    numpy.testing.assert_allclose(*moved, rtol=0.03)


def test_each_parameter_is_held_where_it_began():
    optimizer = build_adam(rates(40, 0.1), start_pull=1.2)
    one, other = (numpy.full(3, value, dtype="float32") for value in (1.0, 5.0))
    for _ in range(40):
        for i, weights in enumerate((one, other)):
            optimizer((i, "weights"), weights, numpy.ones(3, dtype="float32"))
        optimizer.step_schedules()
    numpy.testing.assert_allclose(one - 1.0, other - 5.0, atol=1e-5)


@pytest.mark.parametrize("rate", [0.001, lambda: rates(1), lambda: iter([0.1, 0.2])])
def test_without_a_known_end_weights_are_free(rate):
    made = [
        build_adam(rate() if callable(rate) else rate, start_pull=pull)
        for pull in (0.0, 1.2)
    ]
    free, held = (steps(optimizer, 5, (4,)) for optimizer in made)
    numpy.testing.assert_array_equal(free, held)


def test_weights_of_a_backbone_that_reads_names_are_held(bert, naming):
    assert build_adam(rates(9), backbone=str(naming)).pull > 0
    assert build_adam(rates(9), backbone="entlm-base").pull > 0
    assert build_adam(rates(9), backbone=str(bert)).pull == 0
    assert build_adam(rates(9)).pull == 0
    assert build_adam(rates(9), backbone=str(naming), start_pull=0).pull == 0
    given = build_adam(rates(9), backbone=str(bert), start_pull=1.2)
    assert given.pull == build_adam(rates(9), backbone=str(naming)).pull


@pytest.mark.parametrize(
    "factory, reads_names, pull",
    [("entlm_ner", True, 1.2), ("entlm_ner", False, 0.0), ("bert_tagger", True, 0.0)],
)
def test_a_recipe_holds_weights_where_classes_start_from_names(
    bert, naming, annotated, monkeypatch, factory, reads_names, pull
):
    """Not those of a peer, whose tags are all new."""
    given = []

    def fit(nlp, names, examples, settings):
        given.append(settings.start_pull)
        return {name: [1.0] for name in names}

    monkeypatch.setattr("spacy_entlm.training.recipe.fit", fit)
    nlp = spacy.blank("xx")
    backbone = str(naming if reads_names else bert)
    nlp.add_pipe(factory, config={"model": {"name": backbone}})
    spacy_entlm.train(nlp, annotated)
    assert given == [pull]
