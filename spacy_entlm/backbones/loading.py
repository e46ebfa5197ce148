"""Load a masked LM with its tokenizer: from a folder, the cache, or the hub."""

import contextlib
import logging
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Union

import torch
from torch import Tensor

from .checks import check_config, check_size, check_weight_files, first_line
from .compact import COMPACT_FILE, load_compact
from .errors import BackboneError
from .masked_lm import MaskedLM
from .names import CONFIG_FILE, resolve_backbone
from .packed import PackedRows, tied_embeddings


def load_masked_lm(
    name: Union[str, Path],
    *,
    transformer_config: Optional[Dict[str, Any]] = None,
    tokenizer_config: Optional[Dict[str, Any]] = None,
    layers: Optional[int] = None,
    strict: bool = False,
    packed: bool = False,
) -> MaskedLM:
    """Load a masked LM with its head, in float32, and its fast tokenizer.

    name (Union[str, Path]): A folder, a name on the hub, or what `resolve_backbone`
        knows.
    transformer_config, tokenizer_config (Optional[Dict[str, Any]]): Settings that
        replace those of the model's and of the tokenizer's configuration.
    layers (Optional[int]): How many of its layers are used, the first ones; None: all.
    strict (bool): Whether weights that the model does not want are an error, as they
        are in a folder that we saved. Weights that are missing always are.
    packed (bool): Whether word embeddings stay in 4 bits in memory, if they are stored
        so and are the output matrix, too: they take a seventh, and cannot learn before
        `MaskedLM.unpack`. If not, they are as in any model of transformers.
    RAISES (BackboneError): If there is no such model, it is no masked LM, its
        weights are not safetensors, not complete or no finite numbers, or its tokenizer
        is a slow one.
    """
    source = resolve_backbone(name)
    is_local = Path(source).exists()
    if is_local and not (Path(source) / CONFIG_FILE).is_file():
        raise BackboneError(
            f"{source} is no model folder: it has no {CONFIG_FILE}. Expected are "
            f"{CONFIG_FILE}, model.safetensors and tokenizer.json"
        )
    replaced = (transformer_config or {}, tokenizer_config or {})
    load = partial(_from_pretrained, source, *replaced, layers, packed)
    try:
        lm, tokenizer, info = _hub_last(source, load)
        _check_complete(source, info, strict and layers is None)
        prepare_tokenizer(tokenizer, source)
        # Only `MaskedLM.save` writes compact weights.
        is_ours = strict or (Path(source) / COMPACT_FILE).is_file()
        masked_lm = MaskedLM(lm, tokenizer, check=not is_ours)
        masked_lm.check_numbers()
    except BackboneError:
        raise
    except Exception as err:  # transformers raises nearly anything for a bad folder
        raise BackboneError(_load_failure(source, is_local, err)) from err
    return masked_lm


def _from_pretrained(
    source: str,
    transformer_config: Dict[str, Any],
    tokenizer_config: Dict[str, Any],
    layers: Optional[int],
    packed: bool,
    local: bool,
) -> Tuple[Any, Any, Dict[str, Any]]:
    """The model, its tokenizer, and which weights were missing or not wanted."""
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer

    trust = {"trust_remote_code": False}
    common: Dict[str, Any] = {**trust, "local_files_only": local}
    folder = Path(source)
    if folder.is_dir():
        check_config(folder, transformer_config)
        check_weight_files(folder)
    config = AutoConfig.from_pretrained(source, **common, **transformer_config)
    if layers is not None:
        _use_layers(config, layers)
    if getattr(config, "is_encoder_decoder", False):
        raise BackboneError(f"{source} is a sequence-to-sequence model, no masked LM")
    if hasattr(config, "reference_compile"):
        config.reference_compile = False  # ModernBERT: needs a C compiler
    if folder.is_dir():
        check_size(folder, config)
    tokenizer = AutoTokenizer.from_pretrained(
        source, **common, use_fast=True, **tokenizer_config
    )
    load: Any = AutoModelForMaskedLM
    name: Optional[str] = source
    weights: Dict[str, Any] = {"use_safetensors": True}
    rows: Optional[Tensor] = None
    if (folder / COMPACT_FILE).is_file():
        with torch.device("meta"):
            empty = AutoModelForMaskedLM.from_config(config, **trust)
        tensors, rows = _compact_tensors(
            folder, tied_embeddings(empty) if packed else None
        )
        load, name, weights = type(empty), None, {"state_dict": tensors}
    lm, info = load.from_pretrained(
        name,
        **common,
        config=config,
        torch_dtype=torch.float32,
        output_loading_info=True,
        **weights,
    )
    if rows is not None:
        padding_idx = lm.get_input_embeddings().padding_idx
        lm.set_input_embeddings(PackedRows(rows, padding_idx))
    return lm, tokenizer, info


