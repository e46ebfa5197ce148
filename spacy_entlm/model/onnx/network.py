"""A network that was exported: its graphs, its rows, its files, and how it reads.

The first graph is the encoder and the head of the masked LM without the matrices of the
vocabulary, which lie once in a file of rows: input embeddings, output matrix and label
rows. What comes out of it is scored against these; others sum up the vocabulary's.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Optional

import numpy

from ...files.arrays import load_arrays, save_arrays
from ...files.errors import DataError
from ...files.json_lines import dump_json, read_json
from ...files.text import read_bytes
from ...label_words.words import LabelWords, read_label_words
from ..base import Alphabet
from .graph import Graph, tell_of_device
from .rows import EXACT_FILE, INT8_FILE, ArrayRows, Vocabulary

ENCODER_FILE = "encoder.onnx"
ROWS_FILE = "rows.safetensors"
LABEL_WORDS_FILE, TOKENIZER_FILE = "label_words.json", "tokenizer.json"
FACTS_FILE = "export.json"
FORMAT_VERSION = 4
# Of the rows: the output matrix, the label rows, and where they are others than the
# output matrix the input embeddings. Biases may lack in the first.
VOCABULARY, LABELS, EMBEDDINGS, BIASES = "vocabulary", "labels", "embeddings", "_biases"
# What the encoder reads and gives.
MASK = "mask"
INPUTS, OUTPUT = ("embeddings", MASK, "positions"), "features"


@dataclass
class OnnxNetwork:
    """What is exported of a network.

    encoder: From windows to features. alphabet: What it reads.
    label_words: Of the classes, in the order of their rows.
    vocabulary, label_rows: Of width n. embeddings: float32 (n_pieces, m).
    format: The number format of products, as `export` takes it.
    """

    encoder: Graph
    alphabet: Alphabet
    label_words: LabelWords
    vocabulary: Vocabulary
    label_rows: ArrayRows
    embeddings: numpy.ndarray
    format: str = "float32"

    def __deepcopy__(self, memo: Any) -> "OnnxNetwork":
        """Itself: nothing changes it."""
        return self

    @property
    def graphs(self) -> Dict[str, Graph]:
        """By the names of their files."""
        return {ENCODER_FILE: self.encoder, **self.vocabulary.graphs}

    def read(
        self, ids: numpy.ndarray, mask: numpy.ndarray, positions: numpy.ndarray
    ) -> numpy.ndarray:
        """Features of chosen pieces.

        ids, mask: int64 (n_windows, length); nothing is padded.
        positions: int64 (n), rows of the flattened windows.
        RETURNS: float32 (n, width).
        """
        inputs = dict(zip(INPUTS, (self.embeddings[ids], mask, positions)))
        return self.encoder(**inputs)[0]

    def save(self, folder: Path) -> None:
        """Write all files."""
        rows = {VOCABULARY: self.vocabulary, LABELS: self.label_rows}
        arrays = {key: some.weight for key, some in rows.items()}
        arrays |= {k + BIASES: r.bias for k, r in rows.items() if r.bias is not None}
        if self.embeddings is not self.vocabulary.weight:
            arrays[EMBEDDINGS] = self.embeddings
        save_arrays(folder / ROWS_FILE, arrays)
        for name, graph in self.graphs.items():
            (folder / name).write_bytes(graph.content)
        (folder / LABEL_WORDS_FILE).write_bytes(dump_json(self.label_words))
        alphabet = self.alphabet
        text = alphabet.tokenizer.to_str(pretty=True)
        (folder / TOKENIZER_FILE).write_text(text, encoding="utf8")
        facts = {
            "version": FORMAT_VERSION,
            "format": self.format,
            "sha256": {name: graph.sha256 for name, graph in self.graphs.items()},
            "prefix": alphabet.prefix,
            "suffix": alphabet.suffix,
            "max_pieces": alphabet.max_pieces,
            "unknown": alphabet.unknown,
            "special": alphabet.special,
        }
        (folder / FACTS_FILE).write_bytes(dump_json(facts))

    @classmethod
    def load(cls, folder: Path) -> "OnnxNetwork":
        """Read what `save` wrote, and start it.
        RAISES (DataError, LabelWordError): If a file is missing or broken, or they do
            not fit each other. (ImportError): If ONNX Runtime is not installed."""
        facts = _read_facts(folder / FACTS_FILE)
        words = read_label_words(folder / LABEL_WORDS_FILE, tags=False)
        path = folder / ROWS_FILE
        arrays = load_arrays(path)
        _check_rows(path, arrays, len(words))
        graphs = {n: Graph.load(folder / n, h) for n, h in facts["sha256"].items()}
        rows = arrays[VOCABULARY], arrays.get(VOCABULARY + BIASES)
        vocabulary = Vocabulary(*rows, graphs[EXACT_FILE], graphs.get(INT8_FILE))
        vocabulary.check(folder)
        network = cls(
            graphs[ENCODER_FILE],
            _read_alphabet(folder / TOKENIZER_FILE, facts, len(vocabulary)),
            words,
            vocabulary,
            ArrayRows(arrays[LABELS], arrays[LABELS + BIASES]),
            arrays.get(EMBEDDINGS, vocabulary.weight),
            facts["format"],
        )
        gives = {OUTPUT: vocabulary.weight.shape[1]}
        width = network.embeddings.shape[1]
        network.encoder.check(folder / ENCODER_FILE, INPUTS, width, gives)
        tell_of_device()
        return network


def _read_facts(path: Path) -> Dict[str, Any]:
    facts = read_json(path)
    if not isinstance(facts, dict) or facts.get("version") != FORMAT_VERSION:
        found = facts.get("version") if isinstance(facts, dict) else None
        raise DataError(
            f"is of version {found!r}, this is spacy-entlm for version "
            f"{FORMAT_VERSION}: export the pipeline again",
            path=path,
        )
    wanted = {"format": str, "sha256": dict, "max_pieces": int}
    lists = all(_are_ids(facts.get(key)) for key in ("prefix", "suffix", "special"))
    unknown = facts.get("unknown", "")
    if (
        not lists
        or not (unknown is None or _are_ids([unknown]))
        or not all(isinstance(facts.get(key), kind) for key, kind in wanted.items())
        or set(facts["sha256"]) - {INT8_FILE} != {ENCODER_FILE, EXACT_FILE}
    ):
        raise DataError("is not what an export writes: export again", path=path)
    return facts


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(piece, int) and piece >= 0 for piece in value
    )


def _check_rows(path: Path, arrays: Dict[str, numpy.ndarray], n_labels: int) -> None:
    """RAISES (DataError): If these are no rows of one network."""
    found = {key: array.shape for key, array in arrays.items()}
    n_pieces, width = (*found.get(VOCABULARY, ()), 0, 0)[:2]
    expected = {
        VOCABULARY: (n_pieces, width),
        LABELS: (n_labels, width),
        LABELS + BIASES: (n_labels,),
        VOCABULARY + BIASES: (n_pieces,),
        EMBEDDINGS: (n_pieces, (*found.get(EMBEDDINGS, ()), 0, 0)[1]),
    }
    for key in (VOCABULARY + BIASES, EMBEDDINGS):
        if key not in found:
            del expected[key]
    if found != expected or not all(a.dtype == "float32" for a in arrays.values()):
        problem = f"does not fit the model: expected {expected} of float32, found "
        types = {key: f"{array.dtype} {array.shape}" for key, array in arrays.items()}
        raise DataError(f"{problem}{types}", path=path)


def _read_alphabet(path: Path, facts: Dict[str, Any], n_pieces: int) -> Alphabet:
    from tokenizers import Tokenizer

    text = read_bytes(path).decode("utf8", errors="replace")
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # it raises no narrower class
        raise DataError(f"is no tokenizer ({error})", path=path) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    unknown: Optional[int] = facts["unknown"]
    special = [*facts["prefix"], *facts["suffix"], *facts["special"]]
    highest = max(tokenizer.get_vocab_size() - 1, unknown or 0, *special, 0)
    if highest >= n_pieces:
        problem = f"has the piece {highest}, {ROWS_FILE} only {n_pieces} pieces: they "
        raise DataError(f"{problem}do not belong together", path=path)
    keys = ("prefix", "suffix", "max_pieces", "unknown", "special")
    return Alphabet(tokenizer, **{key: facts[key] for key in keys})
