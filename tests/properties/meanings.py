"""What a request means, and which differences the warnings of an encoder allow. Strict: no warning, no difference."""

import ast
import re
from collections import Counter, defaultdict, deque

from groundwire.codecs.wire.pairing import MISSING_RESULT
from groundwire.codecs.wire.results import read_arguments
from groundwire.contracts.canonical import parse_json
from groundwire.contracts.errors import InvalidJson
from groundwire.contracts.messages import (
    CallItem,
    MediaPart,
    Message,
    NativeItem,
    ReasoningItem,
    RefusalPart,
    ResultItem,
    TextPart,
)
from groundwire.contracts.replies import FinishReason
from groundwire.contracts.requests import NativeTool

_NOTE = re.compile(r"\[[a-z]+/[^\] ]* left out(?:: [^\]]*)?\]")
_MOVED = re.compile(r"From the result of .*:|\[[a-z]+/.* follows below.*\]", re.DOTALL)
_SENT_AS = re.compile(r"(.*) is sent as (.*)\.", re.DOTALL)
_SYSTEM_TAG = re.compile("</?system>")


def renamed(warnings, code):
    """Wire name or id → the original, as the warnings tell it."""
    table = {}
    for warning in warnings:
        found = _SENT_AS.fullmatch(warning.message) if warning.code == code else None
        if found:
            table[ast.literal_eval(found[2])] = ast.literal_eval(found[1])
    return table


def _back(table, name):
    while name in table and table[name] != name:
        name = table[name]
    return name


class Meaning:
    """The conversation as a list of facts, each result with its call; beside it the media, thoughts and native entries."""

    def __init__(self, request, dialect, warnings, *, is_sent):
        self.dialect = dialect
        self.codes = {warning.code for warning in warnings}
        self.is_sent = is_sent
        self.names = renamed(warnings, "name_rewritten") if is_sent else {}
        self.ids = renamed(warnings, "call_id_rewritten") if is_sent else {}
        self.media = Counter()
        self.thoughts = []
        self.natives = 0
        self.facts = []
        results, orphans = _owners(request.items)
        for part in request.instructions:
            self._text("system", part.text)
        for place, item in enumerate(request.items):
            self._add(item, place, results, orphans)
        self.facts = self._normal(self.facts)

    def _add(self, item, place, results, orphans):
        if isinstance(item, Message):
            role = "system" if item.role == "developer" else item.role
            for part in item.parts:
                self._part(role, part)
        elif isinstance(item, CallItem):
            self.facts.append(("call", self._call(item), results.get(place) and self._result(results[place])))
        elif isinstance(item, ResultItem) and place in orphans:
            self._text("user", f"Result of the earlier call {item.name or item.call_id}: ")
            for part in item.parts:
                self._part("user", part)
        elif isinstance(item, ReasoningItem):
            self.thoughts.append(item.text)
        elif isinstance(item, NativeItem):
            self.natives += 1

    def _part(self, role, part):
        if isinstance(part, MediaPart):
            self._note_media(part)
        elif isinstance(part, RefusalPart) and self.dialect == "openai-chat" and role == "assistant":
            self.facts.append(("refusal", role, part.text))
        elif hasattr(part, "text"):
            self._text(role, part.text)
        else:
            self.natives += 1

    def _note_media(self, part):
        data = part.data if part.data is not None else part.url or part.file_id
        self.media[data] += 1

    def _without_notes(self, text):
        """What was said, without what stands in the place of media."""
        if self.is_sent and "media_moved" in self.codes and _MOVED.fullmatch(text):
            return ""
        return _NOTE.sub("", text) if self.is_sent and "media_dropped" in self.codes else text

    def _text(self, role, text):
        if "role_changed" in self.codes:
            role = role if role in ("user", "assistant") else "user"
            text = _SYSTEM_TAG.sub("", text)
        text = self._without_notes(text)
        if not text or ("empty_text_dropped" in self.codes and text.isspace()):
            return
        self.facts.append(("text", role, text))

    def _call(self, item):
        call = item.call
        notes = item.private.get(self.dialect, {})
        has_id = not notes.keys() & {"_synthetic", "_legacy"}
        call_id = _back(self.ids, call.call_id) if has_id else ""
        return (call_id, self.names.get(call.name, call.name), _arguments(call.raw))

    def _result(self, item):
        if self.is_sent and "result_added" in self.codes and item.text == MISSING_RESULT:
            return None
        texts = [self._without_notes(part.text) for part in item.parts if isinstance(part, TextPart)]
        for part in item.parts:
            if not isinstance(part, TextPart):
                self._part("tool", part)
        if "empty_text_dropped" in self.codes:
            texts = [text for text in texts if not text.isspace()]
        failed = item.failed if self.dialect in ("anthropic", "gemini") else None
        return (repr(_json("".join(texts))), failed)

    def _normal(self, facts):
        if self.dialect == "openai-chat":
            facts = _texts_before_calls(facts)
        merged = []
        for fact in facts:
            if fact[0] != "call" and merged and merged[-1][:2] == fact[:2]:
                merged[-1] = (*fact[:2], merged[-1][2] + fact[2])
            else:
                merged.append(fact)
        if self.dialect == "openai-responses":  # several instructions are joined as paragraphs
            joined = ("user", "system") if "role_changed" in self.codes else ("system",)
            merged = [(*f[:2], "".join(f[2].split())) if f[1] in joined else f for f in merged]
            merged = [fact for fact in merged if fact[2] != ""]
        if self.is_sent and "placeholder_added" in self.codes and merged[-1:] == [("text", "user", "Continue.")]:
            merged.pop()
        if "format_approximated" in self.codes:
            added = "Answer with one JSON value and nothing else."
            merged = [(*f[:2], f[2].replace(added, "").strip()) if f[0] == "text" else f for f in merged]
            merged = [fact for fact in merged if fact[2] != ""]
        if "empty_text_dropped" in self.codes and merged and merged[-1][0] == "text":
            merged[-1] = (*merged[-1][:2], merged[-1][2].rstrip())
        return merged


