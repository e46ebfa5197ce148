"""What a lexicon matched in a text, for people to look at."""

from collections import Counter
from dataclasses import dataclass, field

from ..corpus.reading_report import format_counts
from ..files.counts import count_of
from .match import Matches

# So many show at a glance which names should be stop words.
N_NAMES_SHOWN = 20
_N_AMBIGUOUS_SHOWN = 10


@dataclass
class MatchReport:
    """Counts of what was matched.

    docs, words: Of all texts; matched_docs: Those with a match.
    labels: Matches per label; names: per name and label.
    ambiguous: Places of names under several labels of equal weight.
    """

    docs: int = 0
    matched_docs: int = 0
    words: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    names: Counter[tuple[str, str]] = field(default_factory=Counter)
    ambiguous: Counter[str] = field(default_factory=Counter)

    def add(self, n_words: int, matches: Matches) -> None:
        """Add a text, of so many words."""
        self.docs += 1
        self.words += n_words
        self.matched_docs += bool(matches.labelled)
        self.labels.update(match.label for match in matches.labelled)
        self.names.update((match.name, match.label) for match in matches.labelled)
        self.ambiguous.update(match.name for match in matches.ambiguous)

    def lines(self) -> list[str]:
        """Render the report, or a notice that nothing matched."""
        lines = [
            f"{count_of(self.docs, 'texts')} of {count_of(self.words, 'words')}: "
            f"{count_of(self.labels.total(), 'names')} found in "
            f"{count_of(self.matched_docs, 'texts')}",
            *format_counts(self.labels),
        ]
        if self.names:
            width = max(map(len, self.labels))
            lines.append("Most frequent names:")
            for (name, label), count in self.names.most_common(N_NAMES_SHOWN):
                lines.append(f"  {label:<{width}} {name} {count:,}")
        if self.ambiguous:
            common = self.ambiguous.most_common(_N_AMBIGUOUS_SHOWN)
            shown = ", ".join(f"{name} {count:,}" for name, count in common)
            places = count_of(self.ambiguous.total(), "places")
            names = count_of(len(self.ambiguous), "names")
            lines.append(
                f"{places} of {names} under several labels of equal weight: left out "
                f"({shown})"
            )
        if not self.labels:
            lines.append(
                "No name of the lexicon occurs in the text: check the case rule, the "
                "label map and the language"
            )
        return lines
