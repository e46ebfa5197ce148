"""What was read from a file, and what of it could not be used."""

from collections import Counter
from dataclasses import dataclass, field

EMPTY_TEXTS = "empty texts"
BLANK_WORDS = "blank words"
NOT_ACCEPTED = "texts not accepted by the annotator"

N_EXAMPLES = 5


@dataclass
class CorpusReport:
    """Counts of what was read.

    words: Tokens of the Docs. entities: Per class.
    misaligned: Per class, spans that do not fall on token boundaries; the first of
        these, with their text and line, are `misaligned_examples`.
    overlapping: Spans left out because a longer one overlaps them.
    slips: Places that look as if they were meant as marks, and were read as text.
    skipped: Per reason. unread: Keys of JSON lines with lists that are not known.
    """

    docs: int = 0
    words: int = 0
    entities: Counter[str] = field(default_factory=Counter)
    misaligned: Counter[str] = field(default_factory=Counter)
    misaligned_examples: list[str] = field(default_factory=list)
    overlapping: int = 0
    slips: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)

    def lines(self) -> list[str]:
        """Render the report in short lines; what did not occur is not mentioned."""
        n_entities = self.entities.total()
        return [
            f"{self.docs:,} docs, {self.words:,} words, {n_entities:,} entities",
            *format_counts(self.entities),
            *self.problems(),
        ]

    def problems(self) -> list[str]:
        """Render what could not be used, in short lines."""
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
        for reason, count in sorted(self.skipped.items()):
            lines.append(f"{count:,} {reason}: left out")
        for key, count in sorted(self.unread.items()):
            lines.append(f"{count:,} lines have a list {key!r:.100}, which is not read")
        return lines


def format_counts(counts: Counter[str]) -> list[str]:
    """Render counts per class: a line each, indented, in the order of their names."""
    width = max(map(len, counts), default=0)
    return [f"  {label:<{width}} {counts[label]:,}" for label in sorted(counts)]
