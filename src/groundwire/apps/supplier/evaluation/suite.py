"""The cases as a suite for `groundwire eval`: who can be tried on them, how, and what is done when all is over."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

import groundwire.apps.supplier
from groundwire import ConfigError
from groundwire.apps.supplier.agents import SAMPLING, Roles, supplier_registry
from groundwire.apps.supplier.contracts import GroundingMode, JsonObject
from groundwire.apps.supplier.evaluation.cases import RECORDED, cases_by_id, read_cases
from groundwire.apps.supplier.evaluation.checks import checks_of
from groundwire.apps.supplier.evaluation.delivery import check_target, deliver
from groundwire.apps.supplier.evaluation.driving import carry_out_case
from groundwire.apps.supplier.evaluation.recorded import play_back
from groundwire.apps.supplier.evaluation.totals import add_up
from groundwire.apps.supplier.negotiator import RULES, negotiate
from groundwire.apps.supplier.prompts import read_prompt
from groundwire.evals import Contestant, Conversed, RubricCheck, Scenario, Suite, Total, TrialRecord


class SuiteOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`send_to_brain` is where signals go in the end: nowhere, a log in the report's folder (`file`), or a URL."""

    grounding: GroundingMode = GroundingMode.STRICT
    send_to_brain: str = ""


def make_suite(options: JsonObject) -> Suite:
    try:
        wanted = msgspec.convert(options, SuiteOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The suite supplier has no such option: {error}") from None
    check_target(wanted.send_to_brain)
    registry = supplier_registry()

    async def converse(scenario: Scenario, contestant: Contestant, seed: int) -> Conversed:
        return await carry_out_case(cases_by_id()[scenario.id], contestant, seed, wanted.grounding, registry)

    async def conclude(records: Sequence[TrialRecord], folder: Path) -> tuple[Total, ...]:
        delivered = await deliver(records, folder, wanted.send_to_brain) if wanted.send_to_brain else ()
        return (*add_up(records), *delivered)

    return Suite(
        name="supplier",
        title="Negotiating with suppliers",
        scenarios=_scenarios(wanted.grounding),
        converse=converse,
        models={
            RECORDED: lambda scenario: play_back(cases_by_id()[scenario.id]),
            RULES: lambda _scenario: negotiate,
        },
        sources=tuple(map(Path, groundwire.apps.supplier.__path__)),
        sampling=SAMPLING,
        rubrics=_rubrics(),
        judge=Roles().judge,
        conclude=conclude,
    )


def _scenarios(mode: GroundingMode) -> tuple[Scenario, ...]:
    return tuple(
        Scenario(
            id=case.id,
            title=case.request.item,
            tags=(case.id[: len("mes2-00")], case.origin, case.status.value),
            setup=msgspec.to_builtins(case),
            turns=case.lines,
            checks=checks_of(case, mode),
        )
        for case in read_cases()
    )


def _rubrics() -> tuple[RubricCheck, ...]:
    """Each numbered line of the judge's prompt is a question of its own."""
    first, *lines = read_prompt("judge").text.splitlines()
    criteria = [line.partition(".")[2].strip() for line in lines if line.partition(".")[0].isdigit()]
    return tuple(RubricCheck(question=f"{first}\n{criterion}", votes=1) for criterion in criteria)
