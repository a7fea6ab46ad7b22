"""The suite that says whether a model can be trusted with tools at all: a small document, read and changed.

Every scenario asks for a fixed last sentence. That makes the end easy to check; it is no way to talk in production.
"""

import re
from typing import Any

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import Message, ResultItem
from groundwire.contracts.requests import ModelRequest
from groundwire.contracts.runs import Outcome
from groundwire.evals.scenarios import CallsCheck, ExpectedCall, OutcomeCheck, Scenario, StateCheck, Suite, TextCheck
from groundwire.providers.faults import Fault, FaultKind
from groundwire.providers.scripts import Answer, Ask

DONE = "Done."
SMOKE = ("happy_path", "missing_workspace_id", "type_error_recovery", "long_arguments_guard", "chat_only")
MAX_ARGUMENTS = 1500
_LONG, _SHORT = "x" * 2000, "x" * 50
_INSTRUCTIONS = (
    "You edit a small document with the tools state_get and state_patch. Use them whenever you are asked to read or "
    f"change the document. When you have finished, answer with exactly this and nothing else: {DONE}"
)
_SETUP: JsonObject = {
    "draft": {"title": "Untitled", "body": "", "tags": ["calm"], "author": "nobody"},
    "facts": {"era": "harbour town"},
}
_ENDS_WELL = TextCheck(equals=DONE)


def _set(path: str, value: Any, **options: Any) -> Ask:
    return Ask("state_patch", {"ops": [{"op": "set", "path": path, "value": value}]}, **options)


def _changed(path: str, value: Any, *more: Any) -> tuple[Any, ...]:
    return (StateCheck(path=path, equals=value), *more, _ENDS_WELL)


def _scenario(scenario_id: str, asked: str, checks: tuple[Any, ...], *ideal: Answer, **options: Any) -> Scenario:
    options.setdefault("tags", ("workspace",))
    return Scenario(
        id=scenario_id,
        instructions=_INSTRUCTIONS,
        setup=_SETUP,
        turns=(asked,),
        checks=checks,
        ideal=ideal,
        **options,
    )


_PATCHED = ExpectedCall(name="state_patch", ok=True)

_LIVE = (
    _scenario(
        "happy_path",
        'Read the draft with state_get first. Then set its title (/draft/title) to "Harbour Lights".',
        _changed(
            "/draft/title",
            "Harbour Lights",
            CallsCheck(mode="order", calls=(ExpectedCall(name="state_get", ok=True), _PATCHED)),
        ),
        Answer(calls=(Ask("state_get", {"path": "/draft"}),)),
        Answer(calls=(_set("/draft/title", "Harbour Lights"),)),
        Answer(DONE),
        title="Reads, changes, and says so.",
    ),
    _scenario(
        "missing_workspace_id",
        'In my workspace, set /draft/author to "Mara". I do not know the id of the workspace, and you do not need it.',
        _changed("/draft/author", "Mara", CallsCheck(calls=(_PATCHED,))),
        Answer(calls=(_set("/draft/author", "Mara"),)),
        Answer(DONE),
        title="The workspace is implicit; a model that makes an id up is refused.",
    ),
    _scenario(
        "type_error_recovery",
        'Set /draft/tags to the plain string "winter" with state_patch. If the tool refuses that, do what it asks for.',
        _changed(
            "/draft/tags",
            ["winter"],
            CallsCheck(
                mode="order", calls=(ExpectedCall(name="state_patch", ok=False, error="TYPE_MISMATCH"), _PATCHED)
            ),
        ),
        Answer(calls=(_set("/draft/tags", "winter"),)),
        Answer(calls=(_set("/draft/tags", ["winter"]),)),
        Answer(DONE),
        title="A string where a list is due is corrected by what the error says.",
    ),
    _scenario(
        "long_arguments_guard",
        "Set /draft/body to a text of the letter x, 2000 times. If the tool says that the arguments are too large, set "
        "it to the letter x 50 times instead.",
        _changed(
            "/draft/body",
            _SHORT,
            CallsCheck(
                mode="order", calls=(ExpectedCall(name="state_patch", ok=False, error="ARGUMENTS_TOO_LARGE"), _PATCHED)
            ),
        ),
        Answer(calls=(_set("/draft/body", _LONG),)),
        Answer(calls=(_set("/draft/body", _SHORT),)),
        Answer(DONE),
        settings={"max_tool_args_bytes": MAX_ARGUMENTS},
        title="Too much is refused, and the second try is shorter.",
    ),
    _scenario(
        "chat_only",
        f"Do not use any tool now. Just answer with exactly: {DONE}",
        (CallsCheck(none=("*",)), StateCheck(equals=_SETUP), _ENDS_WELL),
        Answer(DONE),
        title="Tools are there and are not needed.",
    ),
    _scenario(
        "happy_path_parallel",
        'Make two changes with two calls of state_patch, both at once: /draft/title to "Two" and /draft/author to "Mara".',
        (
            StateCheck(path="/draft/title", equals="Two"),
            StateCheck(path="/draft/author", equals="Mara"),
            CallsCheck(calls=(_PATCHED, _PATCHED)),
            _ENDS_WELL,
        ),
        Answer(calls=(_set("/draft/title", "Two"), _set("/draft/author", "Mara"))),
        Answer(DONE),
        title="Two independent changes in one turn.",
    ),
)

