"""A network that was exported: its graph, its rows, its files, and how it reads.

The graph is the encoder and the head of the masked LM without the matrices of the
vocabulary, which lie in a file of rows: input embeddings, output matrix and label rows.
What comes out of it is scored against these.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, NoReturn, Optional, Tuple

import numpy

from ...backbones.compact import load_compact, save_compact
from ...files.errors import DataError
from ...files.json_lines import dump_json, read_json
from ...files.text import read_bytes
from ...label_words.words import LabelWords, read_label_words
from ..reading import PieceVocabulary
from .graph import Graph, tell_of_device

ENCODER_FILE = "encoder.onnx"
ROWS_FILE = "rows.safetensors"
LABEL_WORDS_FILE, TOKENIZER_FILE = "label_words.json", "tokenizer.json"
FACTS_FILE = "export.json"
FORMAT_VERSION = 5
# Of the rows: the output matrix, the label rows, and where they are others than the
# output matrix the input embeddings. Biases may lack in the first.
VOCABULARY, LABELS, EMBEDDINGS, BIASES = "vocabulary", "labels", "embeddings", "_biases"
# What the encoder reads and gives.
MASK = "mask"
INPUTS, OUTPUT = ("embeddings", MASK, "positions"), "features"


@dataclass
class OnnxNetwork:
    """What is exported of a network.

    encoder: From windows to features. pieces: What it reads.
    label_words: Of the classes, in the order of their rows.
    rows: float32 (n_labels, width); biases: float32 (n_labels).
    vocabulary: float32 (n_pieces, width), the output matrix; vocabulary_biases: float32
        (n_pieces), or None. embeddings: float32 (n_pieces, m).
    format: The number format of products, as `export` takes it.
    """

    encoder: Graph
    pieces: PieceVocabulary
    label_words: LabelWords
    rows: numpy.ndarray
    biases: numpy.ndarray
    vocabulary: numpy.ndarray
    vocabulary_biases: Optional[numpy.ndarray]
    embeddings: numpy.ndarray
    format: str = "float32"

    def __deepcopy__(self, memo: Any) -> "OnnxNetwork":
        """Itself: nothing changes it."""
        return self

    @property
    def labels(self) -> List[str]:
        """The classes, in the order of their rows."""
        return list(self.label_words)

    @property
    def masked_lm(self) -> NoReturn:
        """RAISES (ValueError): There is none that could learn."""
        refuse()

    def features(
        self, ids: numpy.ndarray, mask: numpy.ndarray, positions: numpy.ndarray
    ) -> numpy.ndarray:
        """Features of chosen pieces.

        ids, mask: int64 (n_windows, length); nothing is padded.
        positions: int64 (n), rows of the flattened windows.
        RETURNS: float32 (n, width).
        """
        inputs = dict(zip(INPUTS, (self.embeddings[ids], mask, positions)))
        return self.encoder(**inputs)[0]

    def joined(self, parts: List[numpy.ndarray]) -> numpy.ndarray:
        """Features of none or of several batches."""
        return numpy.concatenate([self.rows[:0], *parts])

    def word_scores(
        self, features: numpy.ndarray, piece_ids: numpy.ndarray
    ) -> Tuple[numpy.ndarray, numpy.ndarray]:
        """Scores in prediction, as of `LabelNetwork` in model/network.py."""
        own = numpy.einsum("ij,ij->i", features, self.vocabulary[piece_ids])
        if self.vocabulary_biases is not None:
            own += self.vocabulary_biases[piece_ids]
        return features @ self.rows.T + self.biases, own

    def add_labels(self, *args: Any) -> NoReturn:
        """RAISES (ValueError): There is nothing that a class could start from."""
        refuse()

    def save(self, folder: Path) -> None:
        """Write all files."""
        arrays = {
            VOCABULARY: self.vocabulary,
            LABELS: self.rows,
            LABELS + BIASES: self.biases,
        }
        if self.vocabulary_biases is not None:
            arrays[VOCABULARY + BIASES] = self.vocabulary_biases
        if self.embeddings is not self.vocabulary:
            arrays[EMBEDDINGS] = self.embeddings
        save_compact(folder / ROWS_FILE, arrays)
        (folder / ENCODER_FILE).write_bytes(self.encoder.content)
        (folder / LABEL_WORDS_FILE).write_bytes(dump_json(self.label_words))
        pieces = self.pieces
        text = pieces.tokenizer.to_str()
        (folder / TOKENIZER_FILE).write_text(text, encoding="utf8")
        facts = {
            "version": FORMAT_VERSION,
            "format": self.format,
            "sha256": self.encoder.sha256,
            "prefix": pieces.prefix,
            "suffix": pieces.suffix,
            "max_pieces": pieces.max_pieces,
            "unknown": pieces.unknown,
            "special": pieces.special,
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
        arrays = load_compact(path)
        _check_rows(path, arrays, len(words))
        vocabulary = arrays[VOCABULARY]
        network = cls(
            Graph.load(folder / ENCODER_FILE, facts["sha256"]),
            _read_pieces(folder / TOKENIZER_FILE, facts, len(vocabulary)),
            words,
            arrays[LABELS],
            arrays[LABELS + BIASES],
            vocabulary,
            arrays.get(VOCABULARY + BIASES),
            arrays.get(EMBEDDINGS, vocabulary),
            facts["format"],
        )
        gives = {OUTPUT: vocabulary.shape[1]}
        width = network.embeddings.shape[1]
        network.encoder.check(folder / ENCODER_FILE, INPUTS, width, gives)
        tell_of_device()
        return network


def refuse(*args: Any) -> NoReturn:
    """RAISES (ValueError): What an exported model cannot do."""
    raise ValueError(
        "An exported pipeline only predicts: train the one that it was exported from, "
        "and export that again"
    )


def _read_facts(path: Path) -> Dict[str, Any]:
    facts = read_json(path)
    if not isinstance(facts, dict) or facts.get("version") != FORMAT_VERSION:
        found = facts.get("version") if isinstance(facts, dict) else None
        raise DataError(
            f"is of version {found!r}, this is spacy-entlm for version "
            f"{FORMAT_VERSION}: export the pipeline again",
            path=path,
        )
    wanted = {"format": str, "sha256": str, "max_pieces": int}
    lists = all(_are_ids(facts.get(key)) for key in ("prefix", "suffix", "special"))
    unknown = facts.get("unknown", "")
    if (
        not lists
        or not (unknown is None or _are_ids([unknown]))
        or not all(isinstance(facts.get(key), kind) for key, kind in wanted.items())
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
    if found != expected:
        problem = f"does not fit the model: expected {expected}, found {found}"
        raise DataError(problem, path=path)


def _read_pieces(path: Path, facts: Dict[str, Any], n_pieces: int) -> PieceVocabulary:
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
    return PieceVocabulary(tokenizer, **{key: facts[key] for key in keys})
