"""The command `debug`: what a training would see."""

from collections import Counter
from pathlib import Path
from typing import Any, List

import typer
from spacy.cli._util import parse_config_overrides, show_validation_error
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import load_config, registry

from ..corpus.docs import unread_spans
from ..corpus.reading_report import UNREAD_SPANS
from ..decoding.lines import BROKEN, broken_entities
from ..files.counts import count_of
from ..files.errors import DataError
from ..files.text import check_file
from ..model.reading import read_windows
from ..pipeline.examples import annotated_copies, annotating_pipes
from ..training.check import ENTLM_FACTORY, entlm_pipes, training_examples
from ._options import CONFIG, command
from ._util import echo

# The learning rate of the config is worth a word if it is off by this factor.
FAR_OFF = 2.5
_DOCBIN = ".spacy"


@command("debug", overrides=True)
def debug_cli(ctx: typer.Context, config_path: Path = CONFIG) -> None:
    """Show what a training with this config would see: label words with their pieces,
    the number of entities of each class, and which entities are cut off or do not fit
    the words of the tokenizer.

    \b
    Example:
      python -m spacy entlm debug configs/entlm.cfg --paths.train train.spacy
    """
    check_file(config_path)
    overrides = parse_config_overrides(ctx.args)
    with show_validation_error(config_path, hint_fill=False):
        config = load_config(config_path, overrides=overrides, interpolate=False)
        paths = config.get("paths", {})
        if isinstance(train := paths.get("train"), str):
            _check_corpus(Path(train))
        if paths.get("dev") is None:  # not looked at here, but spaCy wants one
            paths["dev"] = paths.get("train")
        nlp = init_nlp(config)
    examples = list(training_examples(nlp))
    names = entlm_pipes(nlp)
    if not names:
        raise DataError(f"has no {ENTLM_FACTORY} component", path=config_path)
    for name in names:
        echo(*describe(nlp, name, examples))


def _check_corpus(path: Path) -> None:
    """RAISES (DataError): If spaCy's reader would find no Docs, which it leaves at a
    warning."""
    is_empty_folder = path.is_dir() and not any(path.rglob(f"*{_DOCBIN}"))
    if is_empty_folder or (path.is_file() and path.suffix != _DOCBIN):
        out = path.with_suffix(_DOCBIN).name
        raise DataError(
            f"`spacy train` and this command read {_DOCBIN} files: make one with "
            f"`python -m spacy entlm convert {path} {out}`",
            path=path,
        )


def describe(nlp: Language, name: str, examples: List[Example]) -> List[str]:
    """What a component of an initialised pipeline would learn from examples, in lines
    for people."""
    pipe: Any = nlp.get_pipe(name)
    examples = annotated_copies(examples, annotating_pipes(nlp, name))
    entities: Counter[str] = Counter()
    misaligned: Counter[str] = Counter()
    for eg in examples:
        ents = eg.reference.ents
        aligned = {(e.start_char, e.end_char) for e in eg.get_aligned_spans_y2x(ents)}
        lost = [e for e in ents if (e.start_char, e.end_char) not in aligned]
        entities.update(e.label_ for e in ents)
        misaligned.update(e.label_ for e in lost)
    classes = count_of(len(pipe.labels), "classes")
    lines = [f"Component {name}: {classes}, {count_of(len(examples), 'examples')}"]
    for label, words in pipe.label_data.items():
        shown = [_with_pieces(pipe, word) for word in words]
        lines.append(f"  {label}: {count_of(entities[label], 'entities')}")
        lines.append(f"    label words: {', '.join(shown)}")
        if misaligned[label]:
            lines.append(f"    misaligned with the tokens: {misaligned[label]}")
    if unknown := sorted(set(entities) - set(pipe.labels)):
        lines.append(f"  Labels of the examples that are no class: {unknown}")
    lines += _unread_lines(pipe, [eg.reference for eg in examples])
    docs = [eg.predicted for eg in examples]
    windows = read_windows(docs, pipe.network.pieces, pipe.layer.attrs["reading"])
    longest = int(windows.sizes.max(initial=0))
    counted = f"{len(windows.sizes)} for {count_of(len(examples), 'texts')}"
    return [
        *lines,
        f"  Windows: {counted}, the longest of {longest} pieces",
        f"  Words cut for their many pieces: {windows.n_cut}",
        f"  Words without a piece: {int((windows.word_rows < 0).sum())}",
        *_learn_rate_lines(nlp, pipe),
    ]


def _unread_lines(pipe: Any, docs: List[Doc]) -> List[str]:
    """Marks of the examples that cannot be learned, or not as they are."""
    lines = []
    if unread := [spans[0] for doc in docs if (spans := unread_spans(doc))]:
        lines.append(f"  {UNREAD_SPANS}: {len(unread)}, eg {unread[0]}")
    over = getattr(pipe.decoder, "lines", None)
    allowed = [x for i, x in enumerate(pipe.labels) if over is None or over.allows(i)]
    if broken := broken_entities(docs, allowed):
        lines.append(f"  {BROKEN}: {len(broken)}, eg {broken[0]}")
    return lines


def _with_pieces(pipe: Any, word: str) -> str:
    pieces = pipe.network.word_pieces(word)
    shown = f"{word} [{' '.join(pieces) or 'not in the vocabulary'}]"
    return word if pieces == [word] else shown


def _learn_rate_lines(nlp: Language, pipe: Any) -> List[str]:
    training = nlp.config.interpolate()["training"]
    optimizer = registry.resolve({"optimizer": training["optimizer"]})["optimizer"]
    rate = optimizer.learn_rate
    suits = pipe.learn_rate
    lines = [f"  Learning rate: {rate:g}; suits the backbone: {suits:g}"]
    if not suits / FAR_OFF <= rate <= suits * FAR_OFF:
        lines.append("    far off: see configs/entlm.cfg for the schedule that fits")
    if optimizer.grad_clip or optimizer.L2:
        advice = "should be 0: the component clips the global gradient norm itself"
        lines.append(f"    grad_clip and L2 of the optimizer {advice}")
    return lines
