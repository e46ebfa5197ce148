"""A list of names that pre-marks texts, and that trained pipelines know; it is kept in
the folder of a workbench."""

import json
import shutil
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..files.errors import DataError
from ..files.file import write_file
from ..lexicon.entries import Entry, write_lexicon
from ..lexicon.match import EXACT, LexiconMatcher
from ..lexicon.readers import read_lexicon
from .runs import MODEL
from .store import Store

LEXICON, SETTING = "lexicon.jsonl", "lexicon"


def keep_names(store: Store, entries: Sequence[Entry], case: str = EXACT) -> int:
    """Keep the names whose labels are classes, in place of an earlier list. Where there
    is no class yet, the labels become classes.

    case (str): As of `LexiconMatcher`.
    RETURNS (int): How many are kept.
    RAISES (DataError): If there is none, or no such rule of case.
    """
    if not store.classes():
        for label in sorted({entry.label for entry in entries}):
            store.add_class(label, given=True)
    found = {x: store.class_number(x) for x in {entry.label for entry in entries}}
    numbers = {label: n for label, n in found.items() if n is not None}
    kept = [entry for entry in entries if entry.label in numbers]
    if not kept:
        labels = ", ".join(sorted({entry.label for entry in entries}))
        known = ", ".join(row["name"] for row in store.classes())
        problem = f"the list has no class of the workbench ({known}), but {labels:.200}"
        raise DataError(f"{problem}: rename with --map")
    LexiconMatcher(kept[:1], case=case)  # its error comes before anything is written
    with write_file(store.path.parent / LEXICON) as temporary:
        write_lexicon(kept, temporary)
    # By number, since a class may get another name.
    store.set_setting(SETTING, json.dumps({"case": case, "classes": numbers}))
    return len(kept)


def copy_names(folder: Path, to: Path) -> None:
    """Copy the list of a workbench, if it has one, to a copy of it."""
    if (folder / LEXICON).is_file():
        shutil.copy(folder / LEXICON, to)


def merge_names(ours: "Names", theirs: "Names", called: Dict[int, str]) -> None:
    """Give a workbench the names of another one's list, too.

    called (Dict[int, str]): By its number, what a class of the other one is called in
        this one.
    """
    if theirs.matcher is None:
        return
    own = {row["id"]: row["name"] for row in ours.store.classes()}
    kept: Dict[Tuple[str, str], Entry] = {}
    for names, classes in ((ours, own), (theirs, called)):
        for entry in names.entries:
            number = names.numbers.get(entry.label)
            if number is not None and (label := classes.get(number)) is not None:
                kept.setdefault((entry.name, label), entry._replace(label=label))
    if kept:
        case = (ours.matcher or theirs.matcher).case
        keep_names(ours.store, list(kept.values()), case)


class Names:
    """The list of a workbench, if it has one."""

    def __init__(self, store: Store) -> None:
        self.store, self.folder = store, store.path.parent
        self.matcher: Optional[LexiconMatcher] = None
        self.entries: List[Entry] = []
        self.numbers: Dict[str, int] = {}
        if (path := self.folder / LEXICON).is_file():
            kept = json.loads(store.setting(SETTING, "{}"))
            self.numbers = kept["classes"]
            self.entries, _ = read_lexicon(path)
            self.matcher = LexiconMatcher(self.entries, case=kept["case"])

    def by_class(self) -> Dict[str, List[str]]:
        """The names of each class, as it is called now."""
        called = {row["id"]: row["name"] for row in self.store.classes()}
        found: Dict[str, List[str]] = {}
        for entry in self.entries:
            if (number := self.numbers.get(entry.label)) in called:
                found.setdefault(called[number], []).append(entry.name)
        return found

    def text(self, number: int) -> Optional[Dict[str, Any]]:
        """`Store.text`, pre-marked with names, whose confidence is None. Where names
        and what a model found overlap, the trained model comes first, and before there
        is one the list. Texts of the test part are left alone."""
        text = self.store.text(number)
        if text is None or text["is_test"] or self.matcher is None:
            return text
        known = {row["id"] for row in self.store.classes()}
        found = self.matcher.match([word for word, _ in text["words"]]).labelled
        numbered = [(m.start, m.end, self.numbers.get(m.label)) for m in found]
        names = [[*place, n, None] for *place, n in numbered if n in known]
        is_trained = (self.folder / MODEL / "config.cfg").is_file()
        marks = text["proposed"], names
        kept: list = []
        for mark in [*marks[not is_trained], *marks[is_trained]]:
            if all(mark[1] <= other[0] or other[1] <= mark[0] for other in kept):
                kept.append(mark)
        return {**text, "proposed": sorted(kept, key=lambda mark: mark[0])}
