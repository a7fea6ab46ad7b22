"""Carrying out a plan: models side by side, the trials of one after the other, each result kept before the next begins.

What is done already is not done again, so a run that was killed goes on where it was. Providers that are busy are waited
for; a budget that is spent ends the run in good order.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from groundwire.contracts.ports import Clock
from groundwire.contracts.requests import Sampling
from groundwire.evals.contestants import Contestant
from groundwire.evals.environments import fingerprint
from groundwire.evals.graders.rubrics import Judges
from groundwire.evals.planning import EvalModel, Plan, SamplingProfile, digest_of, seed_of
from groundwire.evals.records import Blame, Status, Trial, TrialRecord
from groundwire.evals.scenarios import Scenario
from groundwire.evals.trials import carry_out
from groundwire.runtime.clock import SystemClock
from groundwire.runtime.runs.presets import PRESETS, merge_settings

MAX_ATTEMPTS = 3
"""So often is a trial tried that its provider spoilt."""
PAUSES = (2.0, 15.0)
"""Seconds before the second and the third attempt."""
_WORTH_WAITING = frozenset({"rate_limit", "overloaded", "timeout", "server", "bad_response"})


class Cache(Protocol):
    def find(self, digest: str) -> TrialRecord | None: ...

    def keep(self, record: TrialRecord) -> None: ...


class Reach(Protocol):
    """How a model is reached for the trials of a scenario."""

    def __call__(self, model: EvalModel, scenario: Scenario) -> AbstractAsyncContextManager[Contestant]: ...


class Progress(Struct, frozen=True, kw_only=True):
    """How far a run is, after each trial."""

    done: int
    total: int
    passed: int
    failed: int
    invalid: int
    cost: float
    reused: int
    record: TrialRecord


class Finished(Struct, frozen=True, kw_only=True):
    records: tuple[TrialRecord, ...]
    """In the order of the plan, whatever order they were made in."""
    left: int = 0
    reason: str = ""
    """Why some are left."""


class EvalRunner:
    def __init__(
        self,
        plan: Plan,
        reach: Reach,
        *,
        jobs: int = 1,
        done: Mapping[str, TrialRecord] | None = None,
        on_record: Callable[[TrialRecord], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        cache: Cache | None = None,
        judges: Judges | None = None,
        max_cost: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._plan = plan
        self._reach = reach
        self._jobs = max(1, jobs)
        self._trials = plan.trials()
        self._on_record = on_record
        self._on_progress = on_progress
        self._cache = cache
        self._judges = judges
        self._max_cost = max_cost
        self._clock = clock or SystemClock()
        self._scenarios = {scenario.id: scenario for scenario in plan.scenarios}
        self._profiles = {profile.id: profile for profile in plan.profiles}
        self._strategies = {strategy.id: strategy for strategy in plan.strategies}
        self._fingerprints = {scenario.id: fingerprint(scenario, plan.suite.sources) for scenario in plan.scenarios}
        self._records = self._still_valid(done or {})
        self._reused = len(self._records)
        self._statuses = Counter(record.status for record in self._records.values())
        self._cost = sum(record.cost or 0.0 for record in self._records.values())

    @property
    def reused(self) -> int:
        """How many trials were done before, or elsewhere."""
        return self._reused

    async def run(self) -> Finished:
        waiting = iter(self._plan.models)  # shared: each worker takes the next model when it has finished one

        async def work() -> None:
            for model in waiting:
                for trial in self._plan.trials_of(model):
                    if self._is_spent():
                        return
                    if trial.name not in self._records:
                        await self._carry_out(trial, model)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._jobs, len(self._plan.models))):
                    group.create_task(work())
        except ExceptionGroup as failed:
            raise failed.exceptions[
                0
            ] from None  # as it was raised: what it says is meant for whoever asked for the run
        records = tuple(self._records[trial.name] for trial in self._trials if trial.name in self._records)
        left = len(self._trials) - len(records)
        return Finished(records=records, left=left, reason="the budget is spent" if left else "")

    async def _carry_out(self, trial: Trial, model: EvalModel) -> None:
        scenario = self._scenarios[trial.scenario]
        seed, digest = seed_of(self._plan.run.seed, trial), self._digest(trial, model)
        found = self._cache.find(digest) if self._cache is not None else None
        if found is not None:
            self._reused += 1
            self._keep(replace(found, trial=trial))
            return
        record = await self._attempt(trial, model, scenario, seed, digest)
        if self._cache is not None and record.is_scored:
            self._cache.keep(record)
        self._keep(record)

    def _digest(self, trial: Trial, model: EvalModel) -> str:
        plan = self._plan
        profile, scenario = self._profiles[trial.profile], self._scenarios[trial.scenario]
        parts = (
            scenario,
            self._fingerprints[scenario.id],
            model.via,
            profile,
            self._settings(trial, model),
            plan.judge,
            plan.options,
            plan.suite.sampling,
        )
        return digest_of(trial, seed_of(plan.run.seed, trial), parts, plan.run.version)

    def _still_valid(self, done: Mapping[str, TrialRecord]) -> dict[str, TrialRecord]:
        """What was done under the same conditions; the rest is done again."""
        models = {model.id: model for model in self._plan.models}
        return {
            trial.name: record
            for trial in self._trials
            if (record := done.get(trial.name)) and record.digest == self._digest(trial, models[trial.model])
        }

    async def _attempt(self, trial: Trial, model: EvalModel, scenario: Scenario, seed: int, digest: str) -> TrialRecord:
        spoilt = 0.0
        for attempt in range(1, MAX_ATTEMPTS + 1):
            async with self._contestant(trial, model, scenario) as contestant:
                record = await carry_out(
                    trial,
                    scenario,
                    contestant,
                    seed=seed,
                    digest=digest,
                    judges=self._judges,
                    suite=self._plan.suite,
                )
            cost = record.cost if not spoilt else (record.cost or 0.0) + spoilt
            record = replace(record, attempts=attempt, cost=cost)
            is_providers = record.status is Status.INVALID and record.blame is Blame.PROVIDER
            if not is_providers or record.code not in _WORTH_WAITING or attempt == MAX_ATTEMPTS:
                return record
            spoilt = cost or 0.0  # what was paid before the provider failed is part of the trial's price
            await self._clock.sleep(PAUSES[attempt - 1])
        raise AssertionError("the last attempt returns")

    @asynccontextmanager
    async def _contestant(self, trial: Trial, model: EvalModel, scenario: Scenario) -> AsyncIterator[Contestant]:
        profile = self._profiles[trial.profile]
        async with self._reach(model, scenario) as reached:
            yield replace(reached, settings=self._settings(trial, model), sampling=self._sampling(profile))

    def _sampling(self, profile: SamplingProfile) -> Sampling:
        """The profile's, over the suite's own."""
        said = {name: value for name, value in to_builtins(profile.sampling()).items() if value is not None}
        return replace(self._plan.suite.sampling, **said)

    def _settings(self, trial: Trial, model: EvalModel) -> dict[str, object]:
        """The model's presets, then the strategy, then the profile, then what holds for the whole run."""
        profile, strategy = self._profiles[trial.profile], self._strategies[trial.strategy]
        presets = [PRESETS[name]() for name in model.presets if name not in strategy.without_presets]
        return dict(merge_settings(*presets, strategy.settings, profile.settings(), self._plan.settings))

    def _is_spent(self) -> bool:
        return self._max_cost is not None and self._cost >= self._max_cost

    def _keep(self, record: TrialRecord) -> None:
        if self._on_record is not None:
            self._on_record(record)
        self._records[record.trial.name] = record
        self._statuses[record.status] += 1
        self._cost += record.cost or 0.0
        if self._on_progress is not None:
            self._on_progress(
                Progress(
                    done=len(self._records),
                    total=len(self._trials),
                    passed=self._statuses[Status.PASSED],
                    failed=self._statuses[Status.FAILED],
                    invalid=self._statuses[Status.INVALID],
                    cost=self._cost,
                    reused=self._reused,
                    record=record,
                )
            )
