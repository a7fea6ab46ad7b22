"""One trial: a scenario carried out once by one model, judged, and written down.

Everything goes through the public Agent on a store of its own. Whatever fails is somebody's fault, and it is told whose:
only what the model did is scored.
"""

import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET

from groundwire.agent import Agent, RunResult
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import ConfigError, GroundwireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.results import ToolResult
from groundwire.contracts.runs import Outcome
from groundwire.contracts.trust import sampling_of
from groundwire.evals.contestants import Contestant, Conversed
from groundwire.evals.environments import open_environment
from groundwire.evals.graders import Evidence, grade
from groundwire.evals.graders.rubrics import UNDECIDED, JudgeFailed, Judges
from groundwire.evals.records import Blame, CallTrace, Status, Tokens, Trial, TrialRecord, as_json, plain
from groundwire.evals.scenarios import Check, Converse, OutcomeCheck, Scenario, Suite, said_before
from groundwire.evals.users import UserFailed, user_turns
from groundwire.providers.router import who_answers
from groundwire.providers.scripted import SCRIPT_ERROR
from groundwire.runtime.runs.comparing import read_raw
from groundwire.runtime.runs.presets import merge_settings
from groundwire.runtime.runs.settings import read_settings

log = logging.getLogger("groundwire")

MAX_SECONDS = 600.0
"""A trial that takes longer is ended; what came of it until then is judged."""
_THE_MODELS = frozenset({FailureKind.MALFORMED_CALL, FailureKind.CONTENT_FILTER, FailureKind.CONTEXT_FULL})
_OURS = frozenset({FailureKind.INVALID_REQUEST, FailureKind.TOO_LARGE})


async def carry_out(
    trial: Trial,
    scenario: Scenario,
    contestant: Contestant,
    *,
    seed: int,
    digest: str = "",
    judges: Judges | None = None,
    suite: Suite | None = None,
) -> TrialRecord:
    """The record of the trial, whatever happened."""
    began, started_at = time.perf_counter(), datetime.now(UTC).isoformat(timespec="milliseconds")
    route = who_answers(contestant.models)(contestant.name, ())[0]
    sampling = sampling_of(contestant.sampling, read_settings(contestant.settings).request_overrides)

    def record(status: Status, **known: Any) -> TrialRecord:
        known.setdefault("latency_ms", round((time.perf_counter() - began) * 1000, 3))
        known |= {"route": route, "sampling": sampling}
        return TrialRecord(trial=trial, seed=seed, status=status, digest=digest, started_at=started_at, **known)

    known: dict[str, Any] = {}
    try:
        if suite is not None and suite.converse is not None:
            results, evidence = await _in_its_own_way(suite.converse, scenario, contestant, seed)
        else:
            results, evidence = await _converse(scenario, contestant, seed, judges)
        known = _known(results, evidence)
        blamed = blame_for(results[-1].outcome, results[-1].failure) if results else None
        if blamed is not None:
            return record(Status.INVALID, blame=blamed[0], code=blamed[1], message=blamed[2], **known)
        rubrics = suite.rubrics if suite is not None and not contestant.is_simulated else ()
        findings = await grade((*_checks(scenario), *rubrics), evidence, judges=judges, seed=seed)
    except UserFailed as error:
        return record(Status.INVALID, blame=Blame.SIMULATOR, code="user_failed", message=str(error))
    except JudgeFailed as error:
        return record(Status.INVALID, blame=Blame.HARNESS, code="judge_failed", message=str(error), **known)
    except ConfigError:
        raise  # the same for every trial: whoever runs them has to hear it
    except GroundwireError as error:
        return record(Status.INVALID, blame=Blame.HARNESS, code=error.code, message=str(error), **known)
    except (Exception, SystemExit) as error:  # an environment or a check that somebody wrote has a mistake
        log.exception("a trial of %s could not be judged", scenario.id)
        message = f"{type(error).__name__}: {error}"
        return record(Status.INVALID, blame=Blame.HARNESS, code="harness_error", message=message, **known)
    known["findings"] = findings
    wrong = [finding for finding in findings if not finding.passed]
    if not wrong:
        return record(Status.PASSED, **known)
    decided = next((finding for finding in wrong if finding.code != UNDECIDED), None)
    if decided is None:
        return record(Status.INVALID, blame=Blame.HARNESS, code=UNDECIDED, message=wrong[0].message, **known)
    return record(Status.FAILED, blame=Blame.MODEL, code=decided.code, message=decided.message, **known)


