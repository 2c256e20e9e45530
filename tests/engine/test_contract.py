"""What every model keeps to: found by name, it must pass here without another line being written.

Every choice of every setting is tried for the same seed and several threads; ``-m nightly`` tries the rest with it.
"""

import dataclasses
import functools
import itertools
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from topiary.engine import models, settings
from topiary.engine.contract import Batch, Facts, Kernel, PredictingKernel, Sweeps, flatten, unflatten
from topiary.engine.hierarchy import effects, evaluate
from topiary.engine.pool import BlockSum, BlockSums, add_statistics

V, N = 30, 36
SEED = 20_240_229
SHORT = Sweeps(3, 4, 2)


class Case(NamedTuple):
    """One model with one of its choices made: the defaults, another sampler, another link ..."""

    model: str
    changed: tuple[tuple[str, str], ...]

    @property
    def config(self) -> Any:
        """The settings; layers are small where a model has them, so that a step takes milliseconds.

        A model that learns its widths adds a layer after every second step.
        """
        kind = models.load(self.model).Config
        small = {"layers": "7-5-3", "burn_in": "2", "collect": "2", "grow_every": "2"}
        known = {about.name for about in settings.describe(kind)}
        if "layers" in known and len(kind().layers) == 1:
            small["layers"] = "7"
        return settings.parse(kind, {name: text for name, text in small.items() if name in known} | dict(self.changed))

    def kernel(self, n_threads: int = 1) -> Kernel:
        """A kernel for the corpus of this file."""
        facts = Facts(V, N, n_classes=3, image_shape=(5, 6), n_tokens=500)
        return models.load(self.model).build(self.config, facts, n_threads)

    @property
    def data(self) -> str:
        """Which values the documents must have."""
        link = dict(self.changed).get("link", "poisson")
        return link if link in ("bernoulli", "gamma") else "poisson"


def cases() -> list[Case]:
    """Every model as it comes, then with every other answer to each question of choice, one at a time.

    A number that stands at its lowest is a choice that was not made: then it is one more, or half of its highest; a
    share that stands at its highest is halved.

    Learning the widths touches every array of a state, so it is tried with every sampler.
    """
    found = []
    for name in models.list_names():
        found.append(Case(name, ()))
        described = settings.describe(models.load(name).Config)
        if "grow" in {about.name for about in described}:
            samplers = next((about.choices for about in described if about.name == "inference"), ())
            found += [Case(name, (("grow", "true"), ("inference", sampler))) for sampler in samplers[1:]]
        for about in described:
            options = about.choices if about.kind == "choice" else ("true", "false") if about.kind == "flag" else ()
            if about.kind in ("integer", "number") and about.default == about.low:
                options = (str(about.low + 1),) if about.kind == "integer" else (str(about.high / 2),)
            if about.kind == "number" and about.default == about.high == 1:
                options = ("0.5",)
            others = [choice for choice in options if choice != str(about.default).lower()]
            found += [case for choice in others if allowed(case := Case(name, ((about.name, choice),)))]
    return found


def allowed(case: Case) -> bool:
    """Whether the model agrees to this choice with all others left as they are."""
    try:
        return case.config is not None
    except settings.SettingError:
        return False


def documents(kind: str = "poisson", *, seed: int = 3) -> Batch:
    """Thirty-six documents on three subjects; the second has no word at all and the third a single one."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(0.2 + 2.0 * (np.arange(V) % 3 == np.arange(N)[:, None] % 3))
    table[1] = 0
    table[2] = np.arange(V) == 5
    present = table > 0
    values = {"poisson": table, "bernoulli": present, "gamma": table * rng.gamma(2.0, 1.0, table.shape)}[kind]
    return Batch(
        np.nonzero(present)[1].astype(np.int32),
        values[present].astype(np.float32 if kind == "gamma" else np.int32),
        np.concatenate([[0], np.cumsum(present.sum(1))]).astype(np.int64),
        (np.arange(N) % 3).astype(np.int32),
        np.arange(100, 100 + N, dtype=np.int64),
    )


def some(batch: Batch, rows: slice) -> Batch:
    """A few neighbouring documents of a batch."""
    starts = batch.starts[rows.start : rows.stop + 1]
    cells = slice(starts[0], starts[-1])
    return Batch(batch.words[cells], batch.counts[cells], starts - starts[0], batch.labels[rows], batch.documents[rows])


def halves(batch: Batch) -> tuple[Batch, Batch]:
    """The cells of a batch taken in turn: every document has observed and scored ones."""
    first = np.arange(len(batch.words)) % 2 == 0
    parts = []
    for chosen in (first, ~first):
        before = np.concatenate([[0], np.cumsum(chosen)])
        parts.append(
            batch._replace(words=batch.words[chosen], counts=batch.counts[chosen], starts=before[batch.starts])
        )
    return parts[0], parts[1]


@functools.cache  # a test below sees that no step changes the state it was given
def trained(case: Case, steps: int = 2, n_threads: int = 1, seed: int = SEED) -> tuple[Kernel, Any, Any]:
    """Kernel, state and last info after a few steps on all documents."""
    kernel, batch = case.kernel(n_threads), documents(case.data)
    state = kernel.prepare(seed, kernel.init(seed), batch)
    info = None
    for _ in range(steps):
        state, info = kernel.step(seed, state, batch)
    return kernel, state, info


def bits(arrays: dict[str, np.ndarray]) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Everything that makes two sets of arrays the same."""
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}


