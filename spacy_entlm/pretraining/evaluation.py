"""How well a masked LM predicts text that it was not trained on."""

import math
import re
from typing import Any, Dict, Iterable, List, Tuple

import numpy as np
import torch
from tqdm import tqdm

from ..backbones.masked_lm import MaskedLM
from .batches import score_masked
from .pieces import hash_share
from .settings import MASK_SHARE

WORD = re.compile(r"\S+")


def evaluate(masked_lm: MaskedLM, lines: List[str], length: int) -> Dict[str, Any]:
    """Measure a masked LM on held-out lines, in float32. 15 % of the words are hidden
    as a whole, the same ones whatever the model and its vocabulary are.

    length (int): Pieces of a sequence.
    RETURNS: `loss`, the mean of the hidden pieces, in nats; `accuracy`, how many of
        them are the model's first choice; `perplexity`, of a piece;
        `perplexity_per_character` and `word_accuracy`, of words that are right as a
        whole, which compare models with different pieces. And the sizes.
    """
    sizes = {"lines": len(lines), "characters": sum(map(len, lines))}
    pieces, owners, letters = find_words(lines, masked_lm)
    hidden = owners >= 0
    sizes |= {"pieces": len(pieces), "masked_pieces": int(hidden.sum())}
    sizes |= {"masked_words": len(letters), "masked_characters": int(letters.sum())}
    if not hidden.any():
        return {**sizes, "loss": None}
    prefix, suffix = masked_lm.special_pieces()
    body = length - len(prefix) - len(suffix)
    device, mask_id = masked_lm.decoder.weight.device, masked_lm.tokenizer.mask_token_id
    losses, hits = np.zeros(len(pieces)), np.zeros(len(pieces), dtype=bool)
    was_training = masked_lm.training
    masked_lm.eval()
    try:
        starts = range(0, len(pieces), body)
        for start in tqdm(starts, "Measuring", leave=False, disable=None):
            read, masked = pieces[start : start + body], hidden[start : start + body]
            ids = [*prefix, *np.where(masked, mask_id, read), *suffix]
            places = np.flatnonzero(masked)
            with torch.inference_mode():
                at = torch.from_numpy(places + len(prefix)).to(device)
                scores = score_masked(masked_lm, torch.tensor([ids], device=device), at)
                log_probs = scores.float().log_softmax(-1).cpu().numpy()
            targets = read[places]
            losses[start + places] = -log_probs[range(len(places)), targets]
            hits[start + places] = log_probs.argmax(-1) == targets
    finally:
        masked_lm.train(was_training)
    loss = float(losses[hidden].mean())
    misses = np.bincount(owners[hidden], ~hits[hidden], len(letters))
    return {
        **sizes,
        "loss": loss,
        "accuracy": float(hits[hidden].mean()),
        "perplexity": math.exp(loss),
        "perplexity_per_character": math.exp(losses.sum() / letters.sum()),
        "word_accuracy": float((misses == 0).mean()),
    }


def find_words(
    lines: Iterable[str], masked_lm: MaskedLM
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose the words that are hidden: that depends on the lines alone.
    RETURNS: int64, pieces; for each of them the number of the word that is hidden with
    it, -1 for none; the characters of each such word."""
    backend, end = masked_lm.tokenizer.backend_tokenizer, masked_lm.special_pieces()[1]
    pieces: List[int] = []
    owners: List[int] = []
    letters: List[int] = []
    for line in lines:
        owner = np.full(len(line) + 1, -1)
        for number, match in enumerate(WORD.finditer(line)):
            if hash_share(f"{number} {line}") < MASK_SHARE:
                owner[match.start() : match.end()] = len(letters)
                letters.append(match.end() - match.start())
        encoding = backend.encode(line, add_special_tokens=False)
        pieces += [*encoding.ids, *end]
        # A piece belongs to the word of its last character: some begin with a blank.
        owners += [int(owner[stop - 1]) if stop else -1 for _, stop in encoding.offsets]
        owners += [-1] * len(end)
    return np.array(pieces, int), np.array(owners, int), np.array(letters, int)
