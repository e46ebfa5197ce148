"""The entries of a lexicon: what a name may hold, and which label it has."""

import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

# The longest of 860,000 names of people, places, films and products has 17 words; a
# line with many more is a sentence or a table that lost its line ends.
MAX_NAME_WORDS = 50

EMPTY_NAMES = "empty names"
BROKEN_NAMES = "names with control characters or broken letters"
LONG_NAMES = f"names of more than {MAX_NAME_WORDS} words"
UNLABELLED = "names without a label"
ODD_PATTERNS = "patterns that are more than plain words"

N_EXAMPLES = 5

# What decoders put where bytes made no letter.
_REPLACEMENT = "\ufffd"
_PLAIN_BLANKS = frozenset("\t\n\v\f\r")
# Format characters that are part of the spelling, in Persian and in Indic scripts.
_JOINERS = frozenset("\u200c\u200d")


class Entry(NamedTuple):
    """A name of a lexicon.

    name (str): The name, as it is spelled. label (str): Its class.
    weight (Optional[float]): How strongly the name stands for that class, 0 or more:
        of several labels of a name the heaviest counts. None is as light as 0.
    source (str): Where the name comes from, "" if that is not known.
    """

    name: str
    label: str
    weight: Optional[float] = None
    source: str = ""


@dataclass
class LexiconReport:
    """Counts of what was read from lexicons.

    labels (Counter[str]): Names per label.
    duplicates (int): Entries that repeat a name under the same label.
    unmapped (Counter[str]): Entries left out as their type is not in the label map.
    left_out (Counter[str]): Entries left out, per reason.
    examples (Dict[str, List[str]]): Per reason the first of these, with their lines.
    """

    labels: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    unmapped: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    examples: Dict[str, List[str]] = field(default_factory=dict)

    def leave_out(self, reason: str, value: str, line: Optional[int] = None) -> None:
        """Count an entry that is left out; the first few are kept as examples."""
        self.left_out[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < N_EXAMPLES:
            shown = repr(value if len(value) <= 40 else f"{value[:40]}...")
            examples.append(shown if line is None else f"{shown}, line {line}")

    def update(self, other: "LexiconReport") -> None:
        """Add what was left out of another lexicon; its labels are counted when the
        entries are merged."""
        self.duplicates += other.duplicates
        self.unmapped.update(other.unmapped)
        self.left_out.update(other.left_out)
        for reason, examples in other.examples.items():
            mine = self.examples.setdefault(reason, [])
            mine += examples[: N_EXAMPLES - len(mine)]

    def problems(self) -> List[str]:
        """Render what was left out, in short lines."""
        lines = []
        if self.duplicates:
            lines.append(f"{self.duplicates:,} duplicates: kept once")
        if self.unmapped:
            types = ", ".join(f"{t} {n:,}" for t, n in self.unmapped.most_common())
            lines.append(
                f"{self.unmapped.total():,} entries of types that the label map does "
                f"not name: left out ({types})"
            )
        for reason, count in sorted(self.left_out.items()):
            lines.append(f"{count:,} {reason}: left out")
            lines += [f"  e.g. {example}" for example in self.examples.get(reason, [])]
        return lines


def clean_name(name: str) -> Tuple[str, Optional[str]]:
    """Tidy the blanks of a name, and say whether it can be used.

    RETURNS (Tuple[str, Optional[str]]): The name with single blanks and without
        invisible marks, and why it is left out, None if it is not.
    """
    # Nearly all names take this way; the test is one pass in C.
    if not name.isprintable() or "  " in name or name != name.strip():
        if any(map(_is_broken, name)):
            return name, BROKEN_NAMES
        name = " ".join("".join(filter(_is_visible, name)).split())
    if not name:
        return name, EMPTY_NAMES
    if _REPLACEMENT in name:
        return name, BROKEN_NAMES
    if name.count(" ") >= MAX_NAME_WORDS:
        return name, LONG_NAMES
    return name, None


def _is_broken(char: str) -> bool:
    # Lone surrogates come from JSON escapes and cannot be written.
    return unicodedata.category(char) in ("Cc", "Cs") and char not in _PLAIN_BLANKS


def _is_visible(char: str) -> bool:
    return char in _JOINERS or unicodedata.category(char) != "Cf"


def merge_entries(
    lexicons: Iterable[Iterable[Entry]],
) -> Tuple[List[Entry], LexiconReport]:
    """Put lexicons together. A name that comes more than once under a label is kept
    once, the heaviest of them and of equals the first.

    RETURNS (Tuple[List[Entry], LexiconReport]): The entries in the order in which the
        names first come, and counts of labels and duplicates.
    """
    merged: Dict[Tuple[str, str], Entry] = {}
    report = LexiconReport()
    for lexicon in lexicons:
        for entry in lexicon:
            add_entry(merged, entry, report)
    report.labels.update(entry.label for entry in merged.values())
    return list(merged.values()), report


def add_entry(
    entries: Dict[Tuple[str, str], Entry], entry: Entry, report: LexiconReport
) -> None:
    """Add an entry, or count it if its name is there under the same label.

    entries (Dict[Tuple[str, str], Entry]): By name and label; changed in place.
    """
    key = (entry.name, entry.label)
    if key not in entries:
        entries[key] = entry
        return
    report.duplicates += 1
    # -1, as any weight given is more than none given.
    if _weigh(entry.weight, none=-1.0) > _weigh(entries[key].weight, none=-1.0):
        entries[key] = entry


def choose_label(weights: Mapping[str, Optional[float]]) -> Optional[str]:
    """Choose the only label of a name, or the one that is heavier than all others;
    None if there is none such."""
    if len(weights) == 1:
        return next(iter(weights))
    ranked = sorted(weights, key=lambda label: _weigh(weights[label]), reverse=True)
    first, second = ranked[:2]
    return first if _weigh(weights[first]) > _weigh(weights[second]) else None


def _weigh(weight: Optional[float], *, none: float = 0.0) -> float:
    return none if weight is None else weight


def find_ambiguous(entries: Sequence[Entry]) -> Dict[str, Dict[str, Optional[float]]]:
    """Find the names that stand under several labels: name -> label -> weight."""
    counts = Counter(entry.name for entry in entries)
    several: Dict[str, Dict[str, Optional[float]]] = defaultdict(dict)
    for entry in entries:
        if counts[entry.name] > 1:
            several[entry.name][entry.label] = entry.weight
    return dict(several)
