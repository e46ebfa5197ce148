"""Commands under `python -m spacy entlm`, one module each.

spaCy finds them by the entry point group `spacy_cli`. A new command is a module that
decorates its function with `@command`; import it here to register it.
"""

from spacy.cli._util import app

from . import (  # noqa: F401
    annotate,
    compare,
    convert,
    crossval,
    debug,
    evaluate,
    init_project,
    lexicon,
    lexicon_wikidata,
    package,
    predict,
    pretrain,
    report,
    sample,
    search,
)
from ._options import entlm_cli

__all__ = ["entlm_cli"]

app.add_typer(entlm_cli)
