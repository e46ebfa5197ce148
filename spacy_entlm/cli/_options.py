"""How commands are declared, and the arguments and options that several of them have.

These are defaults of parameters, whose names tell those of the options.
"""

from typing import Any, Callable

import typer
from spacy.cli._util import app

from ..corpus import formats
from ..lexicon import readers
from ..lexicon.match import CASE_RULES, EXACT
from ._util import one_line_errors


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
) -> Callable:
    """Make a function a command whose errors are one line.

    overrides (bool): Whether `--section.setting value` may follow, for spaCy's
        `parse_config_overrides`.
    hidden (bool): Whether the help leaves it out.
    """
    others = {"allow_extra_args": overrides, "ignore_unknown_options": overrides}
    register = app.command(name, context_settings=others, hidden=hidden)
    return lambda function: register(one_line_errors()(function))


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


CONFIG = arg("CONFIG", "Training config; settings are replaced as by `spacy train`")
_FORMATS = ", ".join(formats.FORMATS)
FORMAT = opt("auto", f"Of the input: auto (by its name and content), {_FORMATS}")
COLUMNS = opt(
    None,
    "Columns of the word and the tag, eg 2,4, or names of a header row; else their "
    "content tells",
)
LABELS = opt(
    None,
    "Names of tags or classes that IN gives as numbers, from 0, eg O,B-PER,I-PER; else "
    "label.json or the like beside it",
)
OUT = arg("OUT", "File to write, eg .spacy or .jsonl; of a folder the new folder")
LANG = opt("en", "Language whose tokenizer splits texts into words")
GPU_ID = opt(-1, "GPU, or -1 for the CPU")
OVERWRITE = flag("--overwrite", "Replace the output if it exists")

MAP = opt(
    None,
    "Label map, repeatable: TYPE=LABEL (or several in one string), or a JSON file of "
    "them; other types are left out",
    "--map",
)
LABEL = opt(None, "Label of names that have none, as in a plain list")
_LEXICONS = ", ".join(readers.FORMATS)
LEXICON_FORMAT = opt("auto", f"Of the lexicon: auto (by its name), {_LEXICONS}")
CASE = opt(
    EXACT,
    f"{CASE_RULES[0]}: as the lexicon spells a name; {CASE_RULES[1]}: in any case; "
    f"{CASE_RULES[2]}: in any case, but only capitalised words of the text",
)

ENGINE = opt("local", "What does the work: local; ray, a cluster (extra `ray`)")
WORKERS = opt(None, "Of Ray; else one for each core, or share of a GPU", min=1)
GPUS = opt(0.0, "Of a worker of Ray; a share is allowed, eg 0.5", min=0.0)
ADDRESS = opt(None, "Of a Ray cluster, or auto; else one of this machine alone")