_TITLE = _changed("/draft/title", "New", CallsCheck(calls=(_PATCHED,)))
_RENAME = "Set /draft/title to New."


def _offline(scenario_id: str, title: str, checks: tuple[Any, ...], *ideal: Answer, **options: Any) -> Scenario:
    asked = f"{_RENAME} ({scenario_id})"
    return _scenario(scenario_id, asked, checks, *ideal, title=title, tags=("workspace", "offline"), **options)


def _refused(error: str, name: str = "state_patch") -> CallsCheck:
    return CallsCheck(mode="order", calls=(ExpectedCall(name=name, ok=False, error=error), _PATCHED))


_GOOD = (Answer(calls=(_set("/draft/title", "New"),)), Answer(DONE))

_OFFLINE = (
    _offline(
        "missing_parameter",
        "A required parameter is missing, and given at the second try.",
        (*_TITLE, _refused("MISSING_ARGUMENT")),
        Answer(calls=(Ask("state_patch", {}),)),
        *_GOOD,
    ),
    _offline(
        "invalid_json",
        "Arguments that are no JSON are told, and not guessed.",
        (*_TITLE, _refused("INVALID_JSON")),
        Answer(calls=(Ask("state_patch", raw='{"ops": [{"op": "set", '),)),
        *_GOOD,
    ),
    _offline(
        "invalid_type",
        "A path that is a number is told with its place.",
        (*_TITLE, _refused("TYPE_MISMATCH")),
        Answer(calls=(Ask("state_patch", {"ops": [{"op": "set", "path": 7, "value": "New"}]}),)),
        *_GOOD,
    ),
    _offline(
        "invalid_path",
        "A path that leads nowhere is told.",
        (*_TITLE, _refused("INVALID_PATH")),
        Answer(calls=(_set("/draft/chapters/3", "New"),)),
        *_GOOD,
    ),
    _offline(
        "unknown_tool",
        "A tool that was made up does not exist.",
        (*_TITLE, _refused("UNKNOWN_TOOL", "state_write")),
        Answer(calls=(Ask("state_write", {"title": "New"}, offered=False),)),
        *_GOOD,
    ),
    _offline(
        "denied_tool",
        "A tool that is not on offer cannot be called by its name.",
        (*_TITLE, _refused("UNKNOWN_TOOL", "state_get")),
        Answer(calls=(Ask("state_get", {}, offered=False),)),
        *_GOOD,
        tools=("state_patch",),
    ),
    _offline(
        "duplicate_call_ids",
        "Two calls with one id are carried out as two.",
        (StateCheck(path="/draft/author", equals="Mara"), *_TITLE),
        Answer(calls=(_set("/draft/title", "New", call_id="call_1"), _set("/draft/author", "Mara", call_id="call_1"))),
        Answer(DONE),
    ),
    _offline(
        "too_large_arguments",
        "Arguments past the limit are not carried out.",
        (*_TITLE, _refused("ARGUMENTS_TOO_LARGE")),
        Answer(calls=(_set("/draft/title", _LONG),)),
        *_GOOD,
        settings={"max_tool_args_bytes": MAX_ARGUMENTS},
    ),
    _offline(
        "too_large_output",
        "A result past the limit is replaced by an error.",
        (*_TITLE, _refused("TOOL_OUTPUT_TOO_LARGE", "state_get")),
        Answer(calls=(Ask("state_get", {}),)),
        *_GOOD,
        settings={"max_tool_output_bytes": 100},
    ),
    _offline(
        "empty_final",
        "An empty last answer is asked for once more, without tools.",
        _TITLE,
        _GOOD[0],
        Answer(""),
        Answer(DONE),
    ),
    _offline(
        "never_ends",
        "A model that repeats itself is stopped.",
        (OutcomeCheck(equals=Outcome.LOOP_DETECTED),),
        *(Answer(calls=(Ask("state_get", {"path": "/draft"}, offered=False),)) for _ in range(30)),
    ),
)

