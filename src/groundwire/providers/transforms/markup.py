"""Transforms that take calls out of text whose arguments are tagged one by one, as in XML.

The tags carry no types, so every argument stays the text it is; the coercions by schema can make more of it later.
Text between tags is never searched for other tags of the dialect: an argument that contains one is ambiguous, and its
call stays text.
"""

import re
from dataclasses import dataclass

from groundwire.contracts.canonical import JsonObject
from groundwire.providers.transforms.extraction import FoundCall, Span, as_arguments, extract_calls


@dataclass(frozen=True, slots=True)
class MarkupDialect:
    """`tags` names each tag by its group: wrap, unwrap, call, end_call, argument, end_argument."""

    tags: re.Pattern[str]
    wrapped: bool
    """A call counts only inside its wrapper; otherwise the wrapper may be missing."""

    def find_spans(self, text: str) -> list[Span]:
        tags = list(self.tags.finditer(text))
        spans: list[Span] = []
        index, closed = 0, -1  # where the tag stands that ended the last call
        while index < len(tags):
            tag = tags[index]
            if tag.lastgroup != "call":
                index += 1
                continue
            before = tags[index - 1] if index and _is_adjacent(text, tags, index) else None
            is_wrapped = before is not None and (before.lastgroup == "wrap" or index - 1 == closed)
            read = _read_call(text, tags, index) if is_wrapped or not self.wrapped else None
            if read is None:
                index += 1
                continue
            call, closed = read
            start = before.start() if before is not None and before.lastgroup == "wrap" else tag.start()
            spans.append(Span(start, _end_of(text, tags, closed), (call,)))
            index = closed + 1
        return spans


def _read_call(text: str, tags: list[re.Match[str]], index: int) -> tuple[FoundCall, int] | None:
    """The call that this tag begins, and the index of the tag that ends it."""
    name, values = _name_of(tags[index]), dict[str, str]()
    index += 1
    while index < len(tags) and _is_adjacent(text, tags, index):
        tag = tags[index]
        if tag.lastgroup == "end_call":
            arguments = as_arguments(dict(values))
            return (FoundCall(name, arguments), index) if name and arguments is not None else None
        argument = _name_of(tag)
        closed = index + 1 < len(tags) and tags[index + 1].lastgroup == "end_argument"
        if tag.lastgroup != "argument" or not closed or argument in values:
            return None
        values[argument] = _value(text[tag.end() : tags[index + 1].start()])
        index += 2
    return None


def _is_adjacent(text: str, tags: list[re.Match[str]], index: int) -> bool:
    """Only white space stands between this tag and the one before it."""
    between = text[tags[index - 1].end() : tags[index].start()]
    return not between or between.isspace()


def _end_of(text: str, tags: list[re.Match[str]], index: int) -> int:
    follows = index + 1 < len(tags) and tags[index + 1].lastgroup == "unwrap" and _is_adjacent(text, tags, index + 1)
    return tags[index + 1 if follows else index].end()


def _name_of(tag: re.Match[str]) -> str:
    return next(filter(None, (tag.group(f"{kind}_name") for kind in ("call", "argument"))), "").strip()


def _value(text: str) -> str:
    """Without the one line break that belongs to the tag on either side."""
    return text.removeprefix("\n").removesuffix("\n")


QWEN_CODER = MarkupDialect(
    tags=re.compile(
        r"(?P<wrap><tool_call>)|(?P<unwrap></tool_call>)"
        r"|(?P<call><function=(?P<call_name>[^<>]{1,128})>)|(?P<end_call></function>)"
        r"|(?P<argument><parameter=(?P<argument_name>[^<>]{1,128})>)|(?P<end_argument></parameter>)"
    ),
    wrapped=False,
)
MINIMAX = MarkupDialect(
    tags=re.compile(
        r"(?P<wrap><minimax:tool_call>)|(?P<unwrap></minimax:tool_call>)"
        r'|(?P<call><invoke name="(?P<call_name>[^<>"]{1,128})">)|(?P<end_call></invoke>)'
        r'|(?P<argument><parameter name="(?P<argument_name>[^<>"]{1,128})">)|(?P<end_argument></parameter>)'
    ),
    wrapped=True,
)


def assistant_content_qwen_coder_tags_to_tool_calls(message: JsonObject) -> JsonObject:
    """`<tool_call><function=name><parameter=x>text</parameter></function></tool_call>`."""
    return extract_calls(message, QWEN_CODER.find_spans)


def assistant_content_minimax_tags_to_tool_calls(message: JsonObject) -> JsonObject:
    """`<minimax:tool_call><invoke name="…"><parameter name="x">text</parameter></invoke></minimax:tool_call>`."""
    return extract_calls(message, MINIMAX.find_spans)