async def _converse(
    scenario: Scenario, contestant: Contestant, seed: int, judges: Judges | None
) -> tuple[list[RunResult], Evidence]:
    environment = open_environment(scenario)
    settings = merge_settings(_masks(scenario, environment.default_tools), scenario.settings, contestant.settings)
    sampling = msgspec.structs.replace(contestant.sampling, seed=seed)
    results: list[RunResult] = []
    said: list[tuple[str, str]] = []
    history = said_before(scenario)
    began = time.perf_counter()
    agent = Agent(
        contestant.name,
        tools=environment.registry,
        instructions=scenario.instructions,
        settings=settings,
        limits={"max_seconds": MAX_SECONDS, **scenario.limits},
        models=contestant.models,
        price=contestant.price,
        store="memory://",
        sampling=sampling,
    )
    async with agent:
        async for line in user_turns(scenario, said, judges, seed):
            result = await agent.run(line, history=history)
            results.append(result)
            history = result.history
            said += [("user", line), ("assistant", result.text)]
            if not result.ok:
                break
    last = results[-1] if results else None
    conversed = Conversed(
        results=tuple(results),
        conversation=last.history if last is not None else (),
        text=last.text if last is not None else "",
        state=environment.state(),
    )
    return results, _evidence(scenario, conversed, began)


async def _in_its_own_way(
    converse: Converse, scenario: Scenario, contestant: Contestant, seed: int
) -> tuple[list[RunResult], Evidence]:
    began = time.perf_counter()
    sampling = msgspec.structs.replace(contestant.sampling, seed=seed)
    conversed = await converse(scenario, msgspec.structs.replace(contestant, sampling=sampling), seed)
    return list(conversed.results), _evidence(scenario, conversed, began)


def _evidence(scenario: Scenario, conversed: Conversed, began: float) -> Evidence:
    results = conversed.results
    costs = [result.cost for result in results]
    return Evidence(
        outcome=results[-1].outcome.value if results else "",
        text=conversed.text,
        calls=tuple(traced(made.call, made.result) for result in results for made in result.calls),
        state=plain(conversed.state),
        conversation=tuple(map(as_json, conversed.conversation)),
        instructions=scenario.instructions,
        steps=sum(result.steps for result in results),
        latency_ms=round((time.perf_counter() - began) * 1000, 3),
        tokens=Tokens(
            input=sum(result.usage.input for result in results), output=sum(result.usage.output for result in results)
        ),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def traced(call: ToolCall, result: ToolResult) -> CallTrace:
    error = result.error
    return CallTrace(
        name=call.name,
        arguments=read_raw(call.raw),
        ok=result.ok,
        error="" if error is None else str(error.detail or error.type.value),
        data=result.data,
    )


def _known(results: list[RunResult], evidence: Evidence) -> dict[str, Any]:
    return {
        "outcome": evidence.outcome,
        "text": evidence.text,
        "steps": evidence.steps,
        "calls": evidence.calls,
        "state": evidence.state,
        "conversation": evidence.conversation,
        "latency_ms": evidence.latency_ms,
        "tokens": evidence.tokens,
        "cost": evidence.cost,
        "run_ids": tuple(result.run_id for result in results),
    }


def blame_for(outcome: Outcome | None, failure: Failure | None) -> tuple[Blame, str, str] | None:
    """Whose fault it is that there is nothing to judge; nobody's, where the model answered."""
    if outcome is not Outcome.PROVIDER_ERROR or failure is None:
        return None
    if failure.code == SCRIPT_ERROR:
        return Blame.SIMULATOR, failure.code, failure.message
    if failure.kind in _THE_MODELS:
        return None
    return Blame.HARNESS if failure.kind in _OURS else Blame.PROVIDER, failure.kind.value, failure.message


def _checks(scenario: Scenario) -> tuple[Check, ...]:
    """A run that did not end well has failed, unless the scenario itself says how it should end."""
    if any(isinstance(check, OutcomeCheck) for check in scenario.checks):
        return scenario.checks
    return (OutcomeCheck(), *scenario.checks)


def _masks(scenario: Scenario, offered: tuple[str, ...] | None) -> Mapping[str, Any]:
    names = offered if scenario.tools is UNSET else scenario.tools
    return {} if names is None or "*" in names else {"tool_allowlist": list(names)}
