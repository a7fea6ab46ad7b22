"""Tasks in the style of τ²-bench as scenarios: a customer, a policy, and what the database should be in the end.

Right is whatever leaves the database as the gold actions would, and tells the customer what had to be told; a task may
ask for more. A customer who is played by a model talks turn by turn; without one, all they want stands in one message.
Tasks whose customer has tools of their own are left out, and the suite's title says how many; those that need a judge
are not in the preset `default`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue, dump_json
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.messages import CallItem, Item, ResultItem, TextPart, say
from groundwire.contracts.tools import wire_name
from groundwire.evals.graders.evidence import Evidence
from groundwire.evals.peers.domains import Domain, OpenDomain, changes_between
from groundwire.evals.peers.reading import Located, read_value, read_values
from groundwire.evals.records import Finding, as_json
from groundwire.evals.scenarios import (
    CallsCheck,
    Check,
    ExpectedCall,
    FunctionCheck,
    RubricCheck,
    Scenario,
    SimulatedUser,
    StateCheck,
    Suite,
)
from groundwire.providers.scripts import Answer, Ask
from groundwire.registry import Registry

DONE = "That is done."
MAX_TURNS = 20
_INSTRUCTIONS = (
    "You help customers with the tools that you have, and follow the policy below in everything you do. Do one thing at a "
    "time, make nothing up, and refuse what the policy does not allow."
)
_ALONE = (
    " The customer cannot be asked back: what they want stands in their one message, partly as notes to themselves. Do "
    "what the policy allows of it, and tell them what came of it."
)
Basis = Literal["DB", "ENV_ASSERTION", "NL_ASSERTION", "ACTION", "COMMUNICATE"]
Side = Literal["assistant", "user"]


class Action(Struct, frozen=True, kw_only=True):
    name: str
    arguments: JsonObject
    requestor: Side = "assistant"
    compare_args: tuple[str, ...] | None = None


class DomainCall(Struct, frozen=True, kw_only=True):
    """A method of the domain that is called before a task, or asked after it."""

    env_type: Side
    func_name: str
    arguments: JsonObject
    assert_value: bool = True


class Criteria(Struct, frozen=True, kw_only=True):
    actions: tuple[Action, ...] | None = None
    env_assertions: tuple[DomainCall, ...] | None = None
    communicate_info: tuple[str, ...] | None = None
    nl_assertions: tuple[str, ...] | None = None
    reward_basis: tuple[Basis, ...] = ("DB", "COMMUNICATE")


class Called(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    arguments: JsonObject


class SaidBefore(Struct, frozen=True, kw_only=True):
    role: Literal["user", "assistant", "tool"]
    content: str | None = None
    id: str = ""
    tool_calls: tuple[Called, ...] | None = None
    error: bool = False


class InitialData(Struct, frozen=True, kw_only=True):
    agent_data: JsonObject | None = None
    user_data: JsonObject | None = None


class InitialState(Struct, frozen=True, kw_only=True):
    initialization_data: InitialData | None = None
    initialization_actions: tuple[DomainCall, ...] | None = None
    message_history: tuple[SaidBefore, ...] | None = None


class CustomerNotes(Struct, frozen=True, kw_only=True):
    reason_for_call: str = ""
    known_info: str | None = None
    unknown_info: str | None = None
    task_instructions: str = ""


class Customer(Struct, frozen=True, kw_only=True):
    instructions: str | CustomerNotes
    persona: str | None = None


class Task(Struct, frozen=True, kw_only=True):
    id: str | int
    user_scenario: Customer
    description: Any = None
    ticket: str | None = None
    initial_state: InitialState | None = None
    evaluation_criteria: Criteria | None = None

    @property
    def start(self) -> InitialState:
        return self.initial_state or InitialState()

    @property
    def wanted(self) -> Criteria:
        return self.evaluation_criteria or Criteria()


def load_tau(folder: str | Path, *, user: str = "") -> Suite:
    """The tasks of a domain. `user` is the model that plays the customers."""
    place = Path(folder)
    if not place.is_dir():
        raise ConfigError(f"There is no folder {place} with a domain.")
    tasks = [(line, line.read_as(Task)) for line in read_values(place / "tasks.json")]
    domain = Domain(place)
    kept = [(line, task) for line, task in tasks if not _customer_has_tools(task)]
    scenarios = [_scenario(domain, task, line, user) for line, task in kept]
    if not scenarios:
        raise ConfigError(f"{place / 'tasks.json'} has no task that can be run here.")
    seen: set[str] = set()
    for (line, _), scenario in zip(kept, scenarios, strict=True):
        if scenario.id in seen:
            raise line.wrong(f"there is another task {scenario.id!r}.")
        seen.add(scenario.id)
    left = len(tasks) - len(kept)
    title = f"{domain.name}, in the style of τ²-bench"
    return Suite(
        name=f"tau:{domain.name}",
        title=f"{title}; without {left} of {len(tasks)} tasks, whose customer has tools" if left else title,
        scenarios=tuple(scenarios),
        presets={"default": _without_judge(scenarios), **_splits(place / "split_tasks.json", seen)},
    )


class TauEnvironment:
    """The domain as it is at the beginning of a task. Its state is what has changed since, and what then holds."""

    def __init__(self, domain: Domain, task: Task) -> None:
        self._domain, self._task = domain, task
        self._opened = opened_for(domain, task)
        self._before = self._opened.dump() if task.initial_state is not None else domain.untouched
        self.registry: Registry = domain.registry(self._opened)

    def state(self) -> JsonValue:
        changes = list(changes_between(self._before, self._opened.dump()))
        return {"changes": [*changes], "assertions": [*map(self._holds, self._task.wanted.env_assertions or ())]}

    def _holds(self, asserted: DomainCall) -> bool:
        try:
            return bool(self._opened.call(asserted.func_name, asserted.arguments)) is asserted.assert_value
        except Exception:  # noqa: BLE001 - what cannot be asked does not hold
            return False


def opened_for(domain: Domain, task: Task) -> OpenDomain:
    start = task.start
    opened = domain.open(start.initialization_data.agent_data if start.initialization_data is not None else None)
    try:
        for call in start.initialization_actions or ():
            opened.call(call.func_name, call.arguments)
        for called in (one for said in start.message_history or () for one in said.tool_calls or ()):
            if domain.changes_state(called.name):
                opened.call(called.name, called.arguments)
    except Exception as error:
        raise ConfigError(f"The task {task.id} of {domain.name} cannot begin: {error}") from error
    return opened


def gold_changes(domain: Domain, task: Task) -> list[JsonObject]:
    """What the gold actions change. One that fails changes nothing, as in the original."""
    actions = [action for action in task.wanted.actions or () if domain.changes_state(action.name)]
    if not actions:
        return []
    opened = opened_for(domain, task)
    before = opened.dump() if task.initial_state is not None else domain.untouched
    for action in actions:
        try:
            opened.call(action.name, action.arguments)
        except Exception:  # noqa: BLE001, S112 - see above
            continue
    return list(changes_between(before, opened.dump()))


class Told(Struct, frozen=True, kw_only=True):
    """A check that the model said all of this to the customer, at some time."""

    told: tuple[str, ...]

    def __call__(self, evidence: Evidence) -> Finding:
        said = [text.lower().replace(",", "") for text in _said_by_model(evidence)]
        missing = [one for one in self.told if not any(one.lower() in text for text in said)]
        if not missing:
            return Finding(check="told", passed=True)
        return Finding(
            check="told", passed=False, code="not_told", message=f"The customer was not told {missing[0]!r}."
        )


def _said_by_model(evidence: Evidence) -> Iterator[str]:
    for item in evidence.conversation:
        if item.get("kind") == "message" and item.get("role") == "assistant":
            parts = item.get("parts")
            for part in parts if isinstance(parts, list) else []:
                if isinstance(part, dict) and isinstance(text := part.get("text"), str):
                    yield text


def _scenario(domain: Domain, task: Task, line: Located, user: str) -> Scenario:
    wanted = task.wanted
    known = {tool.name for tool in domain.declared}
    if unknown := next((one.name for one in wanted.actions or () if one.name not in known), ""):
        raise line.wrong(f"the gold action {unknown!r} is no tool of {domain.name}.")
    alone = not user
    played = SimulatedUser(model=user, role=_role(task), max_turns=MAX_TURNS)
    ending = ", ".join(wanted.communicate_info or ()) or DONE
    calls = (Answer(calls=(Ask(wire_name(one.name), one.arguments),)) for one in wanted.actions or ())
    return Scenario(
        id=str(task.id),
        title=_purpose(task),
        tags=("tau", domain.name),
        environment=_environment(domain, task),
        setup={"domain": repr(domain), "task": as_json(task)},
        instructions=f"{_INSTRUCTIONS}{_ALONE if alone else ''}\n\n<policy>\n{domain.policy.strip()}\n</policy>",
        history=tuple(map(as_json, _history(task.start.message_history or ()))),
        turns=(task.ticket or _role(task),) if alone else (),
        user=None if alone else played,
        checks=tuple(_checks(domain, task)),
        ideal=(*calls, Answer(ending)),
    )


def _environment(domain: Domain, task: Task) -> Callable[[JsonObject], TauEnvironment]:
    def environment(_setup: JsonObject) -> TauEnvironment:
        return TauEnvironment(domain, task)

    return environment


def _checks(domain: Domain, task: Task) -> Iterator[Check]:
    wanted = task.wanted
    if "DB" in wanted.reward_basis:
        yield StateCheck(path="/changes", equals=gold_changes(domain, task))
    if "ENV_ASSERTION" in wanted.reward_basis:
        yield StateCheck(path="/assertions", equals=[True] * len(wanted.env_assertions or ()))
    if "COMMUNICATE" in wanted.reward_basis and wanted.communicate_info:
        yield FunctionCheck(function=Told(told=wanted.communicate_info), name="told")
    if "ACTION" in wanted.reward_basis:
        yield CallsCheck(calls=tuple(map(_expected, wanted.actions or ())))
    if "NL_ASSERTION" in wanted.reward_basis:
        yield from (RubricCheck(question=f"Is this so? {one}") for one in wanted.nl_assertions or ())


def _expected(action: Action) -> ExpectedCall:
    compared = action.arguments if action.compare_args is None else action.compare_args
    arguments = {name: value for name, value in action.arguments.items() if name in compared}
    return ExpectedCall(name=wire_name(action.name), arguments=arguments)


def _history(messages: tuple[SaidBefore, ...]) -> Iterator[Item]:
    for said in messages:
        if said.role == "tool":
            yield ResultItem(call_id=said.id, parts=(TextPart(text=said.content or ""),), failed=said.error)
            continue
        if said.content:
            yield say(said.role, said.content)
        for called in said.tool_calls or ():
            raw = dump_json(called.arguments).decode()
            yield CallItem(call=ToolCall(call_id=called.id, name=wire_name(called.name), raw=raw))


def _customer_has_tools(task: Task) -> bool:
    start, wanted = task.start, task.wanted
    sides = [action.requestor for action in wanted.actions or ()]
    sides += [call.env_type for call in (*(wanted.env_assertions or ()), *(start.initialization_actions or ()))]
    has_data = start.initialization_data is not None and bool(start.initialization_data.user_data)
    calls = any(said.role == "user" and said.tool_calls for said in start.message_history or ())
    return "user" in sides or has_data or calls


def _role(task: Task) -> str:
    customer = task.user_scenario
    notes = customer.instructions
    parts = [f"Who you are: {customer.persona}" if customer.persona else ""]
    if isinstance(notes, str):
        parts.append(notes)
    else:
        parts += [
            f"Why you get in touch: {notes.reason_for_call}" if notes.reason_for_call else "",
            f"What you know: {notes.known_info}" if notes.known_info else "",
            f"What you do not know: {notes.unknown_info}" if notes.unknown_info else "",
            f"How you go about it: {notes.task_instructions}" if notes.task_instructions else "",
        ]
    return "\n\n".join(filter(None, parts))


def _without_judge(scenarios: list[Scenario]) -> tuple[str, ...]:
    """What can be run by anybody; all of them, if every task needs a judge."""
    free = [one.id for one in scenarios if not any(isinstance(check, RubricCheck) for check in one.checks)]
    return tuple(free or [one.id for one in scenarios])


def _purpose(task: Task) -> str:
    purpose = task.description.get("purpose") if isinstance(task.description, dict) else task.description
    return purpose if isinstance(purpose, str) else ""


def _splits(file: Path, known: set[str]) -> dict[str, tuple[str, ...]]:
    if not file.is_file():
        return {}
    splits = read_value(file).read_as(dict[str, tuple[str, ...]])
    return {name: tuple(task for task in ids if task in known) for name, ids in splits.items()}
