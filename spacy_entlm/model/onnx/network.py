"""A network that was exported: its graph, its rows, its files, and how it runs.

The graph is the encoder and the head of the masked LM without the matrices of the
vocabulary, which lie once in a file of rows: input embeddings, output matrix and label
rows. What comes out of the graph is scored in numpy.
"""

import hashlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Dict, Optional

import numpy

from ...files.arrays import load_arrays, save_arrays
from ...files.errors import DataError
from ...files.json_lines import dump_json, read_json
from ...files.text import read_bytes
from ...label_words.words import LabelWords, read_label_words
from ..base import Alphabet
from .scores import ArrayRows

GRAPH_FILE, ROWS_FILE = "graph.onnx", "rows.safetensors"
LABEL_WORDS_FILE, TOKENIZER_FILE = "label_words.json", "tokenizer.json"
FACTS_FILE = "export.json"
FORMAT_VERSION = 1
# Of the rows: the output matrix, the label rows, and where they are others than the
# output matrix the input embeddings. Biases may lack in the first.
VOCABULARY, LABELS, EMBEDDINGS, BIASES = "vocabulary", "labels", "embeddings", "_biases"
# What the graph reads and gives.
INPUTS, OUTPUT = ("embeddings", "mask", "positions"), "features"
# The key under which a tensor of ONNX names another file. No graph of ours has it.
EXTERNAL = b"location"
THREADS = "OMP_NUM_THREADS"
MISSING = (
    "This pipeline was exported for ONNX Runtime, which is not installed: "
    "pip install 'spacy-entlm[onnx]'"
)


@dataclass
class OnnxNetwork:
    """What is exported of a network, with a session of ONNX Runtime.

    graph: A model of ONNX that names no other file.
    alphabet: What it reads. label_words: Of the classes, in the order of their rows.
    vocabulary, label_rows: Of width n. embeddings: float32 (n_pieces, m).
    format: The number format of the graph, as `export` takes it.
    """

    graph: bytes
    alphabet: Alphabet
    label_words: LabelWords
    vocabulary: ArrayRows
    label_rows: ArrayRows
    embeddings: numpy.ndarray
    format: str = "float32"
    # Of this process and of those it was forked off, whose threads are not here.
    _sessions: Dict[int, Any] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> Dict[str, Any]:
        """All but sessions, which stay in their process."""
        return {**self.__dict__, "_sessions": {}}

    def __deepcopy__(self, memo: Any) -> "OnnxNetwork":
        """Itself: nothing changes it."""
        return self

    def with_graph(self, graph: bytes, format: str) -> "OnnxNetwork":
        """The same network with another graph."""
        return replace(self, graph=graph, format=format, _sessions={})

    @property
    def session(self) -> Any:
        """The session of this process.
        RAISES (ImportError): If ONNX Runtime is not installed.
            (ValueError): If it cannot run the graph."""
        process = os.getpid()
        if process not in self._sessions:
            # The threads of a parent are gone after a fork: a worker has its own one.
            n_threads = 1 if self._sessions else _n_threads()
            self._sessions[process] = start_session(self.graph, n_threads)
        return self._sessions[process]

    def read(
        self, ids: numpy.ndarray, mask: numpy.ndarray, positions: numpy.ndarray
    ) -> numpy.ndarray:
        """Features of chosen pieces.

        ids, mask: int64 (n_windows, longest).
        positions: int64 (n), rows of the flattened windows.
        RETURNS: float32 (n, width).
        """
        inputs = dict(zip(INPUTS, (self.embeddings[ids], mask, positions)))
        return self.session.run([OUTPUT], inputs)[0]

    def save(self, folder: Path) -> None:
        """Write all files."""
        rows = {VOCABULARY: self.vocabulary, LABELS: self.label_rows}
        arrays = {key: some.weight for key, some in rows.items()}
        arrays |= {k + BIASES: r.bias for k, r in rows.items() if r.bias is not None}
        if self.embeddings is not self.vocabulary.weight:
            arrays[EMBEDDINGS] = self.embeddings
        save_arrays(folder / ROWS_FILE, arrays)
        (folder / GRAPH_FILE).write_bytes(self.graph)
        (folder / LABEL_WORDS_FILE).write_bytes(dump_json(self.label_words))
        alphabet = self.alphabet
        text = alphabet.tokenizer.to_str(pretty=True)
        (folder / TOKENIZER_FILE).write_text(text, encoding="utf8")
        facts = {
            "version": FORMAT_VERSION,
            "format": self.format,
            "sha256": hashlib.sha256(self.graph).hexdigest(),
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
        graph = read_bytes(folder / GRAPH_FILE)
        _check_graph(folder / GRAPH_FILE, graph, facts["sha256"])
        vocabulary = ArrayRows(arrays[VOCABULARY], arrays.get(VOCABULARY + BIASES))
        network = cls(
            graph,
            _read_alphabet(folder / TOKENIZER_FILE, facts, len(vocabulary)),
            words,
            vocabulary,
            ArrayRows(arrays[LABELS], arrays[LABELS + BIASES]),
            arrays.get(EMBEDDINGS, vocabulary.weight),
            facts["format"],
        )
        _check_session(folder / GRAPH_FILE, network)
        return network


def start_session(graph: bytes, n_threads: int) -> Any:
    """A session of ONNX Runtime on the CPU. n_threads (int): 0: one for each core."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(MISSING) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    # Batches have many shapes: nothing is kept for each of them.
    options.enable_mem_pattern = False
    # Threads that wait take no time from other processes.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # errors are raised, and not printed as well
    return onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"]
    )


def _n_threads() -> int:
    """What the environment says, as PyTorch takes it; 0: nothing."""
    first = os.environ.get(THREADS, "").split(",")[0].strip()
    return int(first) if first.isdecimal() else 0


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
    if found != expected or not all(a.dtype == "float32" for a in arrays.values()):
        problem = f"does not fit the model: expected {expected} of float32, found "
        types = {key: f"{array.dtype} {array.shape}" for key, array in arrays.items()}
        raise DataError(f"{problem}{types}", path=path)


def _check_graph(path: Path, graph: bytes, sha256: str) -> None:
    """RAISES (DataError): If this is another graph, or one that names other files."""
    if hashlib.sha256(graph).hexdigest() != sha256:
        problem = f"is not the graph that {FACTS_FILE} describes: it is damaged, or of "
        raise DataError(f"{problem}another export", path=path)
    if EXTERNAL in graph:
        raise DataError("may name files outside itself, so it is refused", path=path)


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


def _check_session(path: Path, network: OnnxNetwork) -> None:
    """RAISES (DataError): If the graph does not run, or does not fit the rows."""
    try:
        session = network.session
    except ImportError:
        raise
    except Exception as error:  # classes of its own, below Exception
        reason = str(error).strip().splitlines()[0]
        raise DataError(f"cannot be run: {reason}", path=path) from error
    width = network.vocabulary.weight.shape[1]
    sizes = {each.name: each.shape[-1] for each in session.get_inputs()}
    found = {each.name: each.shape[-1] for each in session.get_outputs()}
    fits = set(sizes) == set(INPUTS) and found == {OUTPUT: width}
    if not fits or sizes[INPUTS[0]] != network.embeddings.shape[1]:
        problem = f"does not fit {ROWS_FILE}: it reads {sizes} and gives {found}"
        raise DataError(problem, path=path)
