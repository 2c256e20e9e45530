"""Record what the program computes and says, to prove that a change of names and files changed nothing else.

``python -m tests.baseline record before.json`` writes the baseline of the working tree, and ``python -m
tests.baseline compare before.json`` says what differs from it now.  The parts, each of which can be chosen with
``--parts``:

states
    SHA-256 of the state of every model, in every case of the contract test, after two steps.
corpora
    What ``topiary inspect`` says of the shared corpora and cases, and the content hash of those that are imported.
sentences
    Every piece of text in the code that is no docstring, with placeholders emptied.
commands
    ``--help`` of every command, and ``--json`` of those that read a store.
views
    Every HTML and SVG string that the views and exports return while their tests run.
screens
    Every page in both themes, as PNG files in a folder next to the JSON file; their pixels are compared.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "samples"), str(ROOT / "tests" / "engine")]
SHARED = ROOT.parent / "shared"
SMALL = ("bbc", "uci_kos", "reuters395_ldac", "ap_ldac", "20news_dlda")
READING = (
    "runs", "corpora", "show 1", "topics 1 --layer 1", "topics 1 --layer 3", "quality 1", "check", "compare 1 1",
    "tree 1 --topic L3:0 --output {folder}/tree.json", "points 1", "sources 1",
)  # fmt: skip
PAGES = ("runs", "watch", "explore", "compare", "documents", "classes", "guide")
TIMES = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+\d\d:\d\d|Z)?|\d+ [A-Z][a-z]{2} \d\d:\d\d"
    r"|\d+(\.\d+)?(?= ?(s|MB|kB)\b)|(?<=heartbeat.age).{1,40}|(?<=\"pid\": )\d+"
)
MARKUP = re.compile(r"\s*<[a-z!?]")
_Json = dict[str, Any]


def record_states() -> _Json:
    """Return the digest of every state of the contract's cases."""
    import test_contract

    found = {}
    for case in test_contract.cases():
        _, state, _ = test_contract.trained(case)
        name = "-".join([case.model, *(f"{name}={text}" for name, text in case.changed)])
        arrays = test_contract.bits(test_contract.flatten(state))
        found[name] = hashlib.sha256(repr(sorted(arrays.items())).encode()).hexdigest()
    return found


def record_corpora() -> _Json:
    """Return what ``inspect`` says of the shared inputs, and the content hash of those that can be imported."""
    cases = sorted(path for path in SHARED.joinpath("cases").glob("*/*") if path.name not in ("case.md", "run.py"))
    folders = sorted({path.parent for path in cases if len([each for each in cases if each.parent == path.parent]) > 5})
    inputs = [*folders, *(path for path in cases if path.parent not in folders)]
    inputs += [path for name in SMALL if (path := SHARED / "data" / name).is_dir()]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/store.db"
        for path in inputs:
            name = path.relative_to(SHARED).as_posix()
            found[f"inspect {name}"] = run_command(["inspect", str(path)], store).replace(str(SHARED), "shared")
            run_command(["import", str(path), "--name", name.replace("/", " ")], store)
        for corpus in json.loads(run_command(["corpora", "--json"], store)):
            found[f"content of {corpus['name']}"] = corpus.get("content_hash", corpus)
    return found


def record_sentences() -> _Json:
    """Return how often each text that is no docstring stands in the code."""
    found: dict[str, int] = {}
    for file in [path for room in ("engine", "store", "app") for path in sorted((ROOT / room).rglob("*.py"))]:
        for text in _read_texts(ast.parse(file.read_text(encoding="utf-8"))):
            found[text] = found.get(text, 0) + 1
    return found


def _read_texts(tree: ast.Module) -> Iterator[str]:
    """Yield the texts with a blank in them; names of modules and keys are none of the user's."""
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            parts |= {id(each) for each in node.values}
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
        elif isinstance(node, ast.Constant) and id(node) not in parts and " " in str(node.value).strip():
            yield str(node.value)


def record_commands() -> _Json:
    """Return the help of every command, and what commands say of a planted store."""
    import garden

    from topiary.app.cli.main import build_parser
    from topiary.store.database import open_database

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/store.db"
        db = open_database(store)
        garden.plant(db)
        db.close()
        names = next(each for each in build_parser()._actions if each.dest == "command").choices
        for name in sorted(names or ()):
            found[f"{name} --help"] = run_command([name, "--help"], None)
        for text in READING:
            words = text.format(folder=folder).split()
            for more in ([], ["--json"]):
                said = run_command([*words, *more], store)
                found[" ".join([text, *more])] = TIMES.sub("#", said.replace(folder, "FOLDER"))
    return found


