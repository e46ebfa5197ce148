"""Pre-train the backbone further on the data's own text, or only record which one is
used.

    python project/scripts/pretrain.py DATA ANNOTATED OUT --backbone LM \\
        --pretrain true [--minutes 10] [--add-vocab 1000 --lexicon LEXICON]
    python project/scripts/pretrain.py DATA ANNOTATED OUT --backbone LM \\
        --pretrain names [--minutes 10] --lexicon LEXICON

OUT/backbone.json then names the backbone that later steps take: they are given that
file in place of a name. With `--pretrain true` it is OUT/backbone, pre-trained on
DATA/unlabeled.*, or else on the words of ANNOTATED/annotated.spacy. With `--pretrain
names` it lies in OUT/names, and has learned to say a label word at each name of the
lexicon in that text.
"""

import random
import shutil
from pathlib import Path
from typing import Any, Dict, List, Optional

import spacy
import typer
from spacy.tokens import DocBin
from words import ANNOTATED_FILE, LEXICON_FILE, run_spacy, write_chosen_words

from spacy_entlm.backbones.names import write_record
from spacy_entlm.cli._util import echo_lines, one_line_errors
from spacy_entlm.files.errors import DataError
from spacy_entlm.files.file import write_file

RECORD_FILE = "backbone.json"
MODEL_FOLDER = "backbone"
NAMES_FOLDER = "names"
YES, NO = ("true", "yes", "1"), ("false", "no", "0")
NAMES = "names"
# Sentences that two cores of a laptop learn names from in a minute, about, with a small
# backbone; and those that are kept to watch the training.
SENTENCES_A_MINUTE = 1000
WATCHED = 50
NAMES_BATCH = 32
# Figures of pretrain.json that the record repeats, so that later steps see a change.
RECORDED = ("run", "steps", "pieces_seen", "held_out_before", "held_out")


def main(
    data: Path,
    annotated: Path,
    out: Path,
    backbone: str = typer.Option(..., help="A folder or a hub name"),
    pretrain: str = typer.Option(
        "false", help="true: pre-train it further; names: let it learn the lexicon's"
    ),
    minutes: float = typer.Option(10.0, help="Time for the training (names: about)"),
    add_vocab: int = typer.Option(0, help="Words to add to its vocabulary"),
    lexicon: Optional[Path] = typer.Option(None, help="Folder of the lexicon step"),
    seed: int = 0,
    lang: str = "en",
    gpu_id: int = -1,
) -> None:
    """Write OUT/backbone.json, and the model if it is pre-trained further."""
    with one_line_errors():
        out.mkdir(parents=True, exist_ok=True)
        if pretrain.lower() == NAMES:
            text = _find_unlabeled(data)
            names = Names(text, annotated, lexicon, out / NAMES_FOLDER, lang)
            n_sentences = names.write(round(minutes * SENTENCES_A_MINUTE), seed)
            folder = names.learn(backbone, seed, gpu_id)
            facts = {"sentences": n_sentences, "seed": seed, "minutes": minutes}
            _record(out, name=backbone, folder=f"{NAMES_FOLDER}/{folder}", **facts)
            return
        if not _is_yes(pretrain):
            for name in (MODEL_FOLDER, NAMES_FOLDER):
                shutil.rmtree(out / name, ignore_errors=True)
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
        raise DataError(f"--vars.pretrain is true, false or names, not {value!r}")
    return value.lower() in YES


def _find_unlabeled(data: Path) -> Optional[Path]:
    from spacy_entlm.corpus.texts import is_text_file

    if not data.is_dir():
        raise DataError("is no folder with data (--vars.data)", path=data)
    found = [path for path in sorted(data.glob("unlabeled.*")) if is_text_file(path)]
    return found[0] if found else None


def _text(data: Path, annotated: Path) -> List[Path]:
    unlabeled = _find_unlabeled(data)
    if unlabeled is not None:
        return [unlabeled]
    words = annotated / ANNOTATED_FILE
    if not words.exists():
        raise DataError(
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


class Names:
    """Text in which a lexicon's names are marked, and what a backbone learns there."""

    def __init__(
        self,
        unlabeled: Optional[Path],
        annotated: Path,
        lexicon: Optional[Path],
        out: Path,
        lang: str,
    ) -> None:
        """unlabeled (Optional[Path]): Plain text; None: ANNOTATED/annotated.spacy is
        taken as it is. lexicon (Optional[Path]): Folder of the lexicon step.
        out (Path): Folder for all that is written."""
        self.unlabeled, self.out, self.lang = unlabeled, out, lang
        self.annotated = annotated / ANNOTATED_FILE
        self.lexicon = None if lexicon is None else lexicon / LEXICON_FILE

    def write(self, n_sentences: int, seed: int) -> int:
        """Write the sentences with names, some of them to watch the training.

        n_sentences (int): At most. seed (int): Of the choice.
        RETURNS (int): How many there are to learn from.
        """
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        source = self.annotated
        if self.unlabeled is not None and self.lexicon and self.lexicon.exists():
            source = self.out / "all.spacy"
            options = ["--join", "--stop-words", "auto", "--open", "--only-matches"]
            files = (self.lexicon, self.unlabeled, source)
            run_spacy("entlm", "annotate", *files, *options, "--lang", self.lang)
        if not source.exists():
            raise DataError("--vars.pretrain names needs a lexicon, and text for it")
        nlp = spacy.blank(self.lang)
        docs = list(DocBin().from_disk(source).get_docs(nlp.vocab))
        docs = [doc for doc in docs if doc.ents]
        if len(docs) < 2:
            raise DataError("the text has no sentence with a name of the lexicon")
        random.Random(seed).shuffle(docs)
        n_watched = min(WATCHED, len(docs) // 2)
        watched, learned = docs[:n_watched], docs[n_watched : n_watched + n_sentences]
        DocBin(docs=watched).to_disk(self.out / "dev.spacy")
        DocBin(docs=learned).to_disk(self.out / "train.spacy")
        return len(learned)

    def learn(self, backbone: str, seed: int, gpu_id: int) -> str:
        """Train the backbone to say a label word of its class at each name.

        backbone (str): A folder or a hub name.
        RETURNS (str): The folder of the new backbone, in that of the names.
        """
        words, train = self.out / "label_words.json", self.out / "train.spacy"
        options = ["--method", "data", "--lang", self.lang]
        write_chosen_words(train, words, backbone, options)
        settings: Dict[str, Any] = {
            **{"paths.train": train, "paths.dev": self.out / "dev.spacy"},
            **{"paths.label_words": words, "paths.backbone": backbone},
            **{"nlp.lang": self.lang, "system.seed": seed},
            **{"training.max_epochs": 1, "training.batcher.size": NAMES_BATCH},
            **{"training.eval_frequency": 250},
        }
        if gpu_id >= 0:  # on a CPU it may be many times slower
            settings["components.entlm_ner.model.mixed_precision"] = "true"
        given = [str(x) for name in settings for x in (f"--{name}", settings[name])]
        output = self.out / "pipeline"
        config = "configs/entlm.cfg"
        run_spacy("train", config, "--output", output, "--gpu-id", gpu_id, *given)
        return "pipeline/model-last/entlm_ner/model"


def _record(out: Path, **facts: Any) -> None:
    with write_file(out / RECORD_FILE) as temporary:
        write_record(temporary, **facts)


if __name__ == "__main__":
    typer.run(main)
