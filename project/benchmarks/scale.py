"""What `apply` costs: words per second, memory, and where the time of workers goes.

    OMP_NUM_THREADS=1 python project/benchmarks/scale.py scale.json --model PIPELINE \\
        --text texts.txt --rounds 3

Each round reads the same shards in this process, with one worker of Ray, and with two,
one after the other. Of a run:

- words/s: from the first shard's begin to the last one's end, without loading;
- cpu: the share of that time that the workers had a core. What is lacking, they waited
  for one, since others use the machine, too, or for the disk;
- gaps: the share between two shards of a worker; tail: the share at the end when a
  worker had no shard left;
- MiB: the most memory of a worker after its second, its middle and its last shard.
"""

import json
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Dict, List

import typer

from spacy_entlm.files.file import replace_file
from spacy_entlm.scale.engines import Engine
from spacy_entlm.scale.places import Place
from spacy_entlm.scale.shards import plan
from spacy_entlm.scale.worker import PipelineReader, ShardWorker

# Shards until a worker has what it keeps: the pipeline and its caches.
N_FIRST = 2


class Measured:
    """A worker that tells with its counts when it worked, and what it had."""

    def __init__(self, worker: ShardWorker) -> None:
        self.worker = worker

    def __call__(self, item: List[Any]) -> Dict[str, Any]:
        self.worker.load()
        begin, cpu = time.time(), time.process_time()
        counts = self.worker(item)
        return {
            **counts,
            "pid": os.getpid(),
            "begin": begin,
            "end": time.time(),
            "cpu": time.process_time() - cpu,
            "rss": rss(),
        }


def rss() -> float:
    """MiB of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure(engine: Engine, reader: PipelineReader, text: Path, size: int) -> Dict:
    out = tempfile.mkdtemp(prefix="entlm-scale-")
    try:
        shards = plan(Place(str(text)).files(), size)
        work = Measured(ShardWorker(reader, out, "jsonl", 256))
        start = time.time()
        found = engine.run_all(work, [list(shard) for shard in shards])
        whole = time.time() - start
    finally:
        shutil.rmtree(out)
    by_pid = defaultdict(list)
    for each in found:
        by_pid[each["pid"]].append(each)
    for each in by_pid.values():
        each.sort(key=lambda shard: shard["begin"])
    # Each worker's own begin: they are loaded one after the other.
    end = max(each["end"] for each in found)
    spans = [end - each[0]["begin"] for each in by_pid.values()]
    busy = sum(each["end"] - each["begin"] for each in found)
    last = sum(end - each[-1]["end"] for each in by_pid.values())
    words = sum(each["words"] for each in found)
    later = [each[min(N_FIRST, len(each)) - 1] for each in by_pid.values()]
    return {
        "workers": len(by_pid),
        "words": words,
        "words/s": words / (sum(spans) / len(spans)),
        "words per core second": words / sum(each["cpu"] for each in found),
        "cpu": sum(each["cpu"] for each in found) / sum(spans),
        "gaps": (sum(spans) - busy - last) / sum(spans),
        "tail": last / sum(spans),
        "MiB, first": max(each["rss"] for each in later),
        "MiB, middle": max(each[len(each) // 2]["rss"] for each in by_pid.values()),
        "MiB, last": max(each[-1]["rss"] for each in by_pid.values()),
        "start": whole - max(spans),
        "load": os.getloadavg()[0],
    }


def main(
    out: Path,
    model: Path = typer.Option(...),
    text: Path = typer.Option(...),
    rounds: int = 3,
    shard_bytes: int = 25_000,
) -> None:
    import ray

    runs = {
        "local": Engine(),
        "ray, 1 worker": Engine("ray", workers=1),
        "ray, 2 workers": Engine("ray", workers=2),
    }
    reader = PipelineReader.of(str(model))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    found: Dict[str, List[Dict]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name in runs:
            found[name].append(measure(runs[name], reader, text, shard_bytes))
            print(name, json.dumps(found[name][-1]), flush=True)
    medians = {
        name: {key: statistics.median(r[key] for r in each) for key in each[0]}
        for name, each in found.items()
    }
    replace_file(
        out, json.dumps({"medians": medians, "runs": found}, indent=1).encode()
    )
    for name, each in medians.items():
        print(name, {key: round(value, 3) for key, value in each.items()})


if __name__ == "__main__":
    typer.run(main)
