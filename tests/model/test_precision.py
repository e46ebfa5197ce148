"""Number formats of matrix products."""

import pytest
import torch

from spacy_entlm.model.precision import autocast, training_dtype

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    "device, expected", [("cpu", torch.bfloat16), ("cuda", torch.float16)]
)
def test_mixed_precision_is_the_half_format_of_the_device(device, expected):
    assert training_dtype(torch.device(device), True) == expected
    assert training_dtype(torch.device(device), False) == torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_products_are_in_the_format_of_the_context(dtype):
    weight = torch.ones(4, 4)
    with autocast(CPU, dtype):
        assert (weight @ weight).dtype == dtype
    assert weight.dtype == torch.float32
