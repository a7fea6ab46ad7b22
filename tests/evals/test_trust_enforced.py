"""Trust cards in real runs: what a model is offered, what it may call, whom it has to wait for, and where that is told."""

import contextlib

import pytest

from groundwire import Agent, NotReliable, Runtime, Settings, TrustError, TrustSettings, open_models, tool
from groundwire.assembly import ProviderSettings, StoreSettings
from groundwire.contracts.requests import Sampling
from groundwire.providers.catalogue import ModelEntry
from groundwire.registry import Registry
from groundwire.testing import Answer, Ask, simulator
from tests.evals.trusted import KEY, KEY_ENV, card, write_trust

MODEL = "up/m"
WHY = "up/m (default) is {trust} with {tool}: 3 of 4 trials passed, 20260101T000000Z"
PAYS = (Answer(calls=(Ask("pay", {"amount": 5}, offered=False),)), Answer("Done."))
LOOKS = (Answer(calls=(Ask("look", {"place": "here"}, offered=False),)), Answer("Done."))


class Shop:
    """An agent with an action and a lookup behind a simulated provider, and what was really done."""

    def __init__(self, agent, upstream):
        self.agent = agent
        self.upstream = upstream
        self.done = []

    @property
    def offered(self):
        return [one["function"]["name"] for one in self.upstream.requests[-1].body.get("tools", ())]

    async def audited(self):
        store = self.agent.runtime.store
        await store.flush()
        records = await store.list_audit("default", limit=100)
        return [(one.entry.tool_name, one.entry.decision, one.entry.reason) for one in reversed(records)]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_ENV, KEY)

    @contextlib.asynccontextmanager
    async def opened(*cards, script=PAYS, models=(), trust=None, **options):
        done = []

        @tool(category="action")
        async def pay(amount: int) -> dict:
            """Pay an amount."""
            done.append(amount)
            return {"paid": amount}

        @tool(category="retrieval")
        async def look(place: str) -> dict:
            """Look at a place."""
            done.append(place)
            return {"seen": len(done)}

        @tool(category="utility")
        async def settle_up(context) -> dict:
            """Pay what is due."""
            paid = await context.call("pay", {"amount": 9})
            return {"ok": paid.ok}

        file = write_trust(tmp_path / "trust.json", *cards)
        async with simulator(*script) as upstream:
            settings = Settings(
                store=StoreSettings(url="memory://"),
                providers={"up": ProviderSettings(base_url=upstream.openai_url)},
                models=models,
                trust=TrustSettings(file=file, **(trust or {})),
            )
            router = open_models(settings, environ={})
            runtime = Runtime(Registry([pay, look, settle_up]), settings=settings)
            agent = Agent(MODEL, runtime=runtime, models=router, **options)
            made = Shop(agent, upstream)
            made.done = done
            async with runtime:
                yield made
            await router.close()

    return opened


def cards(pay="reliable", look="reliable", settle_up="reliable", **options):
    named = {"pay": pay, "look": look, "settle_up": settle_up}
    return [card(MODEL, name, trust, **options) for name, trust in named.items()]


def told(result):
    """What is said of trust; of translation, more may be said."""
    return {(one.code, one.path) for one in result.warnings if one.code.startswith(("trust_", "enforced_"))}


async def test_a_reliable_model_uses_its_tools_and_nothing_is_said(shop):
    async with shop(*cards()) as made:
        result = await made.agent.run("Pay 5.")
        assert (result.outcome, result.text, made.done, result.warnings) == ("completed", "Done.", [5], ())
        assert made.offered == ["look", "pay", "settle_up"]
        assert await made.audited() == [("pay", "executed", "settle")]


async def test_a_tool_that_is_denied_is_neither_offered_nor_carried_out(shop):
    async with shop(*cards(pay="deny")) as made:
        result = await made.agent.run("Pay 5.")
        assert (made.done, made.offered) == ([], ["look", "settle_up"])
        refused = result.calls[0].result.error
        assert (refused.type, refused.detail) == ("NOT_FOUND", "UNKNOWN_TOOL")
        assert refused.message == "There is no tool named 'pay'. Use only the tools that were declared."
        why = WHY.format(trust="deny", tool="pay")
        assert await made.audited() == [("pay", "refused", f"mask: pay is kept from this model: {why}")]
        assert told(result) == {("trust_hidden", "tools.pay")}
        assert result.warnings[0].message == f"it is not offered: {why}."


async def test_read_only_takes_actions_away_and_leaves_lookups(shop):
    async with shop(*cards(pay="read-only", look="read-only"), script=LOOKS) as made:
        result = await made.agent.run("Look.")
        assert (made.done, made.offered) == (["here"], ["look", "settle_up"])
        assert told(result) == {("trust_hidden", "tools.pay")}
    async with shop(*cards(pay="read-only")) as made:
        await made.agent.run("Pay 5.")
        assert made.done == []


