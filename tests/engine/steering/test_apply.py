"""Edits of a living chain: what they do at once, and what is left of it after many sweeps."""

import numba
import numpy as np
import pytest
from drawing import RARE, ks
from merged_worlds import MergedWorld, measure_cosine
from scipy import stats

from topiary.engine import models
from topiary.engine.contract import Facts, flatten, unflatten
from topiary.engine.hierarchy.topics import pack_topics
from topiary.engine.models.dlda.kernel import State
from topiary.engine.steering.edit import Edit, EditRefused, read_steering
from topiary.engine.steering.guide import ABSENT

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many sweeps, too slow with the compiler off")


@pytest.fixture(scope="module")
def first():
    """A world whose chain tests copy."""
    return MergedWorld(1)


@pytest.fixture
def world(first):
    """A world of the test's own; the arrays of its state are never changed in place."""
    copy = object.__new__(MergedWorld)
    copy.__dict__.update(first.__dict__)
    return copy


@pytest.mark.parametrize("seed", [1, 2])
def test_two_words_bring_apart_topics_that_share_a_column(seed):
    world = MergedWorld(seed)
    before = world.state
    world.sweep(20)
    assert not world.is_apart(1)  # they do not come apart by themselves
    world.state = before
    result = world.edit("seed", words=world.choose_words())
    assert (result.topic, world.state.phi[0].shape[1]) == (8, 9)  # no column was free
    assert {0, 8} <= set(result.changed)
    world.sweep(20)
    assert world.is_apart(8)


def test_words_of_a_topic_that_is_there_join_it_instead_of_halving_it(world):
    own = int(world.count()[:, 5].argmax())
    near = [v for v in np.argsort(-world.count()[:, 5])[:4].tolist() if v != own]
    n_tokens = world.count()[:, 5].sum()
    result = world.edit("seed", words=(own, *near[:2]))
    assert (result.topic, result.found, world.state.phi[0].shape[1]) == (5, True, 8)
    world.sweep(20)
    assert world.count()[:, 5].sum() > 0.9 * n_tokens
    another = world.edit("seed", number=2, words=(own, *near[:2]))  # whoever asks again wants two
    assert (another.topic, another.found) == (8, False)


def test_words_of_two_topics_that_are_there_join_the_one_that_has_more_of_them(world):
    counts = world.count()
    words = [int(v) for k in (3, 5) for v in np.argsort(-counts[:, k])[:2]]
    larger = 3 if counts[words, 3].sum() > counts[words, 5].sum() else 5
    result = world.edit("seed", words=tuple(words))
    assert (result.topic, result.found, world.state.phi[0].shape[1]) == (larger, True, 8)


def test_words_that_hardly_meet_make_no_topic(world):
    rare = np.argsort(np.bincount(world.docs.words, minlength=400) + 1e9 * (world.count().sum(axis=1) == 0))[:2]
    with pytest.raises(EditRefused, match="two of these words; name words that occur together in at least 10"):
        world.edit("seed", words=tuple(map(int, rare)))
    with pytest.raises(EditRefused, match="no document has two of these words"):
        world.edit("seed", words=(3,))


def test_with_a_prior_topics_are_drawn_from_the_dirichlet_that_it_says(world):
    v = int(world.count()[:, 3].argmax())
    world.edit("keep", topics=(0,), words=(v,), strength="strong")
    ((word, topic, extra),) = read_steering(world.state.steering).prior.tolist()
    counts, eta = world.count(), float(world.state.eta[0])
    assert (word, topic) == (v, 0)
    assert extra == min(counts[v].sum(), round(counts.sum() / 8 / 20))
    statistics, _ = world.kernel.gather(world.seed, world.state, world.docs, world.kernel.local(world.state))
    x = statistics.counted.words
    state, draws, others = world.state, [], []
    for seed in range(400):
        phi = world.kernel.move(seed, state, statistics)[0].phi[0]
        draws.append(phi[v, 0])
        others.append(phi[v, 3])
    a = eta + np.array([extra + x[v, 0], x[v, 3]])
    rest = eta * 400 + np.array([extra + x[:, 0].sum(), x[:, 3].sum()]) - a
    assert ks(np.array(draws), stats.beta(a[0], rest[0]).cdf) > RARE
    assert ks(np.array(others), stats.beta(a[1], rest[1]).cdf) > RARE
    assert ks(np.array(draws), stats.beta(a[0] - extra, rest[0]).cdf) < RARE


