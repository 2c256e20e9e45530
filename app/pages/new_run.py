"""The form for a new run, drawn from the settings of the chosen model and checked while it is filled in."""

from functools import partial
from typing import Any, ClassVar, NamedTuple

from topiary.app.jobs.forks import (
    LABEL_MODEL,
    ForkOrigin,
    find_origin,
    find_wrong_layers,
    format_default,
    inherit_settings,
    learns_widths,
)
from topiary.app.jobs.new_run import adapt_length, plan_edits, read_seeds
from topiary.app.jobs.run_rules import (
    LARGEST_SEED,
    LINK_OF,
    RECOMMENDED,
    NewRunError,
    RunRequest,
    choose_length,
    find_preset,
    list_objections,
    list_presets,
    propose_layers,
    settles_by_itself,
    tries_widths,
)
from topiary.app.jobs.topic_guide import read_lines
from topiary.app.live.feed import TROUBLE
from topiary.app.pages import form_fields
from topiary.app.pages.components import Board
from topiary.app.pages.form_fields import GOOD, GUIDE, MODEL_GROUP, OWN, QUICK, UNTIL_GOOD, WITH_LABELS
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import ANOTHER_RUN, Context
from topiary.app.views.runs.new_run_form import FormField, draw_new_run_form, draw_no_form, name_labels
from topiary.engine import models, settings
from topiary.engine.settings import ALWAYS, Setting
from topiary.engine.steering.edit import EditRefused
from topiary.store import corpora, corpus_rows, runs
from topiary.store.database import Database
from topiary.store.errors import DamagedRow, NotFound
from topiary.store.run_rows import RunRow

MOST_STEPS = 10**9  # mini-batches of a run
MOST_TYPED = 300  # characters read of the field for seeds


class ForkRequest(NamedTuple):
    """A request to continue a run from a snapshot (0 = the latest), and whether the new run learns labels."""

    run: int
    snapshot: int
    labels: bool


class _FormOffer(NamedTuple):
    """The choices that the form offers."""

    corpora: list[corpus_rows.CorpusRow]
    titles: dict[str, str]
    settings: dict[str, tuple[Setting, ...]]
    origin: ForkOrigin | None


