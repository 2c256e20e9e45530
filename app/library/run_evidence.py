"""The methods of a run that find evidence for topics, and those that hand its results to other libraries."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from topiary.app.analysis.document_table import make_title
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.passages import find_word, find_word_uses
from topiary.app.analysis.read_hierarchy import find_snapshot_at
from topiary.engine.lens.moments import Weighting
from topiary.store import columns, corpora, runs
from topiary.store.corpus_rows import DATE

from .run_topics import RunTopics

if TYPE_CHECKING:
    from topiary.app.analysis.hierarchy import Hierarchy
    from topiary.app.analysis.shares import LayerUse


class RunEvidence(RunTopics):
    """The evidence for topics: methods of :class:`Run` that read words and documents."""

    def word(self, word: str, *, minibatch: int | None = None) -> pd.DataFrame:
        """Return the topics of every layer to which the occurrences of a word belong, the largest part first.

        Returns
        -------
        pandas.DataFrame
            By topic ("L2:17"), the top layer first: layer, rank, title, weight (share of the word in the topic) and
            part (share of the word's occurrences that belong to the topic; topics with less than 1 % are left out).

        Raises
        ------
        LookupError
            When the vocabulary has no such word.
        """
        hierarchy = self.hierarchy(minibatch)
        number = _find_number(hierarchy, word)
        rows = [
            {
                "topic": format_identity(use.node),
                "layer": layer,
                "rank": hierarchy.rank(use.node),
                "title": hierarchy.title(use.node),
                "weight": use.weight,
                "part": use.part,
            }
            for layer in range(hierarchy.n_layers, 0, -1)
            for use in find_word_uses(hierarchy, number, layer, hierarchy.widths[layer - 1])
        ]
        return pd.DataFrame(rows, columns=["topic", "layer", "rank", "title", "weight", "part"]).set_index("topic")

    def word_shares(
        self,
        word: str,
        column: str = "",
        *,
        unit: str | None = None,
        by: Weighting = "tokens",
        where: Sequence[str] = (),
    ) -> pd.DataFrame:
        """Return how often a word is used over time or by group, with 90 % intervals.

        Parameters
        ----------
        word : str
        column : str, optional
            A column of dates, categories or numbers; the first column of dates by default.
        unit : {"day", "week", "month", "quarter", "year", "decade"}, optional
            Length of the periods; chosen by density by default.
        by : {"tokens", "documents"}
            Weight of a document.
        where : sequence of str
            Conditions on documents, such as ``"date=2004..2005"``.

        Returns
        -------
        pandas.DataFrame
            By period (its first day) or group: documents, share, low and high (NaN without documents).

        Raises
        ------
        LookupError
            When the vocabulary has no such word.
        NotFound
            When there is no such column, or none of dates.
        ValueError
            When a condition means nothing, or there are too many periods.
        """
        from topiary.app.analysis.trends import group_documents
        from topiary.app.analysis.word_trends import measure_word_by_group, measure_word_over_time, read_occurrences

        db, hierarchy = self._opened.db, self._read_placed()
        corpus = corpora.get_run_corpus(db, self._row)
        documents = self._reader.documents(corpus, hierarchy, where)
        sources, selected = documents.sources, documents.selected
        dates = [each.name for each in sources.columns if each.kind == DATE]
        chosen = columns.find_column(sources.columns, column or next(iter(dates), "a column of dates"))
        found = read_occurrences(db, corpus, _find_number(hierarchy, word))
        if found is None:
            raise LookupError(f"the documents of corpus {corpus.name!r} were not read to the end")
        values = sources.read_column(chosen)
        figure: Any
        if chosen.kind == DATE:
            figure = measure_word_over_time(found, values, unit=unit, by=by, selected=selected)
            starts = figure.periods.starts[:-1].astype("datetime64[ms]").astype("datetime64[D]")
            keys = pd.Index([str(start) for start in starts], name="period")
        else:
            figure = measure_word_by_group(found, group_documents(chosen, values), by=by, selected=selected)
            keys = pd.Index(figure.groups.names, name="group")
        parts = {"documents": figure.documents, "share": figure.mean, "low": figure.low, "high": figure.high}
        return pd.DataFrame(parts, index=keys)

    def similar(self, document: int, n: int = 10, *, layer: int = 1, minibatch: int | None = None) -> pd.DataFrame:
        """Return the documents of the corpus that are nearest to one of them in their topics.

        The distance is Hellinger's, of the shares of the topics of a layer, where those below 1 % count as one more
        topic: 0 is the same mixture, 1 nothing in common.

        Parameters
        ----------
        document : int
            Number of the document, from 0.
        n : int, default=10
        layer : int, default=1

        Returns
        -------
        pandas.DataFrame
            By document, the nearest first: distance, title and label.

        Raises
        ------
        LookupError
            When there is no such document or layer.
        """
        from topiary.app.analysis.shares import find_nearest

        use, _ = self._read_use(layer, minibatch)
        if not 0 <= document < len(use.tokens):
            raise LookupError(f"the corpus has documents 0 to {len(use.tokens) - 1}, and no {document}")
        found = find_nearest(use, use.layer.select_rows(np.array([document])), n, without=document)
        table = self._describe_documents([each.document for each in found])
        table.insert(0, "distance", [each.distance for each in found])
        return table

    def badly_explained(self, *, minibatch: int | None = None) -> pd.DataFrame:
        """Return the 2 % of the documents whose words the topics expect least, the worst first.

        Returns
        -------
        pandas.DataFrame
            By document: fit (its mean log rate per token, standardised among documents of similar length; 0 is
            usual), title and label.

        Raises
        ------
        ValueError
            When the corpus has real values.
        """
        from topiary.app.analysis.shares import explain_documents

        use, hierarchy = self._read_use(1, minibatch)
        corpus = corpora.get_run_corpus(self._opened.db, self._row)
        found = explain_documents(self._opened.db, corpus, hierarchy, use)
        table = self._describe_documents(found.documents.tolist())
        table.insert(0, "fit", found.scores[found.documents])
        return table

    def _read_use(self, layer: int, minibatch: int | None) -> tuple[Any, Hierarchy]:
        """Return the shares of the topics of a layer in all documents, and the hierarchy of their snapshot."""
        from topiary.app.analysis.read_hierarchy import find_snapshot_at
        from topiary.app.analysis.shares import fetch_use

        snapshot = find_snapshot_at(self._opened.db, self._row, minibatch)
        hierarchy = self._reader.hierarchy(self._row, snapshot)
        hierarchy.at_rank(layer, 1)
        return fetch_use(self._opened.db, self._row, snapshot, layer), hierarchy

    def _describe_documents(self, numbers: Sequence[int]) -> pd.DataFrame:
        documents = corpora.read_documents(self._opened.db, self._row.corpus, numbers)
        rows = {
            "title": [make_title(each.title, each.text, each.columns) for each in documents],
            "label": [each.label or "" for each in documents],
        }
        return pd.DataFrame(rows, index=pd.Index(list(numbers), name="document"))


def _find_number(hierarchy: Hierarchy, word: str) -> int:
    number = find_word(hierarchy, word)
    if number is None:
        raise LookupError(f"{word!r} is not in the vocabulary of run {hierarchy.run}")
    return number


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
        from topiary.app.export.bridges import collect_pyldavis

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
