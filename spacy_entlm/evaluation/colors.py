"""One colour per class, the same on every page."""

from typing import Any, Dict, Iterable, Union

from spacy.language import Language

# "Light" of Paul Tol's colour schemes: dark text is readable on each, and people
# with impaired colour vision can tell them apart.
PALETTE = (
    *("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff"),
    *("#44bb99", "#bbcc33", "#aaaa00", "#dddddd"),
)


def label_colors(labels: Iterable[str]) -> Dict[str, str]:
    """Colours of classes, by their place in the alphabet.

    labels (Iterable[str]): The classes. More than there are colours share some.
    RETURNS (Dict[str, str]): Class to colour, to stand behind dark text.
    """
    ordered = sorted(set(labels))
    return {label: PALETTE[i % len(PALETTE)] for i, label in enumerate(ordered)}


def displacy_options(nlp_or_labels: Union[Language, Iterable[str]]) -> Dict[str, Any]:
    """Options for spaCy's displacy with the style "ent".

    nlp_or_labels (Union[Language, Iterable[str]]): A pipeline, or the classes.
    RETURNS (Dict[str, Any]): "ents", all classes, and "colors".
    """
    labels = nlp_or_labels
    if isinstance(labels, Language):
        labels = [
            label
            for name in labels.pipe_names
            if "doc.ents" in labels.get_pipe_meta(name).assigns
            for label in labels.pipe_labels.get(name, [])
        ]
    colors = label_colors(labels)
    return {"ents": list(colors), "colors": colors}
