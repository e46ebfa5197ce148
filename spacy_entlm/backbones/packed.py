"""Word embeddings that stay in 4 bits in memory, as they are stored (compact.py): rows
are unpacked where they are looked up, and have the same values as in float32."""

from typing import Any, Optional, Tuple

import torch

from .compact import BLOCK, BLOCK_BYTES

# Rows that are unpacked at once: what lies between fits the caches.
CHUNK_ROWS = 4096


class PackedRows(torch.nn.Module):
    """A matrix of packed rows, in the place of `torch.nn.Embedding` and of a weight.
    They do not learn.

    packed (Tensor): uint8 (n, width / 32 * 18), as of `pack_q4`.
    padding_idx (Optional[int]): As of `torch.nn.Embedding`.
    """

    packed: torch.Tensor
    # As of a weight.
    requires_grad = False

    def __init__(self, packed: torch.Tensor, padding_idx: Optional[int] = None):
        super().__init__()
        self.register_buffer("packed", packed)
        self.padding_idx = padding_idx

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Rows, float32 (..., width). ids: int64 (...)."""
        return self[ids]

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, some: Any) -> torch.Tensor:
        """Rows, float32 (..., width), in new memory. some: A slice, or ids."""
        packed = self.packed[some]
        blocks = packed.unflatten(-1, (-1, BLOCK_BYTES))
        scale = blocks[..., :2].contiguous().view(torch.float16).float()
        halves = blocks[..., 2:]
        values = torch.cat([halves & 15, halves >> 4], dim=-1).float()
        return values.sub_(8).mul_(scale).flatten(-2)

    @property
    def shape(self) -> Tuple[int, int]:
        """Number of rows, and their width."""
        n, n_bytes = self.packed.shape
        return n, n_bytes // BLOCK_BYTES * BLOCK

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.packed.device

    def unpacked(self) -> torch.Tensor:
        """All rows, float32 (n, width), in new memory."""
        whole = torch.empty(self.shape, device=self.device)
        for start in range(0, len(self), CHUNK_ROWS):
            whole[start : start + CHUNK_ROWS] = self[start : start + CHUNK_ROWS]
        return whole


class PackedDecoder(torch.nn.Module):
    """A matrix of output embeddings that is one of packed word embeddings, in the place
    of a `torch.nn.Linear` that is not called."""

    def __init__(self, rows: PackedRows, bias: Optional[torch.nn.Parameter]):
        super().__init__()
        self.weight, self.bias = rows, bias
        if bias is not None:
            bias.requires_grad_(False)

    def unpacked(self) -> Tuple[torch.nn.Embedding, torch.nn.Linear]:
        """Word embeddings and output embeddings that are one parameter, which does not
        learn yet."""
        rows = self.weight
        n, width = rows.shape
        # On "meta" neither takes memory or random numbers of its own.
        embeddings = torch.nn.Embedding(n, width, rows.padding_idx, device="meta")
        decoder = torch.nn.Linear(width, n, self.bias is not None, device="meta")
        weight = torch.nn.Parameter(rows.unpacked(), requires_grad=False)
        embeddings.weight = decoder.weight = weight
        if self.bias is not None:
            decoder.bias = self.bias
        return embeddings, decoder


def tied_embeddings(lm: Any) -> Optional[str]:
    """The name of the word embeddings of a masked LM, if they are an ordinary matrix
    that is its output matrix, too.

    lm (PreTrainedModel): A model of AutoModelForMaskedLM, which may be on "meta".
    """
    embeddings, decoder = lm.get_input_embeddings(), lm.get_output_embeddings()
    if type(embeddings) is not torch.nn.Embedding:
        return None
    if getattr(decoder, "weight", None) is not embeddings.weight:
        return None
    path = path_of(lm, embeddings)
    return None if path is None else f"{path}.weight"


def path_of(whole: torch.nn.Module, part: torch.nn.Module) -> Optional[str]:
    """Where a module is in another one, as "encoder.layer.0"; None: nowhere."""
    paths = (path for path, module in whole.named_modules() if module is part)
    return next(paths, None)
