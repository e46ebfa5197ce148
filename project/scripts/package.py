"""Package a trained pipeline as a wheel.

python project/scripts/package.py MODEL OUT --name entlm_news_5shot --version 1.0.0
"""

import re
import subprocess
import sys
from pathlib import Path

import typer
from spacy.cli.package import package
from wasabi import msg

from spacy_entlm.cli._util import one_line_errors


def main(model: Path, out: Path, name: str = "entlm", version: str = "1.0.0") -> None:
    """Write the package's folder and its wheel into OUT."""
    with one_line_errors():
        if not (model / "config.cfg").is_file():
            raise ValueError(f"{model} is no trained pipeline: it has no config.cfg")
        out.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", name)
    # The wheel is built with what is installed: `spacy package --build wheel` would
    # fetch its build tools from the network.
    package(
        model,
        out,
        name=name,
        version=version,
        create_sdist=False,
        create_wheel=False,
        force=True,
        silent=False,
    )
    folders = [path for path in out.glob(f"*{name}-{version}") if path.is_dir()]
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--quiet"]
    command += ["--no-build-isolation", "--wheel-dir", "dist"]
    for folder in folders:
        subprocess.run(command, cwd=folder, check=True)
        for wheel in sorted((folder / "dist").glob("*.whl")):
            msg.good(f"pip install {wheel}")


if __name__ == "__main__":
    typer.run(main)
