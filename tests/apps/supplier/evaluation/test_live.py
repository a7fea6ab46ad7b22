"""Real models on the cases: here the simulator plays Gemini, and whoever judges."""

from contextlib import asynccontextmanager

import pytest

from groundwire import Settings
from groundwire.apps.supplier.negotiator import negotiate
from groundwire.assembly import ProviderSettings
from groundwire.evals.trust import RunRecord, make_trust
from groundwire.providers.catalogue import ModelEntry
from groundwire.testing import Answer, ScriptedModel, simulator
from tests.apps.supplier.evaluation.running import run_suite, totals_of

PRO = "gemini-3.1-pro-preview"


@asynccontextmanager
async def gemini(verdict='{"yes": true, "why": "好"}'):
    """Settings that lead to a Gemini which negotiates by rules and judges as it was told to."""

    def answer(request):
        return Answer(verdict) if request.output is not None else negotiate(request)

    async with simulator(model=ScriptedModel(otherwise=answer)) as server:
        yield server, Settings(providers={"gemini": ProviderSettings(dialect="gemini", base_url=server.gemini_url)})


@pytest.mark.requirement("A-177", "A-081", "A-084", "A-088", "A-089")
async def test_a_backend_is_a_model_by_its_alias_and_is_asked_in_its_own_form(tmp_path):
    async with gemini() as (server, settings):
        done, _ = await run_suite(tmp_path, settings=settings, models="gemini-pro,!rules", scenarios="mes2-01")
        body = next(one for one in server.requests if "tools" in one.body)
    assert body.path == f"/v1beta/models/{PRO}:generateContent"
    assert body.body["generationConfig"]["maxOutputTokens"] == 4000
    assert body.body["generationConfig"]["temperature"] == 0.1
    (record,) = done.finished.records
    assert (record.trial.model, record.status, record.route) == (PRO, "passed", f"gemini/{PRO}")


async def test_the_rules_are_tried_beside_a_real_model(tmp_path):
    async with gemini() as (_, settings):
        done, _ = await run_suite(tmp_path, settings=settings, models="gemini-pro", scenarios="mes2-01")
    assert [record.trial.model for record in done.finished.records] == [PRO, "rules"]
    assert totals_of(done, PRO)["statuses as expected"] == (1, 1)


async def test_conversations_of_real_models_are_judged_by_every_line_of_the_rubric(tmp_path):
    async with gemini() as (server, settings):
        done, _ = await run_suite(tmp_path, settings=settings, models="gemini-pro,rules", scenarios="mes2-01")
        asked = [one for one in server.requests if "responseMimeType" in one.body.get("generationConfig", {})]
    assert len(asked) == 7
    rubrics = {
        record.trial.model: sum(finding.check == "rubric" for finding in record.findings)
        for record in done.finished.records
    }
    assert rubrics == {PRO: 7, "rules": 0}


async def test_a_judge_that_says_no_fails_the_case(tmp_path):
    async with gemini('{"yes": false, "why": "编造"}') as (_, settings):
        done, _ = await run_suite(tmp_path, settings=settings, models="gemini-pro,!rules", scenarios="mes2-01")
    (record,) = done.finished.records
    assert (record.status, record.blame, record.code) == ("failed", "model", "rubric")


@pytest.mark.requirement("A-121", "A-122", "A-128", "OQ-13")
async def test_moving_the_alias_in_the_settings_is_all_that_a_change_of_models_takes(tmp_path):
    entry = ModelEntry(id="gemini-4-pro", provider="gemini", aliases=("gemini-pro",))
    async with gemini() as (server, settings):
        moved = Settings(providers=settings.providers, models=(entry,))
        done, _ = await run_suite(tmp_path, settings=moved, models="gemini-pro,!rules", scenarios="mes2-01")
        paths = {one.path for one in server.requests}
    assert paths == {"/v1beta/models/gemini-4-pro:generateContent"}  # the bot, the summary and the judge
    assert done.finished.records[0].route == "gemini/gemini-4-pro"


@pytest.mark.requirement("A-123")
async def test_trust_cards_are_made_from_the_cases_for_each_tool_of_both_agents(tmp_path):
    async with gemini() as (_, settings):
        done, _ = await run_suite(tmp_path, settings=settings, models="gemini-pro,!rules")
    made = make_trust([RunRecord(run_id="r", record=record) for record in done.finished.records], now=0.0)
    cards = {card.tool: card for card in made.cards}
    assert set(cards) == {
        *("log_data", "note_blocker", "note_file_request", "acknowledge_media"),
        *("emit_signal", "extract_timing", "flag_escalation"),
    }
    card = cards["log_data"]
    assert (card.model, card.sampling) == (f"gemini/{PRO}", {"temperature": 0.1})
    assert (card.trust, card.evidence.passed) == ("ask", card.evidence.trials)  # one trial of each is too few
