"""The command `merge`: two workbenches into one, and how far they agree."""

from pathlib import Path
from typing import TYPE_CHECKING, List

from ..files.counts import count_of
from ..files.errors import DataError
from ._options import arg, command, opt
from ._util import echo

if TYPE_CHECKING:
    from ..workbench.merging import Disagreement

# Disagreements that are shown, and characters of a text of which.
N_SHOWN, MAX_CHARS = 10, 100


@command("merge")
def merge_cli(
    folder: Path = arg("FOLDER", "Folder of a workbench"),
    other: Path = arg("OTHER", "Folder of another one, with texts of which some agree"),
    out: Path = arg("OUT", "New folder"),
    take: str = opt(
        "none",
        "Answer that is taken where the two disagree: first, second, or none, so that "
        "the text waits for an answer",
    ),
) -> None:
    """Merge two workbenches into a new one, and tell how far the two agree.

    Both stay as they are. Answers that only one has are taken, and equal ones once.
    Each disagreement is a line of OUT/disagreements.jsonl, and the page of the new
    workbench shows both sides. F1 and Cohen's kappa are those of the texts that both
    accepted.

    \b
    Example:
      python -m spacy entlm merge annes_workbench bobs_workbench both
      python -m spacy entlm workbench texts.txt both
    """
    from ..workbench.merging import DISAGREEMENTS, merge

    if folder.resolve() == other.resolve():
        raise DataError("is the other one, too: name two workbenches", path=folder)
    merged = merge(folder, other, out, take)
    echo(*merged.notes, *merged.agreement.lines())
    if found := merged.disagreements:
        what = "left without an answer" if take == "none" else f"the {take} is taken"
        texts = count_of(len(found), "texts")
        echo(f"Disagreements on {texts}, {what}:")
        for each in found[:N_SHOWN]:
            echo(*_shown(each))
        more = f"{len(found) - N_SHOWN:,} more: " if len(found) > N_SHOWN else ""
        echo(f"  {more}all are in {out / DISAGREEMENTS}")
    echo(f"Wrote {out}: open it with python -m spacy entlm workbench TEXTS {out}")


def _shown(found: "Disagreement") -> List[str]:
    """A disagreement in lines: the text, and what only one of the two has."""
    text = " ".join(found.text.split())
    lines = [f"  {text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 3] + '...'}"]
    both = {"first": found.first, "second": found.second}
    known = set(found.first.places or ()) & set(found.second.places or ())
    is_same = found.first.answer == found.second.answer
    for name, own in both.items():
        marks = [x for x in own.places or () if not (is_same and x in known)]
        said = [f"{found.text[a:b]} ({label})" for a, b, label in marks]
        if not is_same and own.answer == "reject":
            said = ["rejected"]
        lines.append(f"    {name}: {', '.join(said) or 'nothing else'}")
    return lines
