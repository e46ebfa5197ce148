"""The command `init-project`: the project for a user who has no clone."""

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Dict

from ..files.counts import count_of
from ..files.errors import DataError
from ..files.file import replace_file
from ._options import arg, command
from ._util import echo

PROJECT_FILE = "project.yml"
# Parts of the repository that make up the project.
PARTS = (PROJECT_FILE, "configs/*", "project/assets/news/*")
# Where the wheel installs them, below the environment's folder.
SHARE = "/share/spacy-entlm/"


@command("init-project")
def init_project_cli(
    folder: Path = arg("DIR", "New or empty folder to write to"),
) -> None:
    """Write the spaCy project: project.yml, configs, a small corpus.

    \b
    Example:
      python -m spacy entlm init-project my_project
      cd my_project
      python -m spacy project run train-5shot .
    """
    if folder.is_file():
        raise DataError("is a file: name a folder", path=folder)
    files = project_files()
    if there := [folder / name for name in files if (folder / name).exists()]:
        raise DataError("exists: name another folder", path=there[0])
    for name, source in files.items():
        replace_file(folder / name, source.read_bytes())
    run = "python -m spacy project run train-5shot ."
    echo(f"Wrote {count_of(len(files), 'files')} to {folder}", f"cd {folder}", run)


def project_files() -> Dict[str, Path]:
    """Names within the project and where the files lie: in what the wheel installed,
    or else in the repository."""
    root = Path(__file__).resolve().parents[2]
    with suppress(PackageNotFoundError):
        for file in distribution("spacy-entlm").files or []:
            if f"/{file.as_posix()}".endswith(SHARE + PROJECT_FILE):
                root = Path(str(file.locate())).parent
    found = (path for part in PARTS for path in sorted(root.glob(part)))
    files = {path.relative_to(root).as_posix(): path for path in found}
    files = {name: path for name, path in files.items() if path.is_file()}
    if PROJECT_FILE not in files:
        raise DataError("the project's files are missing: install spacy-entlm with pip")
    return files
