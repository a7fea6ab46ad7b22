"""Who talks with a model during a trial: fixed turns, somebody who answers by rules, or another model in a role."""

from collections.abc import AsyncGenerator, Sequence

from groundwire.contracts.errors import ProviderError
from groundwire.contracts.messages import say
from groundwire.contracts.ports import Provider
from groundwire.contracts.requests import ModelRequest, Sampling
from groundwire.evals.graders.rubrics import Judges
from groundwire.evals.patterns import compile_pattern
from groundwire.evals.scenarios import Scenario, SimulatedUser


class UserFailed(Exception):
    """The simulated user could not go on; that says nothing about the model."""


async def user_turns(
    scenario: Scenario, said: Sequence[tuple[str, str]], judges: Judges | None, seed: int
) -> AsyncGenerator[str]:
    """What the user says, one turn after the other. `said` grows meanwhile with (who, what)."""
    for turn in scenario.turns:
        yield turn
    user = scenario.user
    if user is None:
        return
    for number in range(user.max_turns):
        line = await _next_line(user, said, judges, seed + number)
        if line is None:
            return
        yield line


async def _next_line(
    user: SimulatedUser, said: Sequence[tuple[str, str]], judges: Judges | None, seed: int
) -> str | None:
    if not (user.model or user.role):
        last = said[-1][1] if said else ""
        for pattern, line in user.rules:
            if compile_pattern(pattern)(last):
                return line if line != user.ends_with else None
        return user.otherwise or None
    if judges is None:
        raise UserFailed("There is nobody to play the user.")
    provider, name = judges(user.model)
    line = await _played(user, said, provider, name, seed)
    return None if user.ends_with in line or not line.strip() else line


async def _played(
    user: SimulatedUser, said: Sequence[tuple[str, str]], provider: Provider, name: str, seed: int
) -> str:
    """The other model sees the conversation from the user's side: what the assistant said is said to it."""
    told = f"{user.role}\n\nSpeak as this person, one message at a time. When you are done, say {user.ends_with}."
    turned = [say("user" if who == "assistant" else "assistant", what) for who, what in said]
    items = (say("system", told), *(turned or [say("user", "(Begin.)")]))
    try:
        reply = await provider.complete(ModelRequest(model=name, items=items, sampling=Sampling(seed=seed)))
    except ProviderError as error:
        raise UserFailed(f"The simulated user {name} could not be asked: {error}") from None
    return reply.text