def name_case(case: Case) -> str:
    """The model and what was changed, as tests are named."""
    return "-".join([case.model, *(f"{name}={text}" for name, text in case.changed)])


def keeps_settings(case: Case) -> bool:
    """Whether a case has the settings as they come, but for the inference."""
    return {name for name, _ in case.changed} <= {"inference"}


every_case = pytest.mark.parametrize("case", cases(), ids=name_case)
# Most properties are tried with every inference, and with all other choices at night.
main_case = pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if keeps_settings(case) else pytest.mark.nightly) for case in cases()],
    ids=name_case,
)
every_model = pytest.mark.parametrize("name", models.list_names())


# ------------------------------------------------------------------ settings


def test_there_is_a_model_and_the_registry_is_the_folder():
    assert "dlda" in models.list_names()


def test_an_unknown_model_is_refused_with_the_list_of_those_there_are():
    with pytest.raises(LookupError, match=r"no model 'nonesuch'.*dlda"):
        models.load("nonesuch")


@every_model
def test_a_model_offers_a_title_settings_a_state_and_a_builder(name):
    module = models.load(name)
    assert module.TITLE
    assert module.TITLE.strip() == module.TITLE
    assert dataclasses.is_dataclass(module.Config)
    assert issubclass(module.State, tuple)
    assert callable(module.build)


@every_model
def test_settings_are_frozen_and_keyword_only(name):
    kind = models.load(name).Config
    config = kind()
    field = dataclasses.fields(kind)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(config, field, getattr(config, field))
    with pytest.raises(TypeError):
        kind(getattr(config, field))


@every_model
def test_every_setting_has_a_label_a_sentence_of_help_and_a_default_within_its_bounds(name):
    described = settings.describe(models.load(name).Config)
    assert [about.name for about in described if not about.label.strip() or len(about.help) < 10] == []
    assert len({about.label for about in described}) == len(described)
    shown = [about.name for about in described if about.group == settings.ALWAYS]
    assert 1 <= len(shown) <= 6, "the simple form shows a few settings; the others are folded"


@every_model
def test_every_setting_survives_json_and_text(name):
    kind = models.load(name).Config
    config = kind()
    assert settings.from_json(kind, json.loads(json.dumps(settings.to_json(config)))) == config
    assert settings.parse(kind, {about.name: as_text(about) for about in settings.describe(kind)}) == config


def test_settings_that_are_not_those_of_the_model_are_refused_in_a_sentence():
    kind = models.load("dlda").Config
    with pytest.raises(settings.SettingError, match=r"colour = .*, a setting that its model does not have"):
        settings.from_json(kind, settings.to_json(kind()) | {"colour": 1})
    with pytest.raises(settings.SettingError, match="does not say how many topics its layers have"):
        settings.from_json(kind, {})


def as_text(about: settings.Setting) -> str:
    """A default as one would type it."""
    if about.kind == "widths":
        return "-".join(map(str, about.default))
    return ",".join(map(repr, about.default)) if about.kind == "numbers" else str(about.default)


@every_model
def test_a_number_out_of_bounds_is_refused_by_name(name):
    kind = models.load(name).Config
    bounded = [
        about for about in settings.describe(kind) if about.kind in ("integer", "number") and about.low is not None
    ]
    for about in bounded:
        wrong = about.low - 1 if about.kind == "integer" else about.low - 1.0
        with pytest.raises(settings.SettingError, match=rf"{about.name} must be at least"):
            kind(**{about.name: wrong})
        with pytest.raises(settings.SettingError, match=about.name):
            kind(**{about.name: float("nan")})


