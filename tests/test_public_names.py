"""What a user calls has an example in its docstring, which runs."""

import inspect
import textwrap

import pytest
import spacy

import spacy_entlm

FUNCTIONS = [name for name in spacy_entlm.__all__ if not name.startswith("__")]


def example_of(name):
    docstring = inspect.getdoc(getattr(spacy_entlm, name))
    _, heading, code = docstring.partition("EXAMPLE:\n")
    assert heading, f"{name} has no example"
    return textwrap.dedent(code)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_example_of_a_public_function_runs(
    name, trained_folder, annotated, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    code = example_of(name)
    assert f"spacy_entlm.{name}(" in code
    nlp = spacy.load(trained_folder)
    doc = nlp("Anna Smith lives in Berlin .")
    exec(
        code,
        {"spacy_entlm": spacy_entlm, "nlp": nlp, "doc": doc, "held_out": annotated},
    )
