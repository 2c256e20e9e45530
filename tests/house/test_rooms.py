"""Who may import whom, and what each room keeps its hands off."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import networkx as nx
import pytest

from tests.samples.sources import ROOT, Source, calls, dotted, imports, nodes, sources

OUTSIDE = {"engine": {"numpy", "numba", "llvmlite", "scipy"}, "store": {"regex", "sqlalchemy", "numpy"}}
DECORATORS = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil", "generated_jit", "jit_module"}
CACHE = "engine/jit.py"  # finds the folder of compiled kernels: the one place of the engine that looks outside
LANES = "engine/gibbs/simd.py"
GPU = {
    "engine/gpu/cuda.py",
    "engine/gpu/warp.py",
}  # what runs on a graphics processor, loaded only when it is asked for
LIBRARY = "app/library/"  # installed as topiary, so its modules name each other from where they stand

# Modules that reach a file, a clock, a log, the environment, another process or the network.
WORLD = {
    "logging", "os", "sys", "io", "pathlib", "shutil", "tempfile", "glob", "time", "datetime", "random", "secrets",
    "subprocess", "socket", "urllib", "http", "warnings", "sqlite3", "pickle", "zipfile", "gzip", "csv", "argparse",
}  # fmt: skip
DOORS = {
    "open",
    "print",
    "input",
    "np.save",
    "np.load",
    "np.savez",
    "np.loadtxt",
    "np.savetxt",
    "np.fromfile",
    "np.memmap",
}


def test_every_contract_of_import_linter_is_kept_and_no_cache_is_left_behind(installed):
    before = set(ROOT.iterdir())
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]  # in this process it would end all logging
    environment = os.environ | {"PYTHONPATH": str(installed)}  # only there the folders lie as they are imported
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert found.returncode == 0, found.stdout + found.stderr
    assert set(ROOT.iterdir()) - before == set()


@pytest.mark.parametrize("room", OUTSIDE)
def test_a_room_imports_itself_the_standard_library_and_its_few_packages(room):
    allowed = OUTSIDE[room] | {room} | set(sys.stdlib_module_names)
    strangers = [
        f"{source.path}:{found.line} {found.module}"
        for source in sources(room)
        for found in imports(source)
        if found.module.partition(".")[0] not in allowed
    ]
    assert strangers == []


def test_no_modules_import_each_other_not_even_inside_a_function():
    assert circles(sources()) == []


def test_the_rule_about_circles_notices_a_planted_one():
    texts = {
        "app/a.py": "from app import b",
        "app/b.py": "def f():\n    from app.c import g",
        "app/c.py": "import app.a",
    }
    planted = [Source(path, text, ast.parse(text)) for path, text in texts.items()]
    assert circles(planted) == [["app.a", "app.b", "app.c"]]


def circles(modules: Iterable[Source]) -> list[list[str]]:
    """Modules that need each other, by whatever is imported anywhere in them, types too."""
    named = {source.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): source for source in modules}
    graph = nx.DiGraph(
        (name, target)
        for name, source in named.items()
        for found in imports(source)
        for target in (f"{found.module}.{found.name}", found.module)
        if target in named
    )
    return sorted(sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1)


def test_imports_are_absolute():
    relative = [
        f"{source.path}:{node.lineno}"
        for source in sources()
        for node in nodes(source)
        if isinstance(node, ast.ImportFrom) and node.level > 0 and not source.path.startswith(LIBRARY)
    ]
    assert relative == []


def test_the_library_stands_above_the_app_which_never_imports_it():
    users = [
        f"{source.path}:{found.line} {found.module}"
        for source in sources()
        if not source.path.startswith(LIBRARY)
        for found in imports(source)
        if f"{found.module}.{found.name}.".startswith(("app.library.", "topiary."))
    ]
    assert users == []


def test_numba_is_named_by_the_decorator_and_by_the_vector_operations_only():
    users = {
        source.path for source in sources() for found in imports(source) if found.module.partition(".")[0] == "numba"
    }
    assert users == {CACHE, LANES} | GPU


def test_there_is_one_numba_decorator():
    made = [(source.path, name) for source in sources() for name in numba_decorators(source)]
    assert made == [(CACHE, "numba.njit")]


def test_compiled_functions_of_a_module_have_different_names_by_which_the_cache_keeps_them():
    for source in sources("engine"):
        names = [
            node.name
            for node in nodes(source)
            if isinstance(node, ast.FunctionDef)
            and any(dotted(each) in ("compiled", "inlined") for each in node.decorator_list)
        ]
        assert len(names) == len(set(names)), source.path


def test_whatever_compiles_frees_the_gil_and_keeps_arithmetic_as_written():
    asked = [
        {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        for source in sources("engine")
        if source.path not in GPU
        for node in nodes(source)
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in DECORATORS
    ]
    assert asked
    assert [given for given in asked if given.get("nogil") != "True"] == []
    unsafe = [
        f"{source.path}:{node.value.lineno} {node.arg}"
        for source in sources("engine")
        for node in nodes(source)
        if isinstance(node, ast.keyword) and node.arg in ("fastmath", "parallel")
    ]
    assert unsafe == []


def test_the_engine_touches_no_file_clock_log_or_environment():
    touched = [
        f"{source.path}:{line} {what}"
        for source in sources("engine")
        if source.path != CACHE
        for what, line in outward(source)
    ]
    assert touched == []


def test_the_rule_about_the_engine_notices_a_planted_file_clock_and_print():
    text = "import time\nfrom pathlib import Path\nnow = time.time()\nprint(open('x'))\n"
    planted = Source("planted.py", text, ast.parse(text))
    assert [what for what, _ in outward(planted)] == ["time", "pathlib", "print", "open"]


def test_the_engine_draws_nothing_from_global_random_state():
    allowed = {"np.random.Generator", "np.random.Philox", "np.random.SeedSequence"}
    drawn = [
        f"{source.path}:{line} {name}"
        for source in sources("engine")
        for name, line in calls(source)
        if name.startswith(("np.random.", "numpy.random.", "random.")) and name not in allowed
    ]
    assert drawn == []


def numba_decorators(source: Source) -> list[str]:
    """Every numba function that compiles others, as it is spelled."""
    taken = [f"numba.{found.name}" for found in imports(source) if found.module == "numba" and found.name in DECORATORS]
    return taken + [
        dotted(node)
        for node in nodes(source)
        if isinstance(node, ast.Attribute) and dotted(node) in {f"numba.{name}" for name in DECORATORS}
    ]


def outward(source: Source) -> list[tuple[str, int]]:
    """Imports of modules that reach the world, then calls that do, with their lines."""
    modules = [(found.module, found.line) for found in imports(source) if found.module.partition(".")[0] in WORLD]
    return modules + sorted(((name, line) for name, line in calls(source) if name in DOORS), key=lambda call: call[1])


@pytest.mark.parametrize(("room", "most"), [("app", 6), ("engine", 12)])
def test_few_modules_lie_directly_in_a_room(room, most):
    assert len(list((ROOT / room).glob("*.py"))) <= most


def test_there_are_ten_floors_at_most():
    graph = nx.DiGraph()
    for source in sources():
        for found in imports(source):
            here, there = floor_of(source.path.removesuffix(".py").replace("/", ".")), floor_of(found.module)
            if there and here and here != there:
                graph.add_edge(here, there)
    assert nx.dag_longest_path_length(graph) + 1 <= 10


def floor_of(module: str) -> str:
    """The room that a module is in: one of the app, the engine, the store; nothing for what is not ours."""
    parts = module.split(".")
    if parts[0] in ("engine", "store"):
        return parts[0]
    return ".".join(parts[:2]) if parts[0] == "app" and len(parts) > 2 else ""


def test_the_test_of_a_module_is_found_by_its_path():
    homeless = [
        path.relative_to(ROOT).as_posix()
        for room in ("app", "engine", "store")
        for path in (ROOT / "tests" / room).rglob("test_*.py")
        if not module_of(path).exists()
    ]
    assert homeless == []


def module_of(path: Path) -> Path:
    """The module that a test is about: ``tests/app/jobs/test_plan.py`` is about ``app/jobs/plan.py``."""
    inside = path.relative_to(ROOT / "tests")
    return ROOT / inside.with_name(inside.name.removeprefix("test_"))
