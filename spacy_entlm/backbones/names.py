"""Names of backbones: the one that comes with the package, and recorded ones."""

import functools
import json
import logging
from pathlib import Path
from typing import Union

from .errors import BackboneError

logger = logging.getLogger("spacy.entlm")

ENTLM_MINI = "entlm-mini"
EMBEDDED = (ENTLM_MINI,)
ASSETS = Path(__file__).resolve().parents[1] / "assets"
CONFIG_FILE = "config.json"
# Of a file that records which backbone to take: a name, or a folder beside the file.
RECORD_EXTENSION = ".json"
NAME_KEY, FOLDER_KEY = "name", "folder"


def resolve_backbone(name: Union[str, Path]) -> str:
    """Find what a name of a backbone stands for.

    name (Union[str, Path]): "entlm-mini", the small one that comes with the package;
        a .json file that records another name; anything else stands for itself.
    RETURNS (str): A folder, or a name on the hub. A folder of the working directory
        that is called like the package's own is meant by "./entlm-mini".
    RAISES (BackboneError): If the package's own is not there, or a record is broken.
    """
    name = str(name)
    if name in EMBEDDED:
        return _embedded(name)
    path = Path(name)
    if path.suffix == RECORD_EXTENSION and path.is_file():
        return _recorded(path)
    return name


def write_record(path: Path, *, name: str, folder: str = "", **facts: object) -> None:
    """Record which backbone to take, for `resolve_backbone`.

    path (Path): The .json file. name (str): A name or a path.
    folder (str): In place of the name: a folder beside the file.
    facts (object): Whatever else is to be known of it.
    """
    data = {NAME_KEY: name, FOLDER_KEY: folder or None, **facts}
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf8")


def _embedded(name: str) -> str:
    folder = ASSETS / name
    if not (folder / CONFIG_FILE).is_file():
        raise BackboneError(
            f"The backbone {name!r} is not in this copy of spacy-entlm (no {folder}): "
            f"install a wheel that holds it, or name another backbone, for instance "
            f'name = "bert-base-cased" under [components.entlm_ner.model]'
        )
    _say_that_larger_is_better(name)
    return str(folder)


def _recorded(path: Path) -> str:
    try:
        data = json.loads(path.read_text(encoding="utf8"))
        folder = data.get(FOLDER_KEY)
        name = str(path.parent / folder) if folder else data[NAME_KEY]
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise BackboneError(
            f"{path} records no backbone ({type(error).__name__}: {error}): it is "
            f'{{"{NAME_KEY}": "bert-base-cased"}}'
        ) from error
    # One step is enough: a record names no other record.
    return _embedded(name) if name in EMBEDDED else str(name)


@functools.cache
def _say_that_larger_is_better(name: str) -> None:
    logger.info(
        "Backbone %s, a small one that comes with the package. With many examples, "
        "or for classes unlike people, places and organisations, a larger one gives "
        'better results: name = "bert-base-cased" under [components.entlm_ner.model], '
        "or --vars.backbone bert-base-cased with the project",
        name,
    )
