"""Runtimes with the parts that settings and the environment ask for."""

import logging
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from groundwire.assembly.settings import AuditSettings, Settings, TelemetrySettings, checked_settings
from groundwire.assembly.trust import open_trust
from groundwire.contracts.audit import Chain
from groundwire.contracts.jobs import Jobs, JobSettings
from groundwire.contracts.ports import Clock, Flags, Store, Telemetry, TokenEstimator
from groundwire.extras import install_command, is_installed, missing_extra
from groundwire.jobs import open_jobs
from groundwire.registry import Registry
from groundwire.runtime.clock import CharsPerFour, EnvironmentFlags, SystemClock
from groundwire.runtime.dispatcher import StepHook
from groundwire.runtime.parts import RuntimeParts
from groundwire.runtime.policies.limits import Policies
from groundwire.runtime.runtime import Runtime as CoreRuntime
from groundwire.runtime.state import Reducer
from groundwire.store import CheckpointFile, MemoryStore, open_url

MEMORY = "memory://"

log = logging.getLogger("groundwire")


class Runtime(CoreRuntime):
    """Tools that can be called under every guarantee.

    `store` is a URL, such as `sqlite:///groundwire.db`; else it is that of the settings, else memory.
    """

    def __init__(
        self,
        registry: Registry,
        store: str | Store | None = None,
        *,
        settings: Settings | None = None,
        reducers: Mapping[str, Reducer] | None = None,
        resources: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        flags: Flags | None = None,
        estimator: TokenEstimator | None = None,
        on_step: StepHook | None = None,
        telemetry: Telemetry | None = None,
        jobs: Jobs | None = None,
    ) -> None:
        if store is None:
            store = settings.store.url if settings is not None else MEMORY
        settings = checked_settings(settings, "the settings") if settings is not None else Settings()
        clock = clock or SystemClock()
        chain = Chain(_audit_key(settings.audit))
        opened = open_url(store, chain=chain) if isinstance(store, str) else store
        parts = RuntimeParts(
            policies=Policies(profiles=settings.profiles, rules=settings.policies),
            times=settings.ledger,
            approvals=settings.approvals,
            reducers=dict(reducers or {}),
            resources=dict(resources or {}),
            clock=clock,
            flags=flags or EnvironmentFlags(settings.flags),
            estimator=estimator or CharsPerFour(),
            chain=chain,
            checkpoints=CheckpointFile(settings.audit.checkpoint) if settings.audit.checkpoint else None,
            system_prompt=settings.system_prompt,
            on_step=on_step,
            telemetry=telemetry or _telemetry(settings.telemetry, os.environ),
            trust=open_trust(settings.trust, os.environ, now=clock.now()),
            jobs=jobs or _jobs(registry, store, settings.jobs, clock),
            schema_limits=settings.schemas,
        )
        super().__init__(registry, opened, parts)


def scratch_runtime(runtime: CoreRuntime, registry: Registry) -> CoreRuntime:
    """A runtime with the rules of another, in memory: whatever it writes is gone with it."""
    parts = msgspec.structs.replace(runtime.parts, checkpoints=None, jobs=None)
    return CoreRuntime(registry, open_url(MEMORY), parts)


def _jobs(registry: Registry, store: str | Store, settings: JobSettings, clock: Clock) -> Jobs | None:
    """Jobs beside a store that was named by a URL; None for a store object that the caller opened.

    Raises a ConfigError if a tool needs them and their extra is not installed: a program that starts should not fail
    later, in the middle of a run.
    """
    own_time = None if isinstance(clock, SystemClock) else clock
    if not is_installed("dbos"):  # first, because reading the specs of all tools takes longer
        for tool in registry:
            if tool.spec.policy.background:
                raise missing_extra("jobs", f"The background tool {tool.tool_id}", "dbos")
    if isinstance(store, str):
        return open_jobs(store, clock=own_time, settings=settings)
    return open_jobs(MEMORY, clock=own_time, settings=settings) if isinstance(store, MemoryStore) else None


def _telemetry(wanted: TelemetrySettings, environ: Mapping[str, str]) -> Telemetry | None:
    """Only where the environment names somebody to tell, because what it takes is heavy."""
    exporter = environ.get("OTEL_TRACES_EXPORTER", "")
    endpoint = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    is_off = exporter == "none" or environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if is_off or not (exporter or endpoint):
        return None
    try:
        from groundwire.telemetry import open_telemetry

        return open_telemetry(environ, with_content=wanted.capture_content)
    except ImportError as error:
        log.info("Telemetry is configured, but %s is not installed: %s", error.name, install_command("otel"))
        return None


def _audit_key(audit: AuditSettings) -> bytes | None:
    key = os.environ.get(audit.key_env, "")
    return key.encode() if key else None
