"""The figures of the speed benchmark as Markdown."""

from typing import Any, Dict, List, Optional, Tuple

TITLES = {
    "entlm": "EntLM, `nlp.pipe`",
    "entlm_vocabulary": 'EntLM, `rivals = "vocabulary"`',
    "entlm_bfloat16": 'EntLM, `precision = "bfloat16"`',
    "onnx_float32": "EntLM, exported for ONNX Runtime, float32",
    "onnx_int8": "EntLM, exported for ONNX Runtime, int8",
    "tagger": "`bert_tagger`, our windows and batches",
    "tagger_bfloat16": '`bert_tagger`, `precision = "bfloat16"`',
    "hf": "Hugging Face token-classification pipeline, batch 32",
    "spacy": "spaCy `transformer` + `ner`",
    "encoder": "bare encoder, no padding",
    "encoder_bfloat16": 'bare encoder, no padding, `"bfloat16"`',
}
# The first of these that was measured.
REFERENCES = ("hf", "entlm")
# Of two methods, the ratio of their speeds, and what it is meant to be at least.
WANTED: List[Tuple[str, str, float]] = [
    ("entlm", "hf", 1.45),
    ("entlm", "entlm_vocabulary", 1.0),
    ("entlm", "encoder", 0.85),
    ("entlm", "spacy", 1.45),
    ("entlm", "tagger", 0.97),
    ("entlm_bfloat16", "hf", 3.0),
    ("entlm_bfloat16", "encoder_bfloat16", 0.75),
    ("entlm_bfloat16", "spacy", 3.0),
    ("onnx_float32", "entlm", 1.2),
    ("onnx_int8", "entlm", 2.2),
]
SHORT = {
    "entlm": "EntLM",
    "entlm_vocabulary": "EntLM, vocabulary",
    "entlm_bfloat16": "EntLM bfloat16",
    "encoder_bfloat16": "encoder bfloat16",
    "onnx_float32": "ONNX float32",
    "onnx_int8": "ONNX int8",
    "hf": "HF pipeline",
    "spacy": "spaCy",
    "encoder": "encoder",
    "tagger": "tagger",
}


def markdown(results: Dict[str, Any]) -> str:
    """results (Dict[str, Any]): What `speed.py` writes as JSON. RETURNS (str): The
    machine, the ratios that matter in one table, and a table for each text."""
    machine, parts = results["machine"], results["parts"]
    device = f", {machine['gpu']}" if machine["gpu"] else ""
    versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items())
    lines = [
        f"{machine['processor']} ({', '.join(machine['flags']) or 'no AVX'}), "
        f"{machine['threads']} thread(s){device}; {versions}.",
        "",
        *_ratio_table(parts),
    ]
    for name, part in parts.items():
        lines += ["", *_part_table(name, part)]
    return "\n".join(lines) + "\n"


def ratio(part: Dict[str, Any], method: str, other: str) -> Optional[float]:
    """Of the median speeds; None if one of them was not measured."""
    speeds = [
        part["methods"].get(name, {}).get("words_per_second")
        for name in (method, other)
    ]
    return None if None in speeds else speeds[0] / speeds[1]


def _ratio_table(parts: Dict[str, Any]) -> List[str]:
    rows = [
        (method, other, least)
        for method, other, least in WANTED
        if any(ratio(part, method, other) is not None for part in parts.values())
    ]
    heads = [f"{SHORT[a]} / {SHORT[b]} (at least {least})" for a, b, least in rows]
    lines = [_row(["", *heads]), _row(["---", *["---:"] * len(heads)])]
    for name, part in parts.items():
        cells = []
        for method, other, least in rows:
            value = ratio(part, method, other)
            shown = "" if value is None else f"{value:.2f}"
            # What falls short is to be seen at once.
            low = value is not None and value < least
            cells.append(f"**{shown}**" if low else shown)
        lines.append(_row([name, *cells]))
    return lines


def _part_table(name: str, part: Dict[str, Any]) -> List[str]:
    measured = [each for each in REFERENCES if each in part["methods"]]
    reference = measured[0] if measured else "encoder"
    lines = [
        f"### {name}",
        "",
        f"{part['backbone']}. {part['documents']:,} document(s) of {part['words']:,} "
        f"words, taken from {part['all_words']:,} words in {part['all_documents']:,}; "
        f"medians of {part['rounds']} rounds in turn.",
        "",
        _row(["", "words", "words per second", f"ratio to {SHORT[reference]}", "MiB"]),
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for method, figures in part["methods"].items():
        if "error" in figures:
            lines.append(_row([TITLES[method], "", "failed", "", ""]))
            continue
        value = ratio(part, method, reference)
        cells = [f"{figures['words']:,}", f"{figures['words_per_second']:,.0f}"]
        cells.append("" if value is None else f"{value:.2f}")
        lines.append(_row([TITLES[method], *cells, f"{figures['peak_mib']:,.0f}"]))
    return lines


def _row(cells: List[str]) -> str:
    return "| " + " | ".join(cells) + " |"
