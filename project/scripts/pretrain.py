"""Pre-train the backbone further on the data's own text, or only record which one is
used.

    python project/scripts/pretrain.py DATA ANNOTATED OUT --backbone LM \\
        --pretrain true [--minutes 10] [--add-vocab 1000 --lexicon LEXICON]

OUT/backbone.json then names the backbone that later steps take: they are given that
file in place of a name. With `--pretrain true` it is OUT/backbone, pre-trained on
DATA/unlabeled.*, or else on the words of ANNOTATED/annotated.spacy.
"""

import shutil
from pathlib import Path
from typing import Any, Dict, List, Optional

import typer

from spacy_entlm.cli._util import atomic_output, echo_lines, one_line_errors
from spacy_entlm.corpus.errors import CorpusError
from spacy_entlm.model.backbones import write_record

RECORD_FILE = "backbone.json"
MODEL_FOLDER = "backbone"
ANNOTATED_FILE = "annotated.spacy"
LEXICON_FILE = "lexicon.jsonl"
YES, NO = ("true", "yes", "1"), ("false", "no", "0")
# Figures of pretrain.json that the record repeats, so that later steps see a change.
RECORDED = ("run", "steps", "pieces_seen", "held_out_before", "held_out")


def main(
    data: Path,
    annotated: Path,
    out: Path,
    backbone: str = typer.Option(..., help="A folder or a hub name"),
    pretrain: str = typer.Option("false", help="true: pre-train it further"),
    minutes: float = typer.Option(10.0, help="Time for the training"),
    add_vocab: int = typer.Option(0, help="Words to add to its vocabulary"),
    lexicon: Optional[Path] = typer.Option(None, help="Folder of the lexicon step"),
    seed: int = 0,
) -> None:
    """Write OUT/backbone.json, and OUT/backbone if it is pre-trained further."""
    with one_line_errors():
        out.mkdir(parents=True, exist_ok=True)
        if not _is_yes(pretrain):
            shutil.rmtree(out / MODEL_FOLDER, ignore_errors=True)
            _record(out, name=backbone)
            echo_lines([f"The backbone is {backbone}"])
            return
        settings: Dict[str, Any] = {"minutes": minutes, "seed": seed}
        if add_vocab:
            names = [] if lexicon is None else [lexicon / LEXICON_FILE]
            settings["add_vocab"] = add_vocab
            settings["lexicon"] = [str(path) for path in names if path.exists()]
        report = _pretrain(_text(data, annotated), out, backbone, settings)
        facts = {key: report[key] for key in RECORDED if key in report}
        _record(out, name=backbone, folder=MODEL_FOLDER, **facts)


def _is_yes(value: str) -> bool:
    if value.lower() not in (*YES, *NO):
        raise CorpusError(f"--vars.pretrain is true or false, not {value!r}")
    return value.lower() in YES


def _text(data: Path, annotated: Path) -> List[Path]:
    from spacy_entlm.pretraining.text import is_text_file

    if not data.is_dir():
        raise CorpusError("is no folder with data (--vars.data)", path=data)
    found = [path for path in sorted(data.glob("unlabeled.*")) if is_text_file(path)]
    if found:
        return found[:1]
    words = annotated / ANNOTATED_FILE
    if not words.exists():
        raise CorpusError(
            "has neither unlabeled.* (.txt, .jsonl, packed or not, .spacy) nor a "
            "lexicon: there is no text to pre-train on",
            path=data,
        )
    return [words]


def _pretrain(
    text: List[Path], out: Path, backbone: str, settings: Dict[str, Any]
) -> Dict[str, Any]:
    from spacy_entlm.pretraining.run import Pretraining
    from spacy_entlm.pretraining.settings import Settings

    def echo(line: str) -> None:
        echo_lines([line])

    pretraining = Pretraining(
        text=text,
        out=out / MODEL_FOLDER,
        backbone=backbone,
        settings=Settings(**settings),
        echo=echo,
    )
    # A run that was killed goes on; a model of an earlier one is replaced.
    return pretraining.run(resume=True, overwrite=True)


def _record(out: Path, **facts: Any) -> None:
    with atomic_output(out / RECORD_FILE) as temporary:
        write_record(temporary, **facts)


if __name__ == "__main__":
    typer.run(main)
