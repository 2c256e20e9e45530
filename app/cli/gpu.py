"""The command ``topiary gpu``: the graphics processors of this machine, and what fits on them."""

import argparse

from app.cli.console import print_json, say
from app.jobs.gpu import EXTRA_MISSING, GIGABYTE, is_extra_installed, list_cards
from engine.gpu.memory import count_bytes

LAYERS, WORDS, LENGTH = (128, 64, 32), 10_000, 100  # of the corpus that tells how much fits
NO_CARDS = "no graphics processor of NVIDIA is here, or no driver; runs are trained by the processor"


def gpu(arguments: argparse.Namespace) -> int:
    """List the graphics processors, and about how many documents fit on each."""
    cards = list_cards()
    if arguments.json:
        rows = [card._asdict() | {"documents": count_fitting(card.memory)} for card in cards]
        print_json({"cards": rows, "installed": is_extra_installed()})
        return 0
    if not cards:
        say(NO_CARDS)
        return 0
    for card in cards:
        say(f"{card.name}, {card.memory / GIGABYTE:.0f} GB, CUDA {card.cuda}: fits about {describe_fit(card.memory)}")
    if not is_extra_installed():
        say(EXTRA_MISSING)
    return 0


def count_fitting(memory: int) -> int:
    """Return about how many documents of ``LENGTH`` tokens fit in this memory, for layers of the usual widths."""
    fixed = count_bytes(LAYERS, WORDS, 0, 0)
    million = count_bytes(LAYERS, WORDS, 10**6, LENGTH * 10**6) - count_bytes(LAYERS, WORDS, 0, 0)
    return max(0, (memory - fixed) * 10**6 // million)


def describe_fit(memory: int) -> str:
    """Return how many documents fit in this memory."""
    widths = "-".join(map(str, LAYERS))
    return f"{count_fitting(memory):,} documents of {LENGTH} words, with {widths} topics"
