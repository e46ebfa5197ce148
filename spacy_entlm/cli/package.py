"""The command `package`: wheels of a pipeline and of this package."""

import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata
from collections import Counter
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import join
from typing import Any, Dict, List, Optional, Sequence
from urllib.parse import urlsplit
from urllib.request import url2pathname

import spacy
from packaging.version import VERSION_PATTERN
from spacy.cli.package import package
from spacy.util import load_config

from ..corpus.readers import read_docbin
from ..files.counts import count_of
from ..files.errors import DataError
from ..files.folder import check_output_folder, write_folder
from ..files.json_lines import dump_json, read_json
from ..files.temporary import temporary_folder
from ..pipeline.requirements import DISTRIBUTION
from ._options import OVERWRITE, arg, command, opt
from ._util import echo

FACTORY = "entlm_ner"
# What figures say of where they come from, if not from a test part.
CROSSVAL = "crossval"
# What a wheel of this package is built from.
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "project.yml")
FOLDERS = ("configs", "project/assets", "spacy_entlm")


@command("package")
def package_cli(
    pipeline: Path = arg("PIPELINE", "Folder of a trained pipeline"),
    out: Path = arg("OUT", "Folder for the wheels"),
    name: str = opt("entlm", "Name of the package"),
    version: str = opt("1.0.0", "Version of the package"),
    metrics: Optional[Path] = opt(None, "File of figures that `evaluate` wrote"),
    train: Optional[Path] = opt(
        None, "The .spacy file of the training examples, which the README counts"
    ),
    overwrite: bool = OVERWRITE,
) -> None:
    """Build a wheel of a pipeline, and one of spacy-entlm that it needs.

    A wheel is a file that pip can install. Its meta.json and README tell the figures of
    --metrics. Figures of the training itself are left out, since they may have been
    measured on the training examples.

    \b
    Example:
      python -m spacy entlm package model-last wheels --metrics metrics.json
    """
    name = _module_name(name)
    if not re.fullmatch(VERSION_PATTERN, version, re.VERBOSE | re.IGNORECASE):
        raise ValueError(f"--version is a version such as 1.0.0, not {version!r}")
    check_output_folder(out, source=pipeline, overwrite=overwrite)
    if not (pipeline / "meta.json").is_file():
        raise DataError("is no trained pipeline: it has no meta.json", path=pipeline)
    meta = read_json(pipeline / "meta.json")
    meta = _describe(meta, metrics, train, _labels(pipeline, meta))
    meta.update(name=name, version=version)
    with write_folder(out, overwrite=overwrite) as writing, temporary_folder() as ours:
        meta_path = ours / "meta.json"
        meta_path.write_bytes(dump_json(meta))
        # The wheel is built with what is installed: spaCy would fetch build tools.
        package(pipeline, ours, meta_path, create_sdist=False, silent=False)
        (folder,) = (path for path in ours.iterdir() if path.is_dir())
        _build_wheel(folder, writing)
        if not _build_own(ours / "own", writing):
            echo(f"The source of {DISTRIBUTION} is not here: without its wheel")
    wheels = [str(path) for path in sorted(out.glob("*.whl"))]
    echo(f"Wrote {out}. To install it:", f"pip install {join(wheels)}")


def _module_name(name: str) -> str:
    """A name that wheels and Python's modules may have, too: letters of ASCII, digits
    and underscores.
    RAISES (ValueError): If it has none of them."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    found = re.findall("[A-Za-z0-9]+", plain)
    if not found:
        raise ValueError(f"--name wants a letter from A to Z, not {name!r}")
    return "_".join(found)


def _labels(pipeline: Path, meta: Dict[str, Any]) -> List[str]:
    """The classes of the components `entlm_ner` of a pipeline."""
    config = load_config(pipeline / "config.cfg", interpolate=False)
    own = [
        name
        for name, component in config.get("components", {}).items()
        if component.get("factory") == FACTORY
    ]
    labels = meta.get("labels", {})
    return sorted({label for name in own for label in labels.get(name, ())})


def _describe(
    meta: Dict[str, Any],
    metrics: Optional[Path],
    train: Optional[Path],
    labels: Sequence[str] = (),
) -> Dict[str, Any]:
    """The meta data with the figures of the test part, or without any.
    labels (Sequence[str]): The classes that are found, with or without an example."""
    notes, performance = [], {}
    if train is not None:
        docs = read_docbin(train, spacy.blank(meta["lang"]))
        counts = Counter(ent.label_ for doc in docs for ent in doc.ents)
        classes = ", ".join(f"{label} {n}" for label, n in sorted(counts.items()))
        notes.append(
            f"Trained on {count_of(len(docs), 'sentences')}; entities: {classes}."
        )
        if unseen := [label for label in labels if label not in counts]:
            notes.append(
                f"Without any example: {', '.join(unseen)}. What is found of them is "
                "found by what their names say, and not measured."
            )
    figures = None if metrics is None else read_json(metrics)
    try:
        if figures is not None:
            bio = figures["bio"]
            performance = {f"ents_{key}": bio[key] for key in ("f", "p", "r")}
            performance["ents_per_type"] = bio["per_type"]
            n = figures["sentences"]
            where = f"on {count_of(n, 'test sentences')}"
            if figures.get("how") == CROSSVAL:
                where = f"in a cross-validation of {count_of(n, 'sentences')}"
            notes.append(
                f"Accuracy {where} with "
                f"{count_of(figures['n_entities'], 'entities')}, measured "
                f"{figures['date']}: F1 "
                f"{100 * bio['f']:.2f}, precision {100 * bio['p']:.2f}, recall "
                f"{100 * bio['r']:.2f}; F1 {100 * figures['io']['f']:.2f} where "
                f"neighbours of one class count as one entity."
            )
    except (KeyError, TypeError) as error:
        raise DataError("holds no figures of `evaluate`", path=metrics) from error
    if not performance:
        notes.append("How accurate it is was not measured.")
    return {**meta, "performance": performance, "notes": "\n\n".join(notes)}


def _build_own(folder: Path, out: Path) -> bool:
    """Build this package's wheel. RETURNS (bool): Whether its source is here."""
    source = Path(__file__).resolve().parents[2]
    if not (source / FILES[0]).is_file():
        try:
            noted = distribution(DISTRIBUTION).read_text("direct_url.json") or "{}"
        except PackageNotFoundError:
            return False
        url = urlsplit(json.loads(noted).get("url", ""))
        source = Path(url2pathname(url.path) if url.scheme == "file" else "")
    if source.suffix == ".whl" and source.is_file():
        shutil.copy(source, out)
        return True
    if not source.name or not (source / FILES[0]).is_file():
        return False
    # A copy: setuptools writes to the folder, and packs what an older build left.
    folder.mkdir()
    for name in FILES:
        shutil.copy(source / name, folder)
    for name in FOLDERS:
        shutil.copytree(source / name, folder / name)
    _build_wheel(folder, out)
    return True


def _build_wheel(folder: Path, out: Path) -> None:
    """Build the wheel of a folder, beside which all is written that pip writes: it may
    live longer than this process."""
    folder = folder.resolve()
    wheels, temporary = (folder.with_name(f"{folder.name}-{x}") for x in ("whl", "tmp"))
    temporary.mkdir()
    line = [sys.executable, "-m", "pip", "wheel", str(folder), "--quiet"]
    line += ["--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels)]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    if subprocess.run(line, check=False, env=environment).returncode:
        raise DataError("no wheel could be built: the lines above say why", path=folder)
    for wheel in wheels.iterdir():
        shutil.copy(wheel, out)
