"""What was read from a file, and what of it could not be used."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..files.errors import DataError

EMPTY_TEXTS = "empty texts"
BLANK_WORDS = "blank words"
NOT_ACCEPTED = "texts not accepted by the annotator"
REJECTED = "rejected spans"
INNER = "entities inside others"
# What else is told, with its number and examples.
MOVED = "Spans with other words at their offsets, put where their text stands near by"
LOST = (
    "Spans with other words at their offsets, and their text not once near by; the "
    "words there count as not annotated"
)
DIFFERING = "Texts that stand there several times with different marks"
JOINED = f"{DIFFERING}, which are joined"
CONTRADICTING = (
    "Marks that contradict another one of the same text; their words count as not "
    "annotated"
)
UNREAD_SPANS = "Docs with marks in doc.spans that are no entities, which are not read"

N_EXAMPLES = 5
# Classes that the summary names, the most frequent ones.
_N_CLASSES = 20


@dataclass
class CorpusReport:
    """Counts of what was read.

    understood: How the file was understood, eg "columns 1 word, 4 tag".
    words: Tokens of the Docs. entities: Per class.
    misaligned: Per class, spans that do not fall on token boundaries; the first of
        these, with their text and line, are `misaligned_examples`.
    overlapping: Spans left out because a longer one overlaps them.
    slips: Places that look as if they were meant as marks, and were read as text.
    skipped: Per reason.
    unread: Keys of JSON lines with lists that are not known, and
        other places with marks that are not read.
    noted: Other things that were seen, with their number; `examples` of each.
    is_marked: Whether each text says which entities it has, none included.
    """

    understood: str = ""
    docs: int = 0
    words: int = 0
    unit: str = "texts"
    entities: Counter[str] = field(default_factory=Counter)
    misaligned: Counter[str] = field(default_factory=Counter)
    misaligned_examples: list[str] = field(default_factory=list)
    overlapping: int = 0
    slips: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    is_marked: bool = True

    def note(self, what: str, example: str) -> None:
        """Count something, and keep the first examples of it."""
        self.noted[what] += 1
        kept = self.examples.setdefault(what, [])
        if len(kept) < N_EXAMPLES:
            kept.append(example)

    def lines(self) -> list[str]:
        """Render the report in short lines, a summary first; what did not occur is not
        mentioned."""
        return [self.summary(), *self._details()]

    def check_marks(self, path: Path) -> None:
        """RAISES (DataError): If there is text and not one mark, and it is not said
        that there are none."""
        is_told = self.is_marked and not self.unread
        if self.entities or self.misaligned or is_told:
            return
        unread = ", ".join(f"{key!r:.60}" for key in sorted(self.unread))
        found = (
            f"no marks are read in it (there are {unread})" if unread else "no marks"
        )
        hint = "mark entities in a form of docs/data.md, or write an empty list of them"
        raise DataError(f"{found}: {hint}", path=path)

    def summary(self) -> str:
        """What was understood, in one line."""
        size = f"{_count(self.docs, self.unit)} of {_count(self.words, 'words')}"
        parts = [self.understood, size, format_classes(self.entities)]
        if self.skipped:
            skipped = (_count(n, why) for why, n in sorted(self.skipped.items()))
            parts.append(f"left out: {', '.join(skipped)}")
        return "; ".join(filter(None, parts))

    def problems(self) -> list[str]:
        """Render what could not be used, in short lines."""
        skipped = sorted(self.skipped.items())
        left_out = [f"{count:,} {reason}: left out" for reason, count in skipped]
        return [*left_out, *self._details()]

    def _details(self) -> list[str]:
        lines = []
        if self.misaligned:
            lines.append(
                f"{self.misaligned.total():,} spans do not fall on token "
                "boundaries; their words count as not annotated"
            )
            lines += format_counts(self.misaligned)
            lines += [f"  e.g. {example}" for example in self.misaligned_examples]
        if self.overlapping:
            lines.append(f"{self.overlapping:,} spans overlap a longer one: left out")
        if self.slips:
            lines.append(
                f"{len(self.slips):,} places look like marks and are read as text: "
                "write [words](LABEL)"
            )
            lines += [f"  e.g. {slip}" for slip in self.slips[:N_EXAMPLES]]
        for what, count in sorted(self.noted.items()):
            lines.append(f"{what}: {count:,}")
            lines += [f"  e.g. {example}" for example in self.examples[what]]
        lines += [f"Classes differ in case only: {pair}" for pair in self._twins()]
        for key, count in sorted(self.unread.items()):
            lines.append(f"{count:,} lines have {key!r:.100}, which is not read")
        return lines

    def _twins(self) -> list[str]:
        forms: dict[str, list[str]] = {}
        for label in sorted(self.entities):
            forms.setdefault(label.casefold(), []).append(label)
        twins = (labels for labels in forms.values() if len(labels) > 1)
        return [
            format_classes(Counter({label: self.entities[label] for label in labels}))
            for labels in twins
        ]


def _count(number: int, what: str) -> str:
    """ "2 rejected spans", or "1 rejected span"."""
    if number == 1:
        what = re.sub(r"\b(text|span|word|sentence|doc|row)s\b", r"\1", what, count=1)
        what = what.replace("entities", "entity", 1)
    return f"{number:,} {what}"


def format_classes(counts: Counter[str]) -> str:
    """Render counts per class in one line, the most frequent first."""
    ordered = sorted(counts, key=lambda label: (-counts[label], label))
    shown = [f"{label} {counts[label]:,}" for label in ordered[:_N_CLASSES]]
    if rest := ordered[_N_CLASSES:]:
        total = sum(counts[label] for label in rest)
        shown.append(f"{len(rest):,} other classes {total:,}")
    return ", ".join(shown) or "no entity"


def format_counts(counts: Counter[str]) -> list[str]:
    """Render counts per class: a line each, indented, in the order of their names."""
    width = max(map(len, counts), default=0)
    return [f"  {label:<{width}} {counts[label]:,}" for label in sorted(counts)]
