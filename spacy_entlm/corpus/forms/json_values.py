"""Values of JSON objects, and what is said where they are of another kind."""

from typing import Any, Sequence


def part(entry: dict[str, Any], key: str, kind: type) -> Any:
    """What lies under a key, empty if there is nothing.
    RAISES (ValueError): If it is of another kind."""
    value = entry.get(key)
    if value is not None and not isinstance(value, kind):
        needed = "a list" if kind is list else "an object"
        raise ValueError(f'"{key}" must be {needed}, not {value!r:.100}')
    return value or kind()


def objects(values: Sequence[Any]) -> list[dict[str, Any]]:
    """The objects of a list. RAISES (ValueError): If one of them is none."""
    for value in values:
        if not isinstance(value, dict):
            raise ValueError(f"an object is needed, not {value!r:.100}")
    return list(values)


def text_of_key(entry: dict[str, Any], key: str) -> str:
    """The string under a key. RAISES (ValueError): If there is none."""
    text = entry.get(key)
    if not isinstance(text, str):
        raise ValueError(f'"{key}" must be a string, not {text!r:.100}')
    return text
