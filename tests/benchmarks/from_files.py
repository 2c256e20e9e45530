"""From a folder of texts to topics, by the clock: ``topiary import`` and ``train``, against a script with tomotopy.

The script reads the files with a plain tokenizer (runs of letters, without English stop words) and trains LDA; both
have as many topics, sweeps and threads, and begin as new processes.  Topiary also writes a store: the texts, snapshots,
checkpoints and a curve.  Its kernels are compiled before the first round.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.report import load, median, parser, say, shared_data
from topiary.app.jobs.process import build_environment
from topiary.app.machine import find_asset

BBC = "bbc/bbc-fulltext.zip"
PLAIN = """
import re, sys
from pathlib import Path
import tomotopy

folder, stop_words, topics, sweeps, threads = sys.argv[1:]
stops = frozenset(Path(stop_words).read_text(encoding="utf-8").split())
model = tomotopy.LDAModel(k=int(topics), min_df=2, seed=1)
for path in sorted(Path(folder).rglob("*.txt")):
    words = re.findall("[a-z]{2,}", path.read_text(encoding="utf-8", errors="replace").lower())
    model.add_doc([word for word in words if word not in stops])
model.train(int(sweeps), workers=int(threads))
for topic in range(int(topics)):
    print(" ".join(word for word, _ in model.get_topic_words(topic)))
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the seconds of both and the ratio."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--data", type=Path, help=f"a folder of texts, or a zip file (default: the shared {BBC})")
    options.add_argument("--topics", type=int, default=64)
    options.add_argument("--sweeps", type=int, default=300)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--model", default="dlda", help="of Topiary, with one layer (default dlda)")
    options.add_argument("--rounds", type=int, default=3)
    arguments = options.parse_args(argv)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        arguments.data = unpack(arguments.data or shared_data() / BBC, Path(folder))
        say(f"{arguments.topics} topics, {arguments.sweeps} sweeps, {arguments.threads} threads; {load()}")
        compare(arguments, Path(folder))
    return 0


def unpack(path: Path, folder: Path) -> Path:
    """Unpack a zip file, as the script reads folders; return the folder of the texts."""
    if path.is_dir():
        return path
    shutil.unpack_archive(path, folder / "texts")
    return folder / "texts"


def compare(arguments: argparse.Namespace, folder: Path) -> None:
    """Time both in turns, after a round that compiles the kernels and fills the caches of the disk."""
    contestants: dict[str, Callable[[], list[float]]] = {
        "topiary": lambda: time_topiary(arguments, folder),
        "tomotopy": lambda: time_commands([list_script(arguments)], ""),
    }
    rounds: list[dict[str, list[float]]] = []
    for number in range(arguments.rounds + 1):
        rounds.append({name: work() for name, work in contestants.items()})
        if number:
            imported, trained = rounds[-1]["topiary"]
            other = rounds[-1]["tomotopy"][0]
            say(f"  import {imported:.1f} s, train {trained:.1f} s, tomotopy {other:.1f} s")
    ratios = sorted(sum(each["topiary"]) / sum(each["tomotopy"]) for each in rounds[1:])
    say(f"  ratio of topiary to tomotopy: {median(ratios):.2f} (rounds {ratios[0]:.2f} to {ratios[-1]:.2f}); {load()}")


def time_topiary(arguments: argparse.Namespace, folder: Path) -> list[float]:
    """Return the seconds of an import into a new store, and of training in it to the end."""
    store = folder / f"store-{time.monotonic_ns()}.db"
    topiary = [sys.executable, "-m", "topiary"]
    settings = ["--set", f"layers={arguments.topics}", "--minibatches", str(arguments.sweeps)]
    training = ["train", "texts", "--model", arguments.model, *settings, "--threads", str(arguments.threads), "--wait"]
    commands = [[*topiary, "import", str(arguments.data), "--name", "texts"], [*topiary, *training]]
    return time_commands(commands, str(store))


def list_script(arguments: argparse.Namespace) -> list[str]:
    """Return the command that runs the other program."""
    numbers = map(str, (arguments.topics, arguments.sweeps, arguments.threads))
    return [sys.executable, "-c", PLAIN, str(arguments.data), str(find_asset("stop_words/english.txt")), *numbers]


def time_commands(commands: Sequence[Sequence[str]], store: str) -> list[float]:
    """Return the seconds that each command takes, by the clock."""
    seconds = []
    environment = build_environment(store) | {"TOPIARY_MAPS": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    for command in commands:
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        seconds.append(time.perf_counter() - began)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
