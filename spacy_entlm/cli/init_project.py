"""The command `init-project`: the project for a user who has no clone."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePath
from typing import Annotated, Dict

import typer

from ..files.file import replace_file
from ._util import echo_lines, entlm_cli, one_line_errors

PROJECT_FILE = "project.yml"
# Parts of the repository that make up the project.
PARTS = (
    "project.yml",
    "configs/*.cfg",
    "project/scripts/*.py",
    "project/benchmarks/speed*.py",
    "project/assets/**/*",
    "project/benchmarks/configs/benchmark.yml",
    "project/benchmarks/configs/quick.yml",
)
# Where the wheel installs them, below the environment's folder.
SHARE = ("share", "spacy-entlm")


@entlm_cli.command("init-project")
def init_project_cli(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="New or empty folder to write to", show_default=False
        ),
    ],
) -> None:
    """Write the spaCy project: project.yml, configs, scripts, a small corpus.

    \b
    Example:
      python -m spacy entlm init-project my_project
      cd my_project
      python -m spacy project run train-5shot
    """
    with one_line_errors():
        if folder.is_file():
            raise ValueError(f"{folder} is a file: name a folder")
        files = project_files()
        for name in files:
            if (folder / name).exists():
                raise ValueError(f"{folder / name} exists: name another folder")
        for name, source in files.items():
            replace_file(folder / name, source.read_bytes())
        echo_lines(
            [
                f"Wrote {len(files)} files to {folder}",
                f"cd {folder}",
                "python -m spacy project run train-5shot",
            ]
        )


def project_files() -> Dict[str, Path]:
    """Names within the project and where the files lie.

    RETURNS (Dict[str, Path]): From the installed wheel, or from the repository if
        the package is used from there.
    RAISES (ValueError): If there are none.
    """
    files = _installed_files() or _repository_files()
    if PROJECT_FILE not in files:
        raise ValueError(
            "The project's files are not installed with this copy of spacy-entlm: "
            "install it with pip"
        )
    return files


def _installed_files() -> Dict[str, Path]:
    try:
        recorded = distribution("spacy-entlm").files or []
    except PackageNotFoundError:
        return {}
    found: Dict[str, Path] = {}
    for file in recorded:
        parts = PurePath(file).parts
        for i in range(len(parts) - len(SHARE)):
            if parts[i : i + len(SHARE)] == SHARE:
                name = PurePath(*parts[i + len(SHARE) :]).as_posix()
                found[name] = Path(str(file.locate()))
    return {name: path for name, path in found.items() if path.is_file()}


def _repository_files() -> Dict[str, Path]:
    root = Path(__file__).resolve().parents[2]
    if not (root / PROJECT_FILE).is_file():
        return {}
    paths = [path for part in PARTS for path in sorted(root.glob(part))]
    return {path.relative_to(root).as_posix(): path for path in paths if path.is_file()}
