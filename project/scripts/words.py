"""Label words from what the data folder has: a lexicon, unlabeled text, label words.

    python project/scripts/words.py lexicon DATA OUT
    python project/scripts/words.py annotate DATA CORPUS LEXICON OUT [--lang en]
    python project/scripts/words.py search DATA ANNOTATED OUT --backbone LM [--lang en]

DATA may hold lexicon.*, unlabeled.* (else the words of the train part are annotated),
distant.* (text that is annotated already) and label_words.json, which then serves as it
is. What is not there is said, and training takes its label words from its examples.
"""

import functools
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, Optional

import srsly
import typer
from safetensors.numpy import load_file, save
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_entlm.backbones.recommended import read_recommended
from spacy_entlm.cli._util import echo_lines, one_line_errors
from spacy_entlm.evaluation.label_words.report import report_path
from spacy_entlm.files.errors import DataError
from spacy_entlm.files.file import write_file
from spacy_entlm.label_words.choice import choose_label_words
from spacy_entlm.label_words.search import DATA_LM
from spacy_entlm.label_words.words import LabelWords, read_label_words
from spacy_entlm.lexicon.readers import read_lexicon
from spacy_entlm.lexicon.writers import write_lexicon

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
        with write_file(target) as temporary:
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
            run_spacy("entlm", "convert", distant, target, "--lang", lang)
        elif not names.exists():
            echo_lines(["No lexicon: nothing is annotated"])
        elif not text.exists():
            echo_lines([f"{data} has neither unlabeled.* nor a train part"])
        else:
            options = ["--stop-words", "auto", "--join", "--lang", lang]
            run_spacy("entlm", "annotate", names, text, target, *options)


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
    """Choose label words for the annotated text's classes, OUT/label_words.json."""
    with one_line_errors():
        target, rows = _fresh(out, LABEL_WORDS_FILE), _fresh(out, LABEL_ROWS_FILE)
        _fresh(out, report_path(target).name)
        searched: List[str] = []
        given, text = data / LABEL_WORDS_FILE, annotated / ANNOTATED_FILE
        if given.exists():
            read_label_words(given)
            with write_file(target) as temporary:
                shutil.copyfile(given, temporary)
            echo_lines([f"Label words from {given}"])
        elif text.exists():
            options = ["--method", method, "--lang", lang, "--gpu-id", str(gpu_id)]
            if method == DATA_LM:  # few words are in both counts of a short text
                options.append("--smoothing")
            searched = write_chosen_words(text, target, backbone, options)
        else:
            echo_lines(
                ["Label words will be taken from the examples, or are the backbone's"]
            )
        _keep_rows(rows, searched)


def write_chosen_words(
    text: Path, target: Path, backbone: str, options: List[str]
) -> List[str]:
    """Write the label words of a text's classes: the backbone's own, and for others
    those that `search` finds in the text.

    text (Path): Annotated .spacy file. target (Path): The JSON file.
    backbone (str): A folder, a hub name, or a record of one.
    options (List[str]): Of the command `search`, which runs once if at all.
    RETURNS (List[str]): The classes whose words were searched.
    RAISES (DataError): If the text has no entity.
        (ValueError): If what the backbone brings cannot be read.
        (typer.Exit): If the search fails.
    """
    docs = DocBin().from_disk(text).get_docs(Vocab())
    labels = dict.fromkeys(ent.label_ for doc in docs for ent in doc.ents)
    if not labels:
        raise DataError("no entity in it: annotate it first", path=text)
    searched: List[str] = []

    @functools.cache
    def all_found() -> LabelWords:
        run_spacy("entlm", "search", text, target, "--backbone", backbone, *options)
        return read_label_words(target, tags=False)

    def search(classes: List[str]) -> LabelWords:
        searched.extend(classes)
        return {label: all_found().get(label, []) for label in classes}

    wanted: LabelWords = {label: [] for label in labels}
    own = read_recommended(backbone).label_words
    chosen = choose_label_words(wanted, own, search)
    with write_file(target) as temporary:
        srsly.write_json(temporary, chosen)
    used = {label: chosen[label] for label in chosen if label not in searched}
    _say_own(used, alone=not searched)
    return searched


def _say_own(words: LabelWords, *, alone: bool) -> None:
    """Print the words that are the backbone's. alone (bool): Whether all are."""
    if words:
        end = ": nothing is searched" if alone else ", which are taken"
        lines = [f"  {label} {', '.join(words[label])}" for label in words]
        names = ", ".join(words)
        echo_lines([f"The backbone has words of its own for {names}{end}", *lines])


def _keep_rows(path: Path, searched: List[str]) -> None:
    """Leave out rows of classes whose words were not searched. The file is always
    there, so that the config can name it."""
    found = load_file(path) if path.exists() else {}
    kept = {label: found[label] for label in found if label in searched}
    path.write_bytes(save(kept))


def run_spacy(*arguments: object) -> None:
    """Run a command of spaCy in a process of its own.

    RAISES (typer.Exit): With its exit status, if it fails.
    """
    command = [sys.executable, "-m", "spacy", *map(str, arguments)]
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
        raise DataError("is no folder with data (--vars.data)", path=folder)
    found: List[Path] = sorted(folder.glob(f"{stem}.*"))
    return found[0] if found else None


if __name__ == "__main__":
    app()
