"""A backbone in the form that transformers reads by itself."""

from pathlib import Path

from spacy_entlm.backbones.compact import COMPACT_FILE
from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.backbones.names import resolve_backbone


def plain_backbone(backbone: str, folder: str) -> str:
    """What a name of a backbone stands for, or a copy of it in a folder, if its weights
    are in the package's own form.

    backbone (str): As the component's setting `name`, or the model of a saved one.
    folder (str): For the copy. RETURNS (str): A folder, or a name on the hub.
    """
    source = resolve_backbone(backbone)
    if not Path(source, COMPACT_FILE).is_file():
        return source
    load_masked_lm(source).save(Path(folder))
    return folder