class NewRunForm(MessagePart):
    """The form for a new run in one session."""

    presets: ClassVar = {"cancel": {"tab": ""}}

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.board = Board(_WAITING_HTML, self.handle)
        self._offer: _FormOffer | None = None
        self._texts: dict[str, str] = {}
        self._sending = False
        self._request: ForkRequest | None = None
        self._checked: tuple[object, str] = None, ""  # what was asked of a guide last, and why a run cannot follow it

    def refresh(self, request: ForkRequest | None = None) -> None:
        """Read the corpora again and draw the form for a new run, or for a run that continues another."""
        self._sending = False
        if request != self._request:
            self._request, self._offer, self._texts = request, None, {}
            self.board.html = _WAITING_HTML
        self._context.later(partial(self._try_read, request), partial(self._receive_offer, request))

    def _try_read(self, request: ForkRequest | None) -> _FormOffer | str:
        """Return the choices of the form, or a sentence to show in its place."""
        try:
            return self._read(request)
        except TROUBLE as error:
            if request is not None and isinstance(error, NotFound):
                return _explain_no_origin(self._context.db, request)
            sentence = str(error).splitlines()[0]
            if isinstance(error, DamagedRow):
                return f"{sentence[0].upper()}{sentence[1:]}."
            return f"The store cannot be read at the moment: {sentence}"

    def _read(self, request: ForkRequest | None) -> _FormOffer:
        origin = None
        if request is not None:
            origin = find_origin(self._context.db, request.run, snapshot=request.snapshot or None)
        modules = {name: models.load(name) for name in models.list_names()}
        return _FormOffer(
            corpora.list_corpora(self._context.db),
            {name: module.TITLE for name, module in modules.items()},
            {name: settings.describe(module.Config) for name, module in modules.items()},
            origin,
        )

    def _receive_offer(self, request: ForkRequest | None, offer: _FormOffer | str) -> None:
        if request != self._request:
            return
        if isinstance(offer, str):
            self._offer = None
            self.board.html = draw_no_form(f"Continue run {request.run}" if request else "New run", offer)
            return
        self._offer = offer
        if self._texts.get("corpus") not in {str(row.number) for row in offer.corpora}:
            self._texts.pop("corpus", None)  # it was deleted after it was chosen
        self._draw()

    @on("typed")
    def _take_texts(self, form: dict[str, Any]) -> None:
        self._remember(form)
        self._draw()

    def _remember(self, texts: dict[str, Any]) -> None:
        """Store the texts that were changed; the others follow the chosen model, corpus and preset."""
        initial, goal = self._list_initial_texts(), self._choose_goal()
        typed = {str(name): str(text) for name, text in texts.items()}
        chosen = typed.pop("goal", goal)
        self._texts = {name: text for name, text in typed.items() if text != initial.get(name)}
        if chosen == QUICK:
            self._texts["goal"] = QUICK
        if chosen != goal and WITH_LABELS in (chosen, goal):  # whether the model learns labels
            self._texts.pop("model", None)
            self._texts |= {"model": LABEL_MODEL} if chosen == WITH_LABELS else {}

    def _choose_goal(self) -> str:
        """Return what the run is for; a model that learns labels, chosen among the settings, counts as that goal."""
        if self._offer is None or self._offer.origin is not None:
            return GOOD
        if self._choose_model(self._offer) == LABEL_MODEL:
            return WITH_LABELS
        return QUICK if self._texts.get("goal") == QUICK else GOOD

    def _choose_end(self) -> str:
        """Return when the run ends before its length, as :func:`app.jobs.new_run.prepare_run` names it."""
        return UNTIL_GOOD if self._choose_goal() == QUICK else ""

    # ------------------------------------------------------------ checking

    @on("start")
    def _start(self, form: dict[str, Any]) -> None:
        """Create the run, once for each opening of the form, however often the button is pressed."""
        self._remember(form)
        if self._sending:
            return
        _, request = self._check()
        self._sending = request is not None
        self._draw()
        if request is not None:
            self._context.later(partial(self._send, request), self._receive_runs)

    def _send(self, request: RunRequest) -> list[RunRow] | str:
        try:
            return self._context.actions.create(request)
        except (NewRunError, *TROUBLE) as error:
            return str(error)

    def _receive_runs(self, result: list[RunRow] | str) -> None:
        if isinstance(result, str):
            self._sending = False
            self._draw()
            self._context.notify(name_labels(result, self._list_labels()), "error")
            return
        self._texts = {}
        first, last = result[0].number, result[-1].number
        is_single = len(result) == 1
        news = (
            f"Run {first} is on its way." if is_single else f"Group {first}: runs {first} to {last} are on their way."
        )
        self._context.notify(news, "success")
        self._context.view.param.update(page="watch" if is_single else "runs", run=first, tab="", **ANOTHER_RUN)

    def _check(self) -> tuple[dict[str, str], RunRequest | None]:
        """Return errors by field ("" = about several fields), and the request if there are none."""
        offer = self._offer
        if offer is None or not offer.corpora:
            return {"": "There is no corpus yet: go back and add documents first"}, None
        model = self._choose_model(offer)
        config = models.load(model).Config
        texts = self._list_filled_values(model)
        checks = {name: form_fields.check_settings(config, {name: text}, alone=True) for name, text in texts.items()}
        errors = {name: sentence for name, sentence in checks.items() if sentence}
        errors |= self._check_empty_fields(model)
        if not errors and (sentence := form_fields.check_settings(config, texts, alone=False)):
            name = sentence.partition(" ")[0]
            errors[name if name in texts else ""] = sentence
        errors |= self._check_common_fields()
        if not errors and offer.origin and (sentence := find_wrong_layers(offer.origin, settings.parse(config, texts))):
            errors["layers"] = sentence
        request = None if errors else self._make_request(offer, model, texts)
        if request is not None:
            corpus = next(row for row in offer.corpora if row.number == request.corpus)
            errors = list_objections(corpus, request) | form_fields.check_goal(corpus, request)
            errors |= self._check_guide(corpus, request)
        labels = self._list_labels()
        return {name: name_labels(sentence, labels) for name, sentence in errors.items()}, None if errors else request

    def _make_request(self, offer: _FormOffer, model: str, texts: dict[str, str]) -> RunRequest:
        """Return the request that the form describes; all its fields must be valid."""
        seeds, preset = read_seeds(self._get_text("seed")), find_preset(model, self._choose_preset(model))
        if not {"layers"} & (self._texts.keys() | preset.texts.keys()) and self._find_sized_corpus() is not None:
            texts = {name: text for name, text in texts.items() if name != "layers"}  # proposed, not asked for
        is_given = "minibatches" in self._texts or preset.minibatches is not None or offer.origin is not None
        return RunRequest(
            corpus=int(self._choose_corpus(offer)),
            model=model,
            texts=texts,
            minibatches=int(self._get_text("minibatches")) if is_given else None,
            seed=seeds[0],
            seeds=seeds if len(seeds) > 1 else (),
            name=self._get_text("name")[:200],
            fork=offer.origin,
            on=form_fields.read_place(self._get_text(form_fields.PLACE)),
            until=self._choose_end(),
            guide=read_lines(self._get_text(GUIDE)),
        )

    def _check_guide(self, corpus: corpus_rows.CorpusRow, request: RunRequest) -> dict[str, str]:
        """Return why a run cannot follow the guide; it is drawn again once the words of the corpus are read."""
        if request.guide is None:
            return {}
        config = self._read_config(request.model)
        key = corpus.number, request.model, config, request.guide, request.on
        if key != self._checked[0]:
            self._checked = key, ""
            steps = int(self._get_text("minibatches"))
            work = partial(_find_guide_fault, self._context.db, corpus, request, config, steps)
            self._context.later(work, partial(self._receive_fault, key))
        return {GUIDE: self._checked[1]} if self._checked[1] else {}

    def _receive_fault(self, key: object, sentence: str) -> None:
        if sentence and key == self._checked[0]:
            self._checked = key, sentence
            self._draw()

    def _check_empty_fields(self, model: str) -> dict[str, str]:
        """Return errors by field for empty fields that need a value."""
        defaults = self._list_settings(model) | self._list_defaults()
        values = self._list_values(model) | {name: text for name, text in self._texts.items() if name in OWN}
        blank = (name for name, text in values.items() if not text.strip())
        return {name: f"{name} must not be empty; usually {defaults[name]}" for name in blank if defaults[name]}

    def _check_common_fields(self) -> dict[str, str]:
        """Return errors by field for the fields that every model has."""
        errors = {}
        text = self._get_text("minibatches")[:30]
        if not (text.isascii() and text.isdecimal() and int(text) >= 1):
            errors["minibatches"] = f"minibatches must be a whole number of at least 1; got {text!r}"
        elif int(text) > MOST_STEPS:
            errors["minibatches"] = f"minibatches is too large: {text}"
        try:
            largest = max(read_seeds(self._get_text("seed")[:MOST_TYPED]))
            if largest > LARGEST_SEED:
                errors["seed"] = f"seed must be at most {LARGEST_SEED}; got {largest}"
        except ValueError as error:
            errors["seed"] = f"seed {error}"
        try:
            read_lines(self._get_text(GUIDE))
        except EditRefused as error:
            errors[GUIDE] = str(error)
        if sentence := form_fields.check_place(self._get_text(form_fields.PLACE)[:300], self._context.db.url):
            errors[form_fields.PLACE] = sentence
        return errors

    @property
    def _origin(self) -> ForkOrigin | None:
        """The run that the form continues; None for a new run."""
        return self._offer.origin if self._offer else None

    def _list_labels(self) -> dict[str, str]:
        """Return the labels of the form's fields."""
        model_settings = self._offer.settings[self._choose_model(self._offer)] if self._offer else ()
        return OWN | {setting.name: setting.label for setting in model_settings}

    def _get_text(self, name: str) -> str:
        typed = self._texts.get(name, "").strip()
        return typed if typed or name == "corpus" else self._list_defaults().get(name, "")

    def _list_defaults(self) -> dict[str, str]:
        """Return the defaults of the fields that every model has."""
        return {
            "seed": self._choose_seed(),
            "name": "",
            GUIDE: "",
            "preset": RECOMMENDED,
            form_fields.PLACE: form_fields.HERE,
            "minibatches": self._choose_length(),
        }

    def _list_settings(self, model: str) -> dict[str, str]:
        """Return the initial settings of a model as texts: defaults, proposals, preset and what a fork inherits."""
        model_settings = self._offer.settings[model] if self._offer else ()
        texts = {setting.name: format_default(setting.default) for setting in model_settings}
        if (corpus := self._find_sized_corpus()) is not None:
            texts["layers"] = format_default(propose_layers(corpus, model))
        link = {"link": self._choose_link()} if "link" in texts else {}
        return texts | link | find_preset(model, self._choose_preset(model)).texts | self._inherit(model)

    def _choose_preset(self, model: str) -> str:
        """Return the chosen preset, or the recommended one if the model lacks it."""
        preset = self._texts.get("preset", RECOMMENDED)
        return preset if preset in list_presets(model) else RECOMMENDED

    def _find_sized_corpus(self) -> corpus_rows.CorpusRow | None:
        """Return the corpus whose size determines the proposed widths of layers; None if no widths are proposed."""
        offer = self._offer
        if offer is None or not offer.corpora or offer.origin or learns_widths(self._texts):
            return None
        return self._get_corpus(offer)

    def _get_corpus(self, offer: _FormOffer) -> corpus_rows.CorpusRow:
        """Return the chosen corpus, or the newest one."""
        number = self._choose_corpus(offer)
        return next((row for row in offer.corpora if str(row.number) == number), offer.corpora[-1])

    def _list_values(self, model: str) -> dict[str, str]:
        """Return the current settings of a model as texts, without typed choices that only another model offers."""
        setting_by_name = {setting.name: setting for setting in self._offer.settings[model]} if self._offer else {}
        typed = {name: text for name, text in self._texts.items() if name in setting_by_name}
        valid = {name: text for name, text in typed.items() if text in (setting_by_name[name].choices or (text,))}
        initial = self._list_settings(model)
        values = {name: text for name, text in (initial | valid).items() if name in setting_by_name}
        return values | ({"layers": initial["layers"]} if self._has_fixed_layers(values) else {})

    def _list_filled_values(self, model: str) -> dict[str, str]:
        """Return the current settings of a model that are not empty."""
        return {name: text for name, text in self._list_values(model).items() if text.strip()}

    def _has_fixed_layers(self, values: dict[str, str]) -> bool:
        """Return whether the widths of layers are fixed by the snapshot that a fork continues."""
        return self._origin is not None and not learns_widths(values)

    def _list_initial_texts(self) -> dict[str, str]:
        """Return the texts that the form has before anything is typed."""
        return self._list_defaults() | self._list_settings(self._choose_model(self._offer)) if self._offer else {}

    def _choose_seed(self) -> str:
        return str(self._origin.run.seed) if self._origin else "1"

    def _inherit(self, model: str) -> dict[str, str]:
        """Return the settings that a fork inherits from its parent as texts; empty for a new run."""
        return inherit_settings(self._origin, model, self._texts) if self._origin else {}

    def _choose_corpus(self, offer: _FormOffer) -> str:
        if offer.origin:
            return str(offer.origin.run.corpus)
        return self._get_text("corpus") or str(offer.corpora[-1].number)

    def _choose_length(self) -> str:
        """Return the proposed number of mini-batches as text."""
        if self._origin:
            return str(self._origin.run.planned)
        offer = self._offer
        if offer is None:
            return ""
        model = self._choose_model(offer)
        length = find_preset(model, self._choose_preset(model)).minibatches
        if length is None:
            config, corpus = self._read_config(model), self._get_corpus(offer)
            length = adapt_length(choose_length(model, config, corpus), config, corpus, self._choose_end())
        return str(length)

    def _describe_length(self, offer: _FormOffer, model: str) -> str:
        """Return the help text of the length: whether the run ends by itself."""
        if self._choose_end():
            return "At most; the run ends by itself once the curve no longer falls. A stopped run keeps what it has."
        is_default = "minibatches" not in self._texts and offer.origin is None and bool(offer.corpora)
        if is_default and settles_by_itself(self._read_config(model), self._get_corpus(offer)):
            return "At most; the run ends by itself once curve and tree have settled. A stopped run keeps what it has."
        return "Steps of training; a stopped run keeps what it has."

    def _read_config(self, model: str) -> Any:
        """Return the current settings of a model if they are valid, else its defaults."""
        config = models.load(model).Config
        try:
            return settings.parse(config, self._list_filled_values(model))
        except ValueError:
            return config()

    def _choose_model(self, offer: _FormOffer) -> str:
        default = offer.origin.run.model if offer.origin else "dlda"
        model = self._texts.get("model", LABEL_MODEL if self._request and self._request.labels else default)
        return model if model in offer.titles else next(iter(offer.titles))

    # ------------------------------------------------------------- drawing

    def _draw(self) -> None:
        offer = self._offer
        if offer is None:
            return
        errors, _ = self._check()
        model = self._choose_model(offer)
        values = self._list_values(model)
        fields = {
            each.name: form_fields.make_setting_field(each, values[each.name], errors.get(each.name, ""))
            for each in offer.settings[model]
        }
        if (corpus := self._find_sized_corpus()) is not None:
            tried = tries_widths(self._read_config(model), corpus)
            fields["layers"] = form_fields.add_proposal(fields["layers"], corpus, model, tried=tried)
        if self._has_fixed_layers(values):
            fields["layers"] = form_fields.lock_layers(fields["layers"])
        place = form_fields.make_place_field(self._get_text(form_fields.PLACE), errors.get(form_fields.PLACE, ""))
        first, common = self._make_common_fields(offer, model, errors)
        simple = [fields[each.name]._replace(group=MODEL_GROUP) for each in offer.settings[model] if not each.group]
        advanced = [fields[each.name] for each in offer.settings[model] if each.group != ALWAYS]
        folded = [field for field in common if field.group == MODEL_GROUP] + simple
        folded += [field for field in common if field.group != MODEL_GROUP] + advanced + [place]
        self.board.html = draw_new_run_form(
            first,
            [] if offer.origin or not offer.corpora else form_fields.list_goals(self._get_corpus(offer)),
            self._choose_goal(),
            [] if offer.origin else [form_fields.make_guide_field(self._texts.get(GUIDE, ""), errors.get(GUIDE, ""))],
            folded,
            (errors.get("goal", ""), errors.get("", "")),
            ready=not errors,
            sent=self._sending,
            title=_make_title(offer.origin),
        )

    def _make_common_fields(
        self, offer: _FormOffer, model: str, errors: dict[str, str]
    ) -> tuple[list[FormField], list[FormField]]:
        """Return the fields of every model: those at the top of the form, and those among the folded ones."""
        origin = offer.origin
        corpus_field = form_fields.make_corpus_field(offer.corpora, self._choose_corpus(offer), origin)
        model_field = form_fields.make_model_field(model, offer.titles)
        presets = form_fields.make_preset_fields(model, self._choose_preset(model))
        texts = {name: self._texts.get(name, text) for name, text in self._list_defaults().items()}
        own = form_fields.make_own_fields(texts, self._describe_length(offer, model))
        if origin is not None:  # nothing else settles the model of a fork
            first, folded = [corpus_field, model_field], own
        else:
            first, folded = [corpus_field], [model_field, *presets, *own]
        named = [[field._replace(error=errors.get(field.name, "")) for field in each] for each in (first, folded)]
        return named[0], named[1]

    def _choose_link(self) -> str:
        """Return the link function that fits the kind of the chosen corpus."""
        rows = self._offer.corpora if self._offer else []
        corpus = self._texts.get("corpus", str(rows[-1].number) if rows else "")
        return next((LINK_OF.get(row.kind, "poisson") for row in rows if str(row.number) == corpus), "poisson")


