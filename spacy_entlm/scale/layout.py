"""Names of what a run writes to its folder."""

# data/part-000000.jsonl, failed/part-000000.jsonl, done/part-000000.json
DATA, FAILED, DONE = FOLDERS = ("data", "failed", "done")
MANIFEST, LOCK = "manifest.json", ".lock"


def part_name(number: int) -> str:
    """The name of a shard's files, without an extension."""
    return f"part-{number:06}"
