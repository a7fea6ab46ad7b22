"""A thousand conversations with models that fail, people who decide and callers who leave, all by plan: each ends with a
named outcome, every effect is counted, and every record replays exactly.

CHAOS_SEED chooses another thousand, CHAOS_RUNS fewer, and CHAOS_FROM the number of the first: what fails is named by its
number, and can be had again alone.
"""

import os
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from tests.chaos.conversations import Conversations

SEED = int(os.environ.get("CHAOS_SEED", "20261116"))
RUNS = int(os.environ.get("CHAOS_RUNS", "1000"))
FROM = int(os.environ.get("CHAOS_FROM", "0"))


@pytest.mark.requirement("C-047")
async def test_a_thousand_conversations_with_faults_end_by_name_and_act_once(tmp_path):
    first, last, parts = Counter(), Counter(), Counter()
    unlike, silent = [], []
    async with AsyncExitStack() as stack:
        conversations = Conversations(SEED, stack, f"sqlite:///{tmp_path}/groundwire.db")
        await conversations.open()
        runtime = conversations.runtime
        for number in range(FROM, FROM + RUNS):
            outcomes = await conversations.hold(number)
            first[outcomes[0]] += 1
            last[outcomes[-1]] += 1
            parts[len(outcomes)] += 1
            if not (await runtime.store.load_run("default", f"run_{number}")).text:
                silent.append(number)
            if not (await conversations.agent.replay(f"run_{number}")).same:
                unlike.append(number)
        effects = await runtime.effects(limit=100_000)
        audit = await runtime.verify_audit()
    assert audit.ok, audit
    assert (unlike, silent) == ([], [])
    assert last.total() == RUNS
    done = conversations.world.effects
    assert max(Counter(done).values(), default=1) == 1
    recorded = [(effect.tool, effect.key) for effect in effects if effect.status in ("settled", "unknown")]
    assert sorted(done) == sorted(recorded)
    if RUNS >= 1000:  # the plan is dense enough that these really happened
        assert last["completed"] > RUNS / 2
        assert min(first["provider_error"], first["cancelled"], first["awaiting_approval"]) > 50
        assert last["awaiting_approval"] > 10
        assert max(parts) > 3


async def test_the_same_seed_gives_the_same_conversations_wherever_one_begins(tmp_path):
    async def hold(numbers, name):
        async with AsyncExitStack() as stack:
            conversations = Conversations(SEED, stack, f"sqlite:///{tmp_path}/{name}.db", patience=30)
            await conversations.open()
            return {number: await conversations.hold(number) for number in numbers}

    whole = await hold(range(40), "whole")
    assert await hold(range(25, 40), "part") == {number: whole[number] for number in range(25, 40)}
    assert len(set(map(tuple, whole.values()))) > 3
