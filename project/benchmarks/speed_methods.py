"""What the speed benchmark measures: each method as a function of texts.

A builder takes a `Job`, loads what it needs and gives a function that prepares texts:
what it returns is timed. Everything that finds entities is made to find about as many
on untrained weights, since writing them down takes time, too.
"""

import gc
import os
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy
import spacy
import torch
from spacy.training import Example
from speed_texts import some_of

from spacy_entlm.model.base import BATCH_PIECES, CPU_BATCH_PIECES
from spacy_entlm.model.label_scores import MARGIN
from spacy_entlm.model.precision import DTYPES, autocast
from spacy_entlm.pipeline.export import OUR_SPANS, export

LABEL_WORDS = {
    "PER": ["John", "David", "Maria"],
    "LOC": ["England", "Germany", "Paris"],
    "ORG": ["Inc", "University", "Company"],
    "MISC": ["Russian", "English", "Dutch"],
}
# Words of a hundred that untrained heads take for entities, as in news.
ENTITY_SHARE = 0.15
# From what biases are set, and what is read before the clock runs.
TRIAL_DOCUMENTS, TRIAL_WORDS = 32, 300
# Words by which is measured how many of them the vocabulary decides.
SHARE_WORDS = 4000
PIPE_BATCH = 1000
HF_BATCH = 32
# Texts of more pieces go through the Hugging Face pipeline in windows that overlap by
# a quarter, as ours do.
HF_PIECES = 512
PRELOADED = [
    "torch",
    "transformers",
    "spacy_transformers",
    "spacy_entlm.model.entlm",
    "spacy_entlm.pipeline.baselines.bert_tagger",
]

Run = Callable[[], None]
Prepare = Callable[[List[str]], Run]


@dataclass
class Job:
    """One method on some texts.

    model (str): Folder of a trained EntLM pipeline, or "". backbone (str): Folder of
        the masked LM that all methods share.
    open_share (float): Without a trained pipeline, words that the vocabulary decides.
    """

    method: str
    texts: List[str]
    backbone: str
    model: str
    open_share: float
    threads: int
    gpu: bool

    @property
    def precision(self) -> str:
        """Of methods that can choose it."""
        last = self.method.rpartition("_")[2]
        return last if last in DTYPES else "float32"


def work(pipe: Any, job: Job) -> None:
    """Measure when told: the body of a process that belongs to one method.

    pipe (Connection): Gets ("ready", facts), then (seconds, peak MiB) for each "run";
        ("error", text) instead if something fails.
    """
    try:
        torch.set_num_threads(job.threads)
        if job.gpu:
            spacy.require_gpu()
        prepare, facts = BUILDERS[job.method.split("_")[0]](job)
        prepare([" ".join(_trial(job.texts)[0].split()[:TRIAL_WORDS])])()
        run = prepare(job.texts)
        gc.collect()
        forget_peak(job.gpu)
        pipe.send(("ready", facts))
        while pipe.recv() == "run":
            pipe.send((seconds_of(run, job.gpu), peak_mib(job.gpu)))
    except Exception:
        pipe.send(("error", traceback.format_exc(limit=-3)))


def seconds_of(run: Run, gpu: bool) -> float:
    start = time.perf_counter()
    run()
    if gpu:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def forget_peak(gpu: bool) -> None:
    """From here on the peak is that of the runs, not that of loading."""
    if gpu:
        torch.cuda.reset_peak_memory_stats()
    elif os.path.exists("/proc/self/clear_refs"):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mib(gpu: bool) -> float:
    """MiB: of the process; on a GPU, of what PyTorch holds there."""
    if gpu:
        return torch.cuda.max_memory_allocated() / 2**20
    try:
        status = Path("/proc/self/status").read_text().splitlines()
    except FileNotFoundError:  # no Linux
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**10


def _trial(texts: List[str]) -> List[str]:
    shortened = (" ".join(text.split()[:TRIAL_WORDS]) for text in texts)
    return list(shortened)[:TRIAL_DOCUMENTS]


def _pipe_all(nlp: Any) -> Prepare:
    def prepare(texts: List[str]) -> Run:
        def run() -> None:
            for _ in nlp.pipe(texts, batch_size=PIPE_BATCH):
                pass

        return run

    return prepare


def _example(nlp: Any) -> Example:
    return Example.from_dict(nlp.make_doc("a text without entities"), {})


