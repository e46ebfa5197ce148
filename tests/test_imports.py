"""What importing costs, and which names are registered."""

import subprocess
import sys
from importlib.metadata import distribution

import pytest

import spacy_entlm

HEAVY = ["spacy", "torch", "transformers"]
NAMES = {
    "spacy_factories": {
        "bert_tagger",
        "entlm_lexicon",
        "entlm_ner",
        "nnshot",
        "structshot",
    },
    "spacy_architectures": {
        "spacy-entlm.EntLM.v1",
        "spacy-entlm.OnnxEntLM.v1",
        "spacy-entlm.Tagger.v1",
    },
    "spacy_misc": {
        "spacy-entlm.doc_spans.v1",
        "spacy-entlm.io_decoder.v1",
        "spacy-entlm.viterbi_decoder.v1",
    },
    "spacy_callbacks": {"spacy-entlm.add_lexicon.v1", "spacy-entlm.round_weights.v1"},
    "spacy_batchers": {"spacy-entlm.Batcher.v1"},
    "spacy_loggers": {"spacy-entlm.TrainingLogger.v1"},
    "spacy_tokenizers": {"spacy-entlm.LanguageTokenizer.v1"},
    "thinc_schedules": {"spacy-entlm.decay_to_zero.v1"},
    "thinc_optimizers": {"spacy-entlm.Adam.v1"},
    "spacy_cli": {"entlm"},
}
# spacy-transformers' own entry points load transformers: hide them.
HIDE_SPACY_TRANSFORMERS = """
import importlib.metadata

every = importlib.metadata.distributions


def others(**params):
    return (dist for dist in every(**params) if dist.name != "spacy-transformers")


importlib.metadata.distributions = others
"""


def modules_after(code):
    """Which heavy modules a fresh interpreter has loaded after some code."""
    names = [*HEAVY, "spacy_transformers", "scipy"]
    script = f"{code}\nimport sys\nprint(*[n for n in {names} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


def entry_points():
    return distribution("spacy-entlm").entry_points


def test_importing_the_package_loads_nothing_heavy():
    assert modules_after("import spacy_entlm; spacy_entlm.__version__") == []


def test_commands_of_spacy_load_no_scipy():
    """spaCy loads all commands before it runs one of its own."""
    assert "scipy" not in modules_after("import spacy_entlm.cli")


def test_entry_points_load_without_transformers():
    """spaCy loads every installed factory, whatever pipeline is wanted."""
    code = """
from importlib.metadata import distribution
import sys

for ep in distribution("spacy-entlm").entry_points:
    ep.load()
    for name in ("transformers", "spacy_transformers"):
        assert name not in sys.modules, f"{ep.group}: {ep.name} loads {name}"
"""
    assert "spacy" in modules_after(code)


def test_empty_pipeline_loads_without_transformers():
    code = f"{HIDE_SPACY_TRANSFORMERS}\nimport spacy\nspacy.blank('en')"
    loaded = modules_after(code)
    assert "spacy" in loaded
    assert "transformers" not in loaded


def test_adding_the_component_loads_without_transformers():
    """With a span getter of our own: the default one is spacy-transformers'."""
    code = f"""
{HIDE_SPACY_TRANSFORMERS}
import spacy

nlp = spacy.blank("en")
getter = {{"@misc": "spacy-entlm.doc_spans.v1"}}
nlp.add_pipe("entlm_ner", config={{"model": {{"get_spans": getter}}}})
"""
    assert "transformers" not in modules_after(code)


def test_every_entry_point_loads():
    for entry_point in entry_points():
        assert callable(entry_point.load())


def test_registered_names_are_those_promised():
    """Configs of saved pipelines name them: one may come, none may go."""
    registered = {}
    for entry_point in entry_points():
        registered.setdefault(entry_point.group, set()).add(entry_point.name)
    assert registered == NAMES


def test_version_is_that_of_the_distribution():
    assert spacy_entlm.__version__ == distribution("spacy-entlm").version


def test_train_is_found_in_the_package():
    assert "train" in spacy_entlm.__all__
    assert callable(spacy_entlm.train)
    with pytest.raises(AttributeError, match="has no attribute 'fit'"):
        spacy_entlm.fit  # noqa: B018
