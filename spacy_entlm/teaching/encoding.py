"""Marked lines as pieces: which stands for which word, and which mark it is in."""

import random
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
from tqdm import tqdm

from .feed import Feed
from .lines import Mark, MarkedLine

# Longer lines are left out: a batch is as wide as its longest line.
MAX_PIECES = 126
# Forms of a line that are learned beside it as it is.
PLAIN, LOWER, UPPER, SWAPPED = "plain", "lower", "upper", "swapped"
# Share of the marks of a line that another name of the same kind takes the place of.
SWAP_SHARE = 0.6
# Names of a kind and language from which on they are swapped.
MIN_NAMES = 8
# Lines that a process takes at once.
CHUNK = 500
# Letters of scripts that put no blanks between words, or join particles to names, as
# Korean does: Thai, Lao, Burmese, Hangul, Khmer, kana and Han. Each is a word.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
# The scripts of India, whose signs for vowels Python takes for no letters. The two
# signs that are left out end a sentence.
INDIC = "\u0900-\u0963\u0966-\u0dff"
WORD = re.compile(rf"[{UNSPACED}]|(?:[^\W{UNSPACED}]|[{INDIC}])+|[^\w\s]")
NO_MARK = -1


@dataclass(frozen=True)
class EncodedLine:
    """One form of a line.

    ids: int32 (n_pieces). positions: int16 (n_words), the first piece of each word.
    marks: int16 (n_words), the mark that a word is in, or NO_MARK.
    """

    ids: np.ndarray
    positions: np.ndarray
    marks: np.ndarray


class LineEncoder:
    """Makes pieces of lines, in several forms each.

    tokenizer: A `tokenizers.Tokenizer`. lines: Those whose names may be swapped.
    max_pieces (int): Lines that have more are left out.
    """

    def __init__(
        self,
        tokenizer: Any,
        lines: Sequence[MarkedLine],
        max_pieces: int = MAX_PIECES,
    ):
        self.tokenizer, self.max_pieces = tokenizer, max_pieces
        self.names: Dict[Tuple[str, str], List[str]] = defaultdict(list)
        for line in lines:
            if not line.labels:
                for mark in line.marks:
                    name = line.text[mark.start : mark.end]
                    self.names[line.lang, mark.kinds[0]].append(name)

    def all_forms(
        self, lines: Sequence[MarkedLine], seed: int, workers: int
    ) -> List[Dict[str, EncodedLine]]:
        """`forms` of each line, with a progress bar on a terminal. workers (int):
        Processes; 0: this one."""

        def some(number: int) -> List[Dict[str, EncodedLine]]:
            first = number * CHUNK
            return [
                self.forms(line, seed * len(lines) + first + i)
                for i, line in enumerate(lines[first : first + CHUNK])
            ]

        found: List[Dict[str, EncodedLine]] = []
        shown = tqdm(desc="Reading lines", total=len(lines), leave=False, disable=None)
        with Feed(some, 0, workers) as chunks, shown:
            while len(found) < len(lines):
                new = next(chunks)
                found += new
                shown.update(len(new))
        return found

    def forms(self, line: MarkedLine, seed: int) -> Dict[str, EncodedLine]:
        """The forms of a line that are short enough; empty if it is too long.
        seed (int): Of the names that are swapped."""
        found: Dict[str, EncodedLine] = {}
        for form, text, marks in self._texts(line, random.Random(seed)):
            encoded = self.encode(text, marks)
            if encoded is not None:
                found[form] = encoded
        return found

    def encode(self, text: str, marks: Sequence[Mark]) -> Optional[EncodedLine]:
        """The pieces of a text, or None if they are too many."""
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        if not 0 < len(encoding.ids) <= self.max_pieces:
            return None
        first: Dict[int, int] = {}
        for piece, (start, end) in enumerate(encoding.offsets):
            for character in range(start, end):
                first.setdefault(character, piece)
        positions, in_marks, before = [], [], NO_MARK
        at = 0
        for word in WORD.finditer(text):
            start = word.start()
            piece = first.get(start, NO_MARK)
            if piece in (NO_MARK, before):
                continue
            before = piece
            while at < len(marks) and marks[at].end <= start:
                at += 1
            is_in = at < len(marks) and marks[at].start <= start
            positions.append(piece)
            in_marks.append(at if is_in else NO_MARK)
        return EncodedLine(
            np.array(encoding.ids, "int32"),
            np.array(positions, "int16"),
            np.array(in_marks, "int16"),
        )

    def _texts(
        self, line: MarkedLine, rng: random.Random
    ) -> Iterator[Tuple[str, str, Sequence[Mark]]]:
        text, marks = line.text, line.marks
        yield PLAIN, text, marks
        for form, other in ((LOWER, text.lower()), (UPPER, text.upper())):
            if other != text and len(other) == len(text):  # else marks would move
                yield form, other, marks
        swapped = self._swapped(line, rng)
        if swapped is not None:
            yield SWAPPED, *swapped

    def _swapped(
        self, line: MarkedLine, rng: random.Random
    ) -> Optional[Tuple[str, Sequence[Mark]]]:
        """The line with other names of the same kinds in place of some of its own."""
        parts, marks, end, length, any_new = [], [], 0, 0, False
        for mark in line.marks:
            name = line.text[mark.start : mark.end]
            others = self.names.get((line.lang, mark.kinds[0]), [])
            if len(others) >= MIN_NAMES and rng.random() < SWAP_SHARE:
                other = rng.choice(others)
                if other[:1].isupper() == name[:1].isupper():
                    any_new, name = any_new or other != name, other
            before = line.text[end : mark.start]
            start = length + len(before)
            length, end = start + len(name), mark.end
            parts += [before, name]
            marks.append(Mark(start, length, mark.kinds))
        if not any_new:
            return None
        return "".join([*parts, line.text[end:]]), marks
