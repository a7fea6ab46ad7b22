"""Function suites in the form of BFCL: a question, documented functions, and the answers that are right.

Each line of a category's file is a scenario of one step; what may be answered stands in `possible_answer/` under the same
file name. The functions are stubs. Categories that talk over several turns, search, or are written for Java and
JavaScript are left out, and the suite's title says so.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.messages import say
from groundwire.contracts.runs import Outcome
from groundwire.contracts.tools import wire_name
from groundwire.evals.peers.answers import AnyCall, PossibleAnswer, PossibleAnswers, first_choice
from groundwire.evals.peers.reading import Located, read_values
from groundwire.evals.peers.schemas import SchemaFault, to_json_schema
from groundwire.evals.records import as_json
from groundwire.evals.scenarios import CallsCheck, Check, FunctionCheck, OutcomeCheck, Scenario, Suite
from groundwire.evals.stubs import EVERY_TOOL, StubAnswer, StubSetup, StubTool
from groundwire.providers.choosing import arguments_for
from groundwire.providers.scripts import Answer, Ask

ANSWERS = "possible_answer"
NONE_FITS = "None of these functions can do that."
_CATEGORY = re.compile(
    r"(?:BFCL_v\d+_)?(?P<name>(?:live_)?(?P<kind>simple(?:_python)?|multiple|parallel_multiple|parallel|irrelevance|relevance))"
)

_ANSWER = StubAnswer(tool=EVERY_TOOL, data={"done": True})


class Said(Struct, frozen=True):
    role: str
    content: str


class Function(Struct, frozen=True):
    name: str
    parameters: JsonObject
    description: str = ""


class Question(Struct, frozen=True):
    id: str
    question: tuple[tuple[Said, ...], ...]
    function: tuple[Function, ...]


class Truth(Struct, frozen=True):
    id: str
    ground_truth: tuple[dict[str, dict[str, list[JsonValue]]], ...]


def load_bfcl(folder: str | Path) -> Suite:
    """All categories in the folder that can be run; presets are the categories."""
    place = Path(folder)
    if not place.is_dir():
        raise ConfigError(f"There is no folder {place} with functions.")
    presets: dict[str, tuple[str, ...]] = {}
    scenarios: list[Scenario] = []
    left: list[str] = []
    for file in sorted(place.glob("*.json")):
        category = _CATEGORY.fullmatch(file.stem)
        if category is None:
            left.append(file.stem)
            continue
        made = list(_scenarios(file, category["name"], category["kind"]))
        presets[category["name"]] = tuple(scenario.id for scenario in made)
        scenarios += made
    if not scenarios:
        raise ConfigError(f"{place} has no questions.", hint="files such as BFCL_v4_multiple.json, one question a line")
    _refuse_twice(scenarios, place)
    title = "; without ".join(filter(None, ("Functions in the form of BFCL", ", ".join(left))))
    return Suite(name=f"bfcl:{place.name}", title=title, scenarios=tuple(scenarios), presets=presets)


def _scenarios(file: Path, category: str, kind: str) -> Iterator[Scenario]:
    truths = {} if kind in ("irrelevance", "relevance") else _truths(file.parent / ANSWERS / file.name)
    for line in read_values(file):
        asked = line.read_as(Question)
        if kind not in ("irrelevance", "relevance") and asked.id not in truths:
            raise line.wrong(f"{asked.id} has no answer in {ANSWERS}/{file.name}.")
        yield _scenario(asked, line, category, kind, truths.get(asked.id, ()))


def _truths(file: Path) -> dict[str, tuple[PossibleAnswer, ...]]:
    found: dict[str, tuple[PossibleAnswer, ...]] = {}
    for line in read_values(file):
        truth = line.read_as(Truth)
        if any(len(one) != 1 for one in truth.ground_truth) or not truth.ground_truth:
            raise line.wrong("each answer is one function with its arguments.")
        found[truth.id] = tuple(
            PossibleAnswer(name=wire_name(name), arguments=arguments)
            for one in truth.ground_truth
            for name, arguments in one.items()
        )
    return found


def _scenario(
    asked: Question, line: Located, category: str, kind: str, answers: tuple[PossibleAnswer, ...]
) -> Scenario:
    if len(asked.question) != 1:
        raise line.wrong(f"{asked.id} has {len(asked.question)} turns; it should have one.")
    *before, last = asked.question[0] or (Said("", ""),)
    if last.role != "user":
        raise line.wrong(f"{asked.id} does not end with the user.")
    instructions = "\n\n".join(said.content for said in before if said.role == "system")
    history = [said for said in before if said.role != "system"]
    if unknown := next((said.role for said in history if said.role not in ("user", "assistant")), ""):
        raise line.wrong(f"{asked.id} has somebody speak in the unknown role {unknown!r}.")
    is_answer = kind != "irrelevance"
    check: Check = CallsCheck(none=("*",))
    if kind == "relevance":
        check = FunctionCheck(function=AnyCall(), name="calls")
    elif is_answer:
        check = FunctionCheck(function=PossibleAnswers(answers=answers), name="calls")
    tools = tuple(_tools(asked, line))
    calls = tuple(Ask(one.name, first_choice(one.arguments)) for one in answers)
    if kind == "relevance":
        calls = tuple(Ask(wire_name(one.name), arguments_for(one.parameters, last.content)) for one in tools[:1])
    return Scenario(
        id=asked.id,
        tags=("bfcl", category),
        environment="stubs",
        setup=as_json(StubSetup(tools=tools, answers=(_ANSWER,))),
        instructions=instructions,
        history=tuple(as_json(say(said.role, said.content)) for said in history),
        turns=(last.content,),
        limits={"max_steps": 1, "max_repairs": 0},
        checks=(check, OutcomeCheck(equals=Outcome.STEP_LIMIT if is_answer else Outcome.COMPLETED)),
        ideal=(Answer(calls=calls) if calls else Answer(NONE_FITS),),
    )


def _tools(asked: Question, line: Located) -> Iterator[StubTool]:
    for function in asked.function:
        try:
            parameters = to_json_schema(function.parameters)
        except SchemaFault as error:
            raise line.wrong(f"{asked.id}: {function.name}: {error}") from None
        yield StubTool(name=function.name, description=function.description, parameters=parameters)


def _refuse_twice(scenarios: list[Scenario], folder: Path) -> None:
    seen: set[str] = set()
    for scenario in scenarios:
        if scenario.id in seen:
            raise ConfigError(f"{folder} has two questions with the id {scenario.id!r}.")
        seen.add(scenario.id)
