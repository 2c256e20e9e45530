"""Graphics processors of this machine: what is there, whether a run fits, and the device that sweeps its documents.

Cards are listed by the driver alone, so that nothing of CUDA is imported before a run needs it.
"""

import ctypes
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from topiary.engine.gpu.memory import DeviceError, choose_lanes, count_bytes, fits

if TYPE_CHECKING:
    from topiary.engine.contract import Facts
    from topiary.engine.gpu.devices import Device

EXTRA_MISSING = "--on gpu needs numba-cuda, which is not installed; pip install 'topiary-explorer[gpu]'"
NO_CARD = "--on gpu needs a graphics processor of NVIDIA and its driver, and there is none here; leave it out"
USE_SECONDS = 2.0  # between two looks at the memory of a card
GIGABYTE = 1e9


class GpuError(ValueError):
    """No graphics processor can do this; the message is one sentence for the user."""


class GraphicsCard(NamedTuple):
    """A graphics processor: its name, its memory in bytes, and the version of CUDA that its driver supports."""

    name: str
    memory: int
    cuda: str

    def __str__(self) -> str:
        return f"{self.name}, {self.memory / GIGABYTE:.0f} GB, CUDA {self.cuda}"


class CardUse:
    """The use of a card by a run, as pages show it."""

    def __init__(self, card: GraphicsCard, device: "Device") -> None:
        self._card, self._device = card, device
        self._looked = -USE_SECONDS

    def report(self) -> dict[str, Any]:
        """Return facts for the row of the run; none if the last ones are two seconds old at most."""
        if time.monotonic() - self._looked < USE_SECONDS:
            return {}
        self._looked = time.monotonic()
        return {"card": self.measure()}

    def measure(self) -> dict[str, Any]:
        """Return the name of the card, its memory, and how much of it is in use now."""
        return {"name": self._card.name, "memory": self._card.memory, "used": self._device.count_used()}


def list_cards() -> list[GraphicsCard]:
    """Return the graphics processors of this machine, as the driver lists them; none without a driver."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return []
    count, version = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    driver.cuDriverGetVersion(ctypes.byref(version))
    cuda = f"{version.value // 1000}.{version.value % 1000 // 10}"
    return [_read_card(driver, number, cuda) for number in range(count.value)]


def _read_card(driver: Any, number: int, cuda: str) -> GraphicsCard:
    handle, memory, name = ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(256)
    driver.cuDeviceGet(ctypes.byref(handle), number)
    driver.cuDeviceGetName(name, len(name), handle)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), handle)
    return GraphicsCard(name.value.decode(errors="replace"), memory.value, cuda)


def is_extra_installed() -> bool:
    """Return whether numba-cuda is installed, without importing it."""
    return find_spec("numba_cuda") is not None


def check_card() -> GraphicsCard:
    """Return the card that sweeps documents, the first one.

    Raises
    ------
    GpuError
        When there is none, or numba-cuda is missing.
    """
    cards = list_cards()
    if not cards:
        raise GpuError(NO_CARD)
    if not is_extra_installed():
        raise GpuError(EXTRA_MISSING)
    return cards[0]


def check_run_on_card(model: str, config: Any, facts: "Facts", processes: int = 1) -> GraphicsCard:
    """Return the card for a run of a model on a corpus, whose documents so many processes share.

    Raises
    ------
    GpuError
        When there is none, the model has no kernels for it, or its documents do not fit.
    """
    card = check_card()
    check_model(model, config)
    check_memory(card, config, facts, card.memory // -(-processes // len(list_cards())), processes)
    return card


def check_model(model: str, config: Any) -> None:
    """Refuse a model without kernels for graphics processors, or settings that they do not know.

    Raises
    ------
    GpuError
        With the reason.
    """
    if not hasattr(config, "explain_device_refusal"):
        raise GpuError(
            f"model {model} has no kernels for graphics processors; leave out --on gpu, or train dlda, datm, sdatm or "
            "lda-gibbs"
        )
    if refusal := config.explain_device_refusal():
        raise GpuError(refusal)


def check_memory(card: GraphicsCard, config: Any, facts: "Facts", memory: int, processes: int = 1) -> None:
    """Refuse a run whose documents, of which each of ``processes`` holds its share, do not fit in ``memory``.

    Raises
    ------
    GpuError
        With what is needed and what to do.
    """
    n_documents, n_tokens = (-(-n // processes) for n in _count_held(config, facts))
    widths = tuple(config.layers)
    if not fits(widths, facts.n_words, n_documents, n_tokens, memory):
        needed = count_bytes(widths, facts.n_words, n_documents, n_tokens)
        raise GpuError(
            f"the run needs about {needed / GIGABYTE:.1f} GB on a graphics processor, and {memory / GIGABYTE:.1f} GB "
            f"of the {card.name} are free for it; train with --set inference=tlasgr, which holds a mini-batch at a "
            "time, with fewer topics, on more cards (--on gpu+local:2), or without --on gpu"
        )


def _count_held(config: Any, facts: "Facts") -> tuple[int, int]:
    """Return the numbers of documents and tokens that are on the device: all, or those of a mini-batch."""
    if hasattr(config, "sweeps_after") and config.sweeps_after(facts) is not None:
        return facts.n_documents, facts.n_tokens
    n_documents = min(config.batch_size, facts.n_documents)
    return n_documents, n_documents * facts.n_tokens // max(1, facts.n_documents)


def open_device(config: Any, facts: "Facts", held: "Facts | None" = None, processes: int = 1) -> "Device":
    """Return the device that sweeps the documents of a run; this imports CUDA.

    Parameters
    ----------
    facts : Facts
        Those of the whole corpus, on which the bits of the results depend.
    held : Facts, optional
        Those of the documents that this process sweeps; all by default.
    processes : int
        Number of processes that share the memory of the card.

    Raises
    ------
    GpuError
        When it cannot be opened, or the documents do not fit.
    """
    card = check_card()
    try:
        from topiary.engine.gpu.cuda import CudaDevice

        lanes = choose_lanes(tuple(config.layers), _count_held(config, facts)[0])
        device = CudaDevice(lanes)
        memory = min(card.memory - device.count_used(), card.memory // processes)
        check_memory(card, config, held or facts, memory)
    except (ImportError, OSError, DeviceError) as error:
        text = " ".join(str(error).split())
        raise GpuError(
            f"the graphics processor cannot be used ({text}); install a driver and numba-cuda that fit each other, or "
            "train without --on gpu"
        ) from error
    return device
