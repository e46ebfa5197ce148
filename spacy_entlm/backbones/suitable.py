"""What suits a backbone: the learning rate, how near its weights stay, by how much
labels have to win in training, and the least confidence of an entity."""

import logging
import math
from typing import Optional

from .names import resolve_backbone
from .recommended import reads_names, recommended_rate

logger = logging.getLogger("spacy.entlm")

# The paper's learning rate, and the width of the model it was chosen for.
PAPER_LEARN_RATE = 1e-4
PAPER_WIDTH = 768
# Half the width wants three times the rate: measured on wikigold at width 384.
WIDTH_EXPONENT = math.log2(3)
HIGHEST_LEARN_RATE = 1e-3
# Of a backbone that makes rows from names, which has something to lose in a training
# (benchmarks/RESULTS.md).
START_PULL = 1.2
# Of labels that started from their names, in training: else holding weights near to
# where they began would cost recall (benchmarks/RESULTS.md).
LABEL_MARGIN = 0.75
# Of an entity, where classes started from their names. What is right less often than
# half of F1 costs F1 (Lipton et al., 2014).
LEAST_CONFIDENCE = 0.3


def suitable_learn_rate(backbone: Optional[str], width: Optional[int] = None) -> float:
    """The initial learning rate that suits a backbone: what its folder's
    pretrain.json says, or else a rule by its width.

    backbone (Optional[str]): As the component's setting `name`; empty: there is none.
    width (Optional[int]): Of its features; None: what its configuration says.
    RETURNS (float): 1e-4 at width 768 (the paper), 3e-4 at 384.
    """
    if not backbone:
        return PAPER_LEARN_RATE
    backbone = resolve_backbone(backbone)
    recommended = recommended_rate(backbone)
    if recommended is not None:
        return recommended
    if width is not None:
        return learn_rate_for_width(width)
    from .loading import backbone_width  # with PyTorch, which prediction may lack

    try:
        return learn_rate_for_width(backbone_width(backbone))
    except Exception as err:  # a trained pipeline may no longer have its backbone
        problem = "Learning rate %g (the paper's): the width of %r is not known (%s)"
        logger.warning(problem, PAPER_LEARN_RATE, backbone, type(err).__name__)
        return PAPER_LEARN_RATE


def learn_rate_for_width(width: int) -> float:
    """The rule: 1e-4 * (768 / width) ** log2(3), at most 1e-3."""
    rate = PAPER_LEARN_RATE * (PAPER_WIDTH / width) ** WIDTH_EXPONENT
    return min(rate, HIGHEST_LEARN_RATE)


def suitable_start_pull(backbone: Optional[str]) -> float:
    """How strongly weights are held near to those of the backbone (`start_pull` of
    `spacy-entlm.Adam.v1`): 0 for one that makes no rows from names."""
    return START_PULL if backbone and reads_names(backbone) else 0.0
