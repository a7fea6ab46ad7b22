"""Recorded live sessions, and when two JSON values count as equal."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "fixtures"


def recordings(api: str) -> list[Path]:
    return sorted((FOLDER / api).glob("*.json"))


def frames_of(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["frames"]


def named(api: str, name: str) -> list[dict[str, Any]]:
    return frames_of(FOLDER / api / f"{name}.json")


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
