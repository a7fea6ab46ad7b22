"""Domains in the style of τ²-bench, with a library of our own."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from groundwire import ConfigError
from groundwire.evals.contestants import Contestant
from groundwire.evals.environments import open_environment
from groundwire.evals.peers import load_tau
from groundwire.evals.peers.domains import Domain, changes_between
from groundwire.evals.planning import digest_of
from groundwire.evals.records import Trial
from groundwire.evals.scenarios import CallsCheck, ExpectedCall, RubricCheck, StateCheck, said_before
from groundwire.evals.trials import carry_out
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider
from tests.evals.trying import told, try_suite

DATA = Path(__file__).parent / "data" / "tau" / "library"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(DATA, tmp_path / "library"))


def named(suite, scenario_id):
    return next(one for one in suite.scenarios if one.id == scenario_id)


async def test_tasks_are_run_on_a_database_of_their_own_and_gold_actions_pass():
    suite = load_tau(DATA)
    assert suite.name == "tau:library"
    assert suite.title == "library, in the style of τ²-bench; without 1 of 5 tasks, whose customer has tools"
    assert suite.presets == {
        "default": ("extend", "fees", "after_talk"),
        "test": ("extend",),
        "train": ("fees", "after_talk"),
    }
    records = await try_suite(suite, "perfect", "tags", scenarios=suite.presets["default"])
    assert told(records, "perfect") == dict.fromkeys(suite.presets["default"], ("passed", ""))
    assert told(records, "tags") == {
        "extend": ("failed", "wrong_state"),
        "fees": ("failed", "not_told"),
        "after_talk": ("failed", "wrong_state"),
    }
    assert records["perfect", "extend"].state == {
        "changes": [{"path": "/books/b1/loan/due", "value": 24}, {"path": "/books/b1/loan/extended", "value": True}],
        "assertions": [True],
    }


async def outcome_of(scenario, *answers):
    trial = Trial(model="m", profile="p", strategy="s", scenario=scenario.id, number=1)
    models = ScriptedProvider(ScriptedModel(*answers), clock=FakeClock())
    return await carry_out(trial, scenario, Contestant(name="sim/m", models=models), seed=1)


def ask(name, **arguments):
    return Answer(calls=(Ask(name, arguments),))


async def test_another_way_to_the_same_database_is_right():
    extend = named(load_tau(DATA), "extend")
    answers = (ask("extend_loan", book_id="b9"), ask("extend_loan", book_id="b1", days=14), "It is extended.")
    record = await outcome_of(extend, *answers)
    assert (record.status, [call.ok for call in record.calls]) == ("passed", [False, True])


async def test_one_change_too_many_is_wrong():
    extend = named(load_tau(DATA), "extend")
    record = await outcome_of(
        extend, ask("extend_loan", book_id="b1"), ask("reserve_book", reader_id="r1", book_id="b3"), "Both done."
    )
    assert (record.status, record.code) == ("failed", "wrong_state")


async def test_what_a_tool_refuses_is_a_failed_call():
    record = await outcome_of(named(load_tau(DATA), "fees"), ask("find_reader", reader_id="r7"), "Nothing.")
    assert [(call.ok, call.error) for call in record.calls] == [(False, "PERMANENT")]
    assert (record.status, record.code) == ("failed", "not_told")


@pytest.mark.parametrize(("said", "status"), [("You owe 1,250 cents.", "passed"), ("You owe something.", "failed")])
async def test_what_has_to_be_told_is_told_at_any_time(said, status):
    fees = replace(named(load_tau(DATA), "fees"), turns=("What do I owe?", "Thank you."))
    assert (await outcome_of(fees, said, "Goodbye.")).status == status


def test_a_task_begins_where_its_own_state_is():
    scenario = named(load_tau(DATA), "after_talk")
    assert [item.kind for item in said_before(scenario)] == ["message", "call", "result", "message"]
    environment = open_environment(scenario)
    assert environment.state() == {"changes": [], "assertions": []}
    assert scenario.checks == (
        StateCheck(path="/changes", equals=[{"path": "/readers/r2/reservations", "value": ["b2", "b3", "b1"]}]),
        CallsCheck(calls=(ExpectedCall(name="reserve_book", arguments={"book_id": "b1"}),)),
    )


def test_what_only_a_reader_can_say_is_asked_of_a_judge():
    assert named(load_tau(DATA), "judged").checks == (RubricCheck(question="Is this so? The reader got a kind word."),)


def test_customers_are_played_by_a_model_where_one_is_named():
    extend = named(load_tau(DATA, user="sim/customer"), "extend")
    assert (extend.turns, extend.user.model) == ((), "sim/customer")
    assert extend.user.role == (
        "Who you are: Brief and friendly\n\nWhy you get in touch: You want to keep Salt Roads (b1) for longer.\n\n"
        "What you know: Your card says r1.\n\nHow you go about it: If you are offered anything else, decline."
    )


def test_without_one_all_that_they_want_stands_in_one_message():
    suite = load_tau(DATA)
    assert named(suite, "fees").turns == ("Reader r1 asks how much they owe, and wants it waived.",)
    assert named(suite, "judged").turns == ("You are r2 and ask for a fourth reservation, then for a kind word.",)
    assert "cannot be asked back" in named(suite, "fees").instructions
    assert "Fees are told, never waived." in named(suite, "fees").instructions


def test_tools_are_declared_by_their_annotations_and_docstrings():
    registry = open_environment(load_tau(DATA).scenarios[0]).registry
    assert [tool.tool_id for tool in registry] == ["extend_loan", "find_reader", "reserve_book"]
    spec = registry.find("extend_loan").spec
    assert spec.description == "Extend the loan of a book."
    assert spec.parameters["required"] == ["book_id"]
    assert spec.parameters["properties"]["days"]["description"] == "By how many days."


def test_results_are_kept_for_a_domain_as_it_is(folder):
    def digest():
        trial = Trial(model="m", profile="p", strategy="s", scenario="extend", number=1)
        return digest_of(trial, 1, (named(load_tau(folder), "extend"),), "1")

    first = digest()
    assert digest() == first
    (folder / "policy.md").write_text("Anything goes.")
    assert digest() != first


TYPED = '''
from pydantic import BaseModel


class Shelf(BaseModel):
    count: int = 0


class DB(BaseModel):
    shelf: Shelf


def is_tool(function):
    function.__tool__ = True
    return function


class Base:
    db: DB

    def __init__(self, db):
        self.db = db

    @is_tool
    def look(self) -> Shelf:
        """Look at the shelf."""
        return self.db.shelf


class ShelfTools(Base):
    @is_tool
    def add(self, more: int) -> Shelf:
        """Add books."""
        self.db.shelf.count += more
        return self.db.shelf

    def empty(self):
        self.db.shelf.count = 0
'''


async def test_a_toolkit_may_mark_its_tools_and_have_models_for_its_database(folder):
    (folder / "tools.py").write_text(TYPED)
    (folder / "db.json").unlink()
    (folder / "db.toml").write_text("[shelf]\ncount = 4\n")
    gold = [{"name": "add", "arguments": {"more": 3}}]
    task = {"id": 7, "user_scenario": {"instructions": "Three more."}, "evaluation_criteria": {"actions": gold}}
    (folder / "tasks.json").write_text(json.dumps([task]))
    (folder / "split_tasks.json").unlink()
    suite = load_tau(folder)
    assert [one.id for one in suite.scenarios] == ["7"]
    record = await outcome_of(suite.scenarios[0], ask("add", more=3), "Done.")
    assert (record.status, record.calls[0].data) == ("passed", {"count": 7})
    assert record.state["changes"] == [{"path": "/shelf/count", "value": 7}]
    assert [tool.name for tool in Domain(folder).declared] == ["add", "look"]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("tasks.json", "[\n{", "tasks.json:2: it is not JSON"),
        ("tasks.json", '[\n\n{"id": "x"}]', "tasks.json:3: Object missing required field `user_scenario`"),
        ("tasks.json", "[]", "tasks.json has no task that can be run here"),
        ("tasks.json", '{"id": 1, "user_scenario": {"instructions": "x"}}\n' * 2, "tasks.json:2: there is another"),
        ("db.json", "[]", "db.json:1: a database is an object"),
        ("db.json", '{"a":\n]', "db.json:2: it is not JSON"),
        ("policy.md", b"\n\xff", "policy.md:2: it is not UTF-8"),
        ("split_tasks.json", "[1]", "split_tasks.json:1: Expected `object`"),
        ("tools.py", "x = 1\nclass", "tools.py:2: it is no Python"),
        ("tools.py", "x = 1\n1 / 0", "tools.py:2: it does not run: ZeroDivisionError"),
        ("tools.py", b"\xff", "tools.py:1: it is no Python"),
        ("tools.py", b"\x00", "tools.py:1: it is no Python"),
        ("tools.py", "import nowhere_at_all", "cannot be imported: No module named 'nowhere_at_all'"),
        ("tools.py", "raise SystemExit(3)", "tools.py:1: it does not run: SystemExit"),
        ("tools.py", "x = 1", "one class of tools, and has none"),
        (
            "tools.py",
            "class A:\n def __init__(self, db): ...\nclass B(str):\n def __init__(self, db): ...",
            "one class of tools, and has A, B",
        ),
        ("tools.py", "class A:\n def a(self): ...", "one class of tools, and has none"),
        ("tools.py", "class A:\n def __init__(self, db): 1 / 0", "its tools do not take its database"),
    ],
)
def test_whatever_is_wrong_in_a_folder_is_named_with_its_line(folder, file, text, said):
    (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as error:
        load_tau(folder)
    assert said in str(error.value)


def test_a_gold_action_that_is_no_tool_is_named_with_its_line(folder):
    text = (folder / "tasks.json").read_text().replace('"name": "extend_loan"', '"name": "burn"')
    (folder / "tasks.json").write_text(text)
    with pytest.raises(ConfigError, match=r"tasks\.json:2: the gold action 'burn' is no tool of library"):
        load_tau(folder)


@pytest.mark.parametrize(("toml", "line"), [("a = 1\nb = ", 2), ("a = inf", 1)])
def test_a_database_in_toml_is_named_with_its_line(folder, toml, line):
    (folder / "db.json").unlink()
    (folder / "db.toml").write_text(toml)
    with pytest.raises(ConfigError, match=rf"db\.toml:{line}: "):
        load_tau(folder)


def test_tools_that_are_nowhere_are_told_how_to_be_found(folder):
    (folder / "tools.py").unlink()
    with pytest.raises(
        ConfigError, match=r"put tools\.py there, or install the package that has tau2\.domains\.library"
    ):
        load_tau(folder)


def test_a_domain_has_a_policy(folder):
    (folder / "policy.md").unlink()
    with pytest.raises(ConfigError, match=r"has no policy\.md"):
        load_tau(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match="There is no folder"):
        load_tau(tmp_path / "nowhere")


def test_changes_name_what_was_set_and_what_was_removed():
    before = {"a": {"x/y": 1, "gone": 2}, "l": [1], "same": {"z": [1]}}
    after = {"a": {"x/y": 5, "new": None}, "l": [1, 2], "same": {"z": [1]}}
    assert list(changes_between(before, after)) == [
        {"path": "/a/gone", "removed": True},
        {"path": "/a/new", "value": None},
        {"path": "/a/x~1y", "value": 5},
        {"path": "/l", "value": [1, 2]},
    ]


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["tasks.json", "db.json", "policy.md", "split_tasks.json"]),
    cut=st.integers(0, 2000),
    more=st.binary(max_size=8),
)
def test_any_bytes_in_a_folder_give_a_suite_or_a_named_error(folder, name, cut, more):
    whole = (DATA / name).read_bytes()
    (folder / name).write_bytes(whole[:cut] + more + whole[cut + 1 :])
    said = ""
    try:
        load_tau(folder)
    except ConfigError as error:
        said = str(error)
    (folder / name).write_bytes(whole)
    assert "library" in said or not said
