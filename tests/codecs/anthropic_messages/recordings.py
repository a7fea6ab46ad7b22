"""The recorded traffic of this dialect, and comparing bodies the way it was re-serialised: nulls and order aside."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "fixtures" / "anthropic-messages"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def recording(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text())


WHOLE = [name for name in NAMES if not recording(name)["stream"]]
STREAMED = [name for name in NAMES if recording(name)["stream"]]


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(member) for member in value] if isinstance(value, list) else value
