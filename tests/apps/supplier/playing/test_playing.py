"""Free play: a supplier with a hand of its own, and what the bot gets out of it."""

import pytest

from groundwire import ProviderError, Settings
from groundwire.apps.supplier.contracts import SourcingRequest, Status
from groundwire.apps.supplier.playing import Captured, Ended, Said, Sheet, Temper, draw_request, draw_sheet, open_game
from groundwire.apps.supplier.playing.players import CANNED
from groundwire.assembly import ProviderSettings
from groundwire.testing import Answer, Fault, FaultKind, ModelFaults, ScriptedModel, simulator

HAND = Sheet(temper=Temper.FRIENDLY, moq=100, unit_price=6.5, lead_days=7, sample_fee=20, custom_moq=200)


async def played(sheet, *, seed=1, turns=12, settings=None, supplier="rules", **wanted):
    request = SourcingRequest(session_id="s", **{"item": "帆布手提袋", "qty": 500, **wanted})
    async with open_game(settings or Settings(), request, sheet, supplier=supplier, seed=seed) as game:
        return [move async for move in game.moves(turns)]


def facts(moves):
    logged = [move.entry for move in moves if isinstance(move, Captured) and move.entry.name == "log_data"]
    return {entry.args["goalId"]: entry.args["value"] for entry in logged}


async def test_a_friendly_supplier_tells_its_hand_and_the_bot_captures_it():
    moves = await played(HAND)
    assert facts(moves) == {"availability": "in_stock", "moq": "100", "unit_price": "6.5", "lead_time": "7d"}
    assert moves[-1].status is Status.COMPLETED


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_the_words_the_captures_are_the_hand(seed):
    found = facts(await played(HAND, seed=seed))
    assert (found["moq"], found["unit_price"], found["lead_time"]) == ("100", "6.5", "7d")


@pytest.mark.parametrize(
    ("temper", "status"),
    [
        (Temper.FRIENDLY, Status.COMPLETED),
        (Temper.BRISK, Status.COMPLETED),
        (Temper.ELSEWHERE, Status.WECHAT_REDIRECT),
        (Temper.AWAY, Status.NO_REPLY),
        (Temper.CLOSING, Status.REJECTED),
    ],
)
async def test_each_temper_leads_to_its_end_and_operations_hear_of_bad_ones(temper, status):
    sheet = Sheet(temper=temper, moq=100, unit_price=6.5, lead_days=7, sample_fee=20, custom_moq=200)
    ended = (await played(sheet))[-1]
    assert ended.status is status
    assert bool(ended.signals) == (status is not Status.COMPLETED)


async def test_too_few_to_customize_is_a_blocker():
    moves = await played(HAND, qty=50, want="印logo")
    blockers = [move.entry for move in moves if isinstance(move, Captured) and move.entry.name == "note_blocker"]
    assert len(blockers) == 1
    assert "human_escalation" in {signal.signal_type for signal in moves[-1].signals}


async def test_so_many_messages_are_answered_and_no_more():
    moves = await played(HAND, turns=1)
    assert [move.role for move in moves if isinstance(move, Said)] == ["bot", "supplier", "bot"]
    assert isinstance(moves[-1], Ended)


async def test_nobody_answers_a_machine():
    sheet = Sheet(temper=Temper.AWAY, moq=1, unit_price=1, lead_days=1, sample_fee=1, custom_moq=1)
    moves = await played(sheet)
    assert [move.content for move in moves if isinstance(move, Said)][1:] == [CANNED]


def test_the_same_seed_deals_the_same_hand_and_seeds_differ():
    assert draw_sheet(7) == draw_sheet(7)
    assert draw_request(7, "s") == draw_request(7, "s")
    assert len({draw_sheet(seed) for seed in range(50)}) > 40
    assert {draw_sheet(seed).temper for seed in range(100)} == set(Temper)


async def test_a_model_can_play_the_supplier_and_is_given_the_hand():
    def answer(request):
        told = "".join(part.text for part in request.instructions)
        return Answer("<think>底牌</think>100个起，单价6.5，交期7天" if "起订量：100个" in told else "?")

    async with simulator(model=ScriptedModel(otherwise=answer)) as server:
        settings = Settings(providers={"gemini": ProviderSettings(dialect="gemini", base_url=server.gemini_url)})
        moves = await played(HAND, settings=settings, supplier="gemini-flash")
        assert {one.path for one in server.requests} == {"/v1beta/models/gemini-3-flash-preview:generateContent"}
    assert moves[1].content == "100个起，单价6.5，交期7天"
    assert moves[-1].status is Status.COMPLETED


async def test_a_model_that_cannot_play_the_supplier_is_an_error_and_no_silence():
    failing = ModelFaults(rate=1.0, faults=(Fault(kind=FaultKind.STATUS, status=401),))
    async with simulator(model=ScriptedModel(faults=failing)) as server:
        settings = Settings(providers={"gemini": ProviderSettings(dialect="gemini", base_url=server.gemini_url)})
        with pytest.raises(ProviderError):
            await played(HAND, settings=settings, supplier="gemini-flash")
