"""idx images as of MNIST: pixels are words, an image is a document."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from app.ingest import beside, files, packed
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import BLOCK, Array, CountSource, Rows, untitled
from engine.contract import Counts

NAME = "idx"
DESCRIPTION = "idx images (MNIST): a folder with *-images-idx3-ubyte and *-labels-idx1-ubyte files (.gz)"
ACCEPTS = ("levels",)

IMAGES, LABELS = 0x803, 0x801  # magic numbers: unsigned bytes, three dimensions and one
HALF_BRIGHT = 128


def recognises(path: Path) -> bool:
    """A file that begins with the magic number of images; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, lambda file: "idx3" in file.name and recognises(file)))
    return files.start(path)[:4] == IMAGES.to_bytes(4, "big")


def read(path: Path, options: ImportOptions) -> CountSource:
    """Grey values 0..255 as real numbers; as counts with ``levels``; with ``binary`` pixels at least half bright."""
    parts = files.parts(path, recognises, "idx image")
    images = [_load(part.path, IMAGES) for part in parts]
    shapes = {each.shape[1:] for each in images}
    if len(shapes) > 1:
        raise IngestError(path, f"has images of different sizes: {' and '.join(map(str, sorted(shapes)))}")
    height, width = shapes.pop()
    labels, label_names = beside.encode(_all_labels(parts, images), beside.class_names(path, options.encoding))
    part, titles = files.split_and_titles(parts, [len(each) for each in images])
    return CountSource(
        where=str(path),
        vocabulary=tuple(f"r{row}c{column}" for row in range(1, height + 1) for column in range(1, width + 1)),
        blocks=lambda: _blocks(images, labels, titles, options),
        n_documents=len(titles),
        label_names=label_names,
        kind="binary" if options.binary else "counts" if options.levels else "real",
        image_shape=(height, width),
        part=part,
    )


def _blocks(images: list[Array], labels: Array, titles: list[str], options: ImportOptions) -> Iterator[Rows]:
    first = 0
    for stack in images:
        for begin in range(0, len(stack), BLOCK):
            flat = stack[begin : begin + BLOCK].reshape(-1, stack[0].size)
            shown = _shown(flat, options)
            rows, pixels = np.nonzero(shown)
            lengths = np.bincount(rows, minlength=len(flat))
            here = slice(first + begin, first + begin + len(flat))
            counts = Counts.of(lengths, pixels.astype(np.int32), shown[rows, pixels])
            yield untitled(counts, here.start)._replace(labels=labels[here], titles=titles[here])
        first += len(stack)


def _shown(grey: Array, options: ImportOptions) -> Array:
    """What is stored of some images: whole numbers, or real ones where nothing else is asked for."""
    if options.binary:
        return (grey >= HALF_BRIGHT).astype(np.int32)
    if options.levels:
        return np.rint(grey * (options.levels / 255.0)).astype(np.int32)
    return grey.astype(np.float32)


def _all_labels(parts: list[files.Part], images: list[Array]) -> list[str | None]:
    raw: list[str | None] = []
    for part, stack in zip(parts, images, strict=True):
        name = part.path.name.replace("images", "labels").replace("idx3", "idx1")
        found = beside.find(part.path.parent, [packed.bare(name)]) if name != part.path.name else None
        if found is None:
            raw += [None] * len(stack)
            continue
        labels = _load(found, LABELS)
        if len(labels) != len(stack):
            raise IngestError(found, f"has {len(labels):,} labels, but {part.path.name} has {len(stack):,} images")
        raw += [str(label) for label in labels.tolist()]
    return raw


def _load(path: Path, magic: int) -> Array:
    """The array of an idx file of unsigned bytes."""
    dimensions = magic & 0xFF
    with files.opened(path) as stream:
        head = stream.read(4 * (1 + dimensions))
        if len(head) < 4 * (1 + dimensions) or int.from_bytes(head[:4], "big") != magic:
            raise IngestError(path, f"does not begin with the number {magic} of an idx file of bytes")
        shape = np.frombuffer(head, ">u4", dimensions, 4).tolist()
        if 0 in shape[1:]:
            raise IngestError(path, f"has images of {' x '.join(map(str, shape[1:]))} pixels; is it damaged?")
        promised = math.prod(shape)
        raw = files.upto(stream, promised)
        more = stream.read(1)
    if len(raw) != promised or more:
        has = "more bytes" if more else f"{len(raw):,} bytes"
        cause = f"has {has}, but its head promises {' x '.join(map(str, shape))}"
        raise IngestError(path, f"{cause}; copy or download it again")
    return np.frombuffer(raw, np.uint8).reshape(shape)