def _compact_tensors(
    folder: Path, packed: Optional[str]
) -> Tuple[Dict[str, Tensor], Optional[Tensor]]:
    """Compact weights, and apart from them those that stay packed, if they are.
    packed (Optional[str]): The name of these, which has memory among the others that
        nobody writes to, so that it takes none."""
    arrays = load_compact(folder / COMPACT_FILE, packed=packed)
    tensors = {key: torch.from_numpy(array) for key, array in arrays.items()}
    if packed not in tensors or tensors[packed].dtype != torch.uint8:
        return tensors, None
    rows = tensors[packed]
    tensors[packed] = torch.empty(PackedRows(rows).shape)
    return tensors, rows


def _use_layers(config: Any, layers: int) -> None:
    n_layers = config.num_hidden_layers
    if layers > n_layers:
        raise BackboneError(
            f"layers = {layers}: the backbone has {n_layers}. Leave the setting out to "
            f"use all"
        )
    config.num_hidden_layers = layers


def backbone_width(name: str) -> int:
    """Width of a backbone's features, from its configuration alone.

    name (str): As `load_masked_lm` takes it; the network is asked last.
    RAISES (OSError): If there is no such model. (ValueError): If its configuration is
        broken.
    """
    from transformers import AutoConfig

    name = resolve_backbone(name)
    if Path(name).is_dir():
        check_config(Path(name), {})
    load = partial(AutoConfig.from_pretrained, name, trust_remote_code=False)
    config = _hub_last(name, lambda local: load(local_files_only=local))
    return int(config.hidden_size)


def _hub_last(source: str, load: Callable[[bool], Any]) -> Any:
    """Load what is meant; the network is asked only where no folder or cache has it.

    load (Callable[[bool], Any]): Called with whether only local files are looked at.
    """
    with _quiet_transformers():
        try:
            return load(True)
        except OSError:
            if Path(source).exists():
                raise
            return load(False)


def prepare_tokenizer(tokenizer: Any, source: str) -> None:
    """Switch off what would change a text: truncation, padding, and that the literal
    text "[MASK]" becomes the special piece.

    RAISES (BackboneError): If the tokenizer is a slow one, which has no offsets.
    """
    if not tokenizer.is_fast:
        raise BackboneError(
            f"{source}: {type(tokenizer).__name__} is a slow tokenizer, which cannot "
            f"say where its pieces stand in the text. A folder with a tokenizer.json "
            f"is needed"
        )
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True


def _check_complete(source: str, info: Dict[str, Any], strict: bool) -> None:
    more = ["unexpected_keys"] if strict else []
    for problem in ("missing_keys", "mismatched_keys", "error_msgs", *more):
        if info.get(problem):
            keys = [str(key) for key in info[problem]]
            raise BackboneError(
                f"{source}: the weights do not fit a masked LM "
                f"({problem.replace('_', ' ')}: {', '.join(sorted(keys)[:4])}). Is it "
                f"an encoder without its masked-LM head, or a broken file?"
            )


def _load_failure(source: str, is_local: bool, err: Exception) -> str:
    reason = first_line(err)
    if is_local:
        return f"Cannot load the masked LM in {source}: {reason}"
    return (
        f"Cannot find the masked LM {source!r}: it is no local folder, and the hub "
        f"gave none ({type(err).__name__}: {reason}). Give the path of a folder with "
        f"config.json, model.safetensors and tokenizer.json, for instance name = "
        f'"/models/bert-base-cased" under [components.entlm_ner.model], or '
        f"--vars.backbone /models/bert-base-cased with the project"
    )


@contextlib.contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Without the warnings on weights, which become errors of our own here."""
    from transformers.utils import logging as transformers_logging

    hub_logger = logging.getLogger("huggingface_hub")
    level, hub_level = transformers_logging.get_verbosity(), hub_logger.level
    transformers_logging.set_verbosity_error()
    hub_logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        hub_logger.setLevel(hub_level)
