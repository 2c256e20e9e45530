"""The form of a new run: what nobody touched follows the choices, what somebody changed stays."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from class_samples import plant

from app.actions import NewRun
from app.pages.new_run import NewRunForm
from app.views import words
from store.database import open_database


class Page:
    """The form as a browser has it: every event sends all fields."""

    def __init__(self, db: Any) -> None:
        self.sent: list[NewRun] = []
        self.form = NewRunForm(
            SimpleNamespace(  # type: ignore[arg-type]
                db=db,
                later=lambda work, then: then(work()),
                in_turn=lambda work, then: then(work()),
                actions=SimpleNamespace(create=self._create),
                tell=lambda *_: None,
                view=SimpleNamespace(param=SimpleNamespace(update=lambda **_: None)),
            )
        )
        self.form.refresh()

    def _create(self, wanted: NewRun) -> Any:
        self.sent.append(wanted)
        return SimpleNamespace(number=1)

    def fields(self) -> dict[str, str]:
        html = self.form.board.html
        texts = {}
        for tag in re.findall(r"<input[^>]*>", html):
            name, value = (re.search(rf'\b{key}="([^"]*)"', tag) for key in ("name", "value"))
            if name and 'type="checkbox"' in tag:
                texts[name[1]] = "true" if " checked" in tag else "false"
            elif name:
                texts[name[1]] = value[1] if value else ""
        for name, options in re.findall(r'<select[^>]*\bname="([^"]*)"[^>]*>(.*?)</select>', html, re.DOTALL):
            chosen = [tag for tag in re.findall(r"<option[^>]*>", options) if " selected" in tag]
            texts[name] = re.search(r'value="([^"]*)"', chosen[0])[1]  # type: ignore[index]
        return texts

    def choose(self, **changed: str) -> dict[str, str]:
        self.form._on_board({"do": "typed", "form": self.fields() | changed})
        return self.fields()

    def start(self) -> NewRun:
        self.form._on_board({"do": "start", "form": self.fields()})
        return self.sent[-1]


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    db = open_database(str(tmp_path / "store.db"))
    plant(db)
    yield Page(db)
    db.close()


def test_settings_that_nobody_touched_are_those_of_the_model_chosen_last(page: Page) -> None:
    assert (page.fields()["burn_in"], page.fields()["inference"]) == ("20", "tlasgr")
    shown = page.choose(model="sdatm")
    assert (shown["burn_in"], shown["inference"], shown["head_gain"]) == ("5", "whai", "4.0")
    assert page.choose(model="datm")["head_gain"] == "1.0"
    assert page.choose(model="dlda")["burn_in"] == "20"


def test_what_somebody_changed_stays_when_the_model_changes(page: Page) -> None:
    page.choose(burn_in="7", layers="9-3", name="mine")
    shown = page.choose(model="datm")
    assert (shown["burn_in"], shown["layers"], shown["name"]) == ("7", "9-3", "mine")
    assert page.choose(seed="3")["burn_in"] == "7"
    wanted = page.start()
    assert (wanted.model, wanted.seed, wanted.name) == ("datm", 3, "mine")
    assert (wanted.texts["burn_in"], wanted.texts["layers"], wanted.texts["collect"]) == ("7", "9-3", "5")


def test_the_length_follows_the_inference_until_somebody_types_one(page: Page) -> None:
    usual = page.fields()["minibatches"]
    sweeps = page.choose(inference="gibbs")["minibatches"]
    assert sweeps != usual
    assert page.choose(inference="tlasgr")["minibatches"] == usual
    page.choose(minibatches="77")
    assert page.choose(inference="gibbs")["minibatches"] == "77"


def test_a_choice_that_the_model_does_not_offer_becomes_its_default(page: Page) -> None:
    page.choose(inference="sgrld")
    assert page.choose(model="datm")["inference"] == "whai"
    assert page.start().texts["inference"] == "whai"


def test_a_field_that_was_emptied_stays_empty_and_means_the_default(page: Page) -> None:
    assert page.choose(burn_in="")["burn_in"] == ""
    assert "burn_in" not in page.start().texts


def test_models_are_called_as_in_their_papers() -> None:
    assert [words.model(name) for name in ("dlda", "datm", "sdatm")] == ["DLDA", "DATM", "sDATM"]
