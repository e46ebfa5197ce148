"""Settings of a component that were changed since it was made: they are saved."""

from pathlib import Path
from typing import Any, Dict, List

from ..files.errors import DataError
from ..files.json_lines import read_json

# The file of a component that holds them.
SETTINGS = "cfg"
NONE = type(None)
# Settings that may be changed, and what they may be.
KINDS: Dict[str, Any] = {
    "threshold": (int, float, NONE),
    "spans_key": (str, NONE),
    "annotate_ents": (bool,),
    "overwrite": (bool,),
    "label_bias": (int, float),
    "lexicon_key": (str, NONE),
    "lexicon_weight": (int, float),
}

Settings = Dict[str, Any]


def changed_settings(configured: Settings, now: Settings) -> Dict[str, List[Any]]:
    """Settings that are others than those of the config: both values."""
    return {k: [configured[k], v] for k, v in now.items() if v != configured[k]}


def restored_settings(path: Path, configured: Settings) -> Settings:
    """The settings of a component that is loaded: those of its config, and in place of
    these what was changed before it was saved, unless the config said something else
    then. Earlier versions saved none.
    RAISES (DataError): If the file holds something else."""
    changed = read_json(path) if path.exists() else {}
    pairs = changed.values() if isinstance(changed, dict) else [None]
    if not all(isinstance(x, list) and len(x) == 2 for x in pairs):
        raise DataError("holds no settings of a component", path=path)
    settings = dict(configured)
    for key, (before, value) in changed.items():
        if key in settings and settings[key] == before:
            # type() and not isinstance(): true is no number.
            if type(value) not in KINDS[key]:
                raise DataError(f"{key} cannot be {value!r:.100}", path=path)
            settings[key] = value
    return settings
