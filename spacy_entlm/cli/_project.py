"""Checks of `spacy project run` with a project of ours.

`--vars.NAME` replaces a variable of project.yml. spaCy takes any name, also one that
the file does not have, and does what it would have done without. Before it runs a
command it imports those of this package: that is where names are checked, and where
results get the name of the data's folder.
"""

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Dict, Iterable, List, Tuple

import srsly

from ..files.errors import DataError
from ._util import show_error

PROJECT_FILE = "project.yml"
RUN = ["project", "run"]
VARS = "--vars."
DATA, DATASET = "data", "dataset"
# A project that has it in a script is one of ours.
OUR_COMMANDS = "spacy entlm "


def check_project_run(arguments: List[str]) -> None:
    """Check the arguments of this program, and add to them, as `project_arguments` says
    it; what is wrong ends it with one line."""
    try:
        arguments += project_arguments(arguments)
    except DataError as error:
        show_error(str(error))
        sys.exit(1)


def project_arguments(arguments: List[str]) -> List[str]:
    """Check the arguments of a program where they run a project of ours.

    arguments (List[str]): Of the program, its name first (`sys.argv`).
    RETURNS (List[str]): What is to be added: where only the folder of data is named,
        the folder's name is that of the dataset. None for other commands.
    RAISES (DataError): If the project has no variable of a name, its folder is not
        named before them, a variable lacks "vars.", or the data are no folder.
    """
    if arguments[1:3] != RUN or "--help" in arguments:
        return []
    given, others = _parse(arguments[3:])
    folder = Path(others[1]) if len(others) > 1 else Path.cwd()
    known = _variables(folder / PROJECT_FILE)
    if known:
        _check_names(given, known)
        _check_bare_names(arguments[3:], known)
        if given and len(others) == 1:
            command = (
                f"python -m spacy project run {others[0]} . {VARS}{min(given)} ..."
            )
            raise DataError(f"name the project's folder, here '.': {command}")
    if DATA in known and (path := folder / given.get(DATA, "")).is_file():
        problem = f"{VARS}{DATA} names a folder, and {path} is a file: put it into a "
        raise DataError(f"{problem}folder of its own, as train{path.suffix}")
    if not {DATA, DATASET} <= known.keys() or DATA not in given or DATASET in given:
        return []
    data = (folder / given[DATA]).resolve()
    is_default = data == (folder / str(known[DATA])).resolve()
    return [] if is_default or not data.name else [f"{VARS}{DATASET}", data.name]


def _check_names(given: Iterable[str], known: Dict[str, Any]) -> None:
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f" (do you mean {VARS}{near[0]}?)" if near else ""
            raise DataError(
                f"{PROJECT_FILE} has no variable {name!r}, as in {VARS}{name}{meant}"
                f"; it has {', '.join(known)}"
            )


def _check_bare_names(arguments: Iterable[str], known: Dict[str, Any]) -> None:
    for argument in arguments:
        option = argument.partition("=")[0]
        name = option.lstrip("-").removeprefix("vars.").removeprefix("var.")
        if option.startswith("-") and name in known and option != f"{VARS}{name}":
            raise DataError(f"there is no {option}: write {VARS}{name}")


def _parse(arguments: List[str]) -> Tuple[Dict[str, str], List[str]]:
    """The variables that are set, and arguments without a name: command and folder."""
    given, others = {}, []
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if not argument.startswith("-"):
            others.append(argument)
            continue
        name, equals, value = argument.partition("=")
        if "." in name and not equals:
            value = left.pop(0) if left and not left[0].startswith("--") else "true"
        if name.startswith(VARS):
            given[name.removeprefix(VARS)] = value
    return given, others


def _variables(path: Path) -> Dict[str, Any]:
    """The variables of a project that has commands of ours; else none."""
    try:
        project: Any = srsly.read_yaml(path)
        scripts = [
            line for command in project["commands"] for line in command["script"]
        ]
        is_ours = any(OUR_COMMANDS in str(line) for line in scripts)
        return dict(project["vars"]) if is_ours else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}  # spaCy tells what is wrong with it
