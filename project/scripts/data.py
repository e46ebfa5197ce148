"""Bring a folder of data into the form that the project's commands take.

    python project/scripts/data.py convert DATA OUT [--lang en]
    python project/scripts/data.py split DATA CORPUS OUT --shots 5 --split 1

DATA holds test.* and either train.* (from which samples are drawn) or {K}shot/{split}.*
(taken as they are), and may hold dev.*. Files are of any form that
`python -m spacy entlm convert` reads. Without a test part F1 is not measured.
"""

import shutil
from pathlib import Path
from typing import List, Optional

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc

from spacy_entlm.cli._util import echo_lines, one_line_errors
from spacy_entlm.corpus.formats import EXTENSIONS
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.corpus.sampling import sample_exact
from spacy_entlm.corpus.writers import write_docs
from spacy_entlm.files.errors import DataError
from spacy_entlm.files.file import write_file

app = typer.Typer(no_args_is_help=True, help=__doc__)
PARTS = ("train", "dev", "test")
ALL_SHOTS = "all"


@app.command()
def convert(data: Path, out: Path, lang: str = "en") -> None:
    """Convert the parts that DATA has into OUT/{train,dev,test}.spacy."""
    with one_line_errors():
        if not data.is_dir():
            raise DataError("is no folder with data (--vars.data)", path=data)
        if not any(data.iterdir()):
            raise DataError("is empty", path=data)
        if _find(data, "test") is None:
            echo_lines([f"{data} has no test part: F1 will not be measured"])
        nlp = spacy.blank(lang)
        out.mkdir(parents=True, exist_ok=True)
        for part in PARTS:
            source = _find(data, part)
            target = out / f"{part}.spacy"
            if source is not None:
                _write(_read(source, nlp), target)
            else:
                target.unlink(missing_ok=True)


@app.command()
def split(
    data: Path,
    corpus: Path,
    out: Path,
    shots: str = typer.Option("5", help="K, or all"),
    split: int = 1,
    lang: str = "en",
) -> None:
    """Write OUT/train.spacy with K entities a class (or all examples) and the dev part
    that training is watched on."""
    with one_line_errors():
        nlp = spacy.blank(lang)
        docs = _training_docs(data, corpus, shots, split, nlp)
        out.mkdir(parents=True, exist_ok=True)
        _write(docs, out / "train.spacy")
        dev = corpus / "dev.spacy"
        # Without a dev part the training is watched on its own examples: the test
        # part is for the end.
        with write_file(out / "dev.spacy") as temporary:
            shutil.copyfile(dev if dev.exists() else out / "train.spacy", temporary)


def _training_docs(
    data: Path, corpus: Path, shots: str, split: int, nlp: Language
) -> List[Doc]:
    pool = corpus / "train.spacy"
    if shots != ALL_SHOTS:
        given = _find(data / f"{shots}shot", str(split))
        if given is not None:
            return _read(given, nlp)
    if not pool.exists():
        raise DataError(
            f"has neither a train part ({_names('train')}) nor {shots}shot/{split}.*",
            path=data,
        )
    docs = _read(pool, nlp)
    return docs if shots == ALL_SHOTS else sample_exact(docs, int(shots), seed=split)


def _find(folder: Path, stem: str) -> Optional[Path]:
    found = [folder / f"{stem}{extension}" for extension in EXTENSIONS]
    found = [path for path in found if path.is_file()]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise DataError(f"has several files for one part ({names})", path=folder)
    return found[0] if found else None


def _names(stem: str) -> str:
    return ", ".join(f"{stem}{extension}" for extension in EXTENSIONS)


def _read(path: Path, nlp: Language) -> List[Doc]:
    docs, report = read_docs(path, nlp)
    echo_lines([f"{path}:", *report.lines()])
    return docs


def _write(docs: List[Doc], path: Path) -> None:
    with write_file(path) as temporary:
        write_docs(docs, temporary)
    entities = sum(len(doc.ents) for doc in docs)
    echo_lines([f"Wrote {path}: {len(docs)} sentences, {entities} entities"])


if __name__ == "__main__":
    app()
