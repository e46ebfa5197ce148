"""A Hugging Face masked LM, cut below its output matrix."""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Type

import torch
from safetensors import SafetensorError

from .compact import COMPACT_FILE, save_compact
from .errors import BackboneError
from .names import CONFIG_FILE
from .packed import PackedDecoder, PackedRows, path_of

# A tokenizer without a limit of its own reports a number beyond any real one.
NO_LIMIT = 10**9
# Of a model whose configuration names none.
DEFAULT_MAX_PIECES = 512
# Of logits of the same pieces, computed in two ways; float32.
HEAD_TOLERANCE = 1e-3


class MaskedLM(torch.nn.Module):
    """A masked LM, cut in two: `body` gives the features that enter the matrix of
    output embeddings, `decoder` is that matrix (and its bias).

    `decoder.weight` is a parameter, or `PackedRows`, which learn only after `unpack`.
    """

    decoder: Any

    def __init__(self, lm: Any, tokenizer: Any, *, check: bool = True):
        """lm (PreTrainedModel): A model of AutoModelForMaskedLM. If its input
            embeddings are `PackedRows`, they take the place of its output matrix, too.
        tokenizer (PreTrainedTokenizerFast): Its tokenizer.
        check (bool): Whether to try its head; that of a saved MaskedLM was tried.
        RAISES (BackboneError): If the head does not have the expected shape.
            (ValueError): If the tokenizer has pieces that the model lacks.
        """
        super().__init__()
        self.body = lm
        self.tokenizer = tokenizer
        self._decoder_path, self.decoder = _find_decoder(lm)
        rows = lm.get_input_embeddings()
        if isinstance(rows, PackedRows):
            self.decoder = PackedDecoder(rows, self.decoder.bias)
        n_rows = self.decoder.weight.shape[0]
        # Their number would not tell: ids may have gaps.
        ids = tokenizer.backend_tokenizer.get_vocab(with_added_tokens=True).values()
        if max(ids, default=0) >= n_rows:
            raise ValueError(
                f"the tokenizer has pieces up to number {max(ids)}, the model's output "
                f"matrix only {n_rows} rows: they do not belong together"
            )
        if check:
            self._check_head()
        # From now on what the model calls its logits are features.
        self._place_decoder(torch.nn.Identity())

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
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        features = self.body(**inputs).logits
        return features if positions is None else features.flatten(0, 1)[positions]

    def hidden(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> torch.Tensor:
        """The last hidden state, (n_windows, longest, width), before the head."""
        encoder = self.body.base_model
        return encoder(input_ids, attention_mask=attention_mask).last_hidden_state

    @property
    def is_packed(self) -> bool:
        """Whether word embeddings and output matrix are `PackedRows`."""
        return isinstance(self.decoder, PackedDecoder)

    def unpack(self) -> None:
        """Let a packed vocabulary be ordinary parameters from now on, which can learn,
        but do not yet."""
        if self.is_packed:
            embeddings, self.decoder = self.decoder.unpacked()
            self.body.set_input_embeddings(embeddings)

    @property
    def width(self) -> int:
        """Width of the features."""
        return self.decoder.weight.shape[1]

    @property
    def max_pieces(self) -> int:
        """Most pieces that the model takes at once, special ones counted."""
        positions = getattr(self.body.config, "max_position_embeddings", None)
        limits = [positions or DEFAULT_MAX_PIECES]
        for name, module in self.body.named_modules():
            # RoBERTa and its kin number positions from padding_idx + 1.
            padding = getattr(module, "padding_idx", None)
            if padding and name.endswith("position_embeddings"):
                limits.append(module.num_embeddings - padding - 1)
        if self.tokenizer.model_max_length < NO_LIMIT:
            limits.append(self.tokenizer.model_max_length)
        return min(limits)

    def special_pieces(self) -> Tuple[List[int], List[int]]:
        """Ids that the tokenizer puts before and after a text."""
        backend = self.tokenizer.backend_tokenizer
        plain = backend.encode("a", add_special_tokens=False)
        n_plain = len(plain.ids)
        ids = backend.post_process(plain, add_special_tokens=True).ids
        for start in range(len(ids) - n_plain + 1):
            if ids[start : start + n_plain] == plain.ids:
                return ids[:start], ids[start + n_plain :]
        raise BackboneError("The tokenizer changes a text when it adds its own pieces")

    def check_numbers(self) -> None:
        """RAISES (ValueError): If a weight, or a feature of a text, is NaN or
        infinite: nothing would be found, without an error."""
        for name, tensor in self.named_parameters():
            # Of these two alone: else there would be copies of the largest matrix.
            ends = torch.stack(tensor.detach().aminmax()) if tensor.numel() else tensor
            if not torch.isfinite(ends).all():
                raise ValueError(
                    f"the weights {name:.100} hold NaN or infinite numbers"
                )
        ids = torch.tensor([sum(self.special_pieces(), [])])
        with torch.no_grad():
            features = self(ids, torch.ones_like(ids))
        if not torch.isfinite(features).all():
            raise ValueError(
                f"it computes NaN or infinite features: {CONFIG_FILE} (layer_norm_eps) "
                f"or the weights are broken"
            )

    def save(self, folder: Path, *, compact: bool = False) -> None:
        """Write config.json, tokenizer files and weights, shared tensors once.

        compact (bool): Whether weights are written in few bytes that give them back
            (compact.safetensors); if not, in the form that AutoModelForMaskedLM reads.
        RAISES (OSError): If the folder cannot be written, or the disk is full.
        """
        whole = self._weights(packed=compact)
        if compact:
            self.body.config.save_pretrained(folder)
            arrays = {k: _array(tensor) for k, tensor in _each_once(whole).items()}
            save_compact(folder / COMPACT_FILE, arrays)
        else:
            with _os_errors(folder, SafetensorError):
                self.body.save_pretrained(
                    folder, state_dict=whole, safe_serialization=True
                )
        # Where the backbone once lay on somebody's disk is nobody's business.
        _drop_key(folder / CONFIG_FILE, "_name_or_path")
        with _os_errors(folder, Exception):  # tokenizers has no error of its own
            self.tokenizer.save_pretrained(folder)
        _drop_key(folder / "tokenizer_config.json", "name_or_path")
        # safetensors makes a file that only its owner may read, which would be so in
        # a package that is installed for everybody.
        for path in folder.glob("*.safetensors"):
            shutil.copymode(folder / CONFIG_FILE, path)

    def _weights(self, *, packed: bool) -> Dict[str, torch.Tensor]:
        """Weights by the names that they have in transformers. packed (bool): Whether
        packed rows stay so, uint8."""
        body, at = self.body.state_dict(), self._decoder_path
        decoder = self.decoder.state_dict(prefix=f"{at}.")
        rows = self.decoder.weight
        if isinstance(rows, PackedRows):
            weight = rows.packed if packed else rows.unpacked()
            path = path_of(self.body, rows)
            del body[f"{path}.packed"], decoder[f"{at}.weight.packed"]
            body[f"{path}.weight"] = decoder[f"{at}.weight"] = weight
        return {**body, **decoder}

    def _place_decoder(self, module: torch.nn.Module) -> None:
        parent, _, name = self._decoder_path.rpartition(".")
        setattr(self.body.get_submodule(parent), name, module)

    def _check_head(self) -> None:
        """Compare features times decoder rows with the model's own logits."""
        n_rows = self.decoder.weight.shape[0]
        prefix, suffix = self.special_pieces()
        ids = torch.tensor([[*prefix, n_rows // 3, n_rows // 2, *suffix]])
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        was_training = self.body.training
        self.body.eval()
        refusal = BackboneError(
            f"{type(self.body).__name__}: the head does more than multiply features "
            f"with the output embeddings. Use another masked LM, for instance one of "
            f"the BERT, RoBERTa, DistilBERT, XLM-R or ModernBERT family"
        )
        with torch.no_grad():
            logits = self.body(**inputs).logits
            self._place_decoder(torch.nn.Identity())
            try:
                features = self.body(**inputs).logits
            except (AttributeError, RuntimeError, TypeError) as err:
                # It uses the decoder in another way than by calling it.
                raise refusal from err
            self._place_decoder(self.decoder)
            fits = features.shape[-1] == self.width and torch.allclose(
                self.decoder(features), logits, rtol=1e-3, atol=HEAD_TOLERANCE
            )
        self.body.train(was_training)
        if not fits:
            raise refusal


def _each_once(tensors: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    """Tensors without those that share the memory of an earlier one."""
    first: Dict[Any, str] = {}
    for name, tensor in tensors.items():
        first.setdefault((tensor.data_ptr(), tuple(tensor.shape)), name)
    return {name: tensors[name] for name in first.values()}


def _array(tensor: torch.Tensor) -> Any:
    """float32, but for packed rows."""
    numbers = tensor if tensor.dtype == torch.uint8 else tensor.float()
    return numbers.cpu().numpy()


def _find_decoder(lm: Any) -> Tuple[str, torch.nn.Linear]:
    decoder = lm.get_output_embeddings()
    if not isinstance(decoder, torch.nn.Linear):
        raise BackboneError(
            f"{type(lm).__name__} has no output embeddings of the usual form (a linear "
            f"layer over the vocabulary), but {type(decoder).__name__}"
        )
    path = path_of(lm, decoder)
    if path is None:
        raise BackboneError(
            f"{type(lm).__name__}: its output embeddings are not part of it"
        )
    return path, decoder


def _drop_key(path: Path, key: str) -> None:
    data = json.loads(path.read_text(encoding="utf8"))
    data.pop(key, None)
    path.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n", encoding="utf8")


@contextmanager
def _os_errors(folder: Path, kind: Type[Exception]) -> Iterator[None]:
    """RAISES (OSError): In place of what libraries in Rust raise if a file cannot be
    written, which is no error of the operating system's."""
    try:
        yield
    except OSError:
        raise
    except kind as error:
        raise OSError(f"{folder}: cannot be written ({error})") from error
