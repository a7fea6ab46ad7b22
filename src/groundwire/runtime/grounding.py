"""Grounding: whether an argument's words were really said, and where.

The rule is an exact substring, code point by code point, of one message of the stated speaker, of at least two letters or
digits; a value that is a number or a short word must not be cut out of a longer one. A tool may also require that numbers
of other arguments occur in the quote. Everything looser only explains a miss. Pure.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import NamedTuple

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.decisions import Deny
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.messages import Message
from groundwire.contracts.results import Evidence
from groundwire.contracts.tools import Ground
from groundwire.runtime.said_numbers import find_numbers

MAX_VALUES = 200
"""So many values of one argument can be evidenced; more are refused."""
EXPLAINED = 10_000_000
"""Beyond so many comparisons a miss is only a miss: saying why would take too long."""
SHORT = 4
"""A word of so many characters is too likely a part of another to be found inside one."""
LONG = 200
"""Beyond so many characters a value is a text, whatever it ends with."""
LEAST_SIGNS = 2
"""Fewer letters or digits than these occur in any conversation, and evidence nothing."""
AROUND = 128
"""Characters on each side of a quote in which a number may continue. A longer number has no reading."""
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
"""Hangul fillers: letters by their category, but invisible."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?")
_WHY = {
    "too_many": f"it holds more than {MAX_VALUES} values",
    "empty": "it is empty",
    "trivial": f"it needs at least {LEAST_SIGNS} letters or digits",
    "number": "it holds a number that is not in the quote",
    "absent": "it is missing",
    "part": "it was said only as a part of a longer word or number",
    "whitespace": "it differs in white space",
    "case": "it differs in upper and lower case",
    "punctuation_width": "it differs in punctuation or character width",
    "merged_messages": "it joins words of several messages",
    "other_speaker": "somebody else said it",
    "paraphrase": "nobody said it in these words",
}


class _Located(NamedTuple):
    """Evidence for one value, and the message that holds it."""

    evidence: Evidence
    message: Message | None = None


def find_evidence(
    arguments: Mapping[str, JsonValue], rules: Mapping[str, Ground], messages: Sequence[Message]
) -> tuple[Evidence, ...]:
    """Evidence for each argument that a tool wants evidenced, in the order of its rules; then for numbers in others."""
    found: list[Evidence] = []
    quoted: dict[str, list[_Located]] = {}
    for argument, rule in rules.items():
        value = arguments.get(argument)
        if value is None:
            found.append(_absent(argument, rule))
            continue
        values = value if isinstance(value, list) and value else [value]
        located = [_locate(argument, item, rule, messages) for item in values[:MAX_VALUES]]
        found.extend(each.evidence for each in located)
        if len(values) > MAX_VALUES:
            found.append(Evidence(argument=argument, grounded=False, near_miss="too_many"))
        if rule.value and rule.by == "quote":
            quotes = [each for each in located if each.evidence.grounded]
            for name in _covered(rule, arguments, rules):
                quoted.setdefault(name, []).extend(quotes)
    found.extend(
        evidence
        for name, quotes in quoted.items()
        if quotes and (evidence := _find_numbers_of(name, arguments.get(name), quotes)) is not None
    )
    return tuple(found)


def refusal_for(name: str, evidence: Sequence[Evidence]) -> Deny | None:
    """What strict mode answers when any of it is not grounded."""
    missed = [item for item in evidence if item.grounded is False]
    if not missed:
        return None
    reasons = "; ".join(f"{item.argument}: {_WHY.get(item.near_miss or '', item.near_miss or '')}" for item in missed)
    return Deny(
        type=ErrorType.UNGROUNDED,
        message=(
            f"{name} was not run, because its evidence is not in the conversation ({reasons}). "
            "Copy the words exactly from one message, or do not make this call."
        ),
        operator=reasons,
    )


def _absent(argument: str, rule: Ground) -> Evidence:
    if rule.optional:
        return Evidence(argument=argument, grounded=None)
    return Evidence(argument=argument, grounded=False, near_miss="absent")