def test_a_pinned_topic_and_its_mean_do_not_move(world):
    for layer, k in ((1, 3), (2, 1)):
        world.edit("pin", layer=layer, topics=(k,))
    old, shown = world.state, world.kernel.average(world.state)
    world.sweep(5)
    new, now = world.state, world.kernel.average(world.state)
    for layer, k in ((0, 3), (1, 1)):
        for before, after in ((old, new), (shown, now)):
            assert np.array_equal(before.phi[layer][:, k], after.phi[layer][:, k])
        assert np.array_equal(old.variance[layer][:, k], new.variance[layer][:, k])
        assert not np.array_equal(old.phi[layer][:, k - 1], new.phi[layer][:, k - 1])
    world.edit("unpin", number=3, topics=(3,))
    world.sweep(1)
    assert not np.array_equal(new.phi[0][:, 3], world.state.phi[0][:, 3])


def test_merged_topics_stay_one(world):
    both = world.count()[:, [1, 2]].sum(axis=1)
    result = world.edit("merge", topics=(2, 1))
    assert result.changed == (1, 2)
    assert np.array_equal(world.count()[:, 2], both)
    world.sweep(200)
    assert measure_cosine(world.count()[:, 2], both) > 0.98
    assert world.count()[:, 1].sum() == 0


def test_a_removed_topic_stays_away_and_its_column_is_free(world):
    old = world.count()[:, 5]
    world.edit("remove", topics=(5,))
    world.sweep(200)
    assert world.count()[:, 5].sum() == 0
    assert measure_cosine(world.kernel.average(world.state).phi[0][:, 5], old) < 0.5
    assert world.edit("seed", number=2, words=world.choose_words()).topic == 5
    assert not len(read_steering(world.state.steering).removed)


def test_the_halves_of_a_split_topic_stay_apart(world):
    result = world.edit("split", topics=(0,))
    assert result.topic == 8
    world.sweep(200)
    found = [sorted(measure_cosine(world.count()[:, k], world.phi[:, truth]) for truth in (0, 1)) for k in (0, 8)]
    assert all(low < 0.3 and high > 0.9 for low, high in found)


def test_a_word_kept_out_of_a_topic_has_no_token_there_until_it_is_kept_in(world):
    word = int(world.count()[:, 4].argmax())
    result = world.edit("out", topics=(4,), words=(word,))
    assert result.tokens > 0
    world.sweep(200)
    assert world.count()[word, 4] == 0
    assert world.state.phi[0][word, 4] <= ABSENT * 1.01
    assert world.kernel.average(world.state).phi[0][word, 4] == 0.0
    world.edit("keep", number=2, topics=(4,), words=(word,))
    assert world.count()[word, 4] > 0


def test_a_topic_stays_where_it_was_placed(world):
    world.edit("place", topics=(3, 2))
    world.sweep(200)
    weights = world.state.phi[1][3] * world.state.theta.mean(axis=0)
    assert weights[2] / weights.sum() > 0.999
    assert np.allclose(world.state.phi[1].sum(axis=0), 1.0)


def test_topics_are_placed_under_the_topic_that_has_most_to_do_with_them(world):
    phi = np.full((8, 4), 0.125)  # they have as much from topic 0, but are a small part of it
    phi[:, 1:3] = 0.2 / 6, 0.1 / 6
    phi[[3, 5], 1:3] = 0.4, 0.45  # they are all of topic 2, but have little from it
    theta = np.tile((9.0, 3.0, 0.1, 3.0), (len(world.state.theta), 1))
    world.state = world.state._replace(phi=(world.state.phi[0], phi), theta=theta)
    assert world.edit("place", topics=(3, 5, -1)).topic == 1
    world.edit("remove", number=2, layer=2, topics=(2,))
    assert {world.edit("place", number=n, topics=(n, -1)).topic for n in (4, 6)} == {0, 3}, "topic 1 has its children"
    with pytest.raises(EditRefused, match="all topics of layer 2 have topics placed below them"):
        world.edit("place", number=7, topics=(7, -1))
    world.sweep(20)
    for child in (3, 5):
        weights = world.state.phi[1][child] * world.state.theta.mean(axis=0)
        assert weights[1] / weights.sum() > 0.999


def test_a_banned_word_is_shown_nowhere_and_says_nothing(world):
    word = int(world.count().sum(axis=1).argmax())
    share = world.count()[word].sum() / world.count().sum()
    world.edit("ban", words=(word,))
    world.sweep(3)
    assert np.allclose(world.state.phi[0][word], share)
    assert np.allclose(world.state.phi[0].sum(axis=0), 1.0)
    shown = world.kernel.topics(world.kernel.average(world.state)).phi[0]
    assert np.allclose(shown.sum(axis=0), 1.0)
    assert shown[word].max() <= ABSENT


