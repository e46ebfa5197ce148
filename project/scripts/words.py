"""Label words from what the data folder has: a lexicon, unlabeled text, label words.

    python project/scripts/words.py lexicon DATA OUT
    python project/scripts/words.py annotate DATA CORPUS LEXICON OUT [--lang en]
    python project/scripts/words.py search DATA ANNOTATED OUT --backbone LM [--lang en]

DATA may hold lexicon.*, unlabeled.* (else the words of the train part are annotated),
distant.* (text that is annotated already) and label_words.json, which then serves as it
is. What is not there is said, and training takes its label words from its examples.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, Optional

import srsly
import typer
from safetensors.numpy import load_file, save

from spacy_entlm.cli._util import atomic_output, echo_lines, one_line_errors
from spacy_entlm.corpus.errors import CorpusError
from spacy_entlm.label_words.choice import match_own, prefer_own
from spacy_entlm.label_words.search import DATA_LM
from spacy_entlm.label_words.words import LabelWords, read_label_words
from spacy_entlm.lexicon.readers import read_lexicon
from spacy_entlm.lexicon.writers import write_lexicon
from spacy_entlm.backbones.recommended import read_recommended

app = typer.Typer(no_args_is_help=True, help=__doc__)
LEXICON_FILE = "lexicon.jsonl"
ANNOTATED_FILE = "annotated.spacy"
LABEL_WORDS_FILE = "label_words.json"
LABEL_ROWS_FILE = "label_words.rows.safetensors"


@app.command()
def lexicon(data: Path, out: Path) -> None:
    """Bring DATA/lexicon.* into the one form, OUT/lexicon.jsonl."""
    with one_line_errors():
        target = _fresh(out, LEXICON_FILE)
        source = _find(data, "lexicon")
        if source is None:
            echo_lines([f"{data} has no lexicon.*"])
            return
        entries, report = read_lexicon(source)
        with atomic_output(target) as temporary:
            write_lexicon(entries, temporary)
        problems = report.problems()
        echo_lines([*problems, f"Wrote {target}: {len(entries):,} entries"])


@app.command()
def annotate(
    data: Path, corpus: Path, lexicon: Path, out: Path, lang: str = "en"
) -> None:
    """Annotate text with the lexicon, OUT/annotated.spacy."""
    with one_line_errors():
        target = _fresh(out, ANNOTATED_FILE)
        distant = _find(data, "distant")
        names = lexicon / LEXICON_FILE
        text = _find(data, "unlabeled") or corpus / "train.spacy"
        if distant is not None:
            _entlm("convert", distant, target, "--lang", lang)
        elif not names.exists():
            echo_lines(["No lexicon: nothing is annotated"])
        elif not text.exists():
            echo_lines([f"{data} has neither unlabeled.* nor a train part"])
        else:
            options = ["--stop-words", "auto", "--join", "--lang", lang]
            _entlm("annotate", names, text, target, *options)


@app.command()
def search(
    data: Path,
    annotated: Path,
    out: Path,
    backbone: str = typer.Option(...),
    method: str = "data-lm",
    lang: str = "en",
    gpu_id: int = -1,
) -> None:
    """Search label words in the annotated text, OUT/label_words.json."""
    with one_line_errors():
        target, rows = _fresh(out, LABEL_WORDS_FILE), _fresh(out, LABEL_ROWS_FILE)
        own: LabelWords = {}
        given, text = data / LABEL_WORDS_FILE, annotated / ANNOTATED_FILE
        if given.exists():
            read_label_words(given)
            with atomic_output(target) as temporary:
                shutil.copyfile(given, temporary)
            echo_lines([f"Label words from {given}"])
        elif text.exists():
            options = ["--method", method, "--backbone", backbone, "--lang", lang]
            if method == DATA_LM:  # few words are in both counts of a short text
                options.append("--smoothing")
            _entlm("search", text, target, *options, "--gpu-id", str(gpu_id))
            own = read_recommended(backbone).label_words
            _prefer_own(target, own)
        else:
            echo_lines(
                ["Label words will be taken from the examples, or are the backbone's"]
            )
        _keep_rows(rows, own)


def _keep_rows(path: Path, own: LabelWords) -> None:
    """Leave out rows of classes with words of the backbone. The file is always there,
    so that the config can name it."""
    found = load_file(path) if path.exists() else {}
    kept = {label: found[label] for label in found if not match_own([label], own)}
    path.write_bytes(save(kept))


def _prefer_own(path: Path, own: LabelWords) -> None:
    """Write the backbone's own label words over those that were found."""
    found = read_label_words(path)
    preferred = prefer_own(found, own)
    changed = [label for label in found if preferred[label] != found[label]]
    if changed:
        with atomic_output(path) as temporary:
            srsly.write_json(temporary, preferred)
        lines = [f"  {label} {', '.join(preferred[label])}" for label in changed]
        echo_lines(["Instead the words that the backbone learned with:", *lines])


def _entlm(*arguments: object) -> None:
    command = [sys.executable, "-m", "spacy", "entlm", *map(str, arguments)]
    status = subprocess.run(command, check=False).returncode
    if status:
        raise typer.Exit(status)


def _fresh(folder: Path, name: str) -> Path:
    """A file to be written, of which no older one is left."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).unlink(missing_ok=True)
    return folder / name


def _find(folder: Path, stem: str) -> Optional[Path]:
    if not folder.is_dir():
        raise CorpusError("is no folder with data (--vars.data)", path=folder)
    found: List[Path] = sorted(folder.glob(f"{stem}.*"))
    return found[0] if found else None


if __name__ == "__main__":
    app()
