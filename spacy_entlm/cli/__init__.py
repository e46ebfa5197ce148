"""Commands under `python -m spacy entlm`, one module each.

spaCy finds them by the entry point group `spacy_cli`. A new command is a function that
a module here decorates with `@command`: all modules are imported.
"""

import sys
from importlib import import_module
from pkgutil import iter_modules

from ._options import entlm_cli
from ._project import check_project_run

__all__ = ["entlm_cli"]

for module in iter_modules(__path__):
    import_module(f".{module.name}", __name__)

check_project_run(sys.argv)
