"""Habits that hold in every file: no pickle, no broad except without its reason, no loose ends, docstrings."""

import ast
import re
from functools import cache

import pytest

from tests.samples.sources import ROOMS, ROOT, Source, calls, imports, nodes, public, read, sources

BANNED_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
BANNED_CALLS = {"eval", "exec", "compile", "os.system", "os.popen", "os.fork", "yaml.load", "pd.read_pickle"}
LOOSE_ENDS = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")))
STUBS = "Not" + "Implemented"
COMPILED = {"compiled", "inlined"}  # numba finds the types of these by itself

SILENT = {  # do nothing, and are meant to
    ("app/ingest/source.py", "ignore_progress"),  # progress nobody watches
    ("app/ingest/docstrings.py", "set_data"),  # Python would write compiled code next to the sources of others
    ("app/server/sessions.py", "modify_document"),  # Bokeh asks every handler; this one only notes whose a session is
}

READ_ONLY = {("engine/jit.py", "compile")}  # compares code with that of a cached kernel, and never runs it

# The only places that may catch everything, each with the reason it gives there or here.
BROAD = {
    (
        "app/ingest/readers/documents.py",
        "read_pdf",
        "Exception",
    ): "a damaged PDF can raise anything; the user is told of it",
    ("app/ingest/readers/counts_arrays.py", "_load_matlab", "Exception"): "the same of a MATLAB file",
    ("app/ingest/readers/mail.py", "_make_mail", "Exception"): "the same of a message",
    ("app/ingest/packing.py", "refuse_damage", "Exception"): "the same of a table, a workbook or a file of NumPy",
    ("app/jobs/cluster/place.py", "run_bounded", "BaseException"): "raised again in the thread that waits",
    ("app/jobs/cluster/place.py", "connect_client", "BaseException"): "leaves the cluster, then raises again",
    ("app/jobs/cluster/place.py", "run", "BaseException"): "raised again in the thread that waits",
    ("app/jobs/cluster/reading.py", "_until_failure", "Exception"): "raised again, after the items before it",
    ("app/server/sessions.py", "_receive", "Exception"): "what a browser sends can raise anything; its connection ends",
    ("app/server/sessions.py", "handle", "Exception"): "the same of a whole message; the browser gets an error",
    ("app/server/serve.py", "_build_page", "Exception"): "the outermost function: no error becomes a blank page",
    ("store/corpus_writer.py", "append_documents", "BaseException"): "takes back what was staged, then raises again",
    ("store/corpus_writer.py", "write_corpus", "BaseException"): "takes back what was staged, then raises again",
    ("store/database.py", "_begin_once", "BaseException"): "closes the connection, then raises again",
    ("store/database.py", "open_database", "BaseException"): "closes the database, then raises again",
}


def test_nothing_is_pickled_and_no_text_is_run_as_code():
    found = [
        f"{source.path}:{each.line} {each.module}"
        for source in sources()
        for each in imports(source)
        if each.module.partition(".")[0] in BANNED_MODULES
    ]
    found += [
        f"{source.path}:{line} {name}"
        for source in sources()
        for name, line in calls(source)
        if name in BANNED_CALLS and (source.path, name) not in READ_ONLY
    ]
    assert found == []


def test_numpy_files_are_never_opened_with_pickle_allowed():
    allowed = [
        f"{source.path}:{node.lineno}"
        for source in sources()
        for node in nodes(source)
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False"
    ]
    assert allowed == []


def test_no_subprocess_goes_through_a_shell():
    shells = [
        f"{source.path}:{node.lineno}"
        for source in sources()
        for node in nodes(source)
        if isinstance(node, ast.keyword) and node.arg == "shell" and ast.unparse(node.value) != "False"
    ]
    assert shells == []


def test_everything_is_caught_only_in_the_listed_places():
    found = {(source.path, name, kind) for source in sources() for name, kind, _, _ in broad_excepts(source)}
    assert found - set(BROAD) == set()


def test_every_listed_place_is_still_there():
    found = {(source.path, name, kind) for source in sources() for name, kind, _, _ in broad_excepts(source)}
    assert set(BROAD) - found == set()


