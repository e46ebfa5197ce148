"""The rows of a masked LM for another vocabulary."""

from typing import Any, Dict, List

import torch
from torch.nn.functional import embedding_bag

from ..backbones.loading import prepare_tokenizer
from ..backbones.masked_lm import MaskedLM

# Settings of a model that name a piece, and the tokenizer's attribute with its id.
PIECE_SETTINGS = {
    "pad_token_id": "pad_token_id",
    "cls_token_id": "cls_token_id",
    "sep_token_id": "sep_token_id",
    "bos_token_id": "cls_token_id",
    "eos_token_id": "sep_token_id",
    "unk_token_id": "unk_token_id",
    "mask_token_id": "mask_token_id",
}


def replace_rows(masked_lm: MaskedLM, tokenizer: Any, sources: List[List[int]]) -> None:
    """Give a masked LM the rows of another vocabulary: of input embeddings, decoder,
    and decoder bias.

    masked_lm (MaskedLM): Changed in place.
    tokenizer (PreTrainedTokenizerFast): The tokenizer of the other vocabulary.
    sources (List[List[int]]): Per new piece, ids of the old ones whose mean is its row.
    """
    embeddings = masked_lm.body.get_input_embeddings()
    decoder = masked_lm.decoder
    # Rows that are shared are made once, and stay shared.
    old = [embeddings.weight, decoder.weight]
    if decoder.bias is not None:
        old.append(decoder.bias)
    new = {id(p): torch.nn.Parameter(_means(p.data, sources)) for p in old}
    for module in masked_lm.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if id(parameter) in new:
                setattr(module, name, new[id(parameter)])
    embeddings.num_embeddings = decoder.out_features = len(sources)
    if embeddings.padding_idx is not None:
        embeddings.padding_idx = tokenizer.pad_token_id
    set_pieces(masked_lm.body.config, tokenizer)
    prepare_tokenizer(tokenizer, "The changed tokenizer")
    masked_lm.tokenizer = tokenizer


def set_pieces(config: Any, tokenizer: Any) -> None:
    """Tell a model's configuration the size and the special pieces of a tokenizer."""
    config.vocab_size = len(tokenizer)
    known: Dict[str, Any] = config.to_dict()
    for setting, attribute in PIECE_SETTINGS.items():
        if known.get(setting) is not None:
            setattr(config, setting, getattr(tokenizer, attribute))


def _means(rows: torch.Tensor, sources: List[List[int]]) -> torch.Tensor:
    """rows: (n_old, width) or (n_old,). RETURNS: (n_new, width) or (n_new,)."""
    lengths = torch.tensor([len(ids) for ids in sources])
    flat = torch.tensor([piece_id for ids in sources for piece_id in ids])
    matrix = rows if rows.dim() == 2 else rows[:, None]
    means = embedding_bag(flat, matrix, torch.cumsum(lengths, 0) - lengths, mode="mean")
    return means if rows.dim() == 2 else means[:, 0]
