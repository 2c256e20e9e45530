"""Kernels compiled ahead: what decides which, and the note that they are there."""

import pytest

from app.jobs import compile_kernels
from app.jobs.compile_kernels import Wanted
from engine import jit, models, settings


def wanted(*, averaged=False, real=False, scored=False, **texts):
    config = settings.parse(models.load("dlda").Config, texts)
    return Wanted("dlda", settings.to_json(config), real, scored, averaged)


def test_numbers_do_not_matter_but_choices_and_shapes_do():
    base = wanted(layers="8-4", eta="0.1")
    assert base.digest == wanted(layers="64-32", eta="0.05", batch_size="7").digest
    others = [
        wanted(layers="8-4-2", eta="0.1"),
        wanted(layers="8-4", inference="gibbs"),
        wanted(layers="8-4", link="bernoulli"),
        wanted(layers="8-4", averaged=True),
        wanted(layers="8-4", real=True),
        wanted(layers="8-4", scored=True),
    ]
    assert len({each.digest for each in (base, *others)}) == 7


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Notes in the test's own folder; the kernels themselves stay where they are."""
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_what_was_compiled_is_not_missing_any_more(folder):
    run = wanted(layers="6-3")
    assert compile_kernels.missing(run) == ["step", "rest"]
    compile_kernels.compile_here(run, "step")
    assert compile_kernels.missing(run) == ["rest"]
    compile_kernels.compile_here(run, "rest")
    assert compile_kernels.missing(run) == []
    assert compile_kernels.compile_elsewhere(run, "unused") == []


def test_kernels_of_models_that_move_pictures_are_compiled_ahead(folder):
    config = settings.parse(models.load("sdatm").Config, {"layers": "6-3", "moved": "1"})
    run = Wanted("sdatm", settings.to_json(config), real=False, scored=False, averaged=False)
    for part in compile_kernels.PARTS:
        compile_kernels.compile_here(run, part)
    assert compile_kernels.missing(run) == []


def test_where_nothing_can_be_kept_nothing_is_compiled_ahead(folder, monkeypatch):
    monkeypatch.setattr(compile_kernels.os, "access", lambda *_: False)
    assert compile_kernels.missing(wanted()) == []
