"""The decoders as a config names them."""

from functools import partial
from pathlib import Path
from typing import List, Optional, Tuple, Union

import spacy
from spacy.tokens import Doc

from ..corpus.readers import read_docs
from ..decoding.io import IODecoder
from ..decoding.viterbi import ViterbiDecoder

# Splits texts into words where the examples' language is not known.
ANY_LANGUAGE = "xx"
# Of the examples' entities per word, what text has at least whose transitions are
# better than theirs (benchmarks/RESULTS.md).
LEAST_SHARE = 0.75


def build_io_decoder(span_lines: Optional[bool] = None) -> IODecoder:
    """Neighbouring words of one class are one entity (`spacy-entlm.io_decoder.v1`).

    span_lines (Optional[bool]): Whether an entity may go over a line break, as
        addresses do; None: those of the classes that do so in the examples.
    EXAMPLE:
        decoder = {"@misc": "spacy-entlm.io_decoder.v1"}
        nlp.add_pipe("entlm_ner", name="plain", config={"decoder": decoder})
    """
    return IODecoder(span_lines)


def build_viterbi_decoder(
    tau: Optional[float] = None,
    transitions: Optional[Union[str, Path]] = None,
    require: bool = True,
    span_lines: Optional[bool] = None,
) -> ViterbiDecoder:
    """The best sequence of classes of each sentence, by what the model says of each
    word and by how often entities begin, go on and end
    (`spacy-entlm.viterbi_decoder.v1`).

    tau (Optional[float]): Weight of the transitions, from 0 (none) to 1 (as they were
        counted); None: 0.3.
    transitions (Optional[Union[str, Path]]): Annotated text, .spacy or JSON lines,
        from which transitions are counted when the pipeline is initialised. None: from
        the training examples.
    require (bool): Whether it is an error if that text is missing, or has no entity of
        the classes. If it is none, the training examples are taken instead. They are
        also taken if the text has less than three quarters of their entities per word.
    span_lines (Optional[bool]): As for `build_io_decoder`.
    RAISES (ValueError): If tau is out of range.
    EXAMPLE:
        decoder = {"@misc": "spacy-entlm.viterbi_decoder.v1", "tau": 0.5}
        nlp.add_pipe("entlm_ner", name="strict", config={"decoder": decoder})
    """
    get_docs = None
    if transitions is not None:
        get_docs = partial(read_transitions_text, Path(transitions), require)
    least_share = 0.0 if require else LEAST_SHARE
    return ViterbiDecoder(
        tau=tau, get_docs=get_docs, least_share=least_share, span_lines=span_lines
    )


def read_transitions_text(
    path: Path, require: bool, language: str, labels: Tuple[str, ...]
) -> Optional[List[Doc]]:
    """Annotated text from which transitions are counted.

    path, require: As for `build_viterbi_decoder`. labels (Tuple[str, ...]): Classes.
    RETURNS (Optional[List[Doc]]): None where it is empty or not there, and need not be.
    RAISES (DataError): If it cannot be read.
        (ValueError): If it has no entity of these classes and is required.
    """
    if not require and not (path.exists() and path.stat().st_size):
        return None
    docs, _ = read_docs(path, spacy.blank(language or ANY_LANGUAGE))
    found = {ent.label_ for doc in docs for ent in doc.ents}
    if require and found.isdisjoint(labels):
        raise ValueError(
            f"{path} has no entity of the classes {', '.join(labels)}: annotate it "
            f"with these, or leave the decoder's setting transitions out"
        )
    return docs
