"""Number formats of matrix products."""

import pytest
import torch

from spacy_entlm.model.precision import (
    autocast,
    check_precision,
    fastest_precision,
    prediction_dtype,
    training_dtype,
)

CPU = torch.device("cpu")


def test_unknown_precision_is_refused():
    with pytest.raises(ValueError, match=r"precision is one of .* not 'float8'"):
        check_precision("float8")


def test_fastest_precision_is_one_that_exists():
    check_precision(fastest_precision("cpu", 32))


def test_prediction_is_in_the_format_that_is_asked_for():
    assert prediction_dtype(CPU, "float32", 32) == torch.float32
    assert prediction_dtype(CPU, "bfloat16", 32) == torch.bfloat16
    fastest = prediction_dtype(CPU, fastest_precision("cpu", 32), 32)
    assert prediction_dtype(CPU, "auto", 32) == fastest


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
