"""What tests of the scripts in project/benchmarks share."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "project" / "benchmarks"


@pytest.fixture(scope="module")
def import_script():
    """Imports a script, which sees those beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module
