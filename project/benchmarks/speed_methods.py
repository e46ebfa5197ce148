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

import spacy
import torch
from spacy.training import Example

from spacy_entlm.model.layer import read_words
from spacy_entlm.model.network import OWN, VOCABULARY
from spacy_entlm.model.precision import DTYPES, autocast
from spacy_entlm.model.reading import read_windows
from spacy_entlm.model.shim import BATCH_PIECES, CPU_BATCH_PIECES
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

Run = Callable[[], Any]
Prepare = Callable[[List[str]], Run]


@dataclass
class Job:
    """One method on some texts.

    model (str): Folder of a trained EntLM pipeline, or "". backbone (str): Folder of
        the masked LM that all methods share.
    """

    method: str
    texts: List[str]
    backbone: str
    model: str
    threads: int
    gpu: bool

    @property
    def precision(self) -> str:
        """Of methods that can choose it."""
        last = self.method.rpartition("_")[2]
        return last if last in DTYPES else "float32"

    @property
    def rivals(self) -> str:
        """What a label has to outscore."""
        return VOCABULARY if self.method.endswith(VOCABULARY) else OWN


def work(pipe: Any, job: Job) -> None:
    """Measure when told: the body of a process that belongs to one method.

    pipe (Connection): Gets ("ready",), then (seconds, peak MiB) for each "run";
        ("error", text) instead if something fails.
    """
    try:
        torch.set_num_threads(job.threads)
        if job.gpu:
            spacy.require_gpu()
        prepare = BUILDERS[job.method.split("_")[0]](job)
        prepare([" ".join(_trial(job.texts)[0].split()[:TRIAL_WORDS])])()
        run = prepare(job.texts)
        gc.collect()
        forget_peak(job.gpu)
        pipe.send(("ready",))
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
    """The pipeline, trained or with a bias as if it were, and its component."""
    options: Dict[str, Any] = {"precision": job.precision, "rivals": job.rivals}
    if job.model:
        settings = {f"components.entlm_ner.model.{k}": x for k, x in options.items()}
        nlp = spacy.load(job.model, config=settings)
        return nlp, nlp.get_pipe("entlm_ner")
    nlp = spacy.blank("en")
    # The whole document, as by default, also without spacy-transformers.
    options |= {"name": job.backbone, "get_spans": OUR_SPANS}
    # Transitions would smooth away what random weights find here and there.
    decoder = {"@misc": "spacy-entlm.viterbi_decoder.v1", "tau": 0.0}
    config = {"model": options, "decoder": decoder}
    pipe: Any = nlp.add_pipe("entlm_ner", config=config)
    pipe.initialize(lambda: [_example(nlp)], nlp=nlp, label_words=LABEL_WORDS)
    pipe.label_bias = _bias_for(*_trial_scores(nlp, pipe, job))
    return nlp, pipe


def _trial_scores(nlp: Any, pipe: Any, job: Job) -> Tuple[torch.Tensor, torch.Tensor]:
    """Scores of the labels at some words, and of what they have to outscore."""
    found = read_words(pipe.layer, [nlp.make_doc(text) for text in _trial(job.texts)])
    return pipe.network.word_scores(found.features, found.piece_ids)


def _bias_for(scores: torch.Tensor, rivals: torch.Tensor) -> float:
    """What to add to the labels so that they win at ENTITY_SHARE of the words.
    scores: float32 (n, n_labels). rivals: float32 (n)."""
    return torch.quantile(rivals - scores.amax(1), ENTITY_SHARE).item()


def _entlm(job: Job) -> Prepare:
    return _pipe_all(_load_entlm(job)[0])


def _onnx(job: Job) -> Prepare:
    """The pipeline exported for ONNX Runtime, in the number format of the name."""
    format = job.method.partition("_")[2]
    with tempfile.TemporaryDirectory() as folder:
        return _pipe_all(export(_load_entlm(job)[0], folder, format=format))


def _tagger(job: Job) -> Prepare:
    """`bert_tagger`: a linear layer on our windows and batches."""
    nlp = spacy.blank("en")
    options = {"model": {"name": job.backbone, "precision": job.precision}}
    pipe: Any = nlp.add_pipe("bert_tagger", config=options)
    pipe.initialize(lambda: [_example(nlp)], nlp=nlp, labels=list(LABEL_WORDS))
    with torch.no_grad():
        pipe.network.outside.bias -= _bias_for(*_trial_scores(nlp, pipe, job))
    return _pipe_all(nlp)


def _hf(job: Job) -> Prepare:
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
        model.classifier.bias[0] -= _bias_for(logits[:, 1:], logits[:, 0])
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

    return prepare


def _spacy(job: Job) -> Prepare:
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
    parser: Dict[str, Any] = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
    }
    parser |= {"extra_state_tokens": False, "hidden_width": 64, "maxout_pieces": 2}
    parser |= {"use_upper": False, "tok2vec": listener}
    ner: Any = nlp.add_pipe("ner", config={"model": parser})
    for label in LABEL_WORDS:
        ner.add_label(label)
    nlp.initialize()
    return _pipe_all(nlp)


def _window_ids(nlp: Any, pipe: Any, texts: List[str]) -> List[torch.Tensor]:
    """The word pieces of the texts in the windows in which EntLM reads them."""
    docs = [nlp.make_doc(text) for text in texts]
    windows = read_windows(docs, pipe.network.pieces, pipe.layer.attrs["reading"])
    ids = torch.from_numpy(windows.ids).to(pipe.network.device)
    return list(ids.split(windows.sizes.tolist()))


def _encoder(job: Job) -> Prepare:
    """The bare encoder on batches of equal length: the limit."""
    nlp, pipe = _load_entlm(job)
    network, device = pipe.network.eval(), pipe.network.device
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

    return prepare


def _equal_lengths(ids: List[torch.Tensor], max_pieces: int) -> Iterator[torch.Tensor]:
    by_length: Dict[int, List[torch.Tensor]] = {}
    for window in ids:
        by_length.setdefault(len(window), []).append(window)
    for length, group in by_length.items():
        count = max(1, max_pieces // length)
        for begin in range(0, len(group), count):
            yield torch.stack(group[begin : begin + count])


BUILDERS: Dict[str, Callable[[Job], Prepare]] = {
    "entlm": _entlm,
    "tagger": _tagger,
    "hf": _hf,
    "spacy": _spacy,
    "onnx": _onnx,
    "encoder": _encoder,
}
