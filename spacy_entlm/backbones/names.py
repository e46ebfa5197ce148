"""Names of backbones: the one that comes with the package."""

import functools
import logging
from pathlib import Path
from typing import Union

from .errors import BackboneError

logger = logging.getLogger("spacy.entlm")

ENTLM_MINI = "entlm-mini"
ASSETS = Path(__file__).resolve().parents[1] / "assets"
CONFIG_FILE = "config.json"


def resolve_backbone(name: Union[str, Path]) -> str:
    """Find what a name of a backbone stands for.

    name (Union[str, Path]): "entlm-mini", the small one that comes with the package;
        anything else stands for itself.
    RETURNS (str): A folder, or a name on the hub. A folder of the working directory
        that is called like the package's own is meant by "./entlm-mini".
    RAISES (BackboneError): If the package's own is not there.
    """
    if name != ENTLM_MINI:
        return str(name)
    folder = ASSETS / ENTLM_MINI
    if not (folder / CONFIG_FILE).is_file():
        raise BackboneError(
            f"The backbone {name!r} is not in this copy of spacy-entlm (no {folder}): "
            f"install a wheel that holds it, or name another backbone, for instance "
            f'name = "bert-base-cased" under [components.entlm_ner.model]'
        )
    _say_that_larger_is_better()
    return str(folder)


def warn_of_language(component: str, backbone: str, lang: str) -> None:
    """Warn where the package's own backbone did not read the language of a pipeline.
    component, backbone, lang (str): Names; "xx" is any language."""
    if backbone == ENTLM_MINI and lang not in ("en", "xx"):
        logger.warning(
            f"[{component}] The backbone {ENTLM_MINI} has read English, and the "
            f"language of the pipeline is {lang!r}: name one that has read it, for "
            'instance "bert-base-multilingual-cased"'
        )


@functools.cache
def _say_that_larger_is_better() -> None:
    logger.info(
        f"Backbone {ENTLM_MINI}, a small one that comes with the package. With many "
        "examples, or for classes unlike people, places and organisations, a larger "
        'one gives better results: name = "bert-base-cased" under '
        "[components.entlm_ner.model], or --vars.backbone bert-base-cased with the "
        "project"
    )
