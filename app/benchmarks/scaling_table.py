"""The table of ``topiary benchmark scaling``, and what it says."""

from collections.abc import Sequence

from app.benchmarks.scaling import Model, Row

MANY = 10_000_000  # documents that the prediction is for
MOST = 512  # processes that it reaches to
NETWORK = 1e9  # bits a second, of a network slower than the loopback that was measured
HEAD = (
    f"{'':<24}{'step':>9}{'sweep':>9}{'move':>9}{'the rest':>10}{'times one':>11}"
    f"{'topics out':>12}{'back':>10}{'not 0':>7}{'memory':>10}{'held':>10}"
)


def line(row: Row, base: Row) -> str:
    """One row; ``base`` is one process of one thread without a cluster."""
    threads = f"{row.threads} thread{'' if row.threads == 1 else 's'}"
    if not row.processes:
        swept = row.step - row.move
        return (
            f"{'one process, ' + threads:<24}{row.step:>8.2f}s{swept:>8.2f}s{row.move:>8.3f}s{'':>10}"
            f"{base.step / row.step:>11.2f}"
        )
    name = f"{row.processes} process{'' if row.processes == 1 else 'es'} of 1 thread"
    return (
        f"{name:<24}{row.step:>8.2f}s{row.gather:>8.2f}s{row.move:>8.3f}s{row.overhead:>9.3f}s"
        f"{base.step / row.step:>11.2f}{_megabytes(row.out):>12}{_megabytes(row.back):>10}{row.filled:>6.0%} "
        f"{_megabytes(row.memory):>9}{_megabytes(row.held):>10}"
    )


def sentences(model: Model, rows: Sequence[Row]) -> list[str]:
    """What the model says: its constants, where its curve bends, and what would move the bend."""
    filled = max(row.filled for row in rows if row.processes)
    sent = max(row.out + row.back for row in rows)
    network = model._replace(each=model.each + 8 * sent / NETWORK)
    gain = float(model.step(MOST, MANY) / model.step(MOST, MANY, tree=True))
    return [
        f"T(P) = {model.work:.2f} s / P + {1e3 * model.each:.1f} ms P + {1e3 * (model.move + model.rest):.0f} ms, "
        f"fitted to the rows with processes; {model.documents:,} documents",
        f"it bends at {model.bend():.0f} processes for these documents, and at {model.bend(MANY):.0f} for {MANY:,}, "
        f"where a step takes {float(model.step(model.bend(MANY), MANY)):.2f} s",
        f"on a network of {NETWORK / 1e9:.0f} Gbit/s a worker costs {8e3 * sent / NETWORK:.0f} ms more, and it bends "
        f"at {network.bend():.0f} and {network.bend(MANY):.0f}",
        f"sent and added by a tree of workers, a step of {MANY:,} documents on {MOST} processes would be {gain:.1f} "
        f"times as fast, and the curve would bend at {model.bend(MANY, tree=True):,.0f}",
        f"{filled:.0%} of the numbers that come back are not 0, so that sparse ones would "
        + ("help" if filled < 0.4 else "be no smaller"),
    ]


def _megabytes(n: int) -> str:
    return f"{n / 1e6:,.1f} MB" if n < 1e7 else f"{n / 1e6:,.0f} MB"
