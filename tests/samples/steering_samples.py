"""A DLDA that takes edits in the simplest way, for tests of what surrounds them."""

from topiary.engine import streams
from topiary.engine.models.dlda import kernel
from topiary.engine.models.dlda.kernel import DldaKernel
from topiary.engine.steering.edit import KINDS, EditRefused, EditResult


def make_edit(_, seed, state, docs, edit):
    """An edit that gives a topic new words: those of the edit, or random ones; nothing can be removed."""
    if edit.kind == "remove":
        raise EditRefused("L1:1 holds all tokens, so nothing can be removed; make another topic first")
    k = edit.topics[0] if edit.topics else 4
    rng = streams.make_generator(seed, streams.EDIT, 1000 * edit.step + edit.number)
    column = rng.gamma(0.5, size=len(state.phi[0]))
    column[list(edit.words)] += 20.0
    phi = state.phi[edit.layer - 1].copy()
    if edit.kind != "place":
        phi[:, k] = column[: len(phi)] / column[: len(phi)].sum()
    layers = (*state.phi[: edit.layer - 1], phi, *state.phi[edit.layer :])
    made = k if edit.kind in ("seed", "split") else None
    return state._replace(phi=layers), EditResult(made, (k,), 40, len(docs.documents))


def steer_dlda(monkeypatch):
    """Let DLDA take edits in this way for the length of a test."""
    monkeypatch.setattr(kernel, "WITHOUT_TOKENS", frozenset(KINDS))
    monkeypatch.setattr(DldaKernel, "edit", make_edit)
