"""What was read from a file, and what of it could not be used."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from ..files.counts import count_of, sentence_of
from ..files.errors import DataError

EMPTY_TEXTS = "empty texts"
BLANK_WORDS = "blank words"
NOT_ACCEPTED = "texts not accepted by the annotator"
REJECTED = "rejected spans"
UNNAMED = "spans without a class"
INNER = "entities inside others"
# What else is told, with its number and examples.
MOVED = "Spans with other words at their offsets, put where their text stands near by"
LOST = (
    "Spans with other words at their offsets, and their text not once near by; the "
    "words there count as not annotated"
)
ANSWERS = "Texts with several answers that differ, of which the first is taken"
CONTROLS = "Texts with marks of several labelings (from_name), which are read as one"
DIFFERING = "Texts that stand there several times with different marks"
JOINED = f"{DIFFERING}, which are joined"
CONTRADICTING = (
    "Marks that contradict another one of the same text; their words count as not "
    "annotated"
)
COVERED = "Marks on words that count as not annotated, which are left out"
UNREAD_SPANS = "Docs with marks in doc.spans that are no entities, which are not read"

# What is said of one, and of several.
_MISALIGNED = (
    "span does not begin and end where words do",
    "spans do not begin and end where words do",
)
_OVERLAPPING = ("span overlaps another one", "spans overlap another one")
_UNTOLD = (
    "text does not say which entities it has: it counts as one without entities",
    "texts do not say which entities they have: they count as ones without entities",
)
_SLIPS = (
    "place looks like a mark and is read as text",
    "places look like marks and are read as text",
)
# How offsets may be counted, if most spans that are off words would then be words.
SHIFTS = {
    "utf16": "they count halves of emoji (UTF-16), and not characters",
    "bytes": "they count bytes of UTF-8, and not characters",
    "from_one": "the first character is 1, and not 0",
    "last": "the end is the last character, and not the place behind it",
    "from_one_last": "the first character is 1 and the end is the last one",
    "words": "they count words, and not characters",
}
_MIN_SHIFTED, _SHIFTED_SHARE = 2, 0.8

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
    shifted: Of the misaligned spans, those that would be words if offsets were counted
        in another way, one of `SHIFTS`.
    overlapping: Spans left out because a longer one overlaps them.
    slips: Places that look as if they were meant as marks, and were read as text.
    skipped: Per reason.
    unread: Keys of JSON lines with lists that are not known, and
        other places with marks that are not read.
    noted: Other things that were seen, with their number; `examples` of each.
    is_marked: Whether each text says which entities it has, none included; `untold` is
        the number of those that do not.
    """

    understood: str = ""
    docs: int = 0
    words: int = 0
    unit: str = "texts"
    entities: Counter[str] = field(default_factory=Counter)
    misaligned: Counter[str] = field(default_factory=Counter)
    misaligned_examples: list[str] = field(default_factory=list)
    shifted: Counter[str] = field(default_factory=Counter)
    overlapping: int = 0
    slips: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    is_marked: bool = True
    untold: int = 0

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
        if self.misaligned.total() > 1 and not self.entities:
            spans = sentence_of(self.misaligned.total(), *_MISALIGNED)
            examples = "; ".join(self.misaligned_examples[:2])
            hint = self._shift() or "check the offsets, and the language (--lang)"
            problem = f"no entity is left: {spans} (eg {examples})"
            raise DataError(f"{problem}: {hint}", path=path)
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
        size = f"{count_of(self.docs, self.unit)} of {count_of(self.words, 'words')}"
        parts = [self.understood, size, format_classes(self.entities)]
        if self.skipped:
            skipped = (count_of(n, why) for why, n in sorted(self.skipped.items()))
            parts.append(f"left out: {', '.join(skipped)}")
        return "; ".join(filter(None, parts))

    def problems(self) -> list[str]:
        """Render what could not be used, in short lines."""
        skipped = sorted(self.skipped.items())
        left_out = [f"{count_of(n, reason)}: left out" for reason, n in skipped]
        return [*left_out, *self._details()]

    def _details(self) -> list[str]:
        lines = []
        if self.misaligned:
            spans = sentence_of(self.misaligned.total(), *_MISALIGNED)
            lines.append(f"{spans}; their words count as not annotated")
            lines += format_counts(self.misaligned)
            lines += [f"  e.g. {example}" for example in self.misaligned_examples]
            lines += [f"  {self._shift()}"] if self._shift() else []
        if self.overlapping:
            lines.append(f"{sentence_of(self.overlapping, *_OVERLAPPING)}: left out")
        if self.entities and self.untold:
            lines.append(sentence_of(self.untold, *_UNTOLD))
        if self.slips:
            slips = sentence_of(len(self.slips), *_SLIPS)
            lines.append(f"{slips}: write [words](LABEL)")
            lines += [f"  e.g. {slip}" for slip in self.slips[:N_EXAMPLES]]
        for what, count in sorted(self.noted.items()):
            lines.append(f"{what}: {count:,}")
            lines += [f"  e.g. {example}" for example in self.examples[what]]
        lines += [f"Classes differ in case only: {pair}" for pair in self._twins()]
        for key, count in sorted(self.unread.items()):
            has = sentence_of(count, "line has", "lines have")
            lines.append(f"{has} {key!r:.100}, which is not read")
        return lines

    def _shift(self) -> str:
        """How offsets seem to be counted, "" if that is not clear."""
        most = max(self.shifted.values(), default=0)
        if most < max(_MIN_SHIFTED, _SHIFTED_SHARE * self.misaligned.total()):
            return ""
        found = next(way for way in SHIFTS if self.shifted[way] == most)
        return f"the offsets look as if {SHIFTS[found]}; write them as Python counts"

    def _twins(self) -> list[str]:
        forms: dict[str, Counter[str]] = defaultdict(Counter)
        for label in sorted(self.entities):
            forms[label.casefold()][label] = self.entities[label]
        return [format_classes(twins) for twins in forms.values() if len(twins) > 1]


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
