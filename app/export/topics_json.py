"""Topics as a JSON list of objects."""

import json
from typing import Any


def render(table: list[dict[str, Any]]) -> str:
    """Write the rows as they are."""
    return json.dumps(table, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
