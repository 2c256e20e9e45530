"""The form of a new run: what nobody touched follows the choices, what somebody changed stays."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from class_samples import plant
from databases import open_filled

from topiary.app.jobs.cluster import place
from topiary.app.jobs.run_rules import NewRunError, RunRequest, list_objections
from topiary.app.jobs.topic_guide import GuideTopic, TopicGuide
from topiary.app.names import name_model
from topiary.app.pages.new_run import NewRunForm
from topiary.store import corpora, runs
from topiary.store.database import open_database


class Page:
    """The form as a browser has it: every event sends all fields."""

    def __init__(self, db: Any) -> None:
        self.db = db
        self.sent: list[RunRequest] = []
        self.report: list[str] = []
        self.view: dict[str, Any] = {}
        self.waiting: list[Any] = []
        self.patient = False  # whether work elsewhere waits for :meth:`work`
        self.form = NewRunForm(
            SimpleNamespace(  # type: ignore[arg-type]
                db=db,
                later=self._later,
                actions=SimpleNamespace(create=self._create),
                notify=lambda said, _: self.report.append(said),
                view=SimpleNamespace(param=SimpleNamespace(update=self.view.update)),
            )
        )
        self.form.refresh()

    def _later(self, work: Any, then: Any) -> None:
        self.waiting.append((work, then))
        if not self.patient:
            self.work()

    def work(self) -> None:
        while self.waiting:
            work, then = self.waiting.pop(0)
            then(work())

    def button(self) -> str:
        return re.search(r"<button[^>]*type=\"submit\".*?</button>", self.form.board.html)[0]  # type: ignore[index]

    def _create(self, request: RunRequest) -> Any:
        self.sent.append(request)
        return [SimpleNamespace(number=1 + place) for place in range(len(request.seeds) or 1)]

    def fields(self) -> dict[str, str]:
        html = self.form.board.html
        texts = {}
        for tag in re.findall(r"<input[^>]*>", html):
            name, value = (re.search(rf'\b{key}="([^"]*)"', tag) for key in ("name", "value"))
            if name and 'type="checkbox"' in tag:
                texts[name[1]] = "true" if " checked" in tag else "false"
            elif name and ('type="radio"' not in tag or " checked" in tag):
                texts[name[1]] = value[1] if value else ""
        texts |= {
            name: unescape(text) for name, text in re.findall(r'<textarea[^>]*\bname="([^"]*)"[^>]*>([^<]*)<', html)
        }
        for name, options in re.findall(r'<select[^>]*\bname="([^"]*)"[^>]*>(.*?)</select>', html, re.DOTALL):
            chosen = [tag for tag in re.findall(r"<option[^>]*>", options) if " selected" in tag]
            texts[name] = re.search(r'value="([^"]*)"', chosen[0])[1]  # type: ignore[index]
        return texts

    def choose(self, **changed: str) -> dict[str, str]:
        self.form.handle({"do": "typed", "form": self.fields() | changed})
        return self.fields()

    def start(self) -> RunRequest:
        self.form.handle({"do": "start", "form": self.fields()})
        return self.sent[-1]


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    db = open_filled(tmp_path / "store.db", plant)
    yield Page(db)
    db.close()


def test_settings_that_nobody_touched_are_those_of_the_model_chosen_last(page: Page) -> None:
    assert (page.fields()["collect"], page.fields()["inference"]) == ("3", "auto")
    shown = page.choose(model="sdatm")
    assert (shown["collect"], shown["inference"], shown["head_gain"]) == ("5", "whai", "4.0")
    assert page.choose(model="datm")["head_gain"] == "1.0"
    assert page.choose(model="dlda")["collect"] == "3"


def test_what_somebody_changed_stays_when_the_model_changes(page: Page) -> None:
    page.choose(burn_in="7", layers="9-3", name="mine")
    shown = page.choose(model="datm")
    assert (shown["burn_in"], shown["layers"], shown["name"]) == ("7", "9-3", "mine")
    assert page.choose(seed="3")["burn_in"] == "7"
    request = page.start()
    assert (request.model, request.seed, request.name) == ("datm", 3, "mine")
    assert (request.texts["burn_in"], request.texts["layers"], request.texts["collect"]) == ("7", "9-3", "5")


@pytest.mark.parametrize(("typed", "seeds"), [("1-5", (1, 2, 3, 4, 5)), ("1,2,7", (1, 2, 7)), ("2-3, 9", (2, 3, 9))])
def test_several_seeds_order_a_group_and_lead_to_the_list(page: Page, typed: str, seeds: tuple[int, ...]) -> None:
    assert "Several, as in 1-5 or 1,2,7, start a run for each" in field(page, "seed")
    page.choose(seed=typed)
    assert page.start().seeds == seeds
    assert page.report == [f"Group 1: runs 1 to {len(seeds)} are on their way."]
    assert (page.view["page"], page.view["run"]) == ("runs", 1)


def test_one_seed_orders_one_run_of_no_group(page: Page) -> None:
    page.choose(seed="4-4")
    request = page.start()
    assert (request.seed, request.seeds) == (4, ())
    assert (page.report, page.view["page"]) == (["Run 1 is on its way."], "watch")


def test_a_corpus_deleted_since_it_was_chosen_is_forgotten_and_the_rest_stays(page: Page) -> None:
    page.choose(name="mine")
    assert corpora.list_corpora(page.db)[0].number == 1
    runs.delete_run(page.db, 1)
    corpora.delete_corpus(page.db, 1)
    plant(page.db, name="again")
    page.form.refresh()
    number = corpora.list_corpora(page.db)[0].number
    assert (page.fields()["corpus"], page.fields()["name"]) == (str(number), "mine")
    assert page.choose(burn_in="7")["burn_in"] == "7"
    assert page.start().corpus == number


def test_the_length_follows_the_model_and_its_settings_until_somebody_types_one(page: Page) -> None:
    assert page.fields()["minibatches"] == "3000"
    assert "ends by itself" in field(page, "minibatches")
    assert page.choose(grow="true", layers="4-4", grow_every="50")["minibatches"] == "400"
    assert page.choose(model="datm", grow="false")["minibatches"] == "3500"
    assert page.choose(model="dlda", layers="no widths")["minibatches"] == "3000"
    page.choose(minibatches="77")
    assert "ends by itself" not in field(page, "minibatches")
    assert page.choose(inference="gibbs")["minibatches"] == "77"


def test_widths_and_length_that_nobody_typed_are_left_to_the_defaults(page: Page) -> None:
    request = page.start()
    assert "layers" not in request.texts
    assert request.minibatches is None
    page.form.refresh()
    page.choose(layers="4-2", minibatches="9")
    request = page.start()
    assert (request.texts["layers"], request.minibatches) == ("4-2", 9)


def test_a_choice_that_the_model_does_not_offer_becomes_its_default(page: Page) -> None:
    page.choose(inference="sgrld")
    assert page.choose(model="datm")["inference"] == "whai"
    assert page.start().texts["inference"] == "whai"


def test_the_widths_follow_the_size_of_the_corpus_until_somebody_types_some(page: Page) -> None:
    small, large = (
        corpora.list_corpora(page.db)[0],
        replace(corpora.list_corpora(page.db)[0], number=99, tokens=2 * 10**6),
    )
    large = replace(large, documents=4_500, train_documents=4_100)
    page.form._offer = page.form._offer._replace(corpora=[large, small])  # type: ignore[union-attr]
    assert page.choose()["layers"] == "16-8"
    assert f"16-8: proposed for {small.train_documents} documents" in field(page, "layers")
    assert page.choose(corpus="99")["layers"] == "128-64-32"
    assert "128-64-32: proposed for 4,100 documents" in field(page, "layers")
    assert page.form.board.html.count("proposed for") == 1, "it is said of the widths alone"
    assert page.choose(grow="true")["layers"] == "128-64-32"
    assert "proposed" not in field(page, "layers")
    page.choose(grow="false", layers="9-3")
    assert page.choose(corpus=str(small.number))["layers"] == "9-3"
    assert page.start().texts["layers"] == "9-3"


def test_a_preset_is_one_choice_that_what_somebody_typed_wins_over(page: Page) -> None:
    assert (page.fields()["preset"], page.fields()["simplex"]) == ("", "exact")
    page.choose(collect="4")
    shown = page.choose(preset="paper")
    assert (shown["simplex"], shown["burn_in"], shown["collect"], shown["minibatches"]) == ("clamp", "20", "4", "3500")
    shown = page.choose(model="datm")
    assert (shown["preset"], shown["prior"], shown["kl_weight"], shown["minibatches"]) == (
        "paper",
        "paper",
        "1",
        "5000",
    )
    shown = page.choose(model="dlda", preset="")
    assert (shown["simplex"], shown["burn_in"], shown["collect"], shown["minibatches"]) == ("exact", "5", "4", "3000")
    page.choose(preset="paper")
    request = page.start()
    assert (request.texts["simplex"], request.texts["collect"], request.minibatches) == ("clamp", "4", 3500)


def test_the_first_choice_is_corpus_and_goal_and_all_else_is_folded(page: Page) -> None:
    html = page.form.board.html
    folded = html.index("<details")
    assert page.fields()["goal"] == "good"
    assert max(html.index(f'data-key="{key}"') for key in ("corpus", "goal-quick", "goal-labels")) < folded
    assert min(html.index(f'data-key="{key}"') for key in ("model", "layers", "minibatches", "name", "on")) > folded
    assert not re.search(r"<details[^>]* open", html)


def test_a_quick_run_ends_when_its_curve_no_longer_falls_and_its_length_is_left_to_the_defaults(page: Page) -> None:
    shown = page.choose(goal="quick")
    assert (shown["goal"], shown["minibatches"], shown["model"]) == ("quick", "300", "dlda")
    assert "once the curve no longer falls" in field(page, "minibatches")
    request = page.start()
    assert (request.until, request.minibatches, request.model) == ("good", None, "dlda")
    assert "layers" not in request.texts
    page.form.refresh()
    assert page.start().until == ""
    page.form.refresh()
    page.choose(goal="quick", minibatches="40", model="datm")
    request = page.start()
    assert (request.until, request.minibatches, request.model) == ("good", 40, "datm")


def test_a_run_with_labels_has_the_model_that_learns_them_until_another_one_is_typed(page: Page) -> None:
    shown = page.choose(goal="labels")
    assert (shown["goal"], shown["model"], shown["collect"]) == ("labels", "sdatm", "5")
    assert "layers" not in page.start().texts
    page.form.refresh()
    page.choose(goal="quick")
    assert page.choose(model="sdatm")["goal"] == "labels"
    assert page.start().until == ""
    page.form.refresh()
    page.choose(goal="labels")
    assert page.choose(model="datm")["goal"] == "good"
    page.choose(goal="labels")
    shown = page.choose(goal="quick")
    assert (shown["goal"], shown["model"]) == ("quick", "dlda")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [({"label_names": ()}, "This corpus has no labels of two classes"), ({"kind": "real"}, "this corpus has real")],
)
def test_labels_are_offered_only_where_there_are_some_and_it_is_said_why(
    page: Page, changed: dict[str, Any], sentence: str
) -> None:
    row = replace(corpora.list_corpora(page.db)[0], **changed)
    page.form._offer = page.form._offer._replace(corpora=[row])  # type: ignore[union-attr]
    page.choose()
    assert re.search(r'<input type="radio"[^>]* value="labels" disabled', page.form.board.html)
    assert sentence in page.form.board.html


def test_a_quick_run_needs_documents_that_show_when_it_is_good(page: Page) -> None:
    row = corpora.list_corpora(page.db)[0]
    row = replace(row, train_documents=row.documents)
    page.form._offer = page.form._offer._replace(corpora=[row])  # type: ignore[union-attr]
    page.choose(goal="quick")
    assert "has no test documents" in page.form.board.html
    assert "disabled" in page.button()
    page.choose(goal="good")
    assert "disabled" not in page.button()


def test_a_fork_offers_no_preset(page: Page) -> None:
    page.form.refresh(SimpleNamespace(run=1, snapshot=0, labels=False))  # type: ignore[arg-type]
    assert not {"preset", "goal"} & set(page.fields())
    assert page.form.board.html.index('data-key="model"') < page.form.board.html.index("<details")
    assert "proposed for" not in page.form.board.html


def test_a_field_that_was_emptied_stays_empty_and_no_run_is_started_with_it(page: Page) -> None:
    assert page.choose(burn_in="")["burn_in"] == ""
    assert "Burn-in sweeps per layer must not be empty; usually 5" in page.form.board.html
    page.form.handle({"do": "start", "form": page.fields()})
    assert page.sent == []
    assert page.choose(burn_in="5")["burn_in"] == "5"
    assert "must not be empty" not in page.form.board.html


def test_models_are_called_as_in_their_papers() -> None:
    assert [name_model(name) for name in ("dlda", "datm", "sdatm")] == ["DLDA", "DATM", "sDATM"]


def test_a_run_is_started_once_however_often_the_button_is_pressed(page: Page) -> None:
    page.patient = True
    for _ in range(2):
        page.form.handle({"do": "start", "form": page.fields()})
    assert "disabled" in page.button()
    assert "Starting" in page.button()
    page.work()
    page.form.handle({"do": "start", "form": page.fields()})
    page.work()
    assert len(page.sent) == 1


def test_another_visit_of_the_form_starts_another_run(page: Page) -> None:
    page.start()
    page.form.refresh()
    page.start()
    assert len(page.sent) == 2


def test_a_run_that_is_refused_can_be_ordered_again_and_the_sentence_calls_settings_by_their_labels(page: Page) -> None:
    page.form._context.actions.create = lambda _: (_ for _ in ()).throw(NewRunError("burn_in must be another"))
    page.form.handle({"do": "start", "form": page.fields()})
    assert page.report == ["Burn-in sweeps per layer must be another"]
    assert "disabled" not in page.button()


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"minibatches": "-5"}, "Steps must be a whole number of at least 1; got &#39;-5&#39;"),
        ({"seed": "1.5"}, "Seeds must be seeds such as 1-5 or 1,3,7; got &#39;1.5&#39;"),
        ({"seed": "9" * 5000}, "Seeds must be seeds such as 1-5 or 1,3,7; got &#39;9999"),
        ({"seed": str(2**63)}, f"Seeds must be at most {2**63 - 1}; got {2**63}"),
        ({"seed": "5-1"}, "Seeds must be at most 100 seeds, the lower one first; got &#39;5-1&#39;"),
        ({"seed": "1,1"}, "Seeds must be at most 100 seeds, each once; got &#39;1,1&#39;"),
        ({"layers": "foo bar"}, "Topics per layer cannot be read from"),
        ({"layers": "70000"}, "Topics per layer must be at most 65,535; got 70000"),
        ({"layers": " "}, "Topics per layer must not be empty; usually 16-8"),
        ({"minibatches": ""}, "Steps must not be empty; usually"),
        ({"seed": ""}, "Seeds must not be empty; usually 1"),
        ({"eta": ""}, "must not be empty; usually 0.03"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_form(page: Page, typed: dict[str, str], sentence: str) -> None:
    page.choose(**typed)
    assert sentence in page.form.board.html
    assert "disabled" in page.button()


def test_the_name_of_a_run_may_stay_empty(page: Page) -> None:
    page.choose(name="x")
    page.choose(name=" ")
    assert "must not be empty" not in page.form.board.html
    assert page.start().name == ""


def test_a_fork_keeps_the_corpus_and_the_widths_of_its_snapshot(page: Page) -> None:
    page.form.refresh(SimpleNamespace(run=1, snapshot=0, labels=False))  # type: ignore[arg-type]
    html = page.form.board.html
    assert re.search(r'<select[^>]*name="corpus"[^>]* disabled', html)
    assert re.search(r'name="layers"[^>]* value="4-2" readonly', html)
    assert "Those of the snapshot" in html
    assert page.choose(layers="9-3")["layers"] == "4-2"
    assert page.start().texts["layers"] == "4-2"


def test_a_fork_that_learns_its_widths_may_have_another_budget(page: Page) -> None:
    page.form.refresh(SimpleNamespace(run=1, snapshot=0, labels=False))  # type: ignore[arg-type]
    page.choose(model="datm", grow="true")
    assert page.choose(layers="9-3")["layers"] == "9-3"


def test_a_fork_with_labels_begins_as_the_model_that_learns_them(page: Page) -> None:
    page.form.refresh(SimpleNamespace(run=1, snapshot=0, labels=True))  # type: ignore[arg-type]
    assert page.fields()["model"] == "sdatm"
    assert page.choose(model="datm")["model"] == "datm"


def field(page: Page, name: str) -> str:
    """One row of the form."""
    return re.search(rf'<div class="tp-field[^>]*data-key="{name}".*?</div>', page.form.board.html, re.DOTALL)[0]  # type: ignore[index]


def test_a_run_too_short_for_its_labels_is_refused_at_the_fields_that_mend_it_before_it_is_sent(page: Page) -> None:
    page.choose(model="sdatm", minibatches="200")
    said = "labels count after 500 mini-batches (Labels from mini-batch), and the run has 200"
    assert said in field(page, "minibatches")
    assert said in field(page, "label_start")
    assert re.search(r"<details[^>]* open data-unfold", page.form.board.html)
    assert "disabled" in page.button()
    page.choose(label_start="100")
    assert "tp-error" not in page.form.board.html
    assert page.start().minibatches == 200


def test_settings_stand_under_headings_each_once(page: Page) -> None:
    page.choose(model="sdatm")
    html = page.form.board.html
    found = re.findall(r"<h3>([^<]*)</h3>", html)
    expected = ["Model and layers", "Length, seeds and name", "Encoder", "Priors", "Mini-batches and sweeps"]
    assert found == [*expected, "Steps of the topics", "Learning from labels", "Predictions", "Where it runs"]
    labels = html.index("<h3>Learning from labels"), html.index("<h3>Predictions")
    assert labels[0] < html.index('data-key="label_start"') < html.index('data-key="decay"') < labels[1]
    assert html.count('data-key="batch_size"') == 1


def test_words_that_are_no_pixels_cannot_be_moved(page: Page) -> None:
    page.choose(model="sdatm", moved="1")
    assert "only pictures can be moved, and corpus &#39;leaflets&#39; has none" in field(page, "moved")
    assert page.form.board.html.count("only pictures can be") == 2  # at the field, and next to the button that is off
    assert re.search('<p class="tp-why" role="status">[^<]*only pictures can be', page.form.board.html)
    assert "disabled" in page.button()
    page.choose(moved="0")
    assert "tp-error" not in page.form.board.html


@pytest.mark.parametrize(("shape", "more"), [(None, ""), ((1, 4), ", or import the pictures with 16 grey values")])
def test_a_model_of_counts_refuses_real_numbers_and_says_what_to_do(
    page: Page, shape: tuple[int, int] | None, more: str
) -> None:
    about = corpora.list_corpora(page.db)[0]
    real = replace(about, kind="real", image_shape=shape)
    request = RunRequest(corpus=about.number, model="sdatm", texts={}, minibatches=1000)
    said = list_objections(real, request)["model"]
    assert said.startswith("model sdatm reads counts, and corpus 'leaflets' holds real numbers; ")
    assert f"train dlda on it{more}" in said
    assert ("pictures" in said) == bool(shape)


def test_a_run_too_short_to_learn_its_widths_is_refused_at_its_length(page: Page) -> None:
    page.choose(model="datm", grow="true", minibatches="3")
    assert "learning the widths of" in field(page, "minibatches")
    assert "disabled" in page.button()


def test_what_a_corpus_lacks_is_said_at_the_choice_that_needs_it(tmp_path: Path) -> None:
    db = open_database(str(tmp_path / "store.db"))
    plant(db, labelled=False)
    page = Page(db)
    page.choose(model="sdatm")
    said = "at least two classes, and corpus &#39;leaflets&#39; has none; import it with labels"
    assert said in field(page, "model")
    assert "disabled" in page.button()
    db.close()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"run": 99, "snapshot": 0, "labels": False}, "There is no run 99 in this store"),
        ({"run": 77, "snapshot": 0, "labels": True}, "There is no run 77 in this store"),
        ({"run": 1, "snapshot": 999, "labels": False}, "Run 1 has no such snapshot"),
    ],
)
def test_a_link_that_continues_what_is_not_there_says_so_and_leads_back(
    page: Page, fields: dict[str, int], sentence: str
) -> None:
    page.form.refresh(SimpleNamespace(**fields))  # type: ignore[arg-type]
    assert sentence in page.form.board.html
    assert "Reading what" not in page.form.board.html
    assert 'data-do="cancel"' in page.form.board.html
    page.form.refresh()
    assert "Start training" in page.button()


def test_an_answer_that_comes_after_another_form_was_opened_is_left_aside(page: Page) -> None:
    page.patient = True
    page.form.refresh(SimpleNamespace(run=99, snapshot=0, labels=False))  # type: ignore[arg-type]
    page.form.refresh()
    page.waiting.reverse()
    page.work()
    assert "Start training" in page.button()


def test_a_run_is_on_this_computer_until_somebody_names_another_place(page: Page) -> None:
    assert page.fields()["on"] == "this computer"
    assert page.start().on == ""
    page.form.refresh()
    page.choose(on=" tcp://10.0.0.1:8786 ")
    assert "cannot read a store in a file of this machine" in page.form.board.html
    assert "disabled" in page.button()
    page.choose(on="local:2")
    assert page.start().on == "local:2"
    page.form.refresh()
    page.choose(on="")
    assert page.start().on == ""


def test_a_place_that_is_none_is_refused_at_its_field_in_the_words_of_the_form(page: Page) -> None:
    page.choose(on="cloud:3")
    html = page.form.board.html
    wrong = re.search(r'data-key="on".*?role="alert">(.*?)</span>', html)
    assert wrong is not None
    assert wrong[1].startswith("“Run on” takes local:N, such as local:2, the address of a Dask scheduler, gpu, or both")


def test_without_dask_the_place_cannot_be_changed_and_the_form_says_why(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "is_dask_installed", lambda: False)
    page.choose(name="a")
    row = re.search(r'data-key="on".*?</div>', page.form.board.html)
    assert row is not None
    assert " readonly" in row[0]
    assert "Dask, which is not installed; pip install" in row[0]
    assert page.start().on == ""


def test_a_guide_is_checked_by_the_corpus_before_the_run_begins(page: Page) -> None:
    def complaint(text: str, **changed: str) -> str:
        page.choose(guide=text, **changed)
        return re.search(r'role="alert">(.*?)</span>', field(page, "guide"))[1]  # type: ignore[index]

    page.choose(model="dlda", inference="gibbs", layers="4")
    assert "The corpus has no &#39;hedgee&#39; (near it are hedge)" in complaint("Gardens: rose hedgee")
    assert " disabled" in page.button()
    assert complaint("rose") == "Topic 1 of the guide has 1 word; give at least 2"
    assert "names 1 parent, and the run has one layer" in complaint("Home > Gardens: rose, hedge")
    assert "it knows no edit &#39;seed&#39;" in complaint("Gardens: rose hedge", model="datm")
    page.choose(model="dlda", layers="4-2", guide="Home > Gardens: rose, hedge\n\nban: moon")
    assert 'role="alert"' not in page.form.board.html
    assert page.fields()["guide"] == "Home > Gardens: rose, hedge\n\nban: moon"
    lines = page.start().guide
    assert lines == TopicGuide((GuideTopic("Gardens", ("rose", "hedge"), "Home"),), ("moon",))
    page.form.refresh()
    page.choose(guide="topics:\n- name: Gardens\n  words: [rose, hedge]\n  parent: Home\nban: [moon]")
    assert page.start().guide == lines
    page.form.refresh()
    assert page.start().guide is None
