"""A trained pipeline as one that predicts on ONNX Runtime."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Dict, Union

import spacy
import srsly
from spacy.language import Language
from thinc.api import Config

from ..files.folder import check_output_folder, write_folder
from ..model.layer import shim_of
from ..model.onnx.entlm import ARCHITECTURE, build_onnx_entlm_v1
from .entlm_ner import EntLMNER

# What a package of such a pipeline needs beside this one.
REQUIREMENT = "onnxruntime>=1.20"
NEEDED = ("onnx", "onnxruntime")
# The whole Doc as one span, by spacy-transformers, which an exported pipeline can do
# without, and by this package.
THEIR_SPANS = {"@span_getters": "spacy-transformers.doc_spans.v1"}
OUR_SPANS = {"@misc": "spacy-entlm.doc_spans.v1"}
TRAINABLE = "spacy-entlm.EntLM.v1"


def export(
    nlp: Language,
    path: Union[str, Path],
    *,
    format: str = "float32",
    overwrite: bool = False,
) -> Language:
    """Write a pipeline whose `entlm_ner` run on ONNX Runtime, and load it. It has the
    same labels, decoder and settings, needs neither PyTorch nor transformers, and
    cannot be trained. Other components stay as they are.

    nlp (Language): A trained pipeline; it stays as it is.
    path (Union[str, Path]): Folder for the new one.
    format (str): Of matrix products: "float32", or "int8", which is faster and changes
        some labels.
    overwrite (bool): Whether what an earlier export wrote may be replaced.
    RETURNS (Language): The new pipeline, from its folder.
    RAISES (ValueError): If there is no trained `entlm_ner`, no such format, the folder
        may not be written, or the backbone cannot be exported.
        (ImportError): If the extra `onnx` is not installed.
    EXAMPLE:
        fast = spacy_entlm.export(nlp, "fast_model", format="int8")
    """
    folder = Path(path)
    check_output_folder(folder, overwrite=overwrite)
    check_installed()
    exported = {
        name: _exported(nlp, name, pipe, format)
        for name, pipe in nlp.pipeline
        if isinstance(pipe, EntLMNER)
    }
    if not exported:
        raise ValueError("There is no entlm_ner to export in this pipeline")
    config = nlp.config.copy()
    with write_folder(folder, overwrite=overwrite) as writing:
        nlp.to_disk(writing, exclude=list(exported))
        for name, pipe in exported.items():
            pipe.to_disk(writing / name)
            component = config["components"][name]
            component["model"] = _model_config(component["model"])
        Config(config).to_disk(writing / "config.cfg")
        meta = {**nlp.meta}
        requirements = [r for r in meta.get("requirements", []) if r != REQUIREMENT]
        meta["requirements"] = [*requirements, REQUIREMENT]
        srsly.write_json(writing / "meta.json", meta)
    return spacy.load(folder)


def check_installed() -> None:
    """RAISES (ImportError): If what an export needs is not installed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise ImportError(
            f"An export needs {' and '.join(missing)}, which {are} not installed: "
            f"pip install 'spacy-entlm[onnx]'"
        )


def _exported(nlp: Language, name: str, pipe: EntLMNER, format: str) -> EntLMNER:
    """The same component with a model for ONNX Runtime."""
    used = nlp.config["components"][name]["model"].get("@architectures")
    if used != TRAINABLE:
        problem = f"its model is {used}, and only {TRAINABLE} can be exported"
        raise ValueError(f"[{name}] cannot be exported: {problem}")
    if not pipe.is_initialized and pipe.labels:
        pipe.begin()
    if not pipe.is_initialized:
        raise ValueError(f"[{name}] cannot be exported: it was not trained yet")
    from ..model.onnx.export import export_network  # with PyTorch

    model = build_onnx_entlm_v1(pipe.layer.attrs["reading"].get_spans)
    shim_of(model).set_network(export_network(pipe.network, format))
    exported = EntLMNER(nlp.vocab, model, name, decoder=pipe.decoder)
    exported.take_settings(pipe)
    exported.calibration = pipe.calibration
    return exported


def _model_config(config: Dict[str, Any]) -> Dict[str, Any]:
    """The settings of the model that are left."""
    kept = ("get_spans", "window", "stride", "max_batch_pieces")
    left = {key: config[key] for key in kept}
    if left["get_spans"] == THEIR_SPANS:
        left["get_spans"] = OUR_SPANS
    return {"@architectures": ARCHITECTURE, **left}
