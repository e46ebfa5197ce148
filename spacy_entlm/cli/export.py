"""The command `export`: a pipeline for ONNX Runtime."""

from pathlib import Path

from ..files.folder import check_output_folder
from ._options import OVERWRITE, arg, command, opt
from ._util import echo


@command("export")
def export_cli(
    pipeline: str = arg("PIPELINE", "Folder or package of a trained pipeline"),
    out: Path = arg("OUT", "Folder for the new pipeline"),
    format: str = opt(
        "float32", "How the model computes: float32, or int8 (faster, but coarser)"
    ),
    overwrite: bool = OVERWRITE,
) -> None:
    """Write a pipeline that predicts on ONNX Runtime, and needs no PyTorch.

    The new pipeline has the same labels, decoder and settings, and cannot be trained.
    In float32 it finds the same entities. In int8 some of them differ.

    \b
    Example:
      python -m spacy entlm export model-last exported --format int8
    """
    source = Path(pipeline)
    check_output_folder(out, source=source, overwrite=overwrite)
    from ..pipeline.export import check_installed, export  # torch takes seconds
    from ..pipeline.loading import load_pipeline

    check_installed()
    exported = export(load_pipeline(pipeline), out, format=format, overwrite=overwrite)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    names = ", ".join(exported.pipe_names)
    echo(f"Components: {names}; {size / 1e6:,.0f} MB", f"Wrote {out}")