async def test_a_model_that_must_ask_waits_for_a_person_and_the_record_says_why(shop):
    why = WHY.format(trust="ask", tool="pay")
    async with shop(*cards(pay="ask")) as made:
        paused = await made.agent.run("Pay 5.")
        assert (paused.outcome, made.done, made.offered) == ("awaiting_approval", [], ["look", "pay", "settle_up"])
        assert told(paused) == {("trust_ask", "tools.pay")}
        [question] = await made.agent.runtime.approvals()
        assert question.question == f'Run pay with {{"amount":5}}? You are asked because {why}.'
        await made.agent.runtime.approve(question.confirmation_id, by="ada")
        result = await made.agent.resume(paused.run_id)
        assert (result.outcome, result.text, made.done) == ("completed", "Done.", [5])
        assert ("pay", "executed", f"settle: a person is asked: {why}") in await made.audited()


async def test_what_the_model_reads_of_the_question_says_nothing_of_trust(shop):
    async with shop(*cards(pay="ask"), approvals="answer") as made:
        result = await made.agent.run("Pay 5.")
        assert made.done == []
        message = result.calls[0].result.error.message
        assert "Run pay with" in message
        assert "trials" not in message
        why = WHY.format(trust="ask", tool="pay")
        assert await made.audited() == [("pay", "refused", f"confirm: a person is asked: {why}")]


async def test_a_person_who_denies_is_named_in_the_record(shop):
    async with shop(*cards(pay="ask")) as made:
        paused = await made.agent.run("Pay 5.")
        await made.agent.runtime.deny(paused.approvals[0], by="ada")
        await made.agent.resume(paused.run_id)
        assert made.done == []
        assert ("pay", "refused", "confirm: denied by ada") in await made.audited()


async def test_each_look_of_a_model_that_must_ask_is_a_question_of_its_own(shop):
    looks = Answer(calls=(Ask("look", {"place": "here"}),))
    async with shop(*cards(look="ask"), script=(looks, looks, Answer("Done."))) as made:
        result = await made.agent.run("Look twice.")
        for _ in range(2):
            assert result.outcome == "awaiting_approval"
            await made.agent.runtime.approve(result.approvals[0], by="ada")
            result = await made.agent.resume(result.run_id)
        assert (result.outcome, made.done) == ("completed", ["here", "here"])


async def test_an_unknown_model_asks_by_default_and_may_do_what_the_operator_says(shop):
    async with shop(card("up/other", "pay", "reliable")) as made:
        result = await made.agent.run("Pay 5.")
        assert (result.outcome, made.done) == ("awaiting_approval", [])
        assert result.warnings[0].message == "a person is asked first: no trust card is about up/m."
    async with shop(card("up/other", "pay", "reliable"), trust={"unknown": "deny"}) as made:
        await made.agent.run("Pay 5.")
        assert (made.done, made.offered) == ([], [])
    async with shop(card("up/other", "pay", "reliable"), trust={"unknown": "read-only"}) as made:
        await made.agent.run("Pay 5.")
        assert (made.done, made.offered) == ([], ["look", "settle_up"])


async def test_what_a_tool_calls_of_its_own_accord_no_model_chose(shop):
    for trust in ("deny", "ask", "read-only"):
        script = (Answer(calls=(Ask("settle_up", {}),)), Answer("Done."))
        async with shop(*cards(pay=trust), script=script) as made:
            result = await made.agent.run("Settle up.")
            assert (result.outcome, made.done) == ("completed", [9])


async def test_calls_that_no_model_makes_need_no_trust(shop):
    async with shop(*cards(pay="deny")) as made:
        result = await made.agent.runtime.call("pay", {"amount": 7})
        assert (result.ok, made.done) == (True, [7])


async def test_the_sampling_of_a_run_chooses_the_card(shop):
    hot = cards(pay="deny", profile="hot", sampling={"temperature": 1.5})
    async with shop(*cards(), *hot) as made:
        await made.agent.run("Pay 5.")
        await made.agent.run("Pay 5.", sampling=Sampling(temperature=1.5))
        await made.agent.run("Pay 5.", sampling=Sampling(temperature=0.7))
        assert made.done == [5]


async def test_a_fallback_that_may_answer_is_judged_with_the_model(shop):
    entry = ModelEntry(id="mine", provider="up", model="m", fallbacks=("up/backup",))
    both = [*cards(), card("up/backup", "pay", "deny")]
    async with shop(*both, models=(entry,)) as made:
        await made.agent.run("Pay 5.")
        assert made.done == [5]
        await made.agent.run("Pay 5.", model="mine")
        await made.agent.run("Pay 5.", fallbacks=("up/backup",))
        assert made.done == [5]


async def test_an_alias_is_judged_as_the_model_that_it_leads_to(shop):
    async with shop(*cards(), models=(ModelEntry(id="mine", provider="up", model="m"),)) as made:
        await made.agent.run("Pay 5.", model="mine")
        assert made.done == [5]