def _owners(items):
    """Call place → its result, and the places of results that have no call: by id, first come first served in a step."""
    waiting, step_of, step = defaultdict(deque), {}, 0
    results, orphans = {}, set()
    for place, item in enumerate(items):
        is_models = item.kind in ("call", "reasoning", "native") or (
            item.kind == "message" and item.role == "assistant"
        )
        if not is_models or item.split:
            step += 1
        if item.kind == "call":
            if step_of.get(item.call.call_id) != step:
                waiting[item.call.call_id].clear()
            step_of[item.call.call_id] = step
            waiting[item.call.call_id].append(place)
        elif item.kind == "result":
            if waiting[item.call_id]:
                results[waiting[item.call_id].popleft()] = item
            else:
                orphans.add(place)
    return results, orphans


def _texts_before_calls(facts):
    ordered, stretch = [], []
    for fact in [*facts, None]:
        if fact is not None and (fact[0] == "call" or fact[1] == "assistant"):
            stretch.append(fact)
            continue
        ordered += sorted(stretch, key=lambda each: ("text", "refusal", "call").index(each[0]))
        stretch = []
        ordered += [fact] if fact is not None else []
    return ordered


def _json(text):
    try:
        return parse_json(text)
    except InvalidJson:
        return text


def _arguments(raw):
    value = _json(read_arguments(raw))
    while isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), str):
        if next(iter(value)) not in ("input", "_raw_arguments"):
            break
        value = _json(inner)
    return repr({} if not value or (isinstance(value, str) and value.isspace()) else value)


