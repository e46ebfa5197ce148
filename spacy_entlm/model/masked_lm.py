"""The Hugging Face masked LM: load, features below the decoder, save."""

import contextlib
import functools
import json
import logging
import shutil
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import torch

from .backbones import resolve_backbone
from .chosen import let_choose, only_pieces
from .packed import Packing, can_pack, unpack_layers
from .probes import PROBE_TOLERANCE, head_takes_rows
from .saved_lm import load_saved_lm

logger = logging.getLogger("spacy.entlm")

CONFIG_FILE = "config.json"
# A tokenizer without a limit of its own reports a number beyond any real one.
NO_LIMIT = 10**9


class BackboneError(ValueError):
    """A masked LM that cannot be loaded or used; the message says what to do."""


class MaskedLM(torch.nn.Module):
    """A masked LM, cut in two: `body` gives the features that enter the matrix of
    output embeddings, `decoder` is that matrix (and its bias)."""

    def __init__(self, lm: Any, tokenizer: Any, *, check: bool = True):
        """lm (PreTrainedModel): A model of AutoModelForMaskedLM.
        tokenizer (PreTrainedTokenizerFast): Its tokenizer.
        check (bool): Whether to try its head; that of a saved MaskedLM was tried.
        RAISES (BackboneError): If the head does not have the expected shape.
        """
        super().__init__()
        self.body = lm
        self.tokenizer = tokenizer
        self.packing: Optional[Packing] = None
        self._decoder_path, self.decoder = _find_decoder(lm)
        n_rows = self.decoder.weight.shape[0]
        # len(tokenizer) would go through all of its pieces.
        highest = max(tokenizer.vocab_size - 1, *tokenizer.added_tokens_decoder, 0)
        if highest >= n_rows:
            raise BackboneError(
                f"The tokenizer knows {len(tokenizer)} pieces, the model's output "
                f"matrix only {n_rows}: they do not belong together"
            )
        if check:
            self._check_head()
        self._place_decoder(torch.nn.Identity())
        let_choose(lm.base_model)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        *,
        positions: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """Features where they enter the decoder.

        input_ids, attention_mask: int64 (n_windows, longest).
        positions: int64 (n), rows of the flattened windows that are wanted; None: all.
        RETURNS: (n_windows, longest, width), or (n, width).
        """
        if positions is None:
            return self._features(input_ids, attention_mask)
        if not self.head_takes_rows:
            features = self._features(input_ids, attention_mask)
            return features.flatten(0, 1)[positions]
        return self.chosen_features(input_ids, attention_mask, positions)

    def chosen_features(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        positions: torch.Tensor,
    ) -> torch.Tensor:
        """As `forward`, where `head_takes_rows`: what lies between the encoder and the
        decoder works on single pieces, and only those that are wanted go through it."""
        with only_pieces(positions):
            return self._features(input_ids, attention_mask)[0]

    def _features(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> torch.Tensor:
        # The decoder's place is taken by an identity: the logits are its input.
        return self.body(input_ids=input_ids, attention_mask=attention_mask).logits

    @functools.cached_property
    def head_takes_rows(self) -> bool:
        """Whether the head gives the same features for a selection of pieces."""
        return head_takes_rows(self)

    def pack(self, dtype: torch.dtype) -> None:
        """Lay the weights out for fast products without gradients, until `unpack`.

        dtype (torch.dtype): Format of the layers' products; where there are no packed
            ones of it, or not on this device, nothing changes.
        """
        if self.packing is not None and self.packing.dtype == dtype:
            return
        if can_pack(self.decoder.weight, dtype):
            self.packing = Packing(self.body, self.decoder, dtype)

    def unpack(self) -> None:
        """Forget packed weights, before the weights change."""
        if self.packing is not None:
            unpack_layers(self.body)
            self.packing = None

    @property
    def width(self) -> int:
        """Width of the features."""
        return self.decoder.weight.shape[1]

    @property
    def max_pieces(self) -> int:
        """Most pieces that the model takes at once, special ones counted."""
        limits = [512]
        config = self.body.config
        positions = getattr(config, "max_position_embeddings", None)
        if positions:
            limits = [positions]
        for name, module in self.body.named_modules():
            # RoBERTa and its kin number positions from padding_idx + 1.
            if name.endswith("position_embeddings") and getattr(
                module, "padding_idx", None
            ):
                limits.append(module.num_embeddings - module.padding_idx - 1)
        if self.tokenizer.model_max_length < NO_LIMIT:
            limits.append(self.tokenizer.model_max_length)
        return min(limits)

    def special_pieces(self) -> Tuple[List[int], List[int]]:
        """Ids that the tokenizer puts before and after a text."""
        backend = self.tokenizer.backend_tokenizer
        plain = backend.encode("a", add_special_tokens=False)
        n_plain = len(plain.ids)
        ids = backend.post_process(plain, add_special_tokens=True).ids
        n_extra = len(ids) - n_plain
        for start in range(n_extra + 1):
            if ids[start : start + n_plain] == plain.ids:
                return ids[:start], ids[start + n_plain :]
        raise BackboneError(
            "The tokenizer changes a text's pieces when it adds its own"
        )

    def save(self, folder: Path) -> None:
        """Write config.json, tokenizer files and model.safetensors, shared tensors
        once, in the form that AutoModelForMaskedLM reads."""
        with self._whole():
            self.body.save_pretrained(folder, safe_serialization=True)
        # Where the backbone once lay on somebody's disk is nobody's business.
        _drop_keys(folder / CONFIG_FILE, ["_name_or_path"])
        self.tokenizer.save_pretrained(folder)
        _drop_keys(folder / "tokenizer_config.json", ["name_or_path"])
        # safetensors makes a file that only its owner may read, which would be so in
        # a package that is installed for everybody.
        for path in folder.glob("*.safetensors"):
            shutil.copymode(folder / CONFIG_FILE, path)

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        self._place_decoder(self.decoder)
        try:
            yield
        finally:
            self._place_decoder(torch.nn.Identity())

    def _place_decoder(self, module: torch.nn.Module) -> None:
        parent, _, name = self._decoder_path.rpartition(".")
        setattr(self.body.get_submodule(parent), name, module)

    def _check_head(self) -> None:
        """Compare features times decoder rows with the model's own logits."""
        n_rows = self.decoder.weight.shape[0]
        prefix, suffix = self.special_pieces()
        ids = torch.tensor([[*prefix, n_rows // 3, n_rows // 2, *suffix]])
        mask = torch.ones_like(ids)
        was_training = self.body.training
        self.body.eval()
        refusal = BackboneError(
            f"{type(self.body).__name__}: the head does more than multiply features "
            f"with the output embeddings. Use another masked LM, for instance one of "
            f"the BERT, RoBERTa, DistilBERT, XLM-R or ModernBERT family"
        )
        with torch.no_grad():
            logits = self.body(input_ids=ids, attention_mask=mask).logits
            self._place_decoder(torch.nn.Identity())
            try:
                features = self.body(input_ids=ids, attention_mask=mask).logits
            except (AttributeError, RuntimeError, TypeError) as err:
                # It uses the decoder in another way than by calling it.
                raise refusal from err
            self._place_decoder(self.decoder)
            fits = features.shape[-1] == self.width and torch.allclose(
                self.decoder(features), logits, rtol=1e-3, atol=PROBE_TOLERANCE
            )
        self.body.train(was_training)
        if not fits:
            raise refusal


def load_masked_lm(
    name: Union[str, Path],
    *,
    transformer_config: Optional[Dict[str, Any]] = None,
    tokenizer_config: Optional[Dict[str, Any]] = None,
    strict: bool = False,
) -> MaskedLM:
    """Load a masked LM with its head, in float32, and its fast tokenizer.

    name (Union[str, Path]): A folder, a name on the hub, or what `resolve_backbone`
        knows.
    transformer_config, tokenizer_config (Optional[Dict[str, Any]]): Settings that
        replace those of the model's and of the tokenizer's configuration.
    strict (bool): Whether weights that the model does not want are an error, as they
        are in a folder that we saved. Weights that are missing always are.
    RAISES (BackboneError): If there is no such model, it is no masked LM, its
        weights are not safetensors or not complete, or its tokenizer is a slow one.
    """
    source = resolve_backbone(name)
    is_local = Path(source).exists()
    if is_local and not (Path(source) / CONFIG_FILE).is_file():
        raise BackboneError(
            f"{source} is no model folder: it has no {CONFIG_FILE}. Expected are "
            f"{CONFIG_FILE}, model.safetensors and tokenizer.json"
        )
    settings = (transformer_config or {}, tokenizer_config or {})
    try:
        with _quiet_transformers():
            try:
                lm, tokenizer, info = _from_pretrained(
                    source, *settings, local=True, saved=strict
                )
            except OSError:
                if is_local:
                    raise
                # Not in the cache either: only now is the network asked.
                lm, tokenizer, info = _from_pretrained(source, *settings, local=False)
    except BackboneError:
        raise
    except Exception as err:  # transformers raises nearly anything for a bad folder
        raise BackboneError(_load_failure(source, is_local, err)) from err
    _check_complete(source, info, strict)
    prepare_tokenizer(tokenizer, source)
    return MaskedLM(lm, tokenizer, check=not strict)


def _from_pretrained(
    source: str,
    transformer_config: Dict[str, Any],
    tokenizer_config: Dict[str, Any],
    *,
    local: bool,
    saved: bool = False,
) -> Tuple[Any, Any, Dict[str, Any]]:
    """The model, its tokenizer, and which weights were missing or not wanted.

    saved (bool): Whether the source is most likely a folder that we saved."""
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer

    common: Dict[str, Any] = {"trust_remote_code": False, "local_files_only": local}
    config = AutoConfig.from_pretrained(source, **common, **transformer_config)
    if getattr(config, "is_encoder_decoder", False):
        raise BackboneError(f"{source} is a sequence-to-sequence model, no masked LM")
    if hasattr(config, "reference_compile"):
        config.reference_compile = False  # ModernBERT: needs a C compiler
    tokenizer = AutoTokenizer.from_pretrained(
        source, **common, use_fast=True, **tokenizer_config
    )
    lm = load_saved_lm(Path(source), config) if saved else None
    if lm is not None:
        return lm, tokenizer, {}
    lm, info = AutoModelForMaskedLM.from_pretrained(
        source,
        **common,
        config=config,
        torch_dtype=torch.float32,
        use_safetensors=True,
        output_loading_info=True,
    )
    return lm, tokenizer, info


def backbone_width(name: str) -> int:
    """Width of a backbone's features, from its configuration alone.

    name (str): As `load_masked_lm` takes it; the network is asked last.
    RAISES (OSError): If there is no such model.
    """
    from transformers import AutoConfig

    name = resolve_backbone(name)
    with _quiet_transformers():
        try:
            config = AutoConfig.from_pretrained(name, local_files_only=True)
        except OSError:
            if Path(name).exists():
                raise
            config = AutoConfig.from_pretrained(name)
    return int(config.hidden_size)


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


def _find_decoder(lm: Any) -> Tuple[str, torch.nn.Linear]:
    decoder = lm.get_output_embeddings()
    if not isinstance(decoder, torch.nn.Linear):
        raise BackboneError(
            f"{type(lm).__name__} has no output embeddings of the usual form (a linear "
            f"layer over the vocabulary), but {type(decoder).__name__}"
        )
    for path, module in lm.named_modules():
        if module is decoder:
            return path, decoder
    raise BackboneError(
        f"{type(lm).__name__}: its output embeddings are not part of it"
    )


def _check_complete(source: str, info: Dict[str, Any], strict: bool) -> None:
    problems = ["missing_keys", "mismatched_keys", "error_msgs"]
    if strict:
        problems.append("unexpected_keys")
    for problem in problems:
        if info.get(problem):
            keys = [str(key) for key in info[problem]]
            raise BackboneError(
                f"{source}: the weights do not fit a masked LM "
                f"({problem.replace('_', ' ')}: {', '.join(sorted(keys)[:4])}). Is it "
                f"an encoder without its masked-LM head, or a broken file?"
            )


def _load_failure(source: str, is_local: bool, err: Exception) -> str:
    reason = str(err).strip().splitlines()[0] if str(err).strip() else repr(err)
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


def _drop_keys(path: Path, keys: List[str]) -> None:
    data = json.loads(path.read_text(encoding="utf8"))
    for key in keys:
        data.pop(key, None)
    path.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n", encoding="utf8")
