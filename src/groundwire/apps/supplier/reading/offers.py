"""Several prices at once: by quantity (100个22，500个20), by size (大号13.5，小号9块) and by kind (16G的18，32G的22).

All of them are one fact, joined with bars. A single price is read in `prices`.
"""

import re
from collections.abc import Iterator

from groundwire.apps.supplier.reading.captures import Find, ReadingContext
from groundwire.apps.supplier.reading.folding import Clause, clauses
from groundwire.apps.supplier.reading.numbers import NUMBER, spell
from groundwire.apps.supplier.reading.prices import MONEY, NOT_MORE, UNLIKE_PRICE, as_facts, parse_money
from groundwire.apps.supplier.reading.processes import CUSTOM
from groundwire.apps.supplier.reading.quantities import COUNTED_BUT_YUAN, COUNTER, parse_count

_FROM = rf"{NUMBER}(?:\s?[-~到至]\s?{NUMBER})?\s?(?:{COUNTED_BUT_YUAN}(?:及?以[上内下]|起)?|及?以[上内下])(?:[的:是价=]|\s){{0,2}}"
_BREAK = rf"{_FROM}{MONEY}{UNLIKE_PRICE}"
_GIVEN = r"(?:的话)?(?:可以|能)?(?:给[你您到]|算[你您]|做到)"
_BASE = rf"(?P<base>{MONEY})\s?[一每/]\s?{COUNTER}"
_BREAKS = re.compile(
    rf"{_BREAK}(?:[，；、/\s]{{1,2}}[≥>满]?{_BREAK}){{1,9}}|(?:{_BASE}[，；、\s]{{1,2}})?[≥>满]?{NUMBER}\s?{COUNTED_BUT_YUAN}?及?以上(?:的话|[的:是价=]|\s){{0,2}}{MONEY}{UNLIKE_PRICE}"
    rf"|(?<![包箱盒袋打]){NUMBER}\s?{COUNTED_BUT_YUAN}(?:\s?{NUMBER}\s?[块元]{NOT_MORE}|{_GIVEN}{MONEY}{UNLIKE_PRICE})"
)
_ONE_BREAK = re.compile(rf"(?P<from>(?P<count>{NUMBER}){_FROM.removeprefix(NUMBER)})(?:话|{_GIVEN})?(?P<money>{MONEY})")
_LENGTH = re.compile(r"[0-9.]\s?米的")

_SIZE = r"(?:(?:特大|加大|大|中|小|迷你)(?:号|码|款|的|盒|杯)?|(?<![A-Za-z])(?:X{0,3}[SL]|M)(?:码|号|款)?|[A-F]款|[红黄蓝绿白黑灰粉紫橙]色|[0-9]{1,5}\s?(?:ml|ML|cm|CM|mm|寸|升|公分|厘米))"
_SIZED = rf"{_SIZE}(?:[的是:]|\s){{0,2}}{MONEY}{UNLIKE_PRICE}(?:\s?[一每/]\s?{COUNTER})?"
_SIZES = re.compile(rf"{_SIZED}(?:[，；、/\s]{{1,2}}{_SIZED}){{1,9}}")
_ONE_SIZE = re.compile(rf"{_SIZE}(?:[的是:]|\s){{0,2}}(?P<money>{MONEY})")

_KIND = re.compile(
    rf"(?P<label>[^\ufffc]{{1,12}}?)(?P<joint>的|是|:|\s)?(?P<money>{MONEY})(?:(?P<each>\s?[一每/]\s?{COUNTER})|{UNLIKE_PRICE})(?:左右|哦|哈|\s){{0,2}}"
)
_NO_KIND = re.compile(
    r"起|订|税|运|邮|最少|最低|至少|样|天|期|时|量|数|加|满|费|[定订押]金|尾款|全款|价|降|减|便宜|优惠|省|退|返|贵|多|少|差|剩|共|库存|电话|(?i:qq)|微信|[年月日周号]|径|围|[块元毛角]$"
    r"|^(?:[长宽高厚深重]|[长宽高厚深]度|重量)$"
)
_AMOUNT = re.compile(r"[.块元毛角分]")


def read_price_breaks(text: str) -> Iterator[Find]:
    found = []
    for match in _BREAKS.finditer(text):
        base = parse_money(match["base"]) if match["base"] else None
        parts = [f"{spell(base)}@1"] if base else []
        pairs = list(_ONE_BREAK.finditer(text, match.start(), match.end()))
        parts += [part for pair in pairs if (part := _spell_break(pair))]
        if len(parts) == len(pairs) + bool(base) and not _LENGTH.search(match[0]):
            found.append(("|".join(parts), match.start(), match.end()))
    return as_facts(found, text)


def _spell_break(pair: re.Match[str]) -> str:
    count, price = parse_count(pair["count"]), parse_money(pair["money"])
    if count is None or count <= 1 or not price:
        return ""
    below = "以内" in pair["from"] or "以下" in pair["from"]
    return f"{spell(price)}@{'1' if below else spell(count)}"


def read_sizes(text: str) -> Iterator[Find]:
    found = []
    for match in _SIZES.finditer(text):
        prices = [parse_money(one["money"]) for one in _ONE_SIZE.finditer(text, match.start(), match.end())]
        if len(prices) > 1 and all(prices):
            found.append(("|".join(spell(price) for price in prices if price), match.start(), match.end()))
    return as_facts(found, text)


def read_kinds(text: str, context: ReadingContext) -> Iterator[Find]:
    """Neighbouring clauses of the same form: what it is, and what it costs."""
    found = []
    for run in _runs(text):
        amounts = [parse_money(match["money"]) for _, match in run]
        named = all(match["joint"] == "的" or set(match["label"]) & set(context.item) for _, match in run)
        clear = named or any(match["each"] or _AMOUNT.search(match["money"]) for _, match in run)
        if len(run) > 1 and clear and all(amounts):
            values = "|".join(spell(amount) for amount in amounts if amount)
            found.append((values, run[0][0].start, run[-1][0].end))
    return as_facts(found, text)


def _runs(text: str) -> Iterator[list[tuple[Clause, re.Match[str]]]]:
    run: list[tuple[Clause, re.Match[str]]] = []
    for clause in clauses(text):
        match = None if clause.asks else _kind_of(clause.text)
        if run and (match is None or text[run[-1][0].end : clause.start].strip("，；、 ")):
            yield run
            run = []
        if match:
            run.append((clause, match))
    yield run


def _kind_of(words: str) -> re.Match[str] | None:
    match = _KIND.fullmatch(words)
    if match is None or _NO_KIND.search(match["label"]):
        return None
    process = CUSTOM.search(match["label"]) and match["joint"] != "的" and "不" not in match["label"]
    return None if process else match