def _load_entlm(job: Job) -> Tuple[Any, Any]:
    """The pipeline, trained or with biases as if it were, and its component."""
    if job.model:
        settings = {"components.entlm_ner.model.precision": job.precision}
        nlp = spacy.load(job.model, config=settings)
        return nlp, nlp.get_pipe("entlm_ner")
    nlp = spacy.blank("en")
    options = {"name": job.backbone, "precision": job.precision}
    # The whole document, as by default, also without spacy-transformers.
    config = {"model": {**options, "get_spans": OUR_SPANS}}
    pipe: Any = nlp.add_pipe("entlm_ner", config=config)
    pipe.initialize(lambda: [_example(nlp)], nlp=nlp, label_words=LABEL_WORDS)
    margins = _own_piece_margins(nlp, pipe, _trial(job.texts))
    bias = numpy.quantile(margins, job.open_share) - MARGIN
    pipe.cfg["label_bias"] = float(bias)
    return nlp, pipe


def _onnx(job: Job) -> Tuple[Prepare, Dict[str, Any]]:
    """The pipeline exported for ONNX Runtime, in the number format of the name."""
    format = job.method.partition("_")[2]
    with tempfile.TemporaryDirectory() as folder:
        return _pipe_all(export(_load_entlm(job)[0], folder, format=format)), {}


def _own_piece_margins(nlp: Any, pipe: Any, texts: List[str]) -> numpy.ndarray:
    """By how much the piece of each word outscores its best label: float32 (n)."""
    view = pipe.label_model
    vocabulary, labels = view.vocabulary, view.network.label_rows
    pieces = view.read_words([nlp.make_doc(text) for text in texts])
    ids = view.to_device(pieces.piece_ids)
    with torch.no_grad():
        own = (pieces.features * vocabulary.weight[ids]).sum(1)
        if vocabulary.bias is not None:
            own += vocabulary.bias[ids]
        return (own - labels.scores(pieces.features).amax(1)).cpu().numpy()


def _entlm(job: Job) -> Tuple[Prepare, Dict[str, Any]]:
    nlp, pipe = _load_entlm(job)
    margins = _own_piece_margins(nlp, pipe, some_of(job.texts, SHARE_WORDS))
    bias = pipe.cfg.get("label_bias", 0.0)
    share = float((margins - bias < MARGIN).mean())
    facts = {"open_share": share, "precision": job.precision}
    return _pipe_all(nlp), facts


def _tagger(job: Job) -> Tuple[Prepare, Dict[str, Any]]:
    """`bert_tagger`: a linear layer on our windows and batches."""
    nlp = spacy.blank("en")
    options = {"model": {"name": job.backbone, "precision": job.precision}}
    pipe: Any = nlp.add_pipe("bert_tagger", config=options)
    pipe.initialize(lambda: [_example(nlp)], nlp=nlp, labels=list(LABEL_WORDS))
    view = pipe.label_model
    pieces = view.read_words([nlp.make_doc(text) for text in _trial(job.texts)])
    with torch.no_grad():
        scores = view.network.tag_scores(pieces.features)
        view.network.outside.bias -= _bias_for(scores)
    return _pipe_all(nlp), {}


def _bias_for(scores: torch.Tensor) -> torch.Tensor:
    """What to take off the first column so that another one wins in ENTITY_SHARE of
    the rows. scores: float32 (n, n_classes)."""
    return torch.quantile(scores[:, 0] - scores[:, 1:].amax(1), ENTITY_SHARE)


