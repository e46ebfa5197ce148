"""What a run is of, and what of it is done."""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Set

from ..about import __version__
from ..files.errors import DataError
from ..files.json_lines import dump_json
from .layout import DONE, FOLDERS, LOCK, MANIFEST, part_name
from .places import Found, Place
from .shards import Shard

_HINT = "choose another OUT, or begin again with --overwrite"


@dataclass(frozen=True)
class Manifest:
    """A run: what two of them must have in common to be one.

    files: Those of the input. reader, settings: What else decides the output.
    """

    files: List[Found]
    reader: Dict[str, Any]
    settings: Dict[str, Any]

    def facts(self) -> Dict[str, Any]:
        files = [file._asdict() for file in self.files]
        facts = {"version": __version__, "input": files, "reader": self.reader}
        return {**facts, "settings": self.settings}

    def begin(self, out: Place, shards: Sequence[Shard], overwrite: bool) -> Set[int]:
        """Write the manifest, unless it is there.
        RETURNS (Set[int]): The shards that an earlier run did.
        RAISES (DataError): If the folder holds another run, or other files."""
        names = [name for name in out.names() if name != LOCK]
        if overwrite:
            _clear(out)
        elif MANIFEST in names:
            self._check(out)
            number = {
                f"{part_name(shard.number)}.json": shard.number for shard in shards
            }
            done = out.within(DONE).names()
            return {number[name] for name in done if name in number}
        elif names:
            problem = f"{out.uri}: is not empty, and holds no run of this command"
            raise DataError(f"{problem}: choose another OUT")
        out.within(MANIFEST).write(dump_json({**self.facts(), "shards": len(shards)}))
        return set()

    def complete(self, out: Place, shards: Sequence[Shard]) -> Dict[str, int]:
        """Write down what is done.
        RETURNS (Dict[str, int]): Texts, words, entities and failures of all shards."""
        names = {f"{part_name(shard.number)}.json" for shard in shards}
        there = [name for name in out.within(DONE).names() if name in names]
        read = out.within(DONE).read_all(there)
        records = [json.loads(read[name]) for name in there]
        counts: Counter[str] = Counter()
        for record in records:
            counts.update(record["counts"])
        entry = {**self.facts(), "shards": len(shards), "done": len(records)}
        out.within(MANIFEST).write(
            dump_json({**entry, "counts": dict(counts), "parts": records})
        )
        return dict(counts)

    def _check(self, out: Place) -> None:
        try:
            found = json.loads(out.within(MANIFEST).read())
        except ValueError as error:
            problem = f"{out.uri}: has a damaged {MANIFEST}"
            raise DataError(f"{problem}: {_HINT}") from error
        facts = json.loads(dump_json(self.facts()))
        other = [key for key in facts if found.get(key) != facts[key]]
        if other:
            problem = f"{out.uri}: holds a run that had another {' and '.join(other)}"
            raise DataError(f"{problem}: {_HINT}")


def _clear(out: Place) -> None:
    """Remove what an earlier run wrote, and nothing else; first what tells that it is
    done."""
    for folder in reversed(FOLDERS):
        for name in out.within(folder).names():
            if name.startswith("part-"):
                out.within(folder).within(name).remove()
    out.within(MANIFEST).remove()
