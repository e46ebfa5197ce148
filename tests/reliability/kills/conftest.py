"""Work that is killed: in a process of its own, at some moment or before some write."""

import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest
from tqdm import tqdm

from spacy_entlm.files.folder import read_folder

LONGEST = 300
# What changes a disk; "?": not every processor has all of them.
CALLS = [
    *("write", "pwrite64", "writev", "copy_file_range", "sendfile", "fallocate"),
    *("openat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "link"),
    *("symlink", "unlink", "unlinkat", "rmdir", "truncate", "ftruncate"),
    *("fsync", "fdatasync"),
]
TRACE = "trace=" + ",".join(f"?{name}" for name in CALLS)
CALL = re.compile(r"(\d+) +(\w+)\((.*)")
OPENS_TO_WRITE = re.compile(r"O_CREAT|O_TRUNC|O_WRONLY|O_RDWR")


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def names_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def start(work, temporary):
    """Start a process that works once it gets a message. It has its own folder for
    temporary files, which is made."""
    ours, theirs = multiprocessing.Pipe()

    def wait_and_work():
        tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
        # Else ONNX Runtime keeps the number of its telemetry there.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        # Forks share tqdm's lock, and one that is killed may hold it for ever.
        tqdm.set_lock(threading.RLock())
        theirs.recv()
        work()

    temporary.mkdir(exist_ok=True)
    process = multiprocessing.get_context("fork").Process(target=wait_and_work)
    process.start()
    return process, ours


class Job:
    """Work, what was there before, and what its outputs are.

    folder (Path): Of the outputs, which is emptied again and again.
    work (Callable): Does it, also after a kill, when nobody has cleared up.
    prepare (Callable): Puts into the empty folder what was there before.
    read (Callable): The outputs in a folder by their names, those that are there.
    """

    def __init__(self, folder, work, prepare, read):
        self.folder, self.work, self.prepare, self.read = folder, work, prepare, read
        self.temporary = folder.with_name("temporary")
        self.n_kills = 0
        self.reset()
        self.old = read(folder)
        start_time = time.perf_counter()
        assert self.run() is False
        self.seconds = time.perf_counter() - start_time
        self.new, self.names = read(folder), names_in(folder)
        assert self.new and self.new != self.old

    def reset(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.prepare(self.folder)

    def run(self, seconds=LONGEST):
        """Work, and kill it after some seconds. RETURNS (bool): Whether it was."""
        process, pipe = start(self.work, self.temporary)
        pipe.send("go")
        process.join(seconds)
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        return process.exitcode != 0

    def traced(self, *options):
        """Work under strace. RETURNS: Its process id, whether it was killed, and the
        lines of strace."""
        process, pipe = start(self.work, self.temporary)
        log = self.folder.with_name("strace.txt")
        line = ["strace", "-f", "-y", "-s", "0", "-o", str(log), *options]
        line += ["-p", str(process.pid)]
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as tracer:
            said = tracer.stderr.readline()
            if "attached" not in said:
                process.kill()
                pytest.skip(f"no process can be traced here: {said.strip()}")
            pipe.send("go")
            process.join(LONGEST)
            tracer.communicate()
        assert process.exitcode in (0, -signal.SIGKILL)
        return process.pid, process.exitcode != 0, log.read_text().splitlines()

    def crash_points(self):
        """Where the disk is changed: names of system calls, each with its number among
        those of that name, from 1."""
        self.reset()
        pid, _, lines = self.traced("-e", TRACE)
        counts, points = dict.fromkeys(CALLS, 0), []
        for found in filter(None, map(CALL.match, lines)):
            number, name, arguments = found.groups()
            if int(number) != pid:
                continue
            counts[name] += 1
            is_ours = str(self.folder) in arguments or str(self.temporary) in arguments
            if is_ours and (name != "openat" or OPENS_TO_WRITE.search(arguments)):
                points.append((name, counts[name]))
        return points

    def check(self):
        """After a kill: each output is an old one, the new one, or absent. The next
        run ends as an undisturbed one does, and leaves nothing else behind."""
        self.n_kills += 1
        copy = self.folder.with_name("copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder, copy)  # reading may clear up
        for name, content in self.read(copy).items():
            allowed = [x[name] for x in (self.old, self.new) if name in x]
            assert content in allowed, f"{name} is neither old nor new"
        assert self.run() is False
        now = self.read(self.folder)
        assert now.keys() == self.new.keys()
        assert [name for name in now if now[name] != self.new[name]] == []
        assert names_in(self.folder) == self.names
        assert os.listdir(self.temporary) == []


def read_files(folder):
    """The outputs of a command that writes files: none that are unfinished."""
    return {
        name: content
        for name, content in contents(folder).items()
        if not name.startswith(".") and ".unfinished" not in name
    }


# What a report says of its run, not of what it made.
PASSING = {
    *("seconds", "pieces_per_second", "run", "seconds_train", "seconds_test"),
    *("finished", "words_per_second", "date", "speed"),
}


def steady(content):
    """JSON without what passes, else bytes."""
    try:
        data = json.loads(content)
    except ValueError:
        return content
    return _steady(data)


def _steady(data):
    if isinstance(data, dict):
        return {key: _steady(x) for key, x in data.items() if key not in PASSING}
    return [*map(_steady, data)] if isinstance(data, list) else data


def read_model(folder):
    """The output of a command that writes a folder, which is one output: `out`."""

    def read(path):
        return {name: steady(content) for name, content in contents(path).items()}

    path = folder / "out"
    found = read_folder(path, read) if path.is_dir() else {}
    return {"out": found} if found else {}


@pytest.fixture
def make_job(tmp_path):
    """Makes a job whose outputs lie in a folder `out` of the test."""

    def make(work, prepare=lambda folder: None, read=read_files):
        return Job(tmp_path / "outputs", work, prepare, read)

    return make