def _hf(job: Job) -> Tuple[Prepare, Dict[str, Any]]:
    """The Hugging Face token-classification pipeline."""
    import transformers

    transformers.logging.set_verbosity_error()
    tags = ["O", *(f"{prefix}-{label}" for label in LABEL_WORDS for prefix in "BI")]
    model = transformers.AutoModelForTokenClassification.from_pretrained(
        job.backbone,
        id2label=dict(enumerate(tags)),
        label2id={tag: index for index, tag in enumerate(tags)},
        torch_dtype=torch.float32,
    ).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(job.backbone)
    longest = max(len(ids) for ids in tokenizer(job.texts)["input_ids"])
    limit = min(HF_PIECES, model.config.max_position_embeddings)
    tokenizer.model_max_length = limit
    options: Dict[str, Any] = {"padding": True, "truncation": True}
    inputs = tokenizer(_trial(job.texts), return_tensors="pt", **options)
    with torch.no_grad():
        logits = model(**inputs).logits[inputs["attention_mask"].bool()]
        model.classifier.bias[0] -= _bias_for(logits)
    settings: Dict[str, Any] = {"batch_size": HF_BATCH}
    if longest > limit:
        settings |= {"stride": limit // 4, "aggregation_strategy": "first"}
    pipe = transformers.pipeline(
        "token-classification",
        model,
        tokenizer=tokenizer,
        device=0 if job.gpu else -1,
        **settings,
    )

    def prepare(texts: List[str]) -> Run:
        def run() -> None:
            with torch.no_grad():
                pipe(texts)

        return run

    return prepare, {}


def _spacy(job: Job) -> Tuple[Prepare, Dict[str, Any]]:
    """spaCy's `transformer` and `ner`, with the settings of its quickstart."""
    import transformers

    transformers.logging.set_verbosity_error()
    nlp = spacy.blank("en")
    spans = {"@span_getters": "spacy-transformers.strided_spans.v1"}
    model = {
        "@architectures": "spacy-transformers.TransformerModel.v3",
        "name": job.backbone,
        "get_spans": {**spans, "window": 128, "stride": 96},
        "tokenizer_config": {"use_fast": True},
    }
    nlp.add_pipe("transformer", config={"model": model})
    listener = {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "grad_factor": 1.0,
        "pooling": {"@layers": "reduce_mean.v1"},
    }
    parser = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner"}
    parser |= {"extra_state_tokens": False, "hidden_width": 64, "maxout_pieces": 2}
    parser |= {"use_upper": False, "tok2vec": listener}
    ner: Any = nlp.add_pipe("ner", config={"model": parser})
    for label in LABEL_WORDS:
        ner.add_label(label)
    nlp.initialize()
    return _pipe_all(nlp), {}


def _window_ids(nlp: Any, pipe: Any, texts: List[str]) -> List[torch.Tensor]:
    """The word pieces of the texts in the windows in which EntLM reads them."""
    view = pipe.label_model
    windows = view.windows([nlp.make_doc(text) for text in texts])
    bounds = zip(windows.starts.tolist(), windows.sizes.tolist())
    ids = view.to_device(windows.ids)
    return [ids[start : start + size] for start, size in bounds]


def _dense(job: Job) -> Tuple[Prepare, Dict[str, Any]]:
    """The loop of the paper's authors: padded batches in the order of the texts, the
    whole vocabulary scored at every position."""
    nlp, pipe = _load_entlm(job)
    network = pipe.label_model.network.eval()
    size = int(job.method.split("_")[1])

    def prepare(texts: List[str]) -> Run:
        ids = _window_ids(nlp, pipe, texts)

        @torch.no_grad()
        def run() -> None:
            matrices = (network.vocabulary, network.label_rows)
            for begin in range(0, len(ids), size):
                part = ids[begin : begin + size]
                batch = torch.nn.utils.rnn.pad_sequence(part, True)
                ones = [torch.ones_like(piece_ids) for piece_ids in part]
                mask = torch.nn.utils.rnn.pad_sequence(ones, True)
                features = network.masked_lm(batch, mask)
                logits = [rows.scores(features) for rows in matrices]
                torch.cat(logits, dim=-1).argmax(-1).cpu()

        return run

    return prepare, {}


def _encoder(job: Job) -> Tuple[Prepare, Dict[str, Any]]:
    """The bare encoder on batches of equal length: the limit."""
    nlp, pipe = _load_entlm(job)
    network, device = pipe.label_model.network.eval(), pipe.label_model.device
    max_pieces = CPU_BATCH_PIECES if device.type == "cpu" else BATCH_PIECES

    def prepare(texts: List[str]) -> Run:
        ids = _window_ids(nlp, pipe, texts)
        batches = list(_equal_lengths(ids, max_pieces))
        dtype = DTYPES[job.precision]

        @torch.no_grad()
        def run() -> None:
            with autocast(device, dtype):
                for batch in batches:
                    network.masked_lm.body.base_model(batch)

        return run

    return prepare, {}


def _equal_lengths(ids: List[torch.Tensor], max_pieces: int) -> Iterator[torch.Tensor]:
    by_length: Dict[int, List[torch.Tensor]] = {}
    for window in ids:
        by_length.setdefault(len(window), []).append(window)
    for length, group in by_length.items():
        count = max(1, max_pieces // length)
        for begin in range(0, len(group), count):
            yield torch.stack(group[begin : begin + count])


BUILDERS: Dict[str, Callable[[Job], Tuple[Prepare, Dict[str, Any]]]] = {
    "entlm": _entlm,
    "tagger": _tagger,
    "hf": _hf,
    "spacy": _spacy,
    "onnx": _onnx,
    "dense": _dense,
    "encoder": _encoder,
}
