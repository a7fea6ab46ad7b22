"""The supplier bot behind the gateway: it speaks Gemini's form, whoever answers, and what it captures is the same."""

import pytest

from groundwire import Settings, open_models
from groundwire.apps.supplier.agents import BOT_TOOLS, SAMPLING, supplier_registry
from groundwire.apps.supplier.contracts import GroundingMode
from groundwire.apps.supplier.evaluation.cases import cases_by_id
from groundwire.apps.supplier.evaluation.driving import carry_out_case
from groundwire.apps.supplier.evaluation.recorded import play_back
from groundwire.apps.supplier.negotiator import negotiate
from groundwire.assembly import ProviderSettings
from groundwire.evals import Contestant
from groundwire.providers.catalogue import ModelEntry
from groundwire.testing import FakeClock, ScriptedModel, ScriptedProvider
from tests.gateway.conftest import MODELS, UPSTREAMS

KEY = "buyers-key"
CASES = ("mes2-03-price-breaks", "mes2-09-media-and-file", "mes2-13-auto-response")


async def outcome_of(case_id, models, name):
    case = cases_by_id()[case_id]
    contestant = Contestant(name=name, models=models, sampling=SAMPLING)
    conversed = await carry_out_case(case, contestant, 1, GroundingMode.STRICT, supplier_registry())
    told = dict(conversed.state, model="")
    for call in (*told["botToolTrace"], *told["botCalls"], *told["summaryCalls"]):
        assert call.pop("callId")  # each dialect has its own
    return told


def in_process(answers):
    return ScriptedProvider(ScriptedModel(otherwise=answers), clock=FakeClock())


async def through_gateway(gateway, upstream, answers, case_id, key=KEY):
    """The bot asks Gemini at the gateway, which asks another model in another dialect; what each upstream was sent."""
    provider, _, wire_name = MODELS[upstream].partition("/")
    entry = ModelEntry(id="gemini-3.1-pro-preview", provider=provider, model=wire_name, aliases=("gemini-pro",))
    behind = {"model": ScriptedModel(otherwise=answers), "models": (entry,), "environ": {"GROUNDWIRE_MASTER_KEY": KEY}}
    async with gateway(upstream=upstream, **behind) as running:
        asked = ProviderSettings(dialect="gemini", base_url=running.gemini_url, key_env="CHAT_KEY", auth="query")
        models = open_models(Settings(providers={"gemini": asked}), environ={"CHAT_KEY": key})
        try:
            return await outcome_of(case_id, models, "gemini-pro"), running.upstream.requests
        finally:
            await models.close()


@pytest.mark.requirement("OQ-06", "A-082", "A-093", "A-094", "A-095", "A-160")
@pytest.mark.parametrize("case_id", CASES)
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_the_bot_captures_and_signals_the_same_whoever_answers_behind_the_gateway(gateway, upstream, case_id):
    found, requests = await through_gateway(gateway, upstream, negotiate, case_id)
    assert requests
    assert found == await outcome_of(case_id, in_process(negotiate), "rules")


@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_calls_that_nobody_bears_out_are_dropped_behind_every_upstream(gateway, upstream):
    case_id = "mes2-04-invented-figures"
    answers = play_back(cases_by_id()[case_id])
    found, _ = await through_gateway(gateway, upstream, answers, case_id)
    assert (len(found["botCalls"]), len(found["botToolTrace"])) == (4, 2)
    assert found == await outcome_of(case_id, in_process(answers), "recorded")


@pytest.mark.requirement("A-081", "A-083", "A-085", "A-086", "A-087", "A-088", "A-089")
async def test_the_bots_request_arrives_as_gemini_has_it(gateway):
    _, requests = await through_gateway(gateway, "gemini", negotiate, "mes2-03-price-breaks")
    first = next(one for one in requests if "只能激光" in str(one.body["contents"]))
    assert first.path == "/v1beta/models/gemini-3-flash:generateContent"
    body = first.body
    assert "不锈钢保温杯" in body["systemInstruction"]["parts"][0]["text"]
    opened, *said = body["contents"]
    assert opened["role"] == "user"  # with nobody's words: Gemini wants a user to begin
    assert [content["role"] for content in said] == ["model", "user", "model", "user", "model", "user"]
    assert body["contents"][-1]["parts"] == [{"text": "丝印我们做不了，只能激光"}]
    (tools,) = body["tools"]
    declared = {one["name"]: one for one in tools["functionDeclarations"]}
    assert set(declared) == set(BOT_TOOLS)
    assert all(
        one["description"] and one.get("parameters", one.get("parametersJsonSchema")) for one in declared.values()
    )
    assert body["generationConfig"] == {"temperature": 0.1, "maxOutputTokens": 4000}


async def test_a_key_in_the_address_is_looked_at(gateway):
    found, requests = await through_gateway(gateway, "gemini", negotiate, "mes2-03-price-breaks", key="wrong")
    assert (found["status"], list(requests)) == ("error", [])
