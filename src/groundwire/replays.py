"""Replaying a run that a store has on record: which tools it gets, and where the replay may write.

An exact replay needs nothing but the record. A changed one asks a model; its tools run only if that is wanted.
"""

from __future__ import annotations

import msgspec

from groundwire.assembly import scratch_runtime
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.ports import Provider
from groundwire.contracts.requests import FunctionTool
from groundwire.contracts.runs import Plan, Planned
from groundwire.providers.router import who_answers
from groundwire.registry import Registry, Tool
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.runs.replaying import ReplayReport, replay_changed, replay_exactly
from groundwire.runtime.runs.runner import Price, no_price
from groundwire.runtime.runs.traces import Trace, read_trace
from groundwire.runtime.runtime import Runtime


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay does differently; None is as it was. `execute`: calls that the record lacks are carried out."""

    model: str | None = None
    instructions: str | None = None
    registry: Registry | None = None
    execute: bool = False

    @property
    def is_exact(self) -> bool:
        return self.model is None and self.instructions is None and self.registry is None

    def apply(self, options: RunOptions) -> RunOptions:
        if self.model is not None:
            options = msgspec.structs.replace(options, model=self.model)
        if self.instructions is not None:
            options = msgspec.structs.replace(options, instructions=self.instructions)
        return options


async def replay_run(
    runtime: Runtime,
    run_id: str,
    changes: Changes,
    *,
    models: Provider | None = None,
    price: Price = no_price,
    tenant: str = "default",
) -> ReplayReport:
    """Replay a run of this runtime's store. An exact replay asks nobody; one with changes needs `models`.

    The replay's own record is kept in memory. Only with `execute` is anything written to the store: the calls that
    were carried out, outside the session of the run.
    """
    if changes.is_exact and changes.execute:
        raise ConfigError("an exact replay carries nothing out", hint="give it another model, prompt or tools")
    await runtime.open()
    trace = await read_trace(runtime.store, tenant, run_id)
    if changes.is_exact:
        return await replay_exactly(trace, scratch_runtime(runtime, Registry()))
    if models is None:
        raise ConfigError("a replay with changes needs models to ask", hint="open_models()")
    options = changes.apply(trace.options)
    registry = changes.registry if changes.registry is not None else await _recorded_registry(runtime, trace)
    if registry is None:
        registry, options = _as_declared(trace, options)
    scratch = scratch_runtime(runtime, registry)
    acting = Runtime(registry, runtime.store, runtime.parts) if changes.execute else scratch
    return await replay_changed(
        trace,
        options,
        acting,
        scratch.store,
        models,
        execute=changes.execute,
        price=price,
        who=who_answers(models) if changes.execute else None,  # what runs nothing shows all that a model would do
    )


async def _recorded_registry(runtime: Runtime, trace: Trace) -> Registry | None:
    """The tools as the run had them: those that are here, or those that the store keeps for its session."""
    version = trace.started.registry_version
    if version == runtime.registry.version:
        return runtime.registry
    artifact = await runtime.store.load_artifact(version)
    return None if artifact is None else runtime.registry.older(artifact)


def _as_declared(trace: Trace, options: RunOptions) -> tuple[Registry, RunOptions]:
    """Tools as the record declares them, without code; their guides are known only as the end of the instructions."""
    plan = next((body.plan for body in trace.entries if isinstance(body, Planned)), Plan(model=options.model))
    declared = [
        Tool(
            name=one.name,
            description=one.description or "",
            parameters=one.schema or {"type": "object"},
            modes=("text", "voice"),
        )
        for one in plan.tools
        if isinstance(one, FunctionTool)
    ]
    guides = plan.instructions.removeprefix(trace.options.instructions).lstrip("\n")
    instructions = "\n\n".join(filter(None, (options.instructions, guides)))
    return Registry(declared), msgspec.structs.replace(options, instructions=instructions)
