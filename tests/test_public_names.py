"""What a user calls has an example in its docstring, which runs."""

import inspect
import textwrap

import pytest
import spacy

import spacy_entlm
from spacy_entlm.active import rank
from spacy_entlm.evaluation.pages import displacy_options
from spacy_entlm.pipeline.baselines.factories import make_peer
from spacy_entlm.pipeline.decoders import build_io_decoder, build_viterbi_decoder
from spacy_entlm.pipeline.entlm_ner import EntLMNER, make_entlm_ner
from spacy_entlm.pipeline.lexicon import make_entlm_lexicon

# What the reference of the site shows of the component.
METHODS = [
    *("add_label", "predict", "pipe", "set_annotations", "initialize", "update"),
    *("rehearse", "get_loss", "score"),
    *("to_disk", "from_disk", "to_bytes", "from_bytes"),
]
EXPORTED = [name for name in spacy_entlm.__all__ if not name.startswith("__")]
PUBLIC = {
    **{name: getattr(spacy_entlm, name) for name in EXPORTED},
    "rank": rank,
    "displacy_options": displacy_options,
    "entlm_ner": make_entlm_ner,
    "entlm_lexicon": make_entlm_lexicon,
    "structshot": make_peer,
    "io_decoder": build_io_decoder,
    "viterbi_decoder": build_viterbi_decoder,
    **{name: getattr(EntLMNER, name) for name in METHODS},
}


def example_of(name):
    docstring = inspect.getdoc(PUBLIC[name])
    _, heading, code = docstring.partition("EXAMPLE:\n")
    assert heading, f"{name} has no example"
    return textwrap.dedent(code)


@pytest.mark.parametrize("name", PUBLIC)
def test_example_of_a_public_name_runs(
    name, trained_folder, annotated, make_examples, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    code = example_of(name)
    called = f"spacy_entlm.{name}(" if name in EXPORTED else name
    assert called in code
    nlp = spacy.load(trained_folder)
    given = {"doc": nlp("Anna Smith lives in Berlin ."), "held_out": annotated}
    exec(
        code,
        {"spacy_entlm": spacy_entlm, "nlp": nlp, "examples": make_examples(nlp)}
        | given,
    )
