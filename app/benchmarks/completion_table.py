"""The table of ``topiary benchmark completion`` as text."""

from app.benchmarks.completion import LDA, Row
from app.benchmarks.published import COMPLETION
from app.jobs.progress import format_duration

HEAD = (
    f"{'method':<13}{'layers':<12}{'seed':>5}{'perplexity':>12}{'training':>12}{'a document':>12}"
    f"{'NYT':>7}{'Science':>9}  settings"
)
NOTE = """\
Completion protocol of the DEF paper: a tenth of the cells of each test document is observed, and perplexity is of the
others under normalised mean rates.  gamma, sigmoid, poisson and poisson-log are DEFs with these units and links; LDA is
scikit-learn's, its priors chosen on validation documents.  NYT and Science are the figures of Table 2, of two corpora
that are not this one: only their order compares."""


def line(row: Row) -> str:
    """One row, beside the published figures of its method and depth."""
    published = COMPLETION.get((row.method, row.layers.count("-") + 1))
    beside = f"{published[0]:>7.0f}{published[1]:>9.0f}" if published else " " * 16
    name = "LDA" if row.method == LDA else row.method
    return (
        f"{name:<13}{row.layers:<12}{row.seed:>5}{row.perplexity:>12,.1f}{format_duration(row.training_seconds):>12}"
        f"{1e3 * row.test_seconds:>9.1f} ms{beside}  {row.settings}"
    )
