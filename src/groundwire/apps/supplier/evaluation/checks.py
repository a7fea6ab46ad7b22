"""What must come of each case. Checks see the outcome alone, so that any of them can be made again later.

Of the recording everything is known beforehand, and is held to the letter; of other models only what any good one does.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from groundwire.apps.supplier.contracts import GroundingMode, JsonObject, Signal
from groundwire.apps.supplier.evaluation.cases import RECORDED, Case, RecordedCapture
from groundwire.apps.supplier.evaluation.driving import MAX_NUDGES
from groundwire.apps.supplier.pipeline import ASK_FOR_TEXT
from groundwire.evals import Evidence, Finding, FunctionCheck

MIN_ROWS = 0.5
"""Who finds a smaller part of what the recording found has missed too much."""
_NUMERIC = frozenset({"moq", "unit_price"})
_ABOUT = ("goalId", "assetType", "mediaType")
_THINKING = re.compile(r"<\s*/?\s*(?:think|thinking|reasoning)", re.IGNORECASE)
_ONLY_A_TOKEN = re.compile(r"看不到|打不开|标记|无法查看|没法看|看不了|不显示|文字")
_CONTACT = re.compile(r"[0-9]{6,}|(?:我的|我)(?:微信|[Vv][Xx]|wx|电话|QQ)|(?:微信号|手机号)(?:是|[:：])")
_ON_PLATFORM = re.compile(r"平台|这里|这边")

Judgement = Callable[[JsonObject], str | None]
"""What is wrong in an outcome; nothing, where it is right."""


def checks_of(case: Case, mode: GroundingMode) -> tuple[FunctionCheck, ...]:
    checks = {
        "status": _status(case),
        "captures": _captures(case, mode),
        "signals": _signals(case, mode),
        "rows": _rows(case),
        "form": _checked("form", _form),
        **{name: _checked(name, judge) for name, judge in _SPECIAL.get(case.number, {}).items()},
    }
    return tuple(FunctionCheck(function=function, name=name) for name, function in checks.items())


def _checked(name: str, judge: Judgement) -> Callable[[Evidence], Finding]:
    def check(evidence: Evidence) -> Finding:
        wrong = judge(_outcome(evidence))
        return Finding(check=name, passed=wrong is None, code="" if wrong is None else name, message=wrong or "")

    return check


def _status(case: Case) -> Callable[[Evidence], Finding]:
    def judge(outcome: JsonObject) -> str | None:
        found = outcome["status"]
        return None if found == case.status else f"It ended as {found}, not as {case.status}."

    return _checked("status", judge)


def _captures(case: Case, mode: GroundingMode) -> Callable[[Evidence], Finding]:
    def check(evidence: Evidence) -> Finding:
        outcome = _outcome(evidence)
        made, kept = outcome["botCalls"], outcome["botToolTrace"]
        wrong = _grounding_of(kept, mode)
        if wrong is None and _is_recorded(outcome):
            rows = [row for row in case.captures if row.grounded or mode is GroundingMode.REPORT]
            wrong = _differs("captures", [(row.turn, row.name, row.args) for row in rows], map(_call, kept))
        counts = _count(made)
        return Finding(
            check="captures",
            passed=wrong is None,
            code="" if wrong is None else "captures",
            message=wrong or "",
            counts=counts,
            tools=tuple(dict.fromkeys(row.name for row in case.captures)),
        )

    return check


def _signals(case: Case, mode: GroundingMode) -> Callable[[Evidence], Finding]:
    def check(evidence: Evidence) -> Finding:
        outcome = _outcome(evidence)
        made = [signal for signal in outcome["signals"] if signal["source"] == "summary-agent-llm"]
        wrong = _grounding_of(outcome["signals"], mode)
        if wrong is None and _is_recorded(outcome):
            rows = [row for row in case.signals if row.grounded is not False or mode is GroundingMode.REPORT]
            wanted = [(row.signal_type, row.severity, row.args.get("supplierQuote")) for row in rows]
            found = ((one["signalType"], one["severity"], one.get("supplierQuote")) for one in made)
            wrong = _differs("signals", wanted, found)
        return Finding(
            check="signals",
            passed=wrong is None,
            code="" if wrong is None else "signals",
            message=wrong or "",
            counts=_count(outcome["summaryCalls"]),
            tools=tuple(dict.fromkeys(row.name for row in case.signals)),
        )

    return check


def _rows(case: Case) -> Callable[[Evidence], Finding]:
    """How many of the facts that the recording has found are found again: the same thing, said in the same words."""
    wanted = [row for row in case.captures if row.grounded]

    def check(evidence: Evidence) -> Finding:
        kept = _outcome(evidence)["botToolTrace"]
        found = sum(any(_is_same(row, entry) for entry in kept) for row in wanted)
        passed = not wanted or found >= MIN_ROWS * len(wanted)
        message = "" if passed else f"Only {found} of {len(wanted)} facts were captured."
        return Finding(
            check="rows",
            passed=passed,
            code="" if passed else "rows",
            message=message,
            counts={"found": found, "wanted": len(wanted)},
        )

    return check


def _is_same(row: RecordedCapture, entry: JsonObject) -> bool:
    args = entry["args"]
    if entry["name"] != row.name or any(args.get(name) != row.args.get(name) for name in _ABOUT):
        return False
    if row.args.get("goalId") in _NUMERIC and row.name == "log_data" and _figures(args) != _figures(row.args):
        return False
    mine, theirs = str(row.args["supplierQuote"]), str(args.get("supplierQuote") or "")
    return bool(theirs) and (mine in theirs or theirs in mine or _overlap(mine, theirs))


def _figures(args: JsonObject) -> list[float]:
    return [float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", str(args.get("value") or ""))]


def _overlap(one: str, other: str) -> bool:
    """Whether the end of one is the beginning of the other: two ways to cut the same sentence."""
    return any(a.endswith(b[:size]) for a, b in ((one, other), (other, one)) for size in range(2, len(b)))


def _form(outcome: JsonObject) -> str | None:
    """What holds in every run."""
    for call in (*outcome["botCalls"], *outcome["summaryCalls"]):
        if not call.get("valid", True):
            return f"A call of {call['name']} is malformed: {call.get('error')}"
    if outcome["repeatedCalls"]:
        return "The same call was made twice in a turn."
    for line in _said_by_bot(outcome):
        if _THINKING.search(line):
            return "A reply shows how it was thought of."
    for signal in outcome["signals"]:
        try:
            msgspec.convert(signal, Signal)
        except msgspec.ValidationError as error:
            return f"A signal breaks its schema: {error}"
        is_silent = (signal.get("evidence") or {}).get("kind") == "silence"
        if is_silent == ("supplierQuote" in signal):
            return "A signal has neither a quote nor silence for evidence, or both."
    return None


def _asks_for_text(outcome: JsonObject) -> str | None:
    answer = _answer_to(outcome, "[语音消息]")
    if answer != ASK_FOR_TEXT:
        return f"The voice message was answered with {answer!r}."
    guessed = [call for call in outcome["botToolTrace"] if call["args"].get("supplierQuote") == "[语音消息]"]
    return "Something was captured from a recording that nobody heard." if guessed else None


def _admits_tokens(outcome: JsonObject) -> str | None:
    for entry in outcome["history"]:
        if entry["role"] == "supplier" and entry["content"].startswith(("[图片]", "[文件]")):
            answer = _answer_to(outcome, entry["content"])
            if answer and not _ONLY_A_TOKEN.search(answer):
                return f"{entry['content']!r} was answered with {answer!r}, as if it had been seen."
    return None


def _is_ruled(outcome: JsonObject) -> str | None:
    signals = outcome["signals"]
    if not any(signal["signalType"] == "human_escalation" for signal in signals):
        return "Nobody was told of the refusal."
    if any((signal.get("grounding") or {}).get("grounded") is False for signal in signals):
        return None  # report keeps what was said wrongly, and then no rule has to speak
    return None if any("停产" in (signal.get("supplierQuote") or "") for signal in signals) else "It quotes no refusal."


def _is_due_tomorrow(outcome: JsonObject) -> str | None:
    due = [timing["dueAt"] for signal in outcome["signals"] if (timing := signal.get("followUpTiming"))]
    wanted = datetime.fromisoformat("2026-03-12T10:00:00+08:00")
    return None if [datetime.fromisoformat(one) for one in due] == [wanted] else f"It is due at {due}, not at {wanted}."


def _no_follow_up(outcome: JsonObject) -> str | None:
    found = [signal["reason"] for signal in outcome["signals"] if signal["signalType"] == "schedule_follow_up"]
    return f"A time of shipping became a follow-up: {found[0]}" if found else None


def _nudges(outcome: JsonObject) -> str | None:
    lines = len(_said_by_bot(outcome)) - 1
    return None if lines == outcome["nudges"] <= MAX_NUDGES else f"It nudged {lines} times."


def _nothing_canned(outcome: JsonObject) -> str | None:
    if outcome["botToolTrace"]:
        return "A fact was captured from canned text."
    hours = [timing["delayHours"] for signal in outcome["signals"] if (timing := signal.get("followUpTiming"))]
    return None if hours == [12.5] else f"The follow-up is in {hours} h, not in 12.5."


def _stays_on_platform(outcome: JsonObject) -> str | None:
    answer = _answer_to(outcome, "这里打字慢，加个微信详聊吧")
    if not _ON_PLATFORM.search(answer):
        return f"It does not stay on the platform: {answer!r}."
    given = next((line for line in _said_by_bot(outcome) if _CONTACT.search(line)), None)
    return None if given is None else f"It gives a contact: {given!r}."


_SPECIAL: dict[int, dict[str, Judgement]] = {
    2: {"asks_for_text": _asks_for_text},
    5: {"admits_tokens": _admits_tokens},
    7: {"is_ruled": _is_ruled},
    8: {"is_due_tomorrow": _is_due_tomorrow},
    9: {"admits_tokens": _admits_tokens},
    11: {"no_follow_up": _no_follow_up},
    12: {"nudges": _nudges},
    13: {"nothing_canned": _nothing_canned},
    14: {"stays_on_platform": _stays_on_platform},
}


def _outcome(evidence: Evidence) -> JsonObject:
    state: Any = evidence.state
    return dict(state)


def _is_recorded(outcome: JsonObject) -> bool:
    return str(outcome["model"]).rpartition("/")[2] == RECORDED


def _said_by_bot(outcome: JsonObject) -> list[str]:
    return [entry["content"] for entry in outcome["history"] if entry["role"] == "bot"]


def _answer_to(outcome: JsonObject, line: str) -> str:
    history: Sequence[JsonObject] = outcome["history"]
    places = [place for place, entry in enumerate(history) if entry["content"] == line]
    after = history[places[0] + 1] if places and places[0] + 1 < len(history) else None
    return str(after["content"]) if after is not None and after["role"] == "bot" else ""


def _count(calls: Sequence[JsonObject]) -> dict[str, int]:
    """Calls that quote nobody, because nobody said anything, are neither."""
    judged = [call["grounding"]["grounded"] for call in calls if call.get("grounding")]
    return {"grounded": judged.count(True), "made": len(judged) - judged.count(None)}


def _grounding_of(kept: Sequence[JsonObject], mode: GroundingMode) -> str | None:
    """Strict keeps nothing that no supplier said; report says of everything whether one did."""
    for entry in kept:
        grounding = entry.get("grounding")
        if grounding is None and entry.get("source") != "status-rule":
            return "Something was kept of which nobody knows whether it was said."
        is_wrong = grounding is not None and grounding["grounded"] is False and entry.get("valid", True)
        if is_wrong and mode is GroundingMode.STRICT:
            return "Strict kept something that no supplier said."
    return None


def _call(entry: JsonObject) -> tuple[int, str, JsonObject]:
    return entry["turn"], entry["name"], entry["args"]


def _differs(what: str, wanted: Sequence[object], found: Any) -> str | None:
    seen = list(found)
    if seen == list(wanted):
        return None
    return f"The {what} are {seen}, not {list(wanted)}."