def _spelling(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None or isinstance(value, (dict, list)):
        return ""
    return repr(value)


def _locate(argument: str, value: JsonValue, rule: Ground, messages: Sequence[Message]) -> _Located:
    words = _spelling(value)
    is_number = rule.by == "value" and _is_number(words)  # which must stand by itself, however short it is
    if not is_number and (reason := _triviality(words)):
        return _Located(Evidence(argument=argument, grounded=False, near_miss=reason))
    whole = _whole(words) if rule.by == "value" and len(words) <= LONG else None
    for message in reversed(messages):
        if message.role == rule.speaker and (start := _find(words, whole, message.text)) >= 0:
            end = start + len(words)
            return _Located(
                Evidence(argument=argument, grounded=True, turn=message.turn, start=start, end=end), message
            )
    return _Located(Evidence(argument=argument, grounded=False, near_miss=_near_miss(words, rule.speaker, messages)))


def _is_number(words: str) -> bool:
    return _NUMBER.fullmatch(words) is not None


def _triviality(words: str) -> str:
    """Why words are too little to be evidence; empty if they are enough.

    Letters and digits of any script count, so two Chinese characters are enough, or one and a digit. Marks, signs and
    invisible characters do not count.
    """
    kinds = [unicodedata.category(sign)[0] for sign in words if sign not in _FILLERS]
    if not any(kind in "LNPS" for kind in kinds):
        return "empty"
    return "" if sum(kind in "LN" for kind in kinds) >= LEAST_SIGNS else "trivial"


def _covered(rule: Ground, arguments: Mapping[str, JsonValue], rules: Mapping[str, Ground]) -> Iterable[str]:
    """The arguments whose numbers must occur in the quote."""
    if isinstance(rule.value, bool):
        return [name for name in arguments if name not in rules]
    return rule.value


def _find_numbers_of(argument: str, value: JsonValue, quotes: Sequence[_Located]) -> Evidence | None:
    """Evidence for the numbers in a value: each must stand in a quote, whole. None if it has no numbers."""
    wanted = list(islice(_numbers_in(value), MAX_VALUES + 1))
    if not wanted:
        return None
    if len(wanted) > MAX_VALUES:
        return Evidence(argument=argument, grounded=False, near_miss="too_many")
    said = [(quote.evidence, _numbers_said(quote)) for quote in quotes]
    if not all(any(readings & numbers for _, numbers in said) for readings in wanted):
        return Evidence(argument=argument, grounded=False, near_miss="number")
    place = next(evidence for evidence, numbers in said if wanted[0] & numbers)
    return Evidence(argument=argument, grounded=True, turn=place.turn, start=place.start, end=place.end)


def _numbers_said(quote: _Located) -> frozenset[Decimal]:
    """Numbers of a quote that were not cut out of longer ones: 5 is not said in 15, nor in 5万."""
    evidence, message = quote.evidence, quote.message
    if message is None or evidence.start is None or evidence.end is None:
        return frozenset()
    first = max(evidence.start - AROUND, 0)
    text = message.text[first : evidence.end + AROUND]
    start, end = evidence.start - first, evidence.end - first
    return frozenset(
        reading
        for number in find_numbers(text)
        if start <= number.start and number.end <= end
        for reading in number.readings
    )


def _numbers_in(value: JsonValue) -> Iterator[frozenset[Decimal]]:
    """What each number of a value may mean."""
    if isinstance(value, str):
        yield from (number.readings for number in find_numbers(value))
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers_in(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield frozenset((Decimal(value) if isinstance(value, int) else Decimal(repr(value)),))


def _find(words: str, whole: re.Pattern[str] | None, text: str) -> int:
    start = text.find(words)
    if start < 0 or whole is None:
        return start
    found = whole.search(text, start)
    return found.start() if found is not None else -1


def _whole(words: str) -> re.Pattern[str]:
    """A pattern for words that are not a part of more: 45 is not said in 450 or 3.45, but is in 45kg and 共45元.

    A number goes on in digits only, because units and currencies stick to it; a short word in ASCII letters and digits
    only, because some scripts put no space between words.
    """
    short = len(words) <= SHORT
    before = after = ""
    if _is_digit(words[0]):
        before = r"(?<![0-9])(?<![0-9][.,])"
    elif short and words[0].isascii() and words[0].isalpha():
        before = r"(?<![0-9A-Za-z])"
    if _is_digit(words[-1]):
        after = r"(?![0-9])(?![.,][0-9])"
    elif short and words[-1].isascii() and words[-1].isalpha():
        after = r"(?![0-9A-Za-z])"
    return re.compile(f"{before}{re.escape(words)}{after}")


def _is_digit(sign: str) -> bool:
    return sign.isascii() and sign.isdigit()


def _near_miss(words: str, speaker: str, messages: Sequence[Message]) -> str:
    if len(words) * sum(len(message.text) for message in messages) > EXPLAINED:
        return "paraphrase"
    said = [message.text for message in messages if message.role == speaker]
    if any(words in text for text in said):
        return "part"
    if any(words in message.text for message in messages if message.role != speaker):
        return "other_speaker"
    for reason, fold in (("whitespace", _without_space), ("case", str.casefold), ("punctuation_width", _without_width)):
        folded = fold(words)
        if folded and any(folded in fold(text) for text in said):
            return reason
    if _is_merged(words, said):
        return "merged_messages"
    return "paraphrase"


def _without_space(text: str) -> str:
    return "".join(text.split())


def _without_width(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text)
    return "".join(
        char for char in folded if not char.isspace() and unicodedata.category(char)[0] not in "PS"
    ).casefold()


def _is_merged(words: str, said: Sequence[str]) -> bool:
    """Whether the words can be cut in two at some point so that each half stands in another message."""
    bare = _without_width(words)
    texts = [_without_width(text) for text in said]
    for cut in range(2, len(bare) - 1):
        heads = {index for index, text in enumerate(texts) if bare[:cut] in text}
        if not heads:
            return False
        tails = {index for index, text in enumerate(texts) if bare[cut:] in text}
        if any(head != tail for head in heads for tail in tails):
            return True
    return False