async def test_trust_that_is_lost_while_a_run_waits_holds_when_it_goes_on(shop, tmp_path):
    async with shop(*cards(pay="ask"), trust={"unknown": "deny"}) as made:
        paused = await made.agent.run("Pay 5.")
        await made.agent.runtime.approve(paused.approvals[0], by="ada")
        write_trust(tmp_path / "later.json", *cards(pay="deny"))
        later = Settings(trust=TrustSettings(file=str(tmp_path / "later.json")))
        runtime = Runtime(made.agent.runtime.registry, made.agent.runtime.store, settings=later)
        agent = Agent(MODEL, runtime=runtime, models=made.agent._models)
        result = await agent.resume(paused.run_id)
        assert (result.calls[0].result.error.detail, made.done) == ("UNKNOWN_TOOL", [])


@pytest.mark.requirement("C-194")
async def test_enforced_is_refused_to_a_model_that_is_not_reliable(shop):
    async with shop(*cards(look="ask"), settings={"tool_use_mode": "enforced"}) as made:
        with pytest.raises(NotReliable) as caught:
            await made.agent.run("Pay 5.")
        assert caught.value.code == "not_reliable"
        why = WHY.format(trust="ask", tool="look")
        assert caught.value.message == (f"tool_use_mode cannot be enforced: up/m is not reliable enough for it: {why}")
        assert made.upstream.requests == []
        allowed = await made.agent.run("Pay 5.", settings={"tool_denylist": "look"})
        assert (allowed.outcome, made.done) == ("completed", [5])


@pytest.mark.requirement("C-194", "C-195")
async def test_enforced_is_relaxed_where_the_operator_prefers_that_and_a_warning_says_why(shop):
    options = {"settings": {"tool_use_mode": "enforced"}, "script": (Answer("No need."),)}
    async with shop(*cards(pay="ask"), trust={"enforced": "relax"}, **options) as made:
        result = await made.agent.run("Hello.")
        assert (result.outcome, result.text) == ("completed", "No need.")
        assert told(result) == {("trust_ask", "tools.pay"), ("enforced_relaxed", "settings.tool_use_mode")}
        assert (await made.agent.replay(result.run_id)).same
    async with shop(*cards(), trust={"enforced": "relax"}, **options) as made:
        result = await made.agent.run("Hello.")
        assert (result.outcome, result.warnings) == ("no_tool_call", ())


@pytest.mark.requirement("C-194")
async def test_without_cards_the_catalogue_flags_enforced_for_a_model_that_is_not_marked_reliable():
    async with simulator(Answer("Hello.")) as upstream:
        entries = [
            ModelEntry(id=name, provider="up", tool_calling=name) for name in ("reliable", "unreliable", "unknown")
        ]
        settings = Settings(
            store=StoreSettings(url="memory://"),
            providers={"up": ProviderSettings(base_url=upstream.openai_url)},
            models=tuple(entries),
        )
        agent = Agent("reliable", config=settings, settings={"tool_use_mode": "enforced"})
        async with agent:
            flagged = {name: told(await agent.run("Hi.", model=name)) for name in ("reliable", "unreliable", "unknown")}
    note = {("enforced_unreliable", "settings.tool_use_mode")}
    assert flagged == {"reliable": set(), "unreliable": note, "unknown": note}


async def test_a_replay_that_carries_things_out_is_held_to_the_trust_of_its_model(shop):
    async with shop(*cards(), card("up/worse", "pay", "deny")) as made:
        first = await made.agent.run("Pay 5.")
        assert made.done == [5]
        await made.agent.replay(first.run_id, model="up/worse", execute=True)
        assert (made.offered, made.done) == (["look", "settle_up"], [5])


async def test_a_replay_that_carries_nothing_out_shows_what_a_model_would_do_without_trust(shop):
    async with shop(*cards(), card("up/worse", "pay", "deny")) as made:
        first = await made.agent.run("Pay 5.")
        report = await made.agent.replay(first.run_id, model="up/worse")
        assert (report.same, made.offered, made.done) == (True, ["look", "pay", "settle_up"], [5])


@pytest.mark.parametrize("spoil", ["missing", "tampered", "expired", "no_key", "other_key"])
def test_nothing_starts_with_a_trust_file_that_cannot_be_used(spoil, tmp_path, monkeypatch):
    file = tmp_path / "trust.json"
    write_trust(file, *cards(pay="deny"), expires=1.0 if spoil == "expired" else 4e9)
    monkeypatch.setenv(KEY_ENV, {"no_key": "", "other_key": KEY[::-1]}.get(spoil, KEY))
    if spoil == "missing":
        file.unlink()
    if spoil == "tampered":
        file.write_bytes(file.read_bytes().replace(b'"deny"', b'"ask"'))
    with pytest.raises(TrustError) as caught:
        Runtime(Registry(), settings=Settings(trust=TrustSettings(file=str(file))))
    expected = {"missing": "unreadable", "other_key": "tampered"}.get(spoil, spoil)
    assert caught.value.reason == expected
