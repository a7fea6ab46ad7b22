"""Transforms that take calls out of text whose arguments are JSON: one per way of writing them.

A dialect is an opening mark, JSON and a closing mark. The JSON itself says where it ends, so that a closing mark inside
an argument is only text. Every failed attempt stops at the next opening mark unless that lies inside a string, and of
two neighbours only one can be a string for the other: so hostile text is read in linear time.
"""

import re
from dataclasses import dataclass

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.providers.transforms.extraction import FoundCall, Span, as_arguments, extract_calls, read_json

_NAME = r"([A-Za-z0-9_.:/-]{1,128})"
_NUMBERED = re.compile(r"^functions\.|:\d{1,9}$")
_CALL_MEMBERS = frozenset({"name", "arguments", "parameters", "id", "type"})


@dataclass(frozen=True, slots=True)
class Dialect:
    """`opening` captures at most the tool's name; the JSON is then the arguments, otherwise one call or several."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    separator: re.Pattern[str] | None = None
    exact: bool = False
    """Only objects that have the members of a call and no others: for marks that also hold ordinary JSON."""
    numbered: bool = False
    """Names are written `functions.name:0`."""

    def find_spans(self, text: str) -> list[Span]:
        spans: list[Span] = []
        opening = self.opening.search(text)
        while opening is not None:
            span = self._read(text, opening)
            if span is not None:
                spans.append(span)
            opening = self.opening.search(text, opening.end() if span is None else span.end)
        return spans

    def _read(self, text: str, opening: re.Match[str]) -> Span | None:
        name = next(filter(None, opening.groups()), None)
        position = opening.end()
        calls: list[FoundCall] = []
        while True:
            body = read_json(text, position)
            if body is None:
                return None
            found = self._calls_of(body[0], name)
            if not found:
                return None
            calls += found
            further = self.separator.match(text, body[1]) if self.separator else None
            if further is None:
                break
            position = further.end()
        closing = self.closing.match(text, body[1])
        return Span(opening.start(), closing.end(), tuple(calls)) if closing else None

    def _calls_of(self, value: JsonValue, name: str | None) -> list[FoundCall]:
        """The calls that a JSON value is; none at all if only one of them is not understood."""
        if name is not None:
            arguments = as_arguments(value) if isinstance(value, dict) else None
            name = _NUMBERED.sub("", name) if self.numbered else name
            return [FoundCall(name, arguments)] if name and arguments is not None else []
        objects = value if isinstance(value, list) else [value]
        found = [self._call_of(item) for item in objects]
        calls = [call for call in found if call is not None]
        return calls if len(calls) == len(found) else []

    def _call_of(self, value: JsonValue) -> FoundCall | None:
        if not isinstance(value, dict):
            return None
        name = value.get("name")
        given = value.get("arguments", value.get("parameters"))
        if not isinstance(name, str) or not name.strip():
            return None
        if self.exact and (not isinstance(given, dict) or not value.keys() <= _CALL_MEMBERS):
            return None
        arguments = as_arguments(given)
        return None if arguments is None else FoundCall(name.strip(), arguments)


HERMES = Dialect(
    opening=re.compile(r"<tool_call>\s*+(?=\{)"),
    closing=re.compile(r"\s*+</tool_call>"),
)
MISTRAL = Dialect(
    opening=re.compile(
        r"\[TOOL_CALLS\]\s*+(?:([A-Za-z0-9_.-]{1,128}+)(?:\[CALL_ID\][A-Za-z0-9]{1,64}+)?(?:\[ARGS\])?\s*+)?(?=[\[{])"
    ),
    closing=re.compile(r"(?:\s*+</s>)?"),
)
LLAMA_PYTHON_TAG = Dialect(
    opening=re.compile(r"<\|python_tag\|>\s*+(?=\{)"),
    separator=re.compile(r"\s*+;\s*+(?=\{)"),
    closing=re.compile(r"\s*+(?:<\|eom_id\|>|<\|eot_id\|>|\Z)"),
)
LLAMA_FUNCTION = Dialect(
    opening=re.compile(rf"<function={_NAME}>\s*+(?=\{{)"),
    closing=re.compile(r"\s*+</function>"),
)
DEEPSEEK = Dialect(
    opening=re.compile(
        r"(?:<｜tool▁calls▁begin｜>\s*+)?<｜tool▁call▁begin｜>\s*+(?:"
        rf"function<｜tool▁sep｜>{_NAME}\s*+```json\s*+|{_NAME}\s*+<｜tool▁sep｜>\s*+)(?=\{{)"
    ),
    closing=re.compile(r"\s*+(?:```\s*+)?<｜tool▁call▁end｜>(?:\s*+<｜tool▁calls▁end｜>)?"),
)
KIMI = Dialect(
    opening=re.compile(
        r"(?:<\|tool_calls_section_begin\|>\s*+)?<\|tool_call_begin\|>\s*+"
        rf"{_NAME}\s*+<\|tool_call_argument_begin\|>\s*+(?=\{{)"
    ),
    closing=re.compile(r"\s*+<\|tool_call_end\|>(?:\s*+<\|tool_calls_section_end\|>)?"),
    numbered=True,
)
HARMONY = Dialect(
    opening=re.compile(
        rf"(?:<\|start\|>assistant\s+to=functions\.{_NAME}<\|channel\|>commentary"
        rf"|(?:<\|start\|>assistant)?<\|channel\|>commentary\s+to=functions\.{_NAME})"
        r"\s*+(?:<\|constrain\|>)?(?:json)?\s*+<\|message\|>\s*+(?=\{)"
    ),
    closing=re.compile(r"\s*+(?:<\|call\|>|<\|end\|>|(?=<\|start\|>)|\Z)"),
)
FENCED = Dialect(
    opening=re.compile(r"```json[ \t]*+\r?\n\s*+(?=[\[{])"),
    closing=re.compile(r"\s*+```"),
    exact=True,
)


def assistant_content_tool_call_tags_to_tool_calls(message: JsonObject) -> JsonObject:
    """`<tool_call>{"name": …, "arguments": …}</tool_call>`, as Hermes and Qwen write."""
    return extract_calls(message, HERMES.find_spans)


def assistant_content_mistral_marks_to_tool_calls(message: JsonObject) -> JsonObject:
    """`[TOOL_CALLS][{…}]`, `[TOOL_CALLS]name{…}` and `[TOOL_CALLS]name[ARGS]{…}`."""
    return extract_calls(message, MISTRAL.find_spans)


def assistant_content_llama_python_tag_to_tool_calls(message: JsonObject) -> JsonObject:
    """`<|python_tag|>{"name": …, "parameters": …}`, several separated by semicolons."""
    return extract_calls(message, LLAMA_PYTHON_TAG.find_spans)


def assistant_content_llama_function_tags_to_tool_calls(message: JsonObject) -> JsonObject:
    """`<function=name>{…}</function>`."""
    return extract_calls(message, LLAMA_FUNCTION.find_spans)


def assistant_content_deepseek_marks_to_tool_calls(message: JsonObject) -> JsonObject:
    """`<｜tool▁call▁begin｜>…<｜tool▁call▁end｜>`, in the forms of V3 (fenced) and V3.1 (bare)."""
    return extract_calls(message, DEEPSEEK.find_spans)


def assistant_content_kimi_marks_to_tool_calls(message: JsonObject) -> JsonObject:
    """`<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`."""
    return extract_calls(message, KIMI.find_spans)


def assistant_content_harmony_commentary_to_tool_calls(message: JsonObject) -> JsonObject:
    """`<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`."""
    return extract_calls(message, HARMONY.find_spans)


def assistant_content_json_fences_to_tool_calls(message: JsonObject) -> JsonObject:
    """A fenced block of JSON that is a call, or an array of calls, and nothing else."""
    return extract_calls(message, FENCED.find_spans)
