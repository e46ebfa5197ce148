"""A page with texts and the entities that were found in them."""

from typing import Any, Dict, Iterable, List

from .colors import label_colors
from .pages import render_page


def predictions_page(found: Iterable[Dict[str, Any]], title: str) -> str:
    """Render texts with their entities.

    found (Iterable[Dict]): {"text", "spans": [{"start", "end", "label", "score"?}]},
        spans in order and without overlap.
    title (str): Of the page.
    RETURNS (str): HTML that needs nothing beside it.
    """
    texts = [_parts(entry) for entry in found]
    labels = {part["label"] for parts in texts for part in parts if part.get("label")}
    colors = label_colors(labels)
    return render_page("predictions.html", title=title, texts=texts, colors=colors)


def _parts(entry: Dict[str, Any]) -> List[Dict[str, Any]]:
    """The text in pieces: {"text"}, and of entities "label" and "score", too."""
    text, parts, end = entry["text"], [], 0
    for span in entry["spans"]:
        if span["start"] < end:
            continue
        parts.append({"text": text[end : span["start"]], "label": None})
        inner = text[span["start"] : span["end"]]
        parts.append(
            {"text": inner, "label": span["label"], "score": span.get("score")}
        )
        end = span["end"]
    return [*parts, {"text": text[end:], "label": None}]
