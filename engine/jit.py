"""The numba decorators of the program, and the cache of compiled kernels on disk.

Numba's own cache drops a kernel when its file is touched, even if only a comment changed, and does not notice
when a function that the kernel calls changes in another file.  This cache stores a kernel under a digest of what is
compiled: the code, without docstrings, comments and line numbers, of its module and of every engine module that
it imports, directly or not.
"""

import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numba
from numba.core import caching
from numba.core.runtime.nrt import rtsys

ENGINE = Path(__file__).parent
_PACKAGE = __name__.rpartition(".")[0]  # topiary.engine


def _find_cache_root() -> Path:
    """Return the user's cache folder on this operating system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


def find_cache_folder() -> Path:
    """Return the folder of compiled kernels, writable by this user only if that is possible."""
    return make_private_folder(_find_cache_root(), "kernels")


@cache
def compute_engine_digest() -> str:
    """Return 16 hexadecimal digits that change whenever the code of any engine module or numba changes."""
    return _digest_files(sorted(ENGINE.rglob("*.py")))


def compute_kernel_digest(source: Path) -> str:
    """Return 16 hexadecimal digits that change whenever the kernels of a module might compile differently.

    Parameters
    ----------
    source : Path
        The file of the module: one of the engine, or one (such as a test) that uses the engine.
    """
    return _digest_files(list_imported_files(source))


def list_imported_files(source: Path) -> list[Path]:
    """Return the file of a module and of every engine module that it imports, directly or not, sorted."""
    files, waiting = {source}, [source]
    while waiting:
        new = set(map(Path, _read_code(waiting.pop()).imports)) - files
        files |= new
        waiting += new
    return sorted(files)


def _digest_files(sources: list[Path]) -> str:
    """Return 16 hexadecimal digits that stand for the code of these files, numba and Python."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for source in sources:
        digest.update(source.name.encode())
        digest.update(_read_code(source).digest.encode())
    return digest.hexdigest()[:16]


class _ModuleCode(NamedTuple):
    """The digest of a module's code, and the files of the engine modules that it imports."""

    digest: str
    imports: list[str]


def _compute_code(source: Path) -> _ModuleCode:
    module = compile(source.read_bytes(), "", "exec", optimize=2, dont_inherit=True)  # leaves docstrings out
    codes = list(_walk_code(module))
    instructions = "\n".join(repr(_list_instructions(code)) for code in codes)
    imports = {str(file) for code in codes for file in _find_imports(code.co_names)}
    return _ModuleCode(hashlib.sha256(instructions.encode()).hexdigest(), sorted(imports))


def _read_code(source: Path) -> _ModuleCode:
    """Return the digest and imports of a file."""
    known = _read_codes(ENGINE).get(str(source))
    return _compute_code(source) if known is None else _ModuleCode(*known)


@cache
def _read_codes(folder: Path) -> dict[str, Any]:
    """Return the digests and imports of all modules in a folder, from the cache unless one has changed.

    Computing them takes half a second, which every process with kernels would lose.
    """
    sources = sorted(folder.rglob("*.py"))
    stamps = [(file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns) for file in map(os.stat, sources)]
    key = hashlib.sha256(repr([sys.version, sources, stamps]).encode()).hexdigest()
    kept = _FOLDER / f"code-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.json"
    with suppress(OSError, ValueError, KeyError):
        return dict(json.loads(kept.read_bytes())[key])
    codes = {str(source): _compute_code(source) for source in sources}
    with suppress(OSError):
        if _CACHED:
            kept.write_text(json.dumps({key: codes}), encoding="utf-8")  # half of it is no JSON, and is made again
    return codes


