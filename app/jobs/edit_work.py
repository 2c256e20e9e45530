"""The edits of a run in the hands of its worker: when each is made, and what it did.

Everything here follows from the journal and the step, never from the clock, except the step after which a waiting edit
is taken; that step is in the journal before anything happens.  So a run that was killed makes the same edits again.
"""

import itertools
import time

from topiary.app.jobs.claim import Claim
from topiary.app.jobs.edit_orders import describe_edit, describe_result, find_edit
from topiary.app.jobs.training import Position, Training
from topiary.engine.steering.edit import PLACE, Edit, EditRefused
from topiary.store import edits, events
from topiary.store.edits import APPLIED, REFUSED, WAITING, EditRow

LOOK_SECONDS = 0.2  # between two looks for edits that users have added; an analyst waits for them
SHOWN_AFTER = (1, 20)  # steps after an edit with a snapshot
JUDGED_AFTER = (20, 50)  # steps after an edit with a point of the curve


class EditWork:
    """The journal of a run that a worker trains."""

    def __init__(self, claim: Claim, training: Training) -> None:
        self._claim = claim
        self._training = training
        self._rows = edits.list_edits(claim.db, claim.row.number)
        self._looked = time.monotonic()

    def look(self) -> None:
        """Read the journal again if users have added to it; asks the store a few times a second."""
        if not self._training.kernel.steers or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        if edits.find_last_edit(self._claim.db, self._claim.row.number) != (self._rows[-1].edit if self._rows else 0):
            self._rows = edits.list_edits(self._claim.db, self._claim.row.number)

    def list_taken(self, position: Position) -> list[EditRow]:
        """Return the edits after the step of a position that an earlier attempt took, in order."""
        return list(itertools.takewhile(lambda row: row.state != WAITING, self._list_due(position)))

    def take(self, position: Position) -> list[EditRow]:
        """Return the edits to make after the step of a position, in order, and record that they are taken now."""
        due = self._list_due(position)
        fresh = [row.edit for row in due if row.state == WAITING]
        if not fresh:
            return due
        claim, step = self._claim, position.minibatch
        taken = edits.take_edits(claim.db, claim.row.number, claim.row.attempt, fresh, step)
        self._rows = edits.list_edits(claim.db, claim.row.number)
        return [row for row in due if row.edit not in fresh] + taken

    def _list_due(self, position: Position) -> list[EditRow]:
        """Return the edits that follow the last one made, up to one that is made after another step."""
        due: list[EditRow] = []
        for row in self._rows:
            if row.edit <= position.edited or row.step < 1 or row.state not in (WAITING, APPLIED, REFUSED):
                continue
            is_now = row.step == position.minibatch
            if row.state == WAITING:
                is_now = row.step <= position.minibatch and self._training.kernel.takes_edits(position.state)
            if not is_now:
                break
            due.append(row)
        return due

    def is_shown(self, step: int) -> bool:
        """Return whether a snapshot is due because of an edit some steps ago."""
        return any(row.step + after == step for row in self._list_made() for after in SHOWN_AFTER)

    def is_awaited(self, step: int) -> bool:
        """Return whether the snapshot of a step is the first after an edit, for which an analyst waits."""
        return any(row.step + SHOWN_AFTER[0] == step for row in self._list_made())

    def is_judged(self, step: int) -> bool:
        """Return whether a point of the curve is due because of an edit some steps ago."""
        return any(row.step + after == step for row in self._list_made() for after in JUDGED_AFTER)

    def is_settling(self, step: int) -> bool:
        """Return whether the last edit was less than fifty steps ago, so that the run does not end by itself."""
        return any(row.step <= step < row.step + JUDGED_AFTER[-1] for row in self._list_made())

    def _list_made(self) -> list[EditRow]:
        """Return the edits that this run has made."""
        return [row for row in self._rows if row.state == APPLIED and row.step > 0]

    def make(self, position: Position, due: list[EditRow]) -> Position:
        """Make edits between two steps, and record what they did."""
        for row in due:
            position, done = self._make_edit(position, row)
            self._rows = [done if each.edit == row.edit else each for each in self._rows]
            claim, words = self._claim, self._training.corpus.vocabulary
            text = f"{row.edit}: {describe_edit(done, words)}; {describe_result(done)}"
            events.append_note(claim.db, row.run, position.minibatch, "edit", text)
        return position

    def _make_edit(self, position: Position, row: EditRow) -> tuple[Position, EditRow]:
        """Make an edit; one that cannot be done is refused in the journal."""
        claim, named = self._claim, None
        try:
            topics = self._find_topics(row)
            columns = tuple(topic - 1 for topic in topics)
            edit = Edit(row.edit, position.minibatch, row.kind, row.layer, columns, row.words, row.strength)
            position, result = self._training.edit(position, edit)
        except EditRefused as error:
            done = row._replace(state=REFUSED, message=str(error))
            position = position._replace(edited=row.edit)
        else:
            done = row._replace(
                state=APPLIED,
                message="the words belong there already" if result.found else "",
                topic=None if result.topic is None else result.topic + 1,
                changed=tuple(column + 1 for column in result.changed),
                tokens=result.tokens,
                documents=result.documents,
                perplexity_before=claim.point_perplexity,
            )
            named = (row.layer + 1, done.topic or topics[-1]) if row.kind == PLACE else (row.layer, done.topic)
        edits.record_edit(claim.db, claim.row.attempt, done, named)
        return position, done

    def _find_topics(self, row: EditRow) -> tuple[int, ...]:
        """Return the identity numbers of the topics of an edit, also of those that earlier edits made.

        Topics that were not made are left out where others are placed.
        """
        topics, missing = [], []
        for topic in row.topics:
            made = find_edit(self._rows, row.run, -topic) if topic < 0 else None
            if made is not None and made.topic is None:
                missing.append(made)
            else:
                topics.append(topic if made is None or made.topic is None else made.topic)
        if missing and (row.kind != PLACE or len(topics) < 2):
            made = missing[0]
            raise EditRefused(f"edit {made.edit}, whose topic this one is about, was {made.state}; make a topic first")
        return tuple(topics)

    def judge(self, step: int, perplexity: float) -> None:
        """Record a perplexity with the edits of the last fifty steps."""
        claim = self._claim
        recent = [row.edit for row in self._list_made() if row.step < step <= row.step + JUDGED_AFTER[-1]]
        if recent:
            edits.record_perplexity(claim.db, claim.row.number, claim.row.attempt, recent, perplexity)
