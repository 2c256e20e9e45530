"""Where a sentence advises an option, following the advice works."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from foreign_samples import CASES, COUNTS, SENTENCES, Files, write_files
from ingest_samples import BROKEN, SAMPLES

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import inspect_path
from topiary.app.ingest.options import ImportOptions

ADVICE = re.compile(r"--([a-z]+(?:-[a-z]+)*)(?: ('[^']+'|\"[^\"]+\"|[a-z0-9.]+)(?![\w']))?")
# Words after an option that are none of its values, as in "--format text reads the files".
VALUES: dict[str, str] = {
    "format": "[a-z]+", "split": r"chapters|paragraphs|\d+ words", "header": "yes|no", "stop_words": "none|[a-z]+",
    "min_df": r"\d+", "max_df": r"[\d.]+", "metadata": "none", "hyphens": "keep|join", "html": "yes|no",
}  # fmt: skip
FLAGS = ("strip_mail", "leave_out_common")
KEEP_ALL = ImportOptions(min_df=1, max_df=1.0)  # the inputs are small
PAGE = "\n".join(" ".join(f"word{n}{m} of the sea" for m in range(5)) for n in range(9))
# Inputs whose sentences advise options: long, wrapped, single, mixed, nested.
ADVISING: dict[str, Files] = {
    "long documents": {f"{n}.txt": f"{SENTENCES[n]}\n" * 700 for n in range(4)},
    "long paragraphs": {f"{n}.txt": f"{SENTENCES[n]} " * 700 for n in range(4)},
    "books with chapters": {
        f"{n}.txt": "".join(f"CHAPTER {m}\n\n{SENTENCES[n] * 90}\n\n" for m in "123456") for n in range(4)
    },
    "a page": {"a.txt": "\n\n".join([PAGE] * 4)},
    "a single document": {"a.md": "\n".join(SENTENCES) * 9},
    "a short document": {"a.md": SENTENCES[0]},
    "a table that names none of the texts": {
        **{f"{n}.txt": text for n, text in enumerate(SENTENCES)},
        "data.csv": "id,text\n"
        + "".join(f"x{n},{text}\n" for n, text in enumerate(text.replace(",", "") for text in SENTENCES)),
    },
    "captions of one recording": {
        "a.json": '[{"text": "pear and fig", "start": 0, "duration": 2}, {"text": "fig", "start": 2, "duration": 2}]'
    },
    "groups of lines": {"a.txt": "\n".join(f"one {n}\ntwo\nthree and four\n" for n in range(8))},
    "counts without names": {"a.csv": "".join(f"a{n},pear{m},{m + 1}\n" for n in range(5) for m in range(4))},
    "files with years": {f"199{n}_sea_{n}.txt": text for n, text in enumerate(SENTENCES * 2)},
}


def list_advice(sentence: str) -> Iterator[tuple[str, Any]]:
    """Yield the options that a sentence advises, each with its value; those to be filled in or left out are none."""
    for match in ADVICE.finditer(sentence):
        name, value = match[1].replace("-", "_"), (match[2] or "").strip("'\"")
        if "leave" in sentence[max(0, match.start() - 12) : match.start()]:
            continue
        if name in FLAGS:
            yield name, True
        elif name == "name_fields" and value:
            yield name, value
        elif name in VALUES and re.fullmatch(VALUES[name], value) and value not in ("named", "names"):
            yield name, int(value) if name == "min_df" else float(value) if name == "max_df" else value


def say(path: Path, options: ImportOptions) -> tuple[list[str], bool]:
    """The sentences about an input, and whether it was read."""
    try:
        report = inspect_path(path, options)
    except IngestError as error:
        return [error.cause], False
    return [*report.warnings, *report.notes, *report.understood.values()], True


def follow_advice(path: Path, *, sound: bool) -> None:
    """Follow every advice about an input, and for a ``sound`` one that to which it leads: none comes again."""
    waiting, tried = [KEEP_ALL], 0
    while waiting and tried < 12:
        options = waiting.pop()
        sentences, _ = say(path, options)
        for sentence in sentences:
            for name, value in list_advice(sentence):
                tried += 1
                assert getattr(options, name) != value, f"--{name} {value} is advised again: {sentence}"
                followed = replace(options, **{name: value})
                said, was_read = say(path, followed)
                assert was_read or not sound, f"--{name} {value} is advised, and then: {said[0]}"
                if was_read and sound:
                    waiting.append(followed)


@pytest.mark.parametrize("name", ADVISING)
def test_what_is_advised_about_an_input_works_and_is_not_advised_again(name: str, tmp_path: Path) -> None:
    follow_advice(write_files(tmp_path, ADVISING[name]), sound=True)


def test_what_is_advised_about_usual_and_foreign_inputs_works(tmp_path: Path) -> None:
    for number, make in enumerate(sample.make for sample in SAMPLES.values()):
        follow_advice(make(tmp_path / f"usual{number}"), sound=False)
    for number, files in enumerate([*(case.files for case in CASES.values()), *COUNTS.values()]):
        follow_advice(write_files(tmp_path / f"foreign{number}", files), sound=False)


@pytest.mark.nightly
def test_no_advice_about_a_broken_input_is_refused_as_an_option(tmp_path: Path) -> None:
    for number, broken in enumerate(BROKEN):
        path = broken.make(tmp_path / f"{number}")
        sentences, _ = say(path, replace(KEEP_ALL, format=broken.format))
        for name, value in [each for sentence in sentences for each in list_advice(sentence)]:
            said, was_read = say(path, replace(replace(KEEP_ALL, format=broken.format), **{name: value}))
            assert was_read or said != sentences, f"--{name} {value} changes nothing: {said[0]}"
