"""What the objects of an open store share: its database, and what placing documents needs of the last snapshots."""

from functools import cached_property
from typing import TYPE_CHECKING

from store.database import Database

if TYPE_CHECKING:
    from app.live.cache import InferenceCache
    from app.live.predictions import PredictionCache


class Opened:
    """An open store behind its corpora and runs.

    Parameters
    ----------
    db : Database
    """

    def __init__(self, db: Database) -> None:
        self.db = db

    @cached_property
    def places(self) -> "InferenceCache":
        """Snapshots made ready to place documents; brings the compiler with it."""
        from app.live.cache import InferenceCache

        return InferenceCache(self.db)

    @cached_property
    def classes(self) -> "PredictionCache":
        """Predictions of classes, which the store remembers."""
        from functools import partial

        from app.analysis.predictions import store_predictions
        from app.live.predictions import PredictionCache

        return PredictionCache(self.db, keep=partial(store_predictions, self.db))
