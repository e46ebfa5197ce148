"""The command `workbench`: a page to mark, train and correct on."""

import sys
from pathlib import Path
from typing import List, Optional

import typer
from spacy.language import Language

from ..files.counts import count_of
from ..files.errors import DataError
from ..files.file import check_output
from ..files.folder import check_output_folder
from ..pipeline.loading import blank_pipeline
from . import _options as opts
from ._classes import names_in
from ._options import arg, command, opt
from ._util import echo, load_lexicon


@command("workbench", stopped=None)
def workbench_cli(
    texts: Path = arg("TEXTS", "Texts, annotated or not, or a folder of data"),
    folder: Path = arg("DIR", "Folder of the workbench, new or an earlier one"),
    labels: Optional[str] = opt(None, "Classes, eg person,city; more on the page"),
    split: Optional[str] = opt(
        None, "How long texts are shown: documents, paragraphs or sentences"
    ),
    lexicon: Optional[Path] = opt(
        None, "List of names that are marked before you begin"
    ),
    map_: Optional[List[str]] = opts.MAP,
    label: Optional[str] = opts.LABEL,
    case: str = opts.CASE,
    format: str = opts.FORMAT,
    columns: Optional[str] = opts.COLUMNS,
    tags: Optional[str] = opt(
        None, "Names of tags that TEXTS give as numbers, from 0, eg O,B-PER,I-PER"
    ),
    lang: str = opts.LANG,
    backbone: str = opts.BACKBONE,
    port: int = opt(
        8900, "Port of this machine; 0: any that is free", min=0, max=65535
    ),
    seed: int = opt(0, "Seed of the draw of the test part", min=0),
) -> None:
    """Open a page in the browser on which you mark, train and correct.

    The names of the classes are enough to begin: what is found by them is suggested.
    All that you do is saved in DIR at once. If you call the same command again, you go
    on where you were, and new texts are added. The page writes a folder of data to
    `data` in DIR. Without --labels, the labels of the lexicon are the classes. TEXTS
    may be annotated in any form that `convert` reads.

    \b
    Example:
      python -m spacy entlm workbench texts.txt my_workbench --labels person,city
    """
    from ..workbench.names import keep_names
    from ..workbench.reading import Texts
    from ..workbench.runs import FILE, KILLED, STOPPED, Runs
    from ..workbench.server import listen, serve  # its error says what is missing
    from ..workbench.store import Store

    if not texts.exists():
        raise DataError("no such file or folder: check the path", path=texts)
    is_there = (folder / FILE).exists()
    if not is_there:
        check_output_folder(folder, source=texts, overwrite=False)
    check_output(folder / FILE, source=texts)
    listen(port).close()  # a port that is taken is told before any work
    nlp = blank_pipeline(lang)
    names = load_lexicon(lexicon, "auto", label, map_)[0] if lexicon else []
    known = Store(folder / FILE).setting("split", "") if is_there else ""
    unit = split or known or _asked(texts, nlp)
    numbered = names_in(tags)
    reader = Texts(nlp, unit, echo, format=format, columns=columns, labels=numbered)
    new = list(reader.read(texts))
    if not new:
        raise DataError("holds no text", path=texts)
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder / FILE)
    store.setting("lang", lang)
    store.setting("backbone", backbone)
    store.set_setting("split", reader.unit or "")
    for label in names_in(labels):
        store.add_class(label, given=True)
    if reader.n_long:
        long = count_of(reader.n_long, "long texts")
        echo(
            f"{long} will be shown in {reader.n_parts:,} parts; another --split, such "
            "as documents, shows the texts of a new workbench whole"
        )
    first, *others = store.add_texts(new, seed=seed).lines()
    echo(f"{first} in {folder}", *others)
    if names:
        echo(f"{count_of(keep_names(store, names, case), 'names')} to mark with")
    runs = Runs(folder.resolve())
    runs.look_again((STOPPED, KILLED))
    runs.look()
    serve(runs, port)


def _asked(texts: Path, nlp: Language) -> Optional[str]:
    """How long texts are to be shown, as a person answers; None if nobody is there."""
    from ..workbench.reading import SENTENCES, UNITS, count_long

    if not is_asked() or not (n := count_long(texts, nlp)):
        return None
    what = "1 text is" if n == 1 else f"{n:,} texts are"
    question = f"{what} longer than 60 words. Show as {', '.join(UNITS)}"
    while True:
        answer = typer.prompt(question, default=SENTENCES).strip().lower()
        if answer in UNITS:
            return answer


def is_asked() -> bool:
    """Whether a person sits at a terminal, who can be asked."""
    return sys.stdin.isatty()
