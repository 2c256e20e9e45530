"""The methods of a run that hand its results to other libraries: pyLDAvis, ArviZ and BERTopic."""

from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from topiary.app.analysis.read_hierarchy import find_snapshot_at
from topiary.store import runs

from .run_topics import RunTopics

if TYPE_CHECKING:
    from topiary.app.analysis.hierarchy import Hierarchy
    from topiary.app.analysis.shares import LayerUse


class RunBridges(RunTopics):
    """The results of a run in the forms of other libraries: methods of :class:`Run`."""

    def to_pyldavis(self, layer: int = 1, *, minibatch: int | None = None) -> Any:
        """Return the topics of a layer for ``pyLDAvis.display``, ``save_html`` and ``save_json``.

        Topic n of pyLDAvis is the topic with that number, as in "L1:n".  ``topiary export RUN pyldavis`` writes the
        same without pyLDAvis.

        Returns
        -------
        pyLDAvis.PreparedData

        Raises
        ------
        ImportError
            When pyLDAvis is not installed.
        LookupError
            When there is no such layer.
        """
        from topiary.app.export.pyldavis import collect_pyldavis

        try:
            from pyLDAvis import PreparedData
        except ImportError as error:
            raise ImportError("to_pyldavis needs pyLDAvis: pip install 'topiary-explorer[bridges]'") from error
        row = self._row
        data = collect_pyldavis(self._opened.db, row, find_snapshot_at(self._opened.db, row, minibatch), layer)
        tables = (pd.DataFrame(data[name]) for name in ("mdsDat", "tinfo", "token.table"))
        return PreparedData(*tables, *(data[name] for name in ("R", "lambda.step", "plot.opts", "topic.order")))

    def to_arviz(self, *others: Self | int) -> Any:
        """Return the curves of the run for ArviZ.

        Parameters
        ----------
        *others : Run or int
            Runs that differ from this one in the seed alone, as further chains.

        Returns
        -------
        xarray.DataTree
            Group "posterior" has the curves of draws: ``r_sum``, ``active_topics`` and ``share_entropy`` (by layer),
            and the concentrations that the run learns, at the mini-batches that all chains have.  Group "sample_stats"
            has all others, such as perplexities, step sizes and speed, NaN where a mini-batch has no value.
            Coordinates: chain (number of the run), draw (mini-batch) and layer.

        Raises
        ------
        ImportError
            When arviz-base is not installed.
        ValueError
            When a run differs in more than the seed, or nothing has been measured yet.
        """
        from topiary.app.export.bridges import read_traces

        try:
            from arviz_base import dict_to_dataset
            from xarray import DataTree
        except ImportError as error:
            raise ImportError("to_arviz needs arviz-base: pip install 'topiary-explorer[bridges]'") from error
        numbers = [self.number, *(other if isinstance(other, int) else other.number for other in others)]
        traces = read_traces(self._opened.db, [runs.get_run(self._opened.db, number) for number in numbers])
        return DataTree.from_dict(
            {
                group: dict_to_dataset(data, coords=traces.coords[group], dims=traces.dims, attrs=traces.attrs[group])
                for group, data in traces.data.items()
            }
        )

    def document_info(self, layer: int = 1, *, minibatch: int | None = None) -> pd.DataFrame:
        """Return the documents of the corpus and the topic of a layer to which each belongs, as BERTopic does.

        Parameters
        ----------
        layer : int, default=1
            Number of the layer, from 1 next to the words.

        Returns
        -------
        pandas.DataFrame
            By number of the document, the columns of ``BERTopic.get_document_info``: Document (its text), Topic (the
            one with the largest share, the number of its column in :meth:`weights`; -1 if none has 1 %), Name,
            CustomName (its identity and title), Representation (ten words), Representative_Docs (the three documents of
            the topic with the largest shares), Top_n_words, Probability (the share) and Representative_document.

        Raises
        ------
        LookupError
            When there is no such layer.
        """
        from topiary.app.export.bridges import list_document_info

        hierarchy, use = self._read_layer(layer, minibatch)
        return list_document_info(self._opened.db, self._row.corpus, hierarchy, layer, use)

    def _read_layer(self, layer: int, minibatch: int | None) -> tuple["Hierarchy", "LayerUse"]:
        """Return the hierarchy of a snapshot and the shares of the topics of a layer in all documents."""
        from topiary.app.analysis.shares import fetch_use

        row = self._row
        snapshot = find_snapshot_at(self._opened.db, row, minibatch)
        hierarchy = self._reader.hierarchy(row, snapshot)
        hierarchy.at_rank(layer, 1)
        return hierarchy, fetch_use(self._opened.db, row, snapshot, layer)
