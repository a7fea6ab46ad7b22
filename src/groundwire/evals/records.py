"""What an evaluation writes down: trials, what came of each, and the run that they belong to.

These records are the product. Reports, statistics, comparisons and trust cards are made from them alone, so anybody can
make others. Nothing here runs anything.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

from groundwire.contracts.canonical import JsonObject

Combination: TypeAlias = tuple[str, str, str]
"""Model, sampling profile and strategy."""


class Trial(Struct, frozen=True, kw_only=True, rename="camel"):
    """One try of one scenario by one combination of model, sampling profile and strategy; numbers begin with 1."""

    model: str
    profile: str
    strategy: str
    scenario: str
    number: int

    @property
    def name(self) -> str:
        """The same in every run that plans it, and how a resumed run knows what is done."""
        return f"{self.model} · {self.profile} · {self.strategy} · {self.scenario} · {self.number}"

    @property
    def combination(self) -> Combination:
        return self.model, self.profile, self.strategy


class Status(StrEnum):
    """`invalid` says nothing about the model: somebody else failed, and it is never scored."""

    PASSED = "passed"
    FAILED = "failed"
    INVALID = "invalid"


class Blame(StrEnum):
    """Whose fault it is that a trial did not pass."""

    MODEL = "model"
    HARNESS = "harness"
    SIMULATOR = "simulator"
    PROVIDER = "provider"


class Finding(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one check found. `code` is the kind of failure, from a short list, so that failures can be counted.

    `counts` are what the check counted (quotes that are grounded, rows that were captured), for totals over trials.
    `tools` are those that the check is about, whether they were called or not.
    """

    check: str
    passed: bool
    code: str = ""
    message: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    detail: JsonObject = field(default_factory=dict)


class Tokens(Struct, frozen=True, kw_only=True, rename="camel"):
    input: int = 0
    output: int = 0


class CallTrace(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A call as the model made it and what it got. `error` is its code, empty where it succeeded."""

    name: str
    arguments: Any
    ok: bool
    error: str = ""
    data: Any = None


class TrialRecord(Struct, frozen=True, kw_only=True, rename="camel"):
    """One trial from beginning to end. `conversation` is what was said, as canonical items; `state` what was left."""

    trial: Trial
    seed: int
    status: Status
    blame: Blame | None = None
    code: str = ""
    message: str = ""
    findings: tuple[Finding, ...] = ()
    outcome: str = ""
    text: str = ""
    steps: int = 0
    calls: tuple[CallTrace, ...] = ()
    state: Any = None
    conversation: tuple[JsonObject, ...] = ()
    latency_ms: float = 0.0
    tokens: Tokens = Tokens()
    cost: float | None = None
    run_ids: tuple[str, ...] = ()
    route: str = ""
    """The model's full name where it was asked, such as `openrouter/qwen/qwen3-30b`."""
    sampling: JsonObject | None = None
    """What its requests said of how words are chosen; None where that is not known."""
    attempts: int = 1
    digest: str = ""
    """Of all that the trial depends on: where it is the same, the result may be used again."""
    started_at: str = ""

    @property
    def is_scored(self) -> bool:
        return self.status is not Status.INVALID

    @property
    def passed(self) -> bool:
        return self.status is Status.PASSED


class Total(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """So many of so many, over the trials of one model: what a suite counts besides trials that pass.

    `missing` are the reasons why something was not done that had been asked for: the command fails for them.
    """

    name: str
    count: int
    of: int
    model: str = ""
    missing: tuple[str, ...] = ()

    @property
    def share(self) -> float | None:
        return self.count / self.of if self.of else None


class EvalRun(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was to be done: enough to do it again, or to go on with it."""

    run_id: str
    suite: str
    models: tuple[str, ...]
    profiles: tuple[str, ...]
    strategies: tuple[str, ...]
    scenarios: tuple[str, ...]
    trials: int
    seed: int
    is_live: bool = False
    version: str = ""
    created_at: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    """By model, what a reader of the tables should know of it: presets that are on, for instance."""
    asked: JsonObject = field(default_factory=dict)
    """The knobs as they were set, from which the same plan can be made again. No key is among them."""


def new_run_id(now: datetime) -> str:
    return f"eval_{now:%Y%m%dT%H%M%S%f}"


def plain(value: object) -> Any:
    """A value as whoever reads it from a file has it: with lists, where Python has tuples."""
    return msgspec.json.decode(msgspec.json.encode(value))


def as_json(value: Struct) -> JsonObject:
    read: JsonObject = plain(value)
    return read


encode_record = msgspec.json.Encoder().encode
decode_record = msgspec.json.Decoder(TrialRecord).decode
encode_run = msgspec.json.Encoder().encode
decode_run = msgspec.json.Decoder(EvalRun).decode