def compare_requests(before, after, encoded, dialect):
    """Assert that `after`, which was read from the encoded `before`, means the same up to the warnings."""
    warnings = encoded.warnings
    sent, read = Meaning(before, dialect, warnings, is_sent=False), Meaning(after, dialect, warnings, is_sent=True)
    codes = sent.codes
    assert read.facts == sent.facts
    if "media_dropped" in codes:
        assert read.media <= sent.media
    else:
        assert read.media == sent.media
    if "reasoning_dropped" not in codes:
        assert len(read.thoughts) == len(sent.thoughts) or dialect == "openai-chat"
        if dialect != "openai-responses":
            assert "".join(read.thoughts) == "".join(sent.thoughts)
    if "native_dropped" not in codes:
        assert read.natives == sent.natives
    _compare_tools(before, after, encoded, dialect, codes)
    _compare_options(before, after, warnings, codes, dialect)


def _compare_tools(before, after, encoded, dialect, codes):
    sent = [tool for tool in before.tools if tool.kind == "function"]
    read = [tool for tool in after.tools if tool.kind == "function"]
    chosen = before.tool_choice.names if before.tool_choice and "choice_approximated" in codes else ()
    if len(read) < len(sent):
        sent = [tool for tool in sent if tool.name in chosen]
    assert [encoded.names.get(tool.name) for tool in read] == [tool.name for tool in sent]
    for one, other in zip(sent, read, strict=True):
        assert other.description == one.description
        if one.freeform is None and "schema" not in codes:
            assert _open(other.schema) == _open(one.schema)
        is_told = any(each.code.startswith("option_") and each.path.endswith(".strict") for each in encoded.warnings)
        if dialect != "gemini" and not is_told:
            assert bool(other.strict) == bool(one.strict)
    natives = [tool for tool in before.tools if isinstance(tool, NativeTool)]
    kept = [tool for tool in after.tools if isinstance(tool, NativeTool)]
    assert codes & {"tool_dropped", "choice_approximated"} or kept == natives


def _open(schema):
    """A schema of objects, without notes for readers, and without what strict output implies: closed objects."""
    return _bare({"type": "object", "properties": {}, **(schema or {})})


def _bare(value):
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if key not in ("default", "description", "$schema", "title")}
        return {k: _bare(v) for k, v in kept.items() if (k, v) != ("additionalProperties", False)}
    if value is True:
        return {}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def _compare_options(before, after, warnings, codes, dialect):
    told = " ".join(f"{each.path} {each.message}" for each in warnings if each.code.startswith("option_"))
    for name in ("temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty", "stop", "count"):
        one, other = getattr(before.sampling, name), getattr(after.sampling, name)
        if (name == "count" and one == 1) or (name.endswith("_penalty") and not one):
            continue  # that is how it is without the option
        assert one == other or name in told, (name, one, other)
    has_functions = any(tool.kind == "function" for tool in after.tools)
    if has_functions and before.tool_choice is not None and "choice_approximated" not in codes:
        assert after.tool_choice is not None or before.tool_choice.mode == "auto"
        if after.tool_choice is not None:
            assert after.tool_choice.mode == before.tool_choice.mode
            if before.tool_choice.mode != "none":
                table = renamed(warnings, "name_rewritten")
                assert tuple(table.get(name, name) for name in after.tool_choice.names) == before.tool_choice.names
    is_free = before.tool_choice is None or before.tool_choice.mode != "none"
    if has_functions and is_free and before.parallel_calls is False:
        assert after.parallel_calls is False or "parallel_calls" in told
    if before.max_output_tokens is not None:
        assert after.max_output_tokens == before.max_output_tokens
    kinds = [request.output.type if request.output else "text" for request in (before, after)]
    assert kinds[0] == kinds[1] or "format_approximated" in codes
    if kinds == ["schema", "schema"] and "schema" not in codes:
        assert _open(after.output.schema) == _open(before.output.schema)
    if before.reasoning is not None:
        for name in ("effort",) if before.reasoning.effort == "none" else ("effort", "budget", "summary"):
            one = getattr(before.reasoning, name)
            other = getattr(after.reasoning, name) if after.reasoning else None
            if one == "none":
                assert after.reasoning.effort == "none" or after.reasoning.budget == 0 or "reasoning" in told
            elif one and one != -1 and before.reasoning.budget != 0:  # a budget of -1 leaves it to the model
                assert one == other or "reasoning" in told, (name, one, other)
    assert before.stream == after.stream or dialect == "gemini"