@pytest.mark.parametrize("kind", ["merge", "remove", "pin"])
def test_topics_of_the_second_layer_are_edited_too(world, kind):
    before = world.state.theta.sum(axis=0)
    world.edit(kind, layer=2, topics=(1, 2) if kind == "merge" else (2,))
    world.sweep(100)
    after = world.state.theta.sum(axis=0)
    assert (after[2] / after.sum() < 0.01 * before[2] / before.sum()) == (kind != "pin")


def test_killed_and_resumed_between_edits_equals_unbroken(world):
    edits = [
        Edit(1, 0, "seed", words=world.choose_words()), Edit(2, 0, "pin", topics=(2,)),
        Edit(3, 0, "split", topics=(8,)), Edit(4, 0, "out", topics=(3,), words=(5, 9)), Edit(5, 0, "ban", words=(1,)),
        Edit(6, 0, "remove", topics=(4,)), Edit(7, 0, "merge", topics=(0, 1)), Edit(8, 0, "place", topics=(0, 1)),
    ]  # fmt: skip
    ends = []
    for broken in (False, True):
        state, kernel = world.state, world.kernel
        for edit in edits:
            state = kernel.edit(7, state, world.docs, edit)[0]
            state = kernel.step(7, state, world.docs)[0]
            if broken:
                state = unflatten(State, {name: array.copy() for name, array in flatten(state).items()})
        ends.append(flatten(state))
    assert ends[0].keys() == ends[1].keys()
    assert all(np.array_equal(array, ends[1][name]) for name, array in ends[0].items())
    assert int(read_steering(state.steering).applied) == 8


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("lda-gibbs", {"layers": (8,)}), ("lda-gibbs", {"layers": (8,), "learn_concentrations": True}),
        ("dpfa", {"layers": (8, 4), "inference": "gibbs"}), ("datm", {"layers": (8, 4)}),
        ("dlda", {"layers": (8, 4), "inference": "tlasgr"}), ("dlda", {"layers": (8, 4), "inference": "sgrld"}),
        ("dlda", {"layers": (8,), "inference": "gibbs"}),
        ("dlda", {"layers": (8, 4), "inference": "gibbs", "sampler": "plain"}),
    ],
)  # fmt: skip
def test_every_model_with_edits_keeps_to_them(first, model, settings):
    docs, module = first.docs, models.load(model)
    kernel = module.build(module.Config(**settings), Facts(400, len(docs.documents), n_tokens=int(docs.counts.sum())))
    state = kernel.prepare(1, kernel.init_from_documents(1, docs), docs)
    for _ in range(3):
        state = kernel.step(1, state, docs)[0]
    common = np.argsort(-np.bincount(docs.words, weights=docs.counts, minlength=400))
    made = {
        "out": {"topics": (1,), "words": (int(common[0]),)}, "ban": {"words": (int(common[1]),)},
        "keep": {"topics": (2,), "words": (int(common[2]),)}, "remove": {"topics": (3,)}, "merge": {"topics": (4, 5)},
        "pin": {"topics": (6,)}, "split": {"topics": (7,)}, "place": {"topics": (0, 1)},
        "seed": {"words": first.choose_words()},
    }  # fmt: skip
    done = {}
    for number, kind in enumerate((kind for kind in made if kind in kernel.steers), 1):
        state, done[kind] = kernel.edit(1, state, docs, Edit(number, 3, kind, **made[kind]))
    assert {"out", "ban", "keep", "remove", "merge", "pin"} <= set(done)
    pinned = kernel.topics(kernel.find_shown_state(state)).phi[0][:, 6]
    for _ in range(3):
        before = state
        state = kernel.step(1, state, docs)[0]
    copied = {name: array.copy() for name, array in flatten(before).items()}
    again = flatten(kernel.step(1, unflatten(module.State, copied), docs)[0])
    assert all(np.array_equal(array, again[name]) for name, array in flatten(state).items())
    shown = kernel.topics(kernel.find_shown_state(state)).phi[0]
    assert np.array_equal(shown[:, 6], pinned)
    assert shown[common[0], 1] < 2 * ABSENT
    assert shown[common[1]].max() <= ABSENT
    assert np.allclose(shown.sum(axis=0), 1.0)
    if "seed" in done:
        gone = {3, 5} - {done[kind].topic for kind in ("split", "seed")}
        assert not set(state.topics.tolist()) & gone
        assert done["split"].topic in (3, 5)  # columns of topics that are gone are the first to be used again
    snapshot = pack_topics(kernel.topics(state)) | kernel.keep(state)
    single = {name: array.astype(np.float32) for name, array in snapshot.items() if array.dtype == np.float64}
    restored = kernel.restore(1, snapshot | single)
    assert all(map(np.array_equal, restored.steering[:4], state.steering[:4]))
    assert np.ptp(np.atleast_3d(restored.phi[0] if isinstance(restored.phi, tuple) else restored.phi)[common[1]]) < 1e-9
