"""The entries of a lexicon: what a name may hold, which label it has, their file."""

import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Mapping, NamedTuple, Optional

from ..files.counts import count_of
from ..files.json_lines import dump_line
from ..files.text import open_packed

# The longest of 860,000 names of people, places, films and products has 17 words; a
# line with many more is a sentence or a table that lost its line ends.
MAX_NAME_WORDS = 50

EMPTY_NAMES = "empty names"
BROKEN_NAMES = "names with control characters or broken letters"
LONG_NAMES = f"names of more than {MAX_NAME_WORDS} words"
UNLABELLED = "names without a label"
ODD_PATTERNS = "patterns that are more than plain words"

N_EXAMPLES = 5
# What a lexicon is written as.
EXTENSIONS = (".jsonl", ".jsonl.xz", ".jsonl.gz")

# What decoders put where bytes made no letter.
_REPLACEMENT = "\ufffd"
_PLAIN_BLANKS = frozenset("\t\n\v\f\r")
# Format characters that are part of the spelling, in Persian and in Indic scripts.
_JOINERS = frozenset("\u200c\u200d")


class Entry(NamedTuple):
    """A name of a lexicon.

    weight: How strongly the name stands for its label, 0 or more: of several labels of
        a name the heaviest counts. None is as light as 0.
    source: Where the name comes from, "" if that is not known.
    """

    name: str
    label: str
    weight: Optional[float] = None
    source: str = ""


@dataclass
class LexiconReport:
    """Counts of what is left out of lexicons.

    duplicates: Entries that repeat a name under the same label.
    unmapped: Per type, entries whose type is not in the label map.
    left_out: Per reason, other entries; examples: the first of these, with their lines.
    """

    duplicates: int = 0
    unmapped: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def leave_out(self, reason: str, value: str, line: Optional[int] = None) -> None:
        """Count an entry that is left out; the first few are kept as examples."""
        self.left_out[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < N_EXAMPLES:
            shown = repr(value if len(value) <= 40 else f"{value[:40]}...")
            examples.append(shown if line is None else f"{shown}, line {line}")

    def update(self, other: "LexiconReport") -> None:
        """Add what was left out of another lexicon."""
        self.duplicates += other.duplicates
        self.unmapped += other.unmapped
        self.left_out += other.left_out
        for reason, examples in other.examples.items():
            known = self.examples.get(reason, [])
            self.examples[reason] = [*known, *examples][:N_EXAMPLES]

    def problems(self) -> list[str]:
        """Render what was left out, in short lines."""
        lines = []
        if self.duplicates:
            lines.append(f"{count_of(self.duplicates, 'duplicates')}: kept once")
        if self.unmapped:
            types = ", ".join(f"{t} {n:,}" for t, n in self.unmapped.most_common())
            lines.append(
                f"{count_of(self.unmapped.total(), 'entries')} of types that the label "
                f"map does not name: left out ({types})"
            )
        for reason, count in sorted(self.left_out.items()):
            lines.append(f"{count_of(count, reason)}: left out")
            lines += [f"  e.g. {example}" for example in self.examples.get(reason, [])]
        return lines


def clean_name(name: str) -> tuple[str, Optional[str]]:
    """The name with single blanks and without invisible marks, and why it is left out,
    None if it is not."""
    # Nearly all names take this way; the test is one pass in C.
    if not name.isprintable() or "  " in name or name != name.strip():
        kinds = {char: unicodedata.category(char) for char in {*name} - _PLAIN_BLANKS}
        # Lone surrogates come from JSON escapes and cannot be written.
        if {"Cc", "Cs"} & {*kinds.values()}:
            return name, BROKEN_NAMES
        hidden = {char for char, kind in kinds.items() if kind == "Cf"} - _JOINERS
        name = " ".join("".join(char for char in name if char not in hidden).split())
    if not name:
        return name, EMPTY_NAMES
    if _REPLACEMENT in name:
        return name, BROKEN_NAMES
    if name.count(" ") >= MAX_NAME_WORDS:
        return name, LONG_NAMES
    return name, None


def merge_entries(entries: Iterable[Entry], report: LexiconReport) -> list[Entry]:
    """Keep a name that comes more than once under a label once: the heaviest of them
    and of equals the first, where the name first comes. The report counts others."""
    merged: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        key = (entry.name, entry.label)
        if key in merged:
            report.duplicates += 1
            known = merged[key].weight
            # Any weight given is more than none given.
            if entry.weight is None or (known is not None and entry.weight <= known):
                continue
        merged[key] = entry
    return list(merged.values())


def choose_label(weights: Mapping[str, Optional[float]]) -> Optional[str]:
    """Choose the only label of a name, or the one that is heavier than all others;
    None if there is none such."""
    heaviest = max(weight or 0.0 for weight in weights.values())
    first, *others = (k for k, weight in weights.items() if (weight or 0.0) == heaviest)
    return None if others else first


def find_ambiguous(entries: Iterable[Entry]) -> dict[str, list[str]]:
    """Find the names that stand under several labels: name -> labels, sorted."""
    labels = defaultdict(list)
    for entry in entries:
        labels[entry.name].append(entry.label)
    return {name: sorted(of) for name, of in labels.items() if len(of) > 1}


def write_lexicon(entries: Iterable[Entry], path: Path) -> None:
    """Write a lexicon as JSON lines {"name", "label", "weight"?, "source"?}, packed if
    the name of the file ends in .xz or .gz."""
    with open_packed(path) as file_:
        for name, label, weight, source in entries:
            made: dict[str, Any] = {"name": name, "label": label}
            if weight is not None:
                made["weight"] = int(weight) if float(weight).is_integer() else weight
            if source:
                made["source"] = source
            file_.write(dump_line(made))
