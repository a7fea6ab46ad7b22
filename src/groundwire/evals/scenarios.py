"""A scenario: where a model begins, what it is asked, what it may use, and how anybody can tell that it did well.

In a file as YAML, JSON or TOML, or in Python with the same names. It knows nothing of models and of how often it is run.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.messages import Item
from groundwire.contracts.requests import ModelRequest, Sampling
from groundwire.contracts.runs import Outcome
from groundwire.evals.contestants import Contestant, Conversed
from groundwire.evals.records import Total, TrialRecord
from groundwire.providers.faults import Fault
from groundwire.providers.scripts import Answer
from groundwire.registry import Registry

MAX_TURNS = 1_000
MAX_VOTES = 99


class ExpectedCall(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A call that the model should make. `arguments` names those that matter; others may be there too.

    `schema` is for arguments that are right in more ways than one; `ok` and `error` say how the call should end.
    """

    name: str
    arguments: JsonObject | None = None
    schema: JsonObject | None = None
    ok: bool | None = None
    error: str = ""


class CallsCheck(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, tag_field="check", tag="calls"
):
    """`exact`: these calls and no others, in this order; `order`: these in this order, among others; `subset`: these, in
    any order; `none` are tools that must not be called, `*` for all of them."""

    mode: Literal["exact", "order", "subset"] = "subset"
    calls: tuple[ExpectedCall, ...] = ()
    none: tuple[str, ...] = ()
    at_most: int | None = None


class StateCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="check", tag="state"):
    """What the environment holds at the end, at a path: equal to a value, or nothing at all."""

    path: str = ""
    equals: Any = UNSET
    absent: bool = False


class TextCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="check", tag="text"):
    """The final answer, without white space around it."""

    equals: str | None = None
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    matches: str | None = None


class OutcomeCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="check", tag="outcome"):
    equals: Outcome = Outcome.COMPLETED


class LimitsCheck(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, tag_field="check", tag="limits"
):
    latency_ms: float | None = None
    cost: float | None = None
    tokens: int | None = None
    steps: int | None = None


class GroundingCheck(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, tag_field="check", tag="grounding"
):
    """Quotes that the model gives must stand in what it was told or found.

    `quotes` are paths into the arguments of `tool`'s calls, `*` for every element. `strict` fails where a quote is not
    found, `report` only counts.
    """

    tool: str
    quotes: tuple[str, ...]
    mode: Literal["strict", "report"] = "strict"


class RubricCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="check", tag="rubric"):
    """A question about the conversation that another model answers with yes or no, several times and blind to who it was."""

    question: str
    judge: str = ""
    votes: Annotated[int, Meta(ge=1, le=MAX_VOTES)] = 3


class FunctionCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="check", tag="function"):
    """A function of one's own, or its `module:name`; it is given the evidence and gives None, or what is wrong."""

    function: Any
    name: str = ""


Check: TypeAlias = (
    CallsCheck | StateCheck | TextCheck | OutcomeCheck | LimitsCheck | GroundingCheck | RubricCheck | FunctionCheck
)


class Environment(Protocol):
    """What the tools act on, made anew for every trial."""

    @property
    def registry(self) -> Registry: ...

    def state(self) -> JsonValue: ...


class SimulatedUser(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Somebody who talks with the model: lines by rules on what it said last, or another model in a role.

    Who has a role is played by `model`; by the evaluation's judge, where none is named.
    """

    rules: tuple[tuple[str, str], ...] = ()
    otherwise: str = ""
    model: str = ""
    role: str = ""
    max_turns: Annotated[int, Meta(ge=1, le=MAX_TURNS)] = 8
    ends_with: str = "###END###"


class Scenario(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`ideal` is what a model that does everything right would say, turn by turn: simulated models are made of it."""

    id: str
    title: str = ""
    tags: tuple[str, ...] = ()
    environment: Any = "workspace"
    """`workspace`, `stubs`, a folder of tools, or a function from the setup to an Environment, also as `module:name`."""
    setup: JsonObject = field(default_factory=dict)
    instructions: str = ""
    history: tuple[JsonObject, ...] = ()
    """What was said before the first turn, as canonical items; it is given, and not judged."""
    turns: tuple[str, ...] = ()
    user: SimulatedUser | None = None
    settings: JsonObject = field(default_factory=dict)
    limits: JsonObject = field(default_factory=dict)
    tools: tuple[str, ...] | UnsetType = UNSET
    """Those on offer; what the environment offers by default if nothing is said, `*` for all of them."""
    checks: tuple[Check, ...] = ()
    ideal: tuple[Answer, ...] = ()
    faults: tuple[Fault, ...] = ()
    """What goes wrong between a simulated model and us, request by request; nothing happens to real ones."""


def said_before(scenario: Scenario) -> tuple[Item, ...]:
    """The scenario's history as the model is given it."""
    try:
        return msgspec.convert(scenario.history, tuple[Item, ...])
    except msgspec.ValidationError as error:
        raise ConfigError(f"The history of {scenario.id} is no conversation: {error}") from None


class Converse(Protocol):
    """A trial carried out in a way of the suite's own. What it raises is the harness's fault, not the model's."""

    def __call__(self, scenario: Scenario, contestant: Contestant, seed: int) -> Awaitable[Conversed]: ...


OfflineModel: TypeAlias = Callable[[Scenario], Callable[[ModelRequest], Answer]]
"""What a model that needs nobody answers to each request of a scenario."""


class Suite(Struct, frozen=True, kw_only=True):
    """Scenarios under one name. `presets` are names for some of them; `default` is what runs if nothing is said.

    `baseline` answers by rules alone, so that a report shows what no model at all would achieve. A suite that carries
    out its trials itself (`converse`) brings offline models of its own: the first of `models` is tried if nothing is
    said, and one that is called `rules` is its baseline.
    """

    name: str
    scenarios: tuple[Scenario, ...]
    presets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    title: str = ""
    baseline: Callable[..., Answer] | None = None
    converse: Converse | None = None
    sources: tuple[Path, ...] = ()
    """Folders whose files its trials depend on: where one has changed, they are not what they were."""
    models: dict[str, OfflineModel] = field(default_factory=dict)
    sampling: Sampling = Sampling()
    """How models are asked where a profile says nothing else."""
    rubrics: tuple[RubricCheck, ...] = ()
    """Questions about every conversation of a real model."""
    judge: str = ""
    """Who answers them, unless somebody is named."""
    conclude: Callable[[Sequence[TrialRecord], Path], Awaitable[tuple[Total, ...]]] | None = None
    """Called once with all records and the report's folder, when the last trial is over."""
