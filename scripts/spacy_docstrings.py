"""Docstrings in spaCy's form, as the site's reference reads them: a griffe extension.

Here an argument is written `name (type): text`, what is returned `RETURNS (type):
text`, and errors `RAISES (type): text`. Griffe knows Google's form, so these become
"Args:", "Returns:" and "Raises:". Code after `EXAMPLE:` is shown as code.
"""

import re
import textwrap
from importlib.metadata import entry_points
from typing import Any, Dict, List, Tuple

import griffe
from spacy.language import Language

ARGUMENT = re.compile(r"^(\w+(?:, \w+)*)(?: \(([^():]+)\))?: (.+)$")
OUTCOME = re.compile(r"^(RETURNS|YIELDS|RAISES)(?: \((.+?)\))?: (.+)$")
# Within RAISES a further error.
FURTHER = re.compile(r"^\s+\((\w+)\): (.+)$")
EXAMPLE = "EXAMPLE:\n"
SECTIONS = {"RETURNS": "Returns", "YIELDS": "Yields", "RAISES": "Raises"}


def to_google(docstring: str) -> str:
    """A docstring in Google's form. What is no argument stays as it is."""
    docstring, _, example = docstring.partition(EXAMPLE)
    text: List[str] = []
    entries: List[Tuple[str, str, List[str]]] = []
    for number, line in enumerate(docstring.splitlines()):
        outcome, argument = OUTCOME.match(line), ARGUMENT.match(line)
        further = FURTHER.match(line)
        if outcome:
            entries.append((SECTIONS[outcome[1]], outcome[2] or "", [outcome[3]]))
        elif further and entries and entries[-1][0] == "Raises":
            entries.append(("Raises", further[1], [further[2]]))
        elif argument and (number or docstring.count("\n") == 0):
            words = [argument[3]]  # of all names that stand before them
            for name in argument[1].split(", "):
                head = f"{name} ({argument[2]})" if argument[2] else name
                entries.append(("Args", head, words))
        elif entries and line.startswith(" "):
            entries[-1][2].append(line.strip())
        elif entries and line.strip():
            text.extend(["", line])
        elif not entries:
            text.append(line)
    if example:
        text += ["", "```python", textwrap.dedent(example).strip(), "```"]
    return "\n".join([*text, *_sections(entries)])


def _sections(entries: List[Tuple[str, str, List[str]]]) -> List[str]:
    grouped: Dict[str, List[str]] = {}
    for section, head, words in entries:
        told = " ".join(words)
        line = f"    {head}: {told}" if head else f"    {told}"
        grouped.setdefault(section, []).append(line)
    lines = []
    for section, found in grouped.items():
        lines += ["", f"{section}:", *found]
    return lines


def factory_defaults() -> Dict[str, Dict[str, str]]:
    """Of each function that makes components, by its path: the defaults of its
    settings, which stand in the factory and not in the signature. If factories that
    share a function differ, there are several."""
    found: Dict[str, Dict[str, List[str]]] = {}
    for entry in entry_points(group="spacy_factories"):
        if entry.value.startswith("spacy_entlm."):
            entry.load()
            settings = found.setdefault(entry.value.replace(":", "."), {})
            meta = Language.get_factory_meta(entry.name)
            for name, value in meta.default_config.items():
                settings.setdefault(name, []).append(_shown(value))
    return {
        path: {name: " or ".join(dict.fromkeys(told)) for name, told in each.items()}
        for path, each in found.items()
    }


def _shown(value: Any) -> str:
    """A default as the table shows it: of a function that is registered its name."""
    settings = value.items() if isinstance(value, dict) else []
    names = [v for k, v in settings if k.startswith("@")]
    return repr(names[0] if names else value)


class SpacyDocstrings(griffe.Extension):
    """Reads the docstrings of functions in spaCy's form."""

    def __init__(self) -> None:
        """Look up what the signatures of factories do not say."""
        super().__init__()
        self.defaults = factory_defaults()

    def on_function_instance(self, *, func: griffe.Function, **kwargs: Any) -> None:
        """Called for each function that griffe finds."""
        for name, value in self.defaults.get(func.path, {}).items():
            if name in func.parameters:
                func.parameters[name].default = value
        if func.docstring is not None:
            func.docstring.value = to_google(func.docstring.value)
