"""The figures of `gpu.py` as one page of Markdown."""

from typing import Any, Callable, Dict, List

from speed_table import markdown


def page(results: Dict[str, Any]) -> str:
    """results (Dict[str, Any]): What `gpu.py` writes as JSON."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items())
    card = machine["gpu"] or "no GPU"
    lines = [
        f"# On {card}, {results['date']}",
        "",
        f"{machine['processor']}, {machine['threads']} thread(s); {versions}. Masked "
        f"LM: {results['backbone']}; text: {results['test']}.",
    ]
    if results["quick"]:
        lines += ["", "A trial of the script: its figures say nothing."]
    for name, step in results["steps"].items():
        lines += ["", f"## {TITLES[name]}", ""]
        if "error" in step:
            lines += ["Failed:", "", "```", step["error"].strip(), "```"]
        else:
            lines += SECTIONS[name](step)
    return "\n".join(lines) + "\n"


def _tests(step: Dict[str, Any]) -> List[str]:
    lines = [f"{step['summary']} (exit status {step['status']})"]
    lines += [f"- {line}" for line in step["failed"]]
    return [*lines, *(["", "```", *step["reasons"], "```"] if step["reasons"] else [])]


def _labels(step: Dict[str, Any]) -> List[str]:
    head = ["decoder", "engine", "F1", "entities", "other than on the CPU"]
    rows = [
        [decoder, engine, each["f1"], each["entities"], each["other"]]
        for decoder, engines in step.items()
        for engine, each in engines.items()
    ]
    return _table(head, rows)


def _training(step: Dict[str, Any]) -> List[str]:
    rows = [
        [name, f"{min(each['seconds']):.1f}", f"{each['peak_mib']:,.0f}"]
        for name, each in step.items()
    ]
    return _table(["", "seconds, the fastest", "peak MiB"], rows)


def _waits(step: Dict[str, Any]) -> List[str]:
    rows = [
        [name, each["n"], ", ".join(f"{k} ({n})" for k, n in each["places"].items())]
        for name, each in step.items()
    ]
    return _table(["", "waits of PyTorch", "where"], rows)


def _profile(step: Dict[str, Any]) -> List[str]:
    lines: List[str] = []
    for name, each in step.items():
        waits = ", ".join(f"{key} {n}" for key, n in each["waits"].items())
        lines += [
            f"**{name}**: {each['host_ms']:,.0f} ms of the host, "
            f"{each['device_ms']:,.0f} ms of the device; waits: {waits or 'none'}.",
            "",
            *_table(
                ["operation", "calls", "ms, host", "ms, device"],
                [list(row.values()) for row in each["rows"]],
            ),
            "",
        ]
    return lines[:-1]


def _table(head: List[str], rows: List[List[Any]]) -> List[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


TITLES = {
    "tests": "Tests",
    "labels": "Labels",
    "training": "Training",
    "speed": "Prediction",
    "base_speed": "Prediction, bert-base's size",
    "waits": "Waits for the device",
    "profile": "Where the time goes",
}
SECTIONS: Dict[str, Callable[[Dict[str, Any]], List[str]]] = {
    "tests": _tests,
    "labels": _labels,
    "training": _training,
    "speed": lambda step: markdown(step).splitlines(),
    "base_speed": lambda step: markdown(step).splitlines(),
    "waits": _waits,
    "profile": _profile,
}
