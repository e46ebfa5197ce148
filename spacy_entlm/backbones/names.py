"""Names of backbones: the one that comes with the package."""

import logging
from pathlib import Path
from typing import Union

from .errors import BackboneError

logger = logging.getLogger("spacy.entlm")

ENTLM_BASE = "entlm-base"
# Earlier versions had it.
ENTLM_MINI = "entlm-mini"
ASSETS = Path(__file__).resolve().parents[1] / "assets"
CONFIG_FILE = "config.json"
# Languages in whose script the package's own backbone is lost: next to no piece of its
# vocabulary has their letters.
OTHER_SCRIPTS = {
    *("am", "bn", "bo", "gu", "he", "hy", "ka", "kn", "ml", "pa", "si", "ta", "te"),
    *("th", "ti"),
}


def resolve_backbone(name: Union[str, Path]) -> str:
    """Find what a name of a backbone stands for.

    name (Union[str, Path]): "entlm-base", the one that comes with the package; anything
        else stands for itself.
    RETURNS (str): A folder, or a name on the hub. A folder of the working directory
        that is called like the package's own is meant by "./entlm-base".
    RAISES (BackboneError): If the package's own is not there.
    """
    if name == ENTLM_MINI and not Path(name).exists():
        raise BackboneError(
            f"The backbone {ENTLM_MINI!r} came with earlier versions: "
            f"{ENTLM_BASE!r} has taken its place"
        )
    if name != ENTLM_BASE:
        return str(name)
    folder = ASSETS / ENTLM_BASE
    if not (folder / CONFIG_FILE).is_file():
        raise BackboneError(
            f"The backbone {name!r} is not in this copy of spacy-entlm (no {folder}): "
            f"install a wheel that holds it, or name another backbone, for instance "
            f'name = "bert-base-cased" under [components.entlm_ner.model]'
        )
    return str(folder)


def warn_of_language(component: str, backbone: str, lang: str) -> None:
    """Warn where the package's own backbone cannot read the script of a pipeline's
    language. component, backbone, lang (str): Names."""
    if backbone == ENTLM_BASE and lang in OTHER_SCRIPTS:
        logger.warning(
            f"[{component}] The vocabulary of {ENTLM_BASE} lacks the script of the "
            f"pipeline's language ({lang!r}): name a backbone that has it, for "
            'instance "bert-base-multilingual-cased"'
        )