def run_command(words: list[str], store: str | None) -> str:
    """Return what the command prints, its errors and its exit status."""
    command = [sys.executable, "-m", "topiary.app.cli.main", *words, *(["--store", store] if store else [])]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    return f"{done.stdout}{done.stderr}" + (f"[exit {done.returncode}]" if done.returncode else "")


def record_views() -> _Json:
    """Return the digest of every HTML and SVG string that views and exports return while their tests run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "strings.json")
        tests = [str(ROOT / "tests" / "app" / name) for name in ("views", "export")]
        program = f"from tests import baseline; baseline.watch_tests({str(out)!r}, {tests!r})"
        subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        return dict(json.loads(out.read_text()))


def watch_tests(out: str, tests: list[str]) -> None:
    """Run tests, and write the strings returned by functions of the views and exports into a file."""
    import threading

    import pytest

    found: dict[str, str] = {}
    rooms = tuple(str(ROOT / "app" / name) for name in ("views", "export", "plots"))

    def watch(frame: Any, event: str, result: Any) -> None:
        if event == "return" and isinstance(result, str) and MARKUP.match(result):
            text = TIMES.sub("#", result)
            if frame.f_code.co_filename.startswith(rooms):
                found[hashlib.sha256(text.encode()).hexdigest()] = text[:200]

    sys.setprofile(watch)
    threading.setprofile(watch)
    pytest.main(["-q", "-p", "no:cacheprovider", *tests])
    sys.setprofile(None)
    Path(out).write_text(json.dumps(found))


def record_screens(folder: Path) -> _Json:
    """Write a picture of every page in both themes; return the file of each."""
    import garden
    from playwright.sync_api import sync_playwright

    from tests.e2e.conftest import SWITCHES, Server
    from topiary.store.database import open_database

    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        store = f"sqlite:///{place}/store.db"
        db = open_database(store)
        garden.plant(db)
        db.close()
        server = Server(store, Path(place))
        browser = driver.chromium.launch(
            executable_path=os.environ.get("TOPIARY_CHROMIUM", "/usr/bin/chromium"), args=list(SWITCHES)
        )
        for side in ("light", "dark"):
            context = browser.new_context(viewport={"width": 1400, "height": 960}, color_scheme=side)
            for name in PAGES:
                page = context.new_page()
                page.goto(f"{server.url}?page={name}&run=1")
                page.wait_for_timeout(6000)
                file = folder / f"{name}-{side}.png"
                page.screenshot(path=file)
                page.close()
                found[file.name] = str(file.resolve())
        browser.close()
        server.stop()
    return found


def compare(before: _Json, after: _Json) -> list[str]:
    """Return a line for everything that differs between two baselines."""
    found = []
    for part in before.keys() & after.keys():
        old, new = before[part], after[part]
        found += [f"{part}: gone: {name}" for name in old.keys() - new.keys()]
        found += [f"{part}: new: {name}" for name in new.keys() - old.keys()]
        same = {"sentences": lambda *_: True, "screens": look_alike}.get(part, str.__eq__)
        found += [f"{part}: differs: {name}" for name in old.keys() & new.keys() if not same(old[name], new[name])]
    return sorted(found)


def look_alike(before: str, after: str) -> bool:
    """Return whether two pictures differ by no more than a time of day does."""
    old, new = (np.asarray(Image.open(each).convert("L"), dtype=int) for each in (before, after))
    return old.shape == new.shape and bool((abs(old - new) > 40).mean() < 0.0005)


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--parts", default="states,corpora,sentences,commands,views,screens")
    arguments = parser.parse_args()
    screens = arguments.file.with_suffix("").with_name(f"{arguments.file.stem}-{arguments.action}")
    recorders: dict[str, Callable[[], _Json]] = {
        "states": record_states, "corpora": record_corpora, "sentences": record_sentences,
        "commands": record_commands, "views": record_views, "screens": lambda: record_screens(screens),
    }  # fmt: skip
    now = {part: recorders[part]() for part in arguments.parts.split(",")}
    if arguments.action == "record":
        arguments.file.write_text(json.dumps(now, indent=1, ensure_ascii=False))
        return 0
    differences = compare(json.loads(arguments.file.read_text()), now)
    sys.stdout.write("\n".join([*differences, f"{len(differences)} differences"]) + "\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
