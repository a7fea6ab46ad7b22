"""A tool profile is a name for masks; settings narrow it further and never widen it."""

import pytest

from groundwire import GroundwireError, Overrides, Profile, Settings, tool
from groundwire.testing import Answer, Ask, runtime_for
from tests.behaviours.runs.stage import UPSTREAMS, staged, verdicts


def make_tools():
    @tool(category="retrieval")
    def look(word: str) -> str:
        """Look a word up."""
        return word

    @tool(category="retrieval")
    def spell(word: str) -> str:
        """Spell a word."""
        return word

    @tool(category="action")
    def note(word: str) -> str:
        """Note a word."""
        return word

    return [look, spell, note]


PROFILES = {
    "reader": Profile(allow=("look", "spell")),
    "careful": Profile(deny=("note",), limits=Overrides(max_args_bytes=30)),
}
CALLS = Answer(calls=tuple(Ask(name, {"word": "sky"}, offered=False) for name in ("look", "spell", "note")))


@pytest.mark.requirement("C-155", "C-153", "C-154")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(
    ("profile", "settings", "offered"),
    [
        ("", {}, ["look", "note", "spell"]),
        ("reader", {}, ["look", "spell"]),
        ("careful", {}, ["look", "spell"]),
        ("reader", {"tool_denylist": ["look"]}, ["spell"]),
        ("reader", {"tool_allowlist": ["look", "note"]}, ["look"]),
        ("reader", {"tool_allowlist": "all"}, ["look", "spell"]),
    ],
)
async def test_a_profile_resolves_to_what_is_offered_and_run(upstream, profile, settings, offered):
    async with (
        runtime_for(*make_tools(), settings=Settings(profiles=PROFILES)) as runtime,
        staged(upstream, CALLS, "Done.") as stage,
    ):
        result = await stage.agent(runtime=runtime, profile=profile, settings=settings).run("Go.")
        assert stage.script.offered == [offered, offered]
        expected = {name: "ok" if name in offered else "NOT_FOUND/UNKNOWN_TOOL" for name in ("look", "spell", "note")}
        assert sorted(verdicts(result.events)) == sorted(f"{name} {verdict}" for name, verdict in expected.items())


async def test_a_profiles_limit_stays_where_a_run_sets_another_one():
    long = Answer(calls=(Ask("look", {"word": "a very long word indeed"}),))
    async with (
        runtime_for(*make_tools(), settings=Settings(profiles=PROFILES)) as runtime,
        staged("in-process", long, "Done.") as stage,
    ):
        agent = stage.agent(runtime=runtime, profile="careful", settings={"max_tool_output_bytes": 100})
        assert verdicts((await agent.run("Go.")).events) == ["look ARGUMENTS_TOO_LARGE"]


async def test_a_profile_that_does_not_exist_is_refused():
    async with staged("in-process", "Done.") as stage:
        with pytest.raises(GroundwireError, match=r"^there is no profile 'reeder'(?: \(|$)"):
            await stage.agent(profile="reeder").run("Go.")