def test_what_catches_everything_raises_again_or_says_why():
    silent = [
        f"{source.path}:{line}"
        for source in sources()
        for _, _, handler, line in broad_excepts(source)
        if not _raises(handler) and "#" not in source.line(line)
    ]
    assert silent == []


def test_the_rule_about_excepts_notices_a_bare_one():
    text = "def f():\n    try:\n        pass\n    except:\n        pass\n"
    planted = Source("planted.py", text, ast.parse(text))
    assert [(name, kind, line) for name, kind, _, line in broad_excepts(planted)] == [("f", "", 4)]


@pytest.mark.parametrize("folder", [*ROOMS, "tests", "assets", ".ci"])
def test_no_loose_end_is_left(folder):
    ends = []
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in (".py", ".js", ".css", ".md", ".toml") or path.parent.name == ".ci":
            lines = path.read_text(encoding="utf-8").splitlines()
            ends += [f"{path.relative_to(ROOT)}:{n}" for n, line in enumerate(lines, 1) if LOOSE_ENDS.search(line)]
    assert ends == []


def test_nothing_is_a_stub():
    stubs = [
        f"{source.path}:{node.lineno}"
        for source in sources()
        for node in nodes(source)
        if isinstance(node, ast.Raise) and node.exc is not None and STUBS in ast.unparse(node.exc)
    ]
    stubs += [
        f"{source.path}:{node.lineno} {node.name}"
        for source in sources()
        for node in functions(source)
        if _is_empty(node) and (source.path, node.name) not in SILENT
    ]
    assert stubs == []


def test_every_module_begins_with_a_sentence():
    assert [source.path for source in sources() if not ast.get_docstring(source.tree)] == []


def test_everything_public_has_a_docstring():
    bare = [
        f"{source.path}:{node.lineno} {node.name}"
        for source in sources()
        for node in public(source.tree)
        if not ast.get_docstring(node)
    ]
    assert bare == []


def test_every_signature_outside_compiled_code_is_typed():
    untyped = [
        f"{source.path}:{node.lineno} {node.name}"
        for source in sources()
        for node in nodes(source)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_compiled(node) and not _is_typed(node)
    ]
    assert untyped == []


def test_a_package_is_a_sentence_unless_it_finds_its_modules_by_name_or_loads_the_library_when_used():
    rooms = ("engine/models", "app/library")
    busy = {ROOT / room / "__init__.py" for room in rooms}
    loud = [
        path.relative_to(ROOT).as_posix()
        for room in (*ROOMS, "assets")
        for path in (ROOT / room).rglob("__init__.py")
        if path not in busy and len(read(path).tree.body) > 1
    ]
    assert loud == []


def functions(source: Source) -> list[ast.FunctionDef]:
    """Every function and method but those of a Protocol, which have no body to write."""
    classes = [node for node in nodes(source) if isinstance(node, ast.ClassDef)]
    callbacks = [node for node in classes if "Protocol" in map(ast.unparse, node.bases)]
    promised = {id(inner) for door in callbacks for inner in ast.walk(door)}
    return [node for node in nodes(source) if isinstance(node, ast.FunctionDef) and id(node) not in promised]


@cache
def broad_excepts(source: Source) -> list[tuple[str, str, ast.ExceptHandler, int]]:
    """Handlers of everything: the function they stand in, what they name ("" = bare), node and line."""
    found = []
    if not any(isinstance(node, ast.ExceptHandler) for node in nodes(source)):
        return found
    for function in nodes(source):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ExceptHandler):
                    kind = ast.unparse(node.type) if node.type else ""
                    if re.search(r"\b(Exception|BaseException)\b", kind) or not kind:
                        found.append((function.name, kind, node, node.lineno))
    return found


def _raises(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(node, ast.Raise) for node in ast.walk(handler))


def _is_empty(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether nothing stands in a function but its docstring, ``pass`` or an ellipsis, and others do not write it."""
    if "abstractmethod" in map(ast.unparse, function.decorator_list):
        return False
    rest = function.body[1:] if ast.get_docstring(function) else function.body
    return all(ast.unparse(node) in ("pass", "...") for node in rest)


def _is_compiled(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator) in COMPILED for decorator in function.decorator_list)


def _is_typed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return all(one.annotation or one.arg in ("self", "cls") for one in named) and (
        function.returns is not None or function.name == "__init__"
    )
