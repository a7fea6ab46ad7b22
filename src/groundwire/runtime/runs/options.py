"""What a run is given besides its messages. It is kept with the run, so that any process can go on under the same rules."""

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.requests import FunctionTool, OutputFormat, ReasoningOptions, Sampling
from groundwire.contracts.trust import Asked, sampling_of
from groundwire.runtime.context_window import CONTEXT_WINDOW
from groundwire.runtime.runs.settings import RunSettings
from groundwire.runtime.turns import TurnOptions

MAX_STEPS = 50
MOST = 10**9
"""Seconds or dollars; who wants no limit gives none."""
WhoAnswers: TypeAlias = Callable[[str, tuple[str, ...]], tuple[str, ...]]
"""The full names of a model and of its fallbacks: of everybody who may answer in its place."""


class RunLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Looked at before each request to the model; whichever is reached first ends the run with its name."""

    max_steps: Annotated[int, Meta(ge=1)] = MAX_STEPS
    max_seconds: Annotated[float, Meta(gt=0, le=MOST)] | None = None
    max_tokens: Annotated[int, Meta(gt=0)] | None = None
    max_cost: Annotated[float, Meta(gt=0, le=MOST)] | None = None
    max_context_tokens: Annotated[int, Meta(gt=0)] = CONTEXT_WINDOW
    max_repairs: Annotated[int, Meta(ge=0)] = 2
    """How often in a run an answer that cannot be used is asked for again."""


class RunOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`approvals`: a call that needs a person's agreement pauses the run, or is answered to the model as refused.

    `client_tools` are offered beside the runtime's own, but the caller carries out what is called of them: the run ends
    there. `notices`: a run that ends without text gets a sentence of ours that says why. `key_id` is the API key that
    started the run: its calls count as calls of that key, also when another process resumes it.
    """

    model: str
    instructions: str = ""
    settings: RunSettings = field(default_factory=RunSettings)
    limits: RunLimits = field(default_factory=RunLimits)
    approvals: Literal["pause", "answer"] = "pause"
    notices: bool = True
    client_tools: tuple[FunctionTool, ...] = ()
    output: OutputFormat | None = None
    sampling: Sampling = field(default_factory=Sampling)
    max_output_tokens: Annotated[int, Meta(gt=0)] | None = None
    reasoning: ReasoningOptions | None = None
    parallel_calls: bool | None = None
    fallbacks: tuple[str, ...] = ()
    session: str | None = None
    tenant: str = "default"
    mode: str = "text"
    profile: str = ""
    request_id: str = ""
    actor: str = ""
    key_id: str = ""
    user: str = ""
    organisation: str = ""
    supplied: JsonObject = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        values: JsonObject = msgspec.to_builtins(self)
        return values

    def for_turn(self, run_id: str, who: WhoAnswers | None = None) -> TurnOptions:
        """With `who`, the tools of the turn are those that whoever answers is trusted with."""
        options = TurnOptions(
            session=self.session, tenant=self.tenant, mode=self.mode, profile=self.profile, run_id=run_id
        )
        if self.request_id:
            options["request_id"] = self.request_id
        if self.actor:
            options["actor"] = self.actor
        if self.key_id:
            options["key_id"] = self.key_id
        if self.user:
            options["user"] = self.user
        if self.organisation:
            options["organisation"] = self.organisation
        if self.supplied:
            options["supplied"] = self.supplied
        if (mask := self.settings.mask) is not None:
            options["mask"] = mask
        if (sizes := self.settings.sizes) is not None:
            options["limits"] = sizes
        if who is not None:
            sampling = sampling_of(self.sampling, self.settings.request_overrides)
            options["asked"] = Asked(models=who(self.model, self.fallbacks), sampling=sampling)
        return options


def read_options(values: JsonObject) -> RunOptions:
    """Options that we stored ourselves. What a later version has added is unknown here, and is left out."""
    known = _known(values, RunOptions)
    for name, kind in (("settings", RunSettings), ("limits", RunLimits)):
        if isinstance(part := known.get(name), dict):
            known[name] = _known(part, kind)
    return msgspec.convert(known, RunOptions)


def _known(values: JsonObject, kind: type[Struct]) -> JsonObject:
    return {name: value for name, value in values.items() if name in kind.__struct_fields__}
