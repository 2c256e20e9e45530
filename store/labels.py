"""Labels: names that people give to topics."""

from sqlalchemy import Connection, delete, insert, select

from store.database import Database, repeated
from store.ownership import hold
from store.tables import topic_labels


def set(db: Database, run: int, layer: int, topic: int, text: str) -> None:
    """Name a topic; an empty text takes the name away.

    Parameters
    ----------
    db : Database
        Open for writing.
    run : int
        The run's number.
    layer, topic : int
        The topic's identity as shown: ``L3:17`` is layer 3, topic 17.
    text : str
        The name.

    Raises
    ------
    NotFound
        When there is no such run.
    """

    def work(connection: Connection) -> None:
        hold(connection, run)
        here = (topic_labels.c.run == run) & (topic_labels.c.layer == layer) & (topic_labels.c.topic == topic)
        connection.execute(delete(topic_labels).where(here))
        if text.strip():
            values = {"run": run, "layer": layer, "topic": topic, "text": text.strip()}
            connection.execute(insert(topic_labels).values(**values))

    db.transact(work)


@repeated
def every(db: Database, run: int) -> dict[tuple[int, int], str]:
    """All names of a run's topics by ``(layer, topic)``."""
    query = select(topic_labels.c.layer, topic_labels.c.topic, topic_labels.c.text).where(topic_labels.c.run == run)
    with db.read() as connection:
        found = connection.execute(query).all()
    return {(layer, topic): text for layer, topic, text in found if isinstance(text, str)}
