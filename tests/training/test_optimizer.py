import numpy
import pytest
from thinc.api import Adam, Config, registry

from spacy_entlm.training.optimizer import build_adam

SETTINGS = {"L2": 0.0, "grad_clip": 0.0, "eps": 1e-8, "use_averages": False}
AVERAGES = {**SETTINGS, "use_averages": True}
KEY = (1, "weights")
DECAY = 100.0


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


@pytest.mark.parametrize("fused", [True, False])
def test_weights_stay_near_to_where_they_began(fused):
    """However many steps they make in one direction."""
    made = build_adam(0.001, L2=0.0 if fused else 1e-9, start_decay=DECAY)
    weights = numpy.linspace(-1, 1, 6, dtype="float32")
    first = weights.copy()
    for _ in range(200):
        made(KEY, weights, numpy.ones(6, dtype="float32"))
    moved = first - weights
    assert (moved > 0.5 / DECAY).all()
    assert (moved < 1.1 / DECAY).all()


def test_what_weights_stay_near_to_is_a_copy_of_each():
    optimizer = build_adam(0.001, start_decay=DECAY)
    one, other = (numpy.full(3, value, dtype="float32") for value in (1.0, 5.0))
    for _ in range(300):
        for i, weights in enumerate((one, other)):
            optimizer((i, "weights"), weights, numpy.ones(3, dtype="float32"))
    for i, weights in enumerate((one, other)):  # nothing pulls any more but the start
        before = weights.copy()
        for _ in range(5):
            optimizer((i, "weights"), weights, numpy.zeros(3, dtype="float32"))
        assert weights[0] != before[0]
    assert abs(one[0] - 1.0) < 0.02 and abs(other[0] - 5.0) < 0.02


def test_a_high_rate_goes_no_further_back_than_to_the_start():
    optimizer = build_adam(1.0, start_decay=DECAY)  # times 100: all of the way
    weights = numpy.ones(2, dtype="float32")
    for _ in range(3):
        optimizer(KEY, weights, numpy.ones(2, dtype="float32"))
    assert numpy.abs(weights).max() < 1.5


def test_weights_of_a_backbone_that_knows_classes_are_held(bert):
    assert build_adam(0.001, backbone="entlm-mini").start_decay == DECAY
    assert build_adam(0.001, backbone=str(bert)).start_decay == 0
    assert build_adam(0.001, backbone="entlm-mini", start_decay=0).start_decay == 0
