"""A text's word pieces on disk: split once, then read as memory-mapped arrays."""

import json
import re
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Callable, Iterable, List, Sequence

import numpy as np

from ..backbones.masked_lm import MaskedLM
from .held_out import hash_share, is_held_out
from .settings import MASK_SHARE, PretrainError

PIECES_FILE = "pieces.json"
# Lines that the tokenizer gets at once.
BATCH_LINES = 2000
# More text says no more of a model, and takes minutes to measure; counted in
# characters, so that models with other pieces are measured on the same text.
MAX_HELD_OUT_CHARS = 400_000
WORD = re.compile(r"\S+")


@dataclass
class PieceStore:
    """Where the pieces of a text lie, and how many there are.

    dtype (str): "uint16" or "int32".
    train, held_out (int): Pieces of each part, ends of lines counted.
    lines, held_out_lines (int): Lines of each part.
    characters (int): Of the training part.
    unknown (int): Pieces of the training part that stand for unknown ones.
    words (int): Words of the held-out part that are masked to measure by character.
    """

    folder: Path
    dtype: str
    train: int = 0
    held_out: int = 0
    lines: int = 0
    held_out_lines: int = 0
    characters: int = 0
    held_out_characters: int = 0
    unknown: int = 0
    words: int = 0

    def array(self, name: str) -> np.ndarray:
        """A stored array.

        name (str): "train" or "held_out", pieces; "owners", int32, for each held-out
            piece the number of the word that is masked with it, -1 for none;
            "letters", int32, the characters of each such word.
        """
        dtype = np.dtype(self.dtype if name in ("train", "held_out") else "int32")
        path = self.folder / f"{name}.bin"
        if path.stat().st_size == 0:  # which cannot be mapped
            return np.zeros(0, dtype=dtype)
        return np.memmap(path, dtype=dtype, mode="r")

    @classmethod
    def load(cls, folder: Path) -> "PieceStore":
        """RAISES (OSError, ValueError): If the folder holds no whole store."""
        data = json.loads((folder / PIECES_FILE).read_text(encoding="utf8"))
        return cls(folder=folder, **data)


def write_pieces(
    lines: Iterable[str],
    masked_lm: MaskedLM,
    folder: Path,
    *,
    held_out: float,
    count: Callable[[int], object],
) -> PieceStore:
    """Split a text into pieces, each line followed by the piece that ends a text.

    lines (Iterable[str]): The text. masked_lm (MaskedLM): Whose tokenizer is used.
    folder (Path): An empty folder to write to.
    held_out (float): Share of the lines that is kept for measuring.
    count (Callable): Told how many pieces were written.
    RETURNS (PieceStore): What was written.
    RAISES (PretrainError): If there is no text. OSError: if the disk is full.
    """
    backend = masked_lm.tokenizer.backend_tokenizer
    end = masked_lm.special_pieces()[1]
    dtype = "uint16" if len(masked_lm.tokenizer) <= 1 << 16 else "int32"
    unknown = masked_lm.tokenizer.unk_token_id
    store = PieceStore(folder, dtype)
    names = ("train", "held_out", "owners", "letters")
    files = {name: (folder / f"{name}.bin").open("wb") for name in names}
    iterator = iter(lines)
    try:
        while batch := list(islice(iterator, BATCH_LINES)):
            kept = [is_held_out(line, held_out) for line in batch]
            training = [line for line, is_kept in zip(batch, kept) if not is_kept]
            ids = _add_training(store, training, backend, end, files)
            store.unknown += int((ids == unknown).sum())
            for line in (line for line, is_kept in zip(batch, kept) if is_kept):
                if store.held_out_characters < MAX_HELD_OUT_CHARS:
                    _add_held_out(store, line, backend, end, files)
            count(len(ids))
    finally:
        for file in files.values():
            file.close()
    if not store.lines and not store.held_out_lines:
        raise PretrainError("The text holds no words: give files with text in them")
    data = {key: value for key, value in asdict(store).items() if key != "folder"}
    (folder / PIECES_FILE).write_text(json.dumps(data, indent=1), encoding="utf8")
    return store


def _add_training(
    store: PieceStore, lines: List[str], backend: Any, end: Sequence[int], files: Any
) -> np.ndarray:
    """Lines of the training part. RETURNS: int64, their pieces."""
    store.characters += sum(map(len, lines))
    # Some letters are none to a tokenizer: lines of these alone are left out.
    found = backend.encode_batch_fast(lines, add_special_tokens=False) if lines else []
    parts = [[*encoding.ids, *end] for encoding in found if encoding.ids]
    ids = np.fromiter(chain.from_iterable(parts), dtype=np.int64)
    _write(files["train"], ids, store.dtype)
    store.lines += len(parts)
    store.train += len(ids)
    return ids


def _add_held_out(
    store: PieceStore, line: str, backend: Any, end: Sequence[int], files: Any
) -> None:
    """A line of the held-out part, and which of its words are to be masked: that
    depends on the line alone, not on the pieces."""
    owner = np.full(len(line) + 1, -1, dtype=np.int64)
    letters: List[int] = []
    for number, match in enumerate(WORD.finditer(line)):
        if hash_share(f"{number} {line}") < MASK_SHARE:
            owner[match.start() : match.end()] = len(letters)
            letters.append(match.end() - match.start())
    encoding = backend.encode(line, add_special_tokens=False)
    if not encoding.ids:
        return
    # A piece belongs to the word of its last character: some begin with a blank.
    owners = [int(owner[stop - 1]) if stop else -1 for _, stop in encoding.offsets]
    numbers = [-1 if number < 0 else number + store.words for number in owners]
    _write(files["held_out"], [*encoding.ids, *end], store.dtype)
    _write(files["owners"], [*numbers, *([-1] * len(end))], "int32")
    _write(files["letters"], letters, "int32")
    store.words += len(letters)
    store.held_out += len(encoding.ids) + len(end)
    store.held_out_lines += 1
    store.held_out_characters += len(line)


def _write(file: Any, values: Any, dtype: str) -> None:
    file.write(np.asarray(values, dtype=dtype).tobytes())