_CONDEMNING = (
    FinishReason.LENGTH,
    FinishReason.CONTEXT_FULL,
    FinishReason.MALFORMED_CALL,
    FinishReason.FAILED,
    FinishReason.CANCELLED,
    FinishReason.INCOMPLETE,
)


_CUT = (FinishReason.LENGTH, FinishReason.CONTEXT_FULL, FinishReason.CONTENT_FILTER, FinishReason.PROMPT_BLOCKED)
_ONE_WORD = {
    FinishReason.STOP_SEQUENCE: FinishReason.END,
    FinishReason.CONTEXT_FULL: FinishReason.LENGTH,
    FinishReason.PROMPT_BLOCKED: FinishReason.CONTENT_FILTER,
}
"""Ends for which some dialects have one word."""


def compare_replies(before, after, warnings, dialect):
    """Assert that the reply that was read from what was written says and asks for the same, up to the warnings."""
    codes = {warning.code for warning in warnings}
    assert _said(after, dialect, codes) == _said(before, dialect, codes)
    sent, read = list(before.calls), list(after.calls)
    if "call_dropped" in codes:
        sent = _still_there(sent, read)
    if FinishReason.MALFORMED_CALL in (before.finish.reason, after.finish.reason):  # none may run; any order will do
        sent, read = (sorted(calls, key=lambda item: str(_asked(item))) for calls in (sent, read))
    asked = [[_asked(item) for item in items] for items in (sent, read)]
    assert asked[1] == asked[0]
    ids = [item.call.call_id for item in read]
    assert len(set(ids)) == len(ids)
    assert "" not in ids
    given = [item.call.call_id for item in sent]
    for one, other in zip(given, ids, strict=True):
        if one and given.count(one) == 1 and "call_id_rewritten" not in codes:
            assert other == one
    for one, other in zip(sent, read, strict=True):
        if before.finish.reason not in _CUT:
            assert one.complete or not other.complete, "a call that was cut must not be run"
        if not {before.finish.reason, after.finish.reason} & {*_CONDEMNING}:
            assert other.complete or not one.complete, "a whole call must stay one"
    reasons = [_ONE_WORD.get(reply.finish.reason, reply.finish.reason) for reply in (before, after)]
    if reasons[0] is not reasons[1] and "finish_approximated" not in codes:
        # Whether it ended with calls is read from the content.
        assert set(reasons) == {FinishReason.END, FinishReason.TOOL_CALLS}
        assert (after.finish.reason is FinishReason.TOOL_CALLS) == bool(read)


def _asked(item):
    return item.call.name, _arguments(item.call.raw)


def _still_there(sent, read):
    """The calls without those that were cut off and are there no more."""
    left = Counter(_asked(item) for item in read)
    kept = []
    for item in sent:
        if item.complete or left[_asked(item)] > sum(_asked(other) == _asked(item) for other in sent if other.complete):
            kept.append(item)
            left[_asked(item)] -= not item.complete
    return kept


def _said(reply, dialect, codes):
    parts = [part for item in reply.items if isinstance(item, Message) for part in item.parts]
    texts = [part.text for part in parts if hasattr(part, "text")]
    if "empty_text_dropped" in codes:
        texts = [text for text in texts if not text.isspace()]
    if dialect in ("anthropic", "gemini"):
        return "".join(texts)
    refusals = "".join(part.text for part in parts if isinstance(part, RefusalPart))
    return reply.text, refusals
