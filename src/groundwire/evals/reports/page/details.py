"""The trials inside the page: a small row for each, and all that was said and done, compressed and unpacked when looked at.

A page must stay usable with thousands of trials, so very long texts are cut, and past a total the trials that passed are
left out. What is missing is said, with how to find it in `trials.jsonl`.
"""

import base64
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from groundwire.contracts.canonical import JsonValue
from groundwire.evals.records import TrialRecord
from groundwire.evals.reports.page.markup import Markup

TEXT_CHARS = (20_000, 2_000, 200)
"""Texts may be so long; the shorter limits are for trials that are too large with the longer ones."""
TRIAL_BYTES = 256 * 1024
CHUNK_BYTES = 512 * 1024
PAGE_BYTES = 24 * 1024 * 1024
DEPTH = 60


@dataclass(frozen=True, kw_only=True)
class Packed:
    """Chunks of details, and where each trial's is: the number of its chunk and its place there, or None."""

    chunks: tuple[str, ...]
    places: dict[int, tuple[int, int]]


def pack_details(records: Sequence[TrialRecord], *, page_bytes: int = PAGE_BYTES) -> Packed:
    """Those that did not pass come first, so that they are the last to be left out."""
    order = sorted(range(len(records)), key=lambda number: records[number].passed)
    chunks: list[str] = []
    places: dict[int, tuple[int, int]] = {}
    used = 0
    for numbers, body in _group(records, order):
        chunk = base64.b64encode(zlib.compress(body, 6)).decode("ascii")
        used += len(chunk)
        if used > page_bytes:
            break
        places.update((number, (len(chunks), place)) for place, number in enumerate(numbers))
        chunks.append(chunk)
    return Packed(chunks=tuple(chunks), places=places)


def _group(records: Sequence[TrialRecord], order: Sequence[int]) -> Iterator[tuple[list[int], bytes]]:
    numbers: list[int] = []
    bodies: list[bytes] = []
    size = 0
    for number in order:
        body = encode_detail(records[number])
        if numbers and size + len(body) > CHUNK_BYTES:
            yield numbers, b"[" + b",".join(bodies) + b"]"
            numbers, bodies, size = [], [], 0
        numbers.append(number)
        bodies.append(body)
        size += len(body)
    if numbers:
        yield numbers, b"[" + b",".join(bodies) + b"]"


def encode_detail(record: TrialRecord) -> bytes:
    whole = {
        "message": record.message,
        "outcome": record.outcome,
        "text": record.text,
        "steps": record.steps,
        "attempts": record.attempts,
        "startedAt": record.started_at,
        "runIds": record.run_ids,
        "findings": msgspec.to_builtins(record.findings),
        "calls": msgspec.to_builtins(record.calls),
        "state": record.state,
        "conversation": record.conversation,
    }
    for chars in TEXT_CHARS:
        detail = _Cutter(chars)
        body = msgspec.json.encode(
            {**{name: detail.cut(value) for name, value in whole.items()}, "cut": detail.has_cut}
        )
        if len(body) <= TRIAL_BYTES:
            return body
    small = _Cutter(TEXT_CHARS[-1])
    kept = {name: small.cut(whole[name]) for name in ("message", "outcome", "text", "steps", "attempts")}
    return msgspec.json.encode({**kept, "cut": True})


class _Cutter:
    """Shortens what is too long or too deep, and remembers that it did."""

    def __init__(self, chars: int) -> None:
        self._chars = chars
        self.has_cut = False

    def cut(self, value: JsonValue | tuple[JsonValue, ...], depth: int = 0) -> JsonValue:
        if isinstance(value, str):
            if len(value) <= self._chars:
                return value
            self.has_cut = True
            return f"{value[: self._chars]}… ({len(value) - self._chars} more characters)"
        if isinstance(value, (dict, list, tuple)) and depth == DEPTH:
            self.has_cut = True
            return "…"
        if isinstance(value, dict):
            return {name: self.cut(item, depth + 1) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.cut(item, depth + 1) for item in value]
        return value


def data_block(name: str, value: object) -> Markup:
    """JSON that a script reads. It cannot end its element, because it has no `<`."""
    text = msgspec.json.encode(value).decode().replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{name}">{text}</script>')