_FAULTS = (
    ("status_429", Fault(kind=FaultKind.STATUS, status=429, retry_after=0.0)),
    ("status_500", Fault(kind=FaultKind.STATUS, status=500)),
    ("status_529", Fault(kind=FaultKind.STATUS, status=529)),
    ("cut", Fault(kind=FaultKind.CUT, at_byte=40)),
    ("malformed_call", Fault(kind=FaultKind.MALFORMED_CALL)),
    ("truncated_call", Fault(kind=FaultKind.TRUNCATED_CALL)),
    ("empty", Fault(kind=FaultKind.EMPTY)),
    ("thinking_leak", Fault(kind=FaultKind.THINKING_LEAK)),
    ("duplicate_ids", Fault(kind=FaultKind.DUPLICATE_IDS)),
    ("slow_drip", Fault(kind=FaultKind.SLOW_DRIP, pause=0.0)),
    ("wrong_content_type", Fault(kind=FaultKind.WRONG_CONTENT_TYPE)),
    ("timeout", Fault(kind=FaultKind.TIMEOUT, pause=0.01)),
)
_LOST = (FaultKind.MALFORMED_CALL, FaultKind.TRUNCATED_CALL, FaultKind.EMPTY)
"""After these the model is asked once more for what it had said."""


def _rules(request: ModelRequest) -> Answer:
    """What can be had without any model: one change, if the words name a path and a value, and the last sentence."""
    if any(isinstance(item, ResultItem) for item in request.items):
        return Answer(DONE)
    asked = next((item.text for item in request.items if isinstance(item, Message) and item.role == "user"), "")
    found = re.search(r'[Ss]et (?:its title \()?(/[\w/]+)\)? to "?([^".]+)"?', asked)
    if found is None:
        return Answer(DONE)
    return Answer(calls=(_set(found[1], found[2]),))


WORKSPACE = Suite(
    name="workspace",
    title="A small document, read and changed by tools",
    scenarios=(
        *_LIVE,
        *_OFFLINE,
        *(
            _offline(
                f"fault_{name}",
                "The run comes through what goes wrong on the wire.",
                _TITLE,
                *(_GOOD[:1] if fault.kind in _LOST else ()),
                *_GOOD,
                faults=(fault,),
            )
            for name, fault in _FAULTS
        ),
    ),
    presets={
        "smoke": SMOKE,
        "default": SMOKE,
        "live": tuple(scenario.id for scenario in _LIVE),
        "offline": tuple(scenario.id for scenario in _OFFLINE),
        "faults": tuple(f"fault_{name}" for name, _ in _FAULTS),
    },
    baseline=_rules,
)