@every_model
def test_the_settings_as_they_come_build_a_kernel(name):
    kernel = Case(name, ()).kernel()
    assert isinstance(kernel, Kernel)
    assert kernel.batch_size >= 1
    assert kernel.sweeps_after is None or kernel.sweeps_after >= 0
    assert kernel.measure in ("perplexity", "log-likelihood")
    module = models.load(name)
    whole = module.build(module.Config(), Facts(V, N))
    assert isinstance(whole.init(SEED), module.State)


# --------------------------------------------------------------------- steps


@main_case
def test_a_state_holds_arrays_and_nothing_else(case):
    _, state, _ = trained(case)
    for value in state:
        parts = value if isinstance(value, tuple) else (value,)
        assert all(isinstance(part, np.ndarray) and part.dtype != object for part in parts)


@main_case
def test_a_state_flattened_and_built_again_has_the_same_bits(case):
    _, state, _ = trained(case)
    again = unflatten(type(state), flatten(state))
    assert type(again) is type(state)
    assert bits(flatten(again)) == bits(flatten(state))


@main_case
def test_a_run_that_goes_on_from_its_arrays_equals_one_that_never_stopped(case):
    _, stopped, _ = trained(case, steps=2)
    stored = {name: array.copy() for name, array in flatten(stopped).items()}
    resumed, _ = case.kernel().step(SEED, unflatten(type(stopped), stored), documents(case.data))
    _, through, _ = trained(case, steps=3)
    assert bits(flatten(resumed)) == bits(flatten(through))


@main_case
def test_a_step_changes_neither_the_state_nor_the_documents_it_was_given(case):
    kernel, state, _ = trained(case)
    batch = documents(case.data)
    before = bits(flatten(state)) | bits(batch._asdict())
    after, _ = kernel.step(SEED, state, batch)
    assert bits(flatten(state)) | bits(batch._asdict()) == before
    assert bits(flatten(after)) != bits(flatten(state))


@main_case
def test_topics_are_points_on_the_simplex_and_what_joins_them_is_of_its_kind(case):
    kernel, state, _ = trained(case, steps=4)
    topics = kernel.topics(state)
    rows = V
    for layer, weights in enumerate(topics.phi):
        kind = topics.links[layer - 1].kind if layer and topics.links else "simplex"
        assert weights.shape[0] == rows
        assert np.isfinite(weights).all()
        assert kind == "signed" or (weights >= 0).all()
        if kind == "simplex":
            np.testing.assert_allclose(weights.sum(axis=0), 1.0, atol=1e-9)
        rows = weights.shape[1]
    assert topics.r.shape == (rows,)
    assert np.isfinite(topics.r).all()


@main_case
def test_effects_edges_and_popularity_are_finite_and_within_their_bounds(case):
    kernel, state, _ = trained(case, steps=4)
    topics = kernel.topics(state)
    widths = [layer.shape[1] for layer in topics.phi]
    found = effects.compute_effects(topics)
    for width, raises, lowers, popular in zip(
        widths, found.raises, found.lowers, effects.compute_popularity(topics), strict=True
    ):
        assert raises.shape == (V, width)
        assert np.isfinite(raises).all()
        assert (raises >= 0).all()
        assert lowers is None or (lowers.shape == (V, width) and (lowers >= 0).all())
        assert popular.shape == (width,)
        assert (popular >= 0).all()
        assert np.isfinite(popular).all()
    for layer, edges in zip(topics.phi[1:], effects.compute_edge_weights(topics), strict=True):
        assert edges.shape == layer.shape
        assert np.isfinite(edges).all()


@main_case
def test_a_step_reports_its_tokens_and_positive_step_sizes_of_every_topic(case):
    kernel, state, info = trained(case)
    widths = [layer.shape[1] for layer in kernel.topics(state).phi]
    assert info.tokens == int(documents(case.data).counts.sum(dtype=np.float64))
    assert info.token_draws >= info.tokens
    if kernel.sweeps_after is None:
        assert [len(sizes) for sizes in info.step_sizes][: len(widths)] == widths
    for sizes in info.step_sizes:
        assert (sizes > 0).all()
        assert np.isfinite(sizes).all()


@main_case
def test_another_seed_gives_other_topics(case):
    kernel, one, _ = trained(case)
    _, two, _ = trained(case, seed=SEED + 1)
    assert not np.array_equal(kernel.topics(one).phi[0], kernel.topics(two).phi[0])


@every_case
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(case):
    kernels, states = zip(*(trained(case, n_threads=n)[:2] for n in (1, 2, 5)), strict=True)
    assert bits(flatten(states[0])) == bits(flatten(states[1])) == bits(flatten(states[2]))
    batch = documents(case.data)
    one, two, five = (bits(flatten(kernel.infer(SEED, states[0], batch, SHORT))) for kernel in kernels)
    assert one == two == five


