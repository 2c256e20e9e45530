"""The tests of benchmarks train for minutes, so they run at night."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if item.path.parent.name == "benchmarks" and item.path.name.startswith("check_"):
            item.add_marker("nightly")