def _find_guide_fault(db: Database, corpus: corpus_rows.CorpusRow, request: RunRequest, config: Any, steps: int) -> str:
    """Return why a run cannot follow its guide; an empty text if it can."""
    try:
        plan_edits(db, corpus, request, config, steps)
    except ValueError as error:
        return str(error)
    return ""


def _explain_no_origin(db: Database, request: ForkRequest) -> str:
    """Return why the run or snapshot of a request cannot be continued."""
    try:
        runs.get_run(db, request.run)
    except NotFound:
        return f"There is no run {request.run} in this store (any more), so there is nothing to continue."
    if request.snapshot:
        return f"Run {request.run} has no such snapshot (any more); continue it from another one."
    return f"Run {request.run} has no topics yet; it can be continued after its first snapshot."


def _make_title(origin: ForkOrigin | None) -> tuple[str, str]:
    """Return the heading of the form and the line below it."""
    if origin is None:
        return "New run", "It trains in a process of its own: close this page whenever you like."
    return (
        f"Continue run {origin.run.number}",
        f"A run of its own that begins with the topics of run {origin.run.number} at mini-batch "
        f"{origin.snapshot.minibatch:,}, {format_default(origin.layers)}; settings are those of that run where the "
        "model knows them.",
    )


_WAITING_HTML = (
    '<div class="tp-page-in"><p class="tp-wait" role="status">Reading the settings of the models …</p></div>'
)
