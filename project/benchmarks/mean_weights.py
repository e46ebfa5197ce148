"""The mean of two masked LMs of one architecture, with the rows of their classes.

    python project/benchmarks/mean_weights.py names-lm/model-last/entlm_ner/model \
        entlm-mini OUT --share 0.5

What a model learned and what it forgot in learning are both halved: such a mean is
often better than either (WiSE-FT: Wortsman et al., "Robust fine-tuning of zero-shot
models", CVPR 2022).

A model that learned "team" beside ORG says that at a team, but who asks for ORG alone
means teams, too: `--below` moves the rows of broad classes towards those below them.
"""

from pathlib import Path
from typing import List

import torch
import typer

from spacy_entlm.backbones.recommended import LABEL_WORDS_KEY, read_recommended
from spacy_entlm.label_words.rows import Rows
from spacy_entlm.model.base import get_label_model
from spacy_entlm.model.entlm import build_entlm_v1
from spacy_entlm.model.windows import doc_spans
from spacy_entlm.pretraining.folder import check_model_folder, write_model
from spacy_entlm.pretraining.report import describe_backbone, recommendations

# Broad classes, and classes that are kinds of them.
KINDS = {
    "PER": "politician athlete actor musician writer scientist journalist director "
    "artist king researcher",
    "ORG": "company team agency university school bank party band newspaper hospital",
    "LOC": "city country region island river lake mountain water street",
}
# Broad classes that no text was marked with: label words of their own, and kinds.
MADE_OF = {
    "GPE": ("state territory", "LOC country city region"),
    "FAC": ("facility structure", "building airport street stadium museum church"),
}


@torch.no_grad()
def main(
    learned: str,
    other: str,
    out: Path,
    share: float = 0.5,
    below: float = 0.0,
    keep: bool = False,
    classes: str = "",
    overwrite: bool = False,
) -> None:
    """Write the mean of two models as a backbone.

    learned (str): A backbone that brings label words and rows: its classes are those
        of the mean. other (str): Another one; where it has no row of a class, the mean
        of the words' stands for it.
    out (Path): The folder to be. share (float): Of the first model.
    below (float): Share that the mean of its kinds has in a broad class's row; if there
        is one, further broad classes are made of theirs.
    keep (bool): The classes are those of both, and a row that only one of them has
        stays as it is.
    classes (str): Those whose rows change, all other rows stay as the other model has
        them; empty: all change.
    overwrite (bool): Whether a model may be replaced.
    """
    check_model_folder(out, overwrite=overwrite)
    words = read_recommended(learned).label_words
    known = words, read_recommended(other).label_words
    if keep:
        words = {**known[1], **known[0]}
    networks = []
    for name in (learned, other):
        model = build_entlm_v1(name, doc_spans)
        model.initialize()
        view = get_label_model(model)
        view.add_labels(words, learned=read_recommended(name))
        networks.append(view.network)
    ours, theirs = networks
    other_weights = dict(theirs.masked_lm.named_parameters())
    for key, weights in ours.masked_lm.named_parameters():  # those that are tied once
        weights.lerp_(other_weights[key], 1 - share)
    a, b = ours.label_rows, theirs.label_rows
    both = [x.lerp(y, 1 - share) for x, y in ((a.weight, b.weight), (a.bias, b.bias))]
    if keep:
        changed = classes.split() or list(words)
        for row, label in enumerate(words):
            if label not in known[1]:
                both[0][row], both[1][row] = a.weight[row], a.bias[row]
            elif label not in known[0] or label not in changed:
                both[0][row], both[1][row] = b.weight[row], b.bias[row]
    if below:
        both = [broadened(part, list(words), below) for part in both]
        words = {**words, **{label: made[0].split() for label, made in MADE_OF.items()}}
    rows = Rows(*both)
    names = [describe_backbone(name)["backbone"] for name in (learned, other)]
    facts = {"mean_of": dict(zip(names, (share, 1 - share)))}
    report = {**facts, **recommendations(other), LABEL_WORDS_KEY: words}
    write_model(ours.masked_lm, report, out, rows)
    print(f"Wrote {out}")


def broadened(rows: torch.Tensor, labels: List[str], share: float) -> torch.Tensor:
    """Rows or biases of classes: those of `KINDS` moved, those of `MADE_OF` added."""

    def mean(kinds: str) -> torch.Tensor:
        return rows[[labels.index(kind) for kind in kinds.split()]].mean(0)

    moved = rows.clone()
    for broad, kinds in KINDS.items():
        at = labels.index(broad)
        moved[at] = rows[at].lerp(mean(kinds), share)
    return torch.cat([moved, *(mean(kinds)[None] for _, kinds in MADE_OF.values())])


if __name__ == "__main__":
    typer.run(main)
