"""Docstrings in spaCy's form, as the site's reference reads them: a griffe extension.

Here an argument is written `name (type): text`, what is returned `RETURNS (type):
text`, and errors `RAISES (type): text`. Griffe knows Google's form, so these become
"Args:", "Returns:" and "Raises:". Code after `EXAMPLE:` is shown as code.
"""

import re
import textwrap
from typing import Any, Dict, List, Tuple

import griffe

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
            for name in argument[1].split(", "):
                head = f"{name} ({argument[2]})" if argument[2] else name
                entries.append(("Args", head, [argument[3]]))
        elif entries and line.startswith(" "):
            for entry in entries[-1:]:
                entry[2].append(line.strip())
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


class SpacyDocstrings(griffe.Extension):
    """Reads the docstrings of functions in spaCy's form."""

    def on_function_instance(self, *, func: griffe.Function, **kwargs: Any) -> None:
        """Called for each function that griffe finds."""
        if func.docstring is not None:
            func.docstring.value = to_google(func.docstring.value)
