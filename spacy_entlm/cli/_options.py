"""How commands are declared, and the arguments and options that several of them have.

These are defaults of parameters, whose names tell those of the options.
"""

from typing import Any, Callable, Optional

import typer
from spacy.cli._util import app

from ..backbones.names import ENTLM_BASE
from ..corpus import file_format
from ..lexicon import readers
from ..lexicon.match import CASE_RULES, EXACT
from ._util import (
    ANEW,
    one_line_errors,
    terminated_as_interrupted,
    told_when_stopped,
)


def group(name: str, help: str, parent: typer.Typer = app) -> typer.Typer:
    """Make a group of commands, which is one of those in `parent`."""
    own = typer.Typer(name=name, help=help, no_args_is_help=True, rich_markup_mode=None)
    parent.add_typer(own)
    return own


entlm_cli = group(
    "entlm", "Few-shot named entity recognition with a masked language model (EntLM)."
)


def command(
    name: str,
    app: typer.Typer = entlm_cli,
    overrides: bool = False,
    hidden: bool = False,
    stopped: Optional[str] = ANEW,
) -> Callable:
    """Make a function a command whose errors are one line.

    overrides (bool): Whether `--section.setting value` may follow, for spaCy's
        `parse_config_overrides`.
    hidden (bool): Whether the help leaves it out.
    stopped (Optional[str]): What it says if it is stopped by Ctrl-C or SIGTERM; None:
        it deals with them itself, as servers do.
    """
    others = {"allow_extra_args": overrides, "ignore_unknown_options": overrides}
    register = app.command(name, context_settings=others, hidden=hidden)

    def make(function: Callable) -> Any:
        function = one_line_errors()(function)
        if stopped is not None:
            function = terminated_as_interrupted()(function)
            function = told_when_stopped(stopped)(function)
        return register(function)

    return make


def arg(metavar: str, help: str, default: Any = ...) -> Any:
    """A positional argument."""
    return typer.Argument(default, metavar=metavar, help=help, show_default=False)


def opt(default: Any, help: str, *names: str, **settings: Any) -> Any:
    """An option. names (str): Its names, if they do not follow from the parameter's.
    settings (Any): As those of `typer.Option`."""
    return typer.Option(default, *names, help=help, **settings)


def flag(name: str, help: str) -> Any:
    """An option that is off unless it is given."""
    return typer.Option(False, name, help=help)


CONFIG = arg(
    "CONFIG",
    "Training config, such as configs/entlm.cfg; its settings can be replaced as with "
    "`spacy train`, eg by --paths.train FILE",
)
_FORMATS = ", ".join(file_format.FORMATS)
FORMAT = opt("auto", f"Form of the input: auto (its name and content tell), {_FORMATS}")
COLUMNS = opt(
    None,
    "Columns of the word and the tag, eg 2,4, or names of a header row; if not given, "
    "their content tells",
)
LABELS = opt(
    None,
    "Names of tags or classes that IN gives as numbers, from 0, eg O,B-PER,I-PER; if "
    "not given, they are looked for in label.json or the like beside IN",
)
OUT = arg(
    "OUT", "File to write, eg .spacy or .jsonl; if the input is a folder, a new folder"
)
LANG = opt("en", "Language whose tokenizer splits texts into words")
GPU_ID = opt(-1, "Number of the GPU; -1: the CPU")
OVERWRITE = flag("--overwrite", "Replace the output if it exists")
BACKBONE = opt(
    ENTLM_BASE, "Masked language model: a folder, or a name on the Hugging Face hub"
)

MAP = opt(
    None,
    "TYPE=LABEL renames a label of the lexicon (several in one string, a JSON file of "
    "them, or the option given several times); labels without such a name are left out",
    "--map",
)
LABEL = opt(None, "Label of names that have none, as in a plain list")
_LEXICONS = ", ".join(readers.FORMATS)
LEXICON_FORMAT = opt("auto", f"Form of the lexicon: auto (its name tells), {_LEXICONS}")
CASE = opt(
    EXACT,
    f"{CASE_RULES[0]}: as the lexicon spells a name; {CASE_RULES[1]}: in any case; "
    f"{CASE_RULES[2]}: in any case, but only capitalised words of the text",
)

ENGINE = opt(
    "local",
    "What does the work: local (this process), or ray (several processes or machines; "
    "needs the extra `ray`)",
)
WORKERS = opt(
    None,
    "Processes of Ray; if not given, one for each core, or for each share of a GPU",
    min=1,
)
GPUS = opt(0.0, "GPUs of each process of Ray, or a share of one, eg 0.5", min=0.0)
ADDRESS = opt(
    None,
    "Address of a Ray cluster; auto: the one on this machine; if not given, Ray is "
    "started on this machine alone",
)
