"""The command `workbench`: a page to mark, train and correct on."""

from pathlib import Path
from typing import List, Optional

from ..backbones.names import ENTLM_BASE
from ..files.errors import DataError
from ..files.file import check_output
from ..files.folder import check_output_folder
from . import _options as opts
from ._options import arg, command, opt
from ._util import blank_pipeline, echo, load_lexicon


@command("workbench")
def workbench_cli(
    texts: Path = arg("TEXTS", "Plain text (.txt .jsonl .spacy), or a folder of data"),
    folder: Path = arg("DIR", "Folder of the workbench, new or an earlier one"),
    labels: Optional[str] = opt(None, "Classes, eg PER,ORG; more on the page"),
    lexicon: Optional[Path] = opt(None, "Names that pre-mark: what `lexicon` reads"),
    map_: Optional[List[str]] = opts.MAP,
    label: Optional[str] = opts.LABEL,
    case: str = opts.CASE,
    lang: str = opts.LANG,
    backbone: str = opt(ENTLM_BASE, "A folder, or a name on the hub"),
    port: int = opt(8900, "On this machine; 0: any that is free", min=0, max=65535),
    seed: int = opt(0, "Of the draw of the test part", min=0),
) -> None:
    """Open a page in the browser on which you mark, train and correct.

    All that you do lies in DIR at once. The same command comes back to it, and adds
    texts that are new. `data` in DIR, which the page writes, is a folder of data.
    Without --labels the labels of the lexicon are the classes.

    \b
    Example:
      python -m spacy entlm workbench texts.txt my_workbench --labels PER,ORG
    """
    from ..workbench.docs import read_any
    from ..workbench.names import keep_names
    from ..workbench.runs import FILE, LOOK, Runs
    from ..workbench.server import serve  # its error says which extra is missing
    from ..workbench.store import Store

    if not texts.exists():
        raise DataError("no such file or folder: check the path", path=texts)
    if not (folder / FILE).exists():
        check_output_folder(folder, source=texts, overwrite=False)
    check_output(folder / FILE, source=texts)
    nlp = blank_pipeline(lang)
    names = load_lexicon(lexicon, "auto", label, map_)[0] if lexicon else []
    new = list(read_any(texts, nlp, echo))
    if not new:
        raise DataError("holds no text", path=texts)
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder / FILE)
    store.setting("lang", lang)
    store.setting("backbone", backbone)
    for label in (labels or "").split(","):
        if label.strip():
            store.add_class(label, given=True)
    echo(f"{store.add_texts(new, seed=seed):,} new texts in {folder}")
    if names:
        echo(f"{keep_names(store, names, case):,} names pre-mark")
    counts, runs = store.counts(), Runs(folder.resolve())
    if store.classes() and not counts["train"] and runs.latest() is None:
        runs.begin(LOOK)
    echo("Open this address in a browser; end with Ctrl-C:")
    serve(runs, port)
