"""The command `sample`: exact K-shot sampling."""

import shutil
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, List, Optional

from spacy.tokens import Doc

from ..corpus.docs import OUTPUT_EXTENSIONS, write_docs
from ..corpus.reading_report import format_counts
from ..corpus.sampling import SamplingError, sample_exact
from ..files.counts import count_of
from ..files.errors import DataError
from ..files.file import check_extension, check_output, write_file
from ..files.folder import check_output_folder, write_folder
from . import _options as opts
from ._options import arg, command, flag, opt
from ._util import echo, load_docs

# Value of --shots for every example.
ALL = "all"
_SEED_HELP = (
    "The same seed gives the same sample; if TRAIN is a folder with a sample "
    "{K}shot/{seed}.*, this is taken"
)


@command("sample")
def sample_cli(
    train_path: Path = arg("TRAIN", "File that `convert` reads, or folder it wrote"),
    output_path: Path = opts.OUT,
    shots: str = opt("5", f"K, the entities of every class, or {ALL}"),
    seed: int = opt(1, _SEED_HELP),
    at_least: bool = flag("--at-least", "Take K entities, or a few more if need be"),
    keep_negatives: bool = flag(
        "--keep-negatives", "Also take sentences without entities"
    ),
    min_words: int = opt(0, "Leave out sentences of fewer words than this"),
    lang: str = opts.LANG,
    format: str = opts.FORMAT,
    overwrite: bool = opts.OVERWRITE,
) -> None:
    """Draw sentences that hold exactly K entities of every class.

    If TRAIN is a folder, OUT becomes a folder, too. It gets train.spacy (the sample)
    and dev.spacy (the dev part, or the sample if there is none). If there is no exact
    sample, at least K entities are drawn.

    \b
    Example:
      python -m spacy entlm sample train.spacy train-5shot.spacy --shots 5 --seed 1
      python -m spacy entlm sample corpus sample --shots 5
    """
    if not (shots == ALL or shots.isdigit()):
        raise DataError(f"--shots is a number or {ALL}, not {shots!r}")
    if at_least and (keep_negatives or min_words):
        raise DataError("--at-least goes with --shots and --seed only")
    is_folder, source = train_path.is_dir(), train_path
    given = train_path / f"{shots}shot" / f"{seed}.spacy"
    if is_folder:
        check_output_folder(output_path, source=train_path, overwrite=overwrite)
        source = given if given.is_file() else train_path / "train.spacy"
        if not source.is_file():
            hint = f"has neither a train part nor {shots}shot/{seed}.*: add one"
            raise DataError(hint, path=train_path)
    else:
        check_extension(output_path, OUTPUT_EXTENSIONS)
        check_output(output_path, source=train_path, overwrite=overwrite)
    docs, report = load_docs(source, lang, format)
    echo(*report.lines())
    if not (shots == ALL or source == given):
        exact = partial(
            sample_exact, keep_negatives=keep_negatives, min_words=min_words
        )
        rest = _long_enough(docs, min_words) if is_folder or at_least else None
        docs = _draw(docs, int(shots), seed, None if at_least else exact, rest)
    elif shots == ALL:
        docs = _long_enough(docs, min_words)
    if is_folder:
        dev = train_path / "dev.spacy"
        with write_folder(output_path, overwrite=overwrite) as writing:
            write_docs(docs, writing / "train.spacy")
            watched = dev if dev.is_file() else writing / "train.spacy"
            shutil.copyfile(watched, writing / "dev.spacy")
    else:
        with write_file(output_path, overwrite=overwrite) as temporary:
            write_docs(docs, temporary)
    counts = Counter(ent.label_ for doc in docs for ent in doc.ents)
    size = f"{count_of(len(docs), 'sentences')}, "
    size += count_of(counts.total(), "entities")
    echo(size, *format_counts(counts), f"Wrote {output_path}")


def _long_enough(docs: List[Doc], min_words: int) -> List[Doc]:
    """RAISES (DataError): If none is, or none with an entity of some class."""
    kept = [doc for doc in docs if len(doc) >= min_words]
    if not kept:
        raise DataError(f"no sentence has {min_words} words: lower --min-words")
    labels, left = ({e.label_ for doc in x for e in doc.ents} for x in (docs, kept))
    if lost := sorted(labels - left):
        what = f"no sentence of {min_words} words has {', '.join(lost)}"
        raise DataError(f"{what}: lower --min-words")
    return kept


def _draw(
    docs: List[Doc], shots: int, seed: int, exact: Any, rest: Optional[List[Doc]]
) -> List[Doc]:
    """exact: `sample_exact`, None: not at all. rest: What is drawn from if that fails;
    None: nothing."""
    told: List[str] = []
    try:
        if exact is not None:
            return exact(docs, shots, seed=seed)
    except SamplingError as error:
        if rest is None:
            raise
        less = ", and no sentence without entities"
        less = less if exact.keywords["keep_negatives"] else ""
        told = [str(error), f"So at least {shots} of every class are taken{less}"]
    from ..corpus.sampling import sample_at_least  # scipy takes a second

    drawn = list(sample_at_least(rest or [], shots, seed=seed))
    echo(*told)
    return drawn