def _walk_code(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a module and of all functions and classes in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _walk_code(constant)


def _list_instructions(code: CodeType) -> tuple[Any, ...]:
    """Return everything in a code object except its place in the file and the code nested in it."""
    constants = [
        sorted(map(repr, value)) if isinstance(value, frozenset) else value
        for value in code.co_consts
        if not isinstance(value, CodeType)
    ]
    variables = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    arguments = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return (code.co_qualname, arguments, variables, constants, code.co_code, code.co_exceptiontable)


def _find_imports(names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files of the engine modules that a code object may import, given the names that it uses.

    The names of ``from topiary.engine.gibbs import tokens`` are ``topiary.engine.gibbs`` and ``tokens``.
    """
    for package in (name for name in names if f"{name}.".startswith(f"{_PACKAGE}.")):
        for name in (package, *(f"{package}.{submodule}" for submodule in names if submodule.isidentifier())):
            file = ENGINE.joinpath(*name.removeprefix(_PACKAGE).split(".")).with_suffix(".py")
            if file.is_file():
                yield file


class _KernelLocator(caching._CacheLocator):  # noqa: SLF001 - numba has no public way
    """Location of a module's kernels in the cache, and their digest."""

    def __init__(self, source: str) -> None:
        self._py_file = source  # named by numba's warnings
        self._digest = compute_kernel_digest(Path(source))

    def get_cache_path(self) -> str:
        return str(_FOLDER / f"{Path(self._py_file).stem}-{self._digest}")

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return "kernel"  # qualified names are unique within a module, which a test checks

    @classmethod
    def from_function(cls, _function: Callable[..., Any], py_file: str) -> "_KernelLocator | None":
        return _locate_kernels(py_file)


@cache
def _locate_kernels(source: str) -> _KernelLocator | None:
    """Return the location of the kernels of a module; None if it cannot be written to.

    It is looked at once for all of them, as every look writes a file.
    """
    locator = _KernelLocator(source)
    try:
        locator.ensure_cache_path()
    except OSError:
        return None
    return locator


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_KernelLocator]  # type: ignore[list-item]  # noqa: RUF012 - as numba declares it


class _KernelCache(caching.FunctionCache):
    _impl_class = _KernelCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a kernel from the disk; None if it is not there.

        Numba would first load all that compiling needs, a third of a second, which it also does when it compiles.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def make_private_folder(root: Path, *below: str) -> Path:
    """Return a folder of this program below ``root`` that only this user may write to; create it if it is missing.

    Numba's index of compiled kernels is a pickle, which can run code when it is read.  A folder that other users own
    or can write to is not used: a second name is tried instead.  If that is not private either, the first folder is
    returned, for which :func:`is_private` is false.
    """
    candidates = [[Path(root, name, *below[:depth]) for depth in range(len(below) + 1)] for name in _NAMES]
    return next((folders[-1] for folders in candidates if all(map(is_private, folders))), candidates[0][-1])


def is_private(folder: Path) -> bool:
    """Create a folder if it is missing and close it to other users; return whether only this user may write to it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name == "posix":  # elsewhere the user's own folders are private already
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return False
            folder.chmod(0o700)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


_NAMES = ("topiary", "topiary-private")
_FOLDER = find_cache_folder()
_CACHED = is_private(_FOLDER)


def compiled(function: Callable[..., Any], **flags: Any) -> Any:
    """Compile a function with numba: without the GIL, with strict IEEE arithmetic, and cached on disk if possible."""
    kernel = numba.njit(nogil=True, error_model="numpy", **flags)(function)
    if _CACHED and not numba.config.DISABLE_JIT and Path(function.__code__.co_filename).is_file():  # type: ignore[attr-defined]
        kernel._cache = _KernelCache(function)  # noqa: SLF001 - what numba's enable_caching does
    return kernel


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function like :func:`compiled`, and inline it into its callers; it must not allocate arrays.

    Inlining saves the call, which costs 10 ns if it returns a stream.  The function is compiled without numba's
    run time, which saves the reference counts of array views (an atomic operation each), but rules out allocations.
    """
    kernel = compiled(function, _nrt=False)
    if hasattr(kernel, "targetoptions"):  # absent if the compiler is switched off
        kernel.targetoptions["forceinline"] = True
    return kernel