def blocks(n_blocks: int) -> list[slice]:
    """The documents cut into so many runs of neighbours."""
    edges = np.linspace(0, N, n_blocks + 1).astype(int).tolist()
    return [slice(*pair) for pair in itertools.pairwise(edges)]


def in_blocks(case: Case, n_blocks: int, steps: int = 2) -> tuple[list[Any], Any]:
    """Steps that gather from blocks of documents one after the other: their statistics, and the last state."""
    kernel, batch = case.kernel(), documents(case.data)
    parts = [some(batch, rows) for rows in blocks(n_blocks)]
    state = kernel.init(SEED)
    local = [kernel.local(kernel.prepare(SEED, state, part)) for part in parts]
    found = []
    for _ in range(steps):
        got = [kernel.gather(SEED, state, part, own) for part, own in zip(parts, local, strict=True)]
        found.append(functools.reduce(add_statistics, (statistics for statistics, _ in got)))
        state, _ = kernel.move(SEED, state, found[-1])
        local = [own for _, own in got]
        local = [kernel.settle(SEED, state, part, own) for part, own in zip(parts, local, strict=True)]
    return found, state


def leaves(value: Any) -> Iterator[np.ndarray]:
    """Every array and number of statistics."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield np.asarray(value)


@main_case
@pytest.mark.parametrize("n_blocks", [3, 7])
def test_gathered_in_blocks_is_gathered_at_once(case, n_blocks):
    """Whole numbers to the last bit, real ones but for the rounding of their sums."""
    whole, state = in_blocks(case, 1)
    together, other = in_blocks(case, n_blocks)
    for one, two in zip(leaves(tuple(whole)), leaves(tuple(together)), strict=True):
        if one.dtype.kind == "f":
            np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-9)
        else:
            np.testing.assert_array_equal(two, one)
    topics, others = case.kernel().topics(state), case.kernel().topics(other)
    for one, two in zip(topics.phi, others.phi, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-9)


@main_case
def test_steps_in_one_block_are_the_steps_of_a_run(case):
    kernel, state, _ = trained(case)
    _, other = in_blocks(case, 1)
    for one, two in zip(kernel.topics(state).phi, kernel.topics(other).phi, strict=True):
        np.testing.assert_array_equal(one, two)


@main_case
def test_documents_without_words_a_single_document_word_or_topic_are_trained_and_placed(case):
    """The smallest corpora there are; and layers of one topic where a model has layers."""
    batch = documents(case.data)
    empty = some(batch, slice(1, 2))
    single = batch._replace(words=np.full_like(batch.words[:1], 0), counts=batch.counts[:1], starts=np.array([0, 1]))
    single = single._replace(labels=batch.labels[:1], documents=batch.documents[:1])
    known = {about.name for about in settings.describe(type(case.config))}
    config = case.config
    if "layers" in known and not dict(case.changed).get("grow"):
        config = dataclasses.replace(config, layers=(1,) * len(config.layers))
    for docs, n_words in ((empty, V), (some(batch, slice(5, 6)), V), (single, 1)):
        facts = Facts(n_words, 1, n_classes=3, image_shape=None if n_words == 1 else (5, 6), n_tokens=10)
        try:
            kernel = models.load(case.model).build(config, facts)
        except settings.SettingError:  # pictures alone
            continue
        state = kernel.prepare(SEED, kernel.init(SEED), docs)
        for _ in range(2):
            state, _ = kernel.step(SEED, state, docs)
        theta = kernel.infer(SEED, state, docs, SHORT).theta
        assert all(np.isfinite(values).all() for values in (*kernel.topics(state).phi, *theta))


@main_case
def test_a_run_that_goes_on_from_a_snapshot_starts_with_its_topics_and_steps(case):
    kernel, state, _ = trained(case)
    shown = kernel.topics(state)
    arrays = {f"phi.{i}": phi for i, phi in enumerate(shown.phi)} | {"r": shown.r} | kernel.keep(state)
    single = {name: a.astype(np.float32) if a.dtype.kind == "f" else a for name, a in arrays.items()}
    again = kernel.restore(SEED, single)
    assert type(again) is type(state)
    for old, new in zip(shown.phi, kernel.topics(again).phi, strict=True):
        np.testing.assert_allclose(new, old, atol=1e-6)
    np.testing.assert_allclose(kernel.topics(again).r, shown.r, rtol=1e-6)
    batch = documents(case.data)
    after, _ = kernel.step(SEED, kernel.prepare(SEED, again, batch), batch)
    assert np.isfinite(kernel.topics(after).phi[0]).all()
    bare = {name: array for name, array in single.items() if name[:4] == "phi." or name == "r"}
    for old, new in zip(shown.phi, kernel.topics(kernel.restore(SEED, bare)).phi, strict=True):
        np.testing.assert_allclose(new, old, atol=1e-6)


@main_case
def test_a_model_that_predicts_gives_every_class_a_probability(case):
    kernel, state, _ = trained(case)
    if not isinstance(kernel, PredictingKernel):
        return
    read = kernel.read_features(state, documents(case.data))
    assert [layer.shape for layer in read] == [(N, layer.shape[1]) for layer in kernel.topics(state).phi]
    chances = kernel.predict(SEED, state, documents(case.data))
    assert chances.shape == (N, 3)
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-9)


# ----------------------------------------------------------------- documents


@main_case
@pytest.mark.parametrize("sweeps", [None, SHORT])
def test_documents_are_placed_with_one_activation_a_topic(case, sweeps):
    kernel, state, _ = trained(case)
    theta = kernel.infer(SEED, state, documents(case.data), sweeps).theta
    assert [layer.shape for layer in theta] == [(N, layer.shape[1]) for layer in kernel.topics(state).phi]
    for layer in theta:
        assert (layer >= 0).all()
        assert np.isfinite(layer).all()


@main_case
def test_where_a_document_lies_does_not_depend_on_its_company(case):
    kernel, state, _ = trained(case)
    batch = documents(case.data)
    together = kernel.infer(SEED, state, batch, SHORT).theta
    alone = kernel.infer(SEED, state, some(batch, slice(5, 9)), SHORT).theta
    for whole, part in zip(together, alone, strict=True):
        np.testing.assert_array_equal(whole[5:9], part)


@main_case
def test_held_out_cells_get_finite_rates_and_a_finite_score(case):
    kernel, state, _ = trained(case)
    observed, scored = halves(documents(case.data))
    chain = kernel.start_chain(SEED, state, observed)
    chain, rates = kernel.advance_chain(SEED, state, chain, observed, scored, SHORT)
    assert rates.cells.shape == scored.words.shape
    assert rates.totals.shape == (N,)
    assert np.isfinite(rates.cells).all()
    assert (rates.totals > 0).all()
    assert (rates.cells > 0).all()
    score = evaluate.score_held_out(kernel, rates, scored)
    assert np.isfinite(score)
    if kernel.measure == "perplexity":
        assert 1.0 < score < 20 * V


@main_case
def test_a_chain_goes_on_from_its_arrays_with_the_same_bits(case):
    kernel, state, _ = trained(case)
    observed, scored = halves(documents(case.data))
    chain, _ = kernel.advance_chain(SEED, state, kernel.start_chain(SEED, state, observed), observed, scored, SHORT)
    stored = unflatten(type(chain), {name: array.copy() for name, array in flatten(chain).items()})
    ends = [kernel.advance_chain(SEED, state, each, observed, scored, SHORT) for each in (chain, stored)]
    assert bits(flatten(ends[0][0])) == bits(flatten(ends[1][0]))
    assert bits(flatten(ends[0][1])) == bits(flatten(ends[1][1]))
    assert bits(flatten(ends[0][0])) != bits(flatten(chain))


@main_case
def test_the_point_score_is_the_same_for_any_number_of_threads(case):
    _, state, _ = trained(case)
    observed, scored = halves(documents(case.data))
    scores = {evaluate.evaluate_point(case.kernel(n), SEED, state, observed, scored, SHORT) for n in (1, 2)}
    assert len(scores) == 1


def test_sums_of_pieces_do_not_depend_on_who_adds_which_neighbours():
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 5, 8, 13, 31):
        parts = [BlockSum(i, 1, (rng.random(4) ** 9,)) for i in range(n)]
        alone = BlockSums()
        for part in parts:
            alone.add(part)
        for _ in range(20):
            cuts = sorted(rng.integers(0, n + 1, 3).tolist())
            together = BlockSums()
            for begin, end in itertools.pairwise([0, *cuts, n]):
                own = BlockSums()
                for part in parts[begin:end]:
                    own.add(part)
                for part in own.parts:
                    together.add(part)
            np.testing.assert_array_equal(together.total()[0], alone.total()[0])
        np.testing.assert_allclose(alone.total()[0], np.sum([part.statistics[0] for part in parts], axis=0))
