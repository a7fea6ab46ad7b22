"""From the records of an evaluation to trust cards: per model, sampling profile and tool, how far it is trusted.

The rule errs on the careful side. Good is only what the lower end of the exact 95 % interval shows, bad only what the upper
end shows; in between, and where there is little evidence, a person is asked. What follows from a card is not known here.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from groundwire.contracts.errors import ErrorDetail
from groundwire.contracts.trust import TrialEvidence, Trust, TrustCard, TrustFile, strictness
from groundwire.evals.estimates import exact_interval
from groundwire.evals.records import TrialRecord
from groundwire.runtime.clock import to_iso

VALID_SECONDS = 90 * 86_400.0
"""Models change behind their names: after this time somebody has to look again."""

Share = Annotated[float, Meta(ge=0, le=1)]


class TrustRule(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Reliable: so many scored trials, such a rate, such a lower end, and no scenario that mostly fails.

    Deny and read-only: the upper end is below these. Ask: everything else.
    """

    min_trials: Annotated[int, Meta(ge=1)] = 50
    min_rate: Share = 0.96
    min_low: Share = 0.90
    min_scenario_rate: Share = 0.5
    read_only_below: Share = 0.8
    deny_below: Share = 0.5


DEFAULT_RULE = TrustRule()


class RunRecord(Struct, frozen=True, kw_only=True):
    """A trial, and the run that it is on record in."""

    run_id: str
    record: TrialRecord


def make_trust(
    records: Iterable[RunRecord],
    *,
    now: float,
    rule: TrustRule = DEFAULT_RULE,
    strategy: str = "",
    valid_seconds: float = VALID_SECONDS,
) -> TrustFile:
    """All cards that the records give. A trial that several runs took from one cache counts once.

    Where strategies differ, the one that deserves least counts; with `strategy`, only that one does.
    """
    wanted = [one for one in records if not strategy or one.record.trial.strategy == strategy]
    unique = {one.record.digest or f"{one.run_id} {one.record.trial.name}": one for one in wanted}
    groups: dict[tuple[str, str, str], list[RunRecord]] = {}
    for one in unique.values():
        trial = one.record.trial
        groups.setdefault((one.record.route or trial.model, trial.profile, trial.strategy), []).append(one)
    cards: dict[tuple[str, str, str], TrustCard] = {}
    for (model, profile, _), group in groups.items():
        for tool, scenarios in _uses(group).items():
            card = _card(model, profile, tool, [one for one in group if one.record.trial.scenario in scenarios], rule)
            place = (model, profile, tool)
            if place not in cards or _rank(card) > _rank(cards[place]):
                cards[place] = card
    return TrustFile(
        made_at=to_iso(now),
        expires_at=to_iso(now + valid_seconds),
        rule=msgspec.to_builtins(rule),
        cards=tuple(cards[place] for place in sorted(cards)),
    )


def judge(passed: int, trials: int, scenarios: Mapping[str, tuple[int, int]], rule: TrustRule) -> tuple[Trust, str]:
    """The rule, and the sentence that says why. `scenarios` are passed and scored trials of each."""
    interval, said = exact_interval(passed, trials), f"{passed} of {trials} trials passed"
    for trust, limit in ((Trust.DENY, rule.deny_below), (Trust.READ_ONLY, rule.read_only_below)):
        if interval.high < limit:
            return trust, f"{said}, so at 95 % certainty fewer than {_percent(limit)} would"
    if trials < rule.min_trials:
        return Trust.ASK, f"{said}, and trust takes at least {rule.min_trials}"
    if passed / trials < rule.min_rate:
        return Trust.ASK, f"{said}, and trust takes {_percent(rule.min_rate)}"
    if interval.low < rule.min_low:
        certain = _percent(math.floor(interval.low * 100) / 100)
        return Trust.ASK, f"{said}, so {certain} are certain, and trust takes {_percent(rule.min_low)}"
    weak = [name for name, (good, scored) in scenarios.items() if good < scored * rule.min_scenario_rate]
    if weak:
        return Trust.ASK, f"{said}, but fewer than {_percent(rule.min_scenario_rate)} of {weak[0]}"
    certain = _percent(math.floor(interval.low * 100) / 100)
    return Trust.RELIABLE, f"{said}, so at 95 % certainty at least {certain} would"


def _uses(group: Iterable[RunRecord]) -> dict[str, set[str]]:
    """By tool, the scenarios that use it: it was called there, or a check is about it. Invented names are no tools."""
    uses: dict[str, set[str]] = {}
    for one in group:
        record = one.record
        if record.is_scored:
            called = [call.name for call in record.calls if call.error != ErrorDetail.UNKNOWN_TOOL]
            for tool in (*called, *(tool for finding in record.findings for tool in finding.tools)):
                uses.setdefault(tool, set()).add(record.trial.scenario)
    return uses


def _card(model: str, profile: str, tool: str, group: Sequence[RunRecord], rule: TrustRule) -> TrustCard:
    scored = [one.record for one in group if one.record.is_scored]
    passed = sum(record.passed for record in scored)
    scenarios: dict[str, tuple[int, int]] = {}
    for record in scored:
        good, tried = scenarios.get(record.trial.scenario, (0, 0))
        scenarios[record.trial.scenario] = good + record.passed, tried + 1
    interval = exact_interval(passed, len(scored))
    trust, why = judge(passed, len(scored), scenarios, rule)
    evidence = TrialEvidence(
        trials=len(scored),
        passed=passed,
        low=round(interval.low, 4),
        high=round(interval.high, 4),
        scenarios=tuple(sorted(scenarios)),
        strategy=group[0].record.trial.strategy,
        failures=dict(Counter(record.code for record in scored if not record.passed).most_common()),
        invalid=len(group) - len(scored),
        runs=tuple(dict.fromkeys(one.run_id for one in group)),
        last_at=max(record.started_at for record in scored),
    )
    ways = {msgspec.json.encode(record.sampling, order="sorted") for record in scored}
    sampling = scored[0].sampling if len(ways) == 1 else None
    return TrustCard(
        model=model, profile=profile, sampling=sampling, tool=tool, trust=trust, why=why, evidence=evidence
    )


def _rank(card: TrustCard) -> tuple[int, float]:
    return strictness(card.trust), -card.evidence.low


def _percent(share: float) -> str:
    return f"{share * 100:.4g} %"
