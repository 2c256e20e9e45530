"""Names in the code: classes are unique in the program, and functions are not called by a participle alone."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.samples.sources import Source, nodes, sources

SHARED = {
    "Comparison": "a result of the library, and the matched hierarchies it is made of",
    "Config": "the contract of models asks for the settings of each by this name",
    "Corpus": "a corpus of the library, and the documents that the engine reads",
    "Facts": "facts about a corpus for kernels, and about tables that are joined",
    "State": "the contract of models asks for the state of each by this name",
    "StructureChange": "a change of widths in the engine, and the row of it in the store",
    "TopicMatch": "a match of topics, and a hit of a search in topics",
}  # classes that share a name, and what they are
PROPERTIES = frozenset(
    ["asked", "chosen", "drawn", "found", "kept", "known", "opened", "said", "seen", "shown", "taken"]
)  # properties and methods that still have such a name
PARTICIPLES = frozenset(
    [
        "asked",
        "beside",
        "chosen",
        "dealt",
        "drawn",
        "found",
        "given",
        "gone",
        "held",
        "kept",
        "known",
        "left",
        "made",
        "met",
        "opened",
        "said",
        "seated",
        "seen",
        "shown",
        "taken",
        "told",
        "wanted",
        "written",
    ]
)


def _list_definitions(kind: type) -> Iterator[tuple[str, str]]:
    for source in sources():
        for node in nodes(source):
            if isinstance(node, kind):
                yield node.name, source.path  # type: ignore[attr-defined]


def test_the_names_of_classes_are_unique():
    places = defaultdict(list)
    for name, path in _list_definitions(ast.ClassDef):
        places[name].append(path)
    assert {name: found for name, found in places.items() if len(found) > 1 and name not in SHARED} == {}
    assert [name for name in SHARED if len(places[name]) < 2] == []


def test_no_function_is_called_by_a_participle_alone():
    bare = [
        (name, path)
        for name, path in _list_definitions(ast.FunctionDef)
        if name.strip("_") in PARTICIPLES and name not in PROPERTIES
    ]
    assert bare == []


TWICE = {
    ("page", "run", "snapshot"): "fields of the view whose change makes a page fetch anew"
}  # lists that several modules declare


def _list_word_lists(source: Source) -> Iterator[tuple[str, ...]]:
    """Yield the lists of three words or more that a module declares, each in alphabetical order."""
    for node in nodes(source):
        values = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []
        words = [each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if len(words) >= 3 and len(words) == len(values):
            yield tuple(sorted(words))


def test_no_two_modules_declare_the_same_list_of_names_units_or_states():
    declared: dict[tuple[str, ...], set[str]] = {}
    for source in sources("app", "store"):
        for words in _list_word_lists(source):
            if not source.path.startswith("app/ingest/"):
                declared.setdefault(words, set()).add(source.path)
    assert {words: paths for words, paths in declared.items() if len(paths) > 1 and words not in TWICE} == {}
