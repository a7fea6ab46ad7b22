"""From a message to captures: each part of the vocabulary takes its words, and what is taken means nothing else.

It does not know who wrote the message: whether its words may become facts is for `messages` to say, except that
text which gives itself away as canned states no fact here either.
"""

import re
from collections.abc import Iterable, Iterator

from groundwire.apps.supplier.messages import is_canned_text, media_tokens, token_spans
from groundwire.apps.supplier.reading.blockers import read_blockers
from groundwire.apps.supplier.reading.captures import Capture, Find, ReadingContext
from groundwire.apps.supplier.reading.durations import read_lead_times
from groundwire.apps.supplier.reading.folding import BREAK, blank, fold
from groundwire.apps.supplier.reading.offers import read_kinds, read_price_breaks, read_sizes
from groundwire.apps.supplier.reading.prices import read_prices
from groundwire.apps.supplier.reading.quantities import COUNTERS, read_moq
from groundwire.apps.supplier.reading.requests import read_file_requests
from groundwire.apps.supplier.reading.terms import (
    read_availability,
    read_custom_fees,
    read_customization,
    read_packaging,
    read_payment,
    read_samples,
)

NOTHING_KNOWN = ReadingContext()

_FILE_NAME = re.compile(
    r"[^\s，。\]】]{1,80}\.(?:xlsx?|docx?|pptx?|pdf|png|jpe?g|psd|cdr|zip|rar|mp4|csv|txt|ai)(?![A-Za-z0-9])"
)


def read_message(text: str, context: ReadingContext = NOTHING_KNOWN) -> tuple[Capture, ...]:
    """Everything that the message says, in its order. Each quote is an exact part of it."""
    finds = [*_read_media(text), *(() if is_canned_text(text) else _read_facts(_words_of(text), context))]
    finds.sort(key=lambda find: (find.start, find.end))
    return tuple(_cut(text, find) for find in finds)


def _cut(text: str, find: Find) -> Capture:
    """A fact without a value of its own has the supplier's words for one."""
    quote = text[find.start : find.end]
    details = find.details | ({"value": quote} if find.details.get("value") == "" else {})
    return Capture(tool=find.tool, quote=quote, start=find.start, end=find.end, **details)


def _words_of(text: str) -> str:
    """Folded, without media tokens and file names, which state nothing."""
    words = fold(text, COUNTERS)
    return blank(words, (*token_spans(text), *(match.span() for match in _FILE_NAME.finditer(text))), BREAK)


def _read_media(text: str) -> Iterator[Find]:
    for token in media_tokens(text):
        if token.media_type:
            shown = token.name if token.count == 1 else f"{token.name}×{token.count}"
            details = {"media_type": token.media_type, "description": token.caption or shown}
            yield Find(tool="acknowledge_media", start=token.start, end=token.end, details=details)


def _read_facts(words: str, context: ReadingContext) -> Iterator[Find]:
    """Whatever names its number comes before a bare price."""
    fees = [*read_samples(words), *read_custom_fees(words)]
    left = _without(words, fees)
    offers = [*read_price_breaks(left), *read_sizes(left)]
    least = list(read_moq(left, context))  # 100个起22，500个起20 states the smallest order too
    left = _without(left, [*offers, *least])
    times = list(read_lead_times(left, context))
    left = _without(left, times)
    kinds = list(read_kinds(left, context))
    offers += kinds
    left = _without(left, kinds)
    offers += read_prices(left, context)
    left = _without(left, offers)
    yield from (*fees, *offers, *least, *times)
    yield from read_customization(words, context)
    yield from read_availability(left)
    yield from read_packaging(words, context)
    yield from read_payment(left)
    yield from read_blockers(words, context, priced=bool(offers))
    yield from read_file_requests(words)


def _without(words: str, finds: Iterable[Find]) -> str:
    return blank(words, ((find.start, find.end) for find in finds))
