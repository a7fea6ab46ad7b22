"""Prices in yuan: 6块5, 六块五, 5毛, 2分钱, 15一个, with what they say of tax and freight.

What a fee is for (a sample, a plate, freight) is for others to say; a clause that names one holds no price. Several prices
at once are read in `offers`.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import takewhile

from groundwire.apps.supplier.reading.captures import Find, ReadingContext, found_fact
from groundwire.apps.supplier.reading.folding import GAP, Clause, clauses
from groundwire.apps.supplier.reading.numbers import DIGIT, NUMBER, parse_number, spell
from groundwire.apps.supplier.reading.quantities import COUNTED_BUT_YUAN, COUNTER, MEASURES

_ONE_DIGIT = "[0-9一二两三四五六七八九]"
NOT_MORE = rf"(?!\s?(?:[0-9.十百千万天号点年月%折]|小时|分钟|(?!包邮){COUNTER}))"
_YUAN = r"(?:块(?:钱|(?!钱))|元|圆)"
MONEY = (
    rf"(?:¥\s?)?(?:{NUMBER}\s?{_YUAN}(?:零?(?:{_ONE_DIGIT}|半)(?:[毛角](?:{_ONE_DIGIT}分?)?)?{NOT_MORE})?"
    rf"|{NUMBER}\s?[毛角](?:{_ONE_DIGIT}分?{NOT_MORE})?|{NUMBER}\s?分(?:钱|(?=\s?[一每/])){NOT_MORE}|{NUMBER})"
)
"""Without groups. 6块5一个 is 6.5 each: a digit that begins another count, as in 6块5个, is no part of it."""

_PARTS = re.compile(
    rf"(?:¥\s?)?(?P<number>{NUMBER})\s?(?:(?P<yuan>{_YUAN})(?P<tail>零?(?:{_ONE_DIGIT}|半))?(?:[毛角](?P<fen>{_ONE_DIGIT})?分?)?"
    rf"|[毛角](?P<cent>{_ONE_DIGIT})?分?|(?P<hundredths>分)钱?)?"
)

UNLIKE_PRICE = rf"(?!\s?(?:[0-9一二两三四五六七八九十]\s?{COUNTED_BUT_YUAN}(?!起)|天|小时|分钟|个?工作日|个?点|个?月|周|年|%|折|号|期|公分|厘米|毫米|(?i:ml|cm|mm|kg|g|l|pcs|w|v)(?![A-Za-z])|起订|起批|[-~至]|到(?!付)|(?!包邮){COUNTED_BUT_YUAN}))(?![a-zA-Z])"
_WHOLE = r"(?<![加贵减免省降送收宜惠少让返扣补])(?<!(?<!差不)多)"
"""No part of an amount: 每个加5毛 and 便宜5毛 change a price and state none."""
_EACH = rf"(?:[一每1/]|每一)\s?(?P<each>{COUNTER})"
_NOT_ONE_YUAN = rf"(?![一1]块零?(?:{_ONE_DIGIT}|半)(?:[毛角]|{NOT_MORE}))"
"""一块二 is 1.2 yuan, and no board for two."""
_SOME = rf"{_WHOLE}(?:(?P<low>{NUMBER})\s?(?:块|元)?\s?[-~到至]\s?)?(?P<money>{MONEY})"
_TERMS = r"(?:不含税运|含税含运|含税|不含税|未税|含运费?|不含运费?|含邮|包邮|不包邮|到付|出厂|批发|开票(?:另外)?加[0-9一二三四五六七八九十]{1,2}个?点|加[0-9一二三四五六七八九十]{1,2}个点|带票|不带票)"
_PRICE_WORD = r"(?:单价|底价|出厂价|批发价|价格|报价|售价|价钱|拿货价|最低价|优惠价|大货价|裸价|含税价|不含税价|价|最低(?:可以|能)?(?:做到|给到|给你)|可以做到|能做到|给到|最多给[你您]|给[你您]算|谈到)"
_FEE = re.compile(r"运费|邮费|快递费|版费|开模|模具|打样|拿样|样品|样费|寄样|定金|订金|押金|尾款|工本费|起步价|满[0-9]")
_REFUSED = re.compile(r"做不[下了来到]|给不了|拿不[到了]|亏|不可能|不够本")
_SAMPLE = re.compile(r"样")
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_PRICE_WORD}(?:[是为:约在要就给你做到]|大概|大约|最低|\s){{0,4}}{_SOME}{UNLIKE_PRICE}(?:\s?{_EACH})?",
        rf"{_SOME}\s?{_EACH}",
        rf"{_NOT_ONE_YUAN}(?:[一每1]|每一)\s?(?P<each>{COUNTER})(?:{NUMBER}\s?{COUNTED_BUT_YUAN}|[是要卖:]|\s){{0,2}}{_SOME}{UNLIKE_PRICE}",
        rf"{_SOME}{UNLIKE_PRICE}(?=\s?{_TERMS})",
        rf"{_TERMS}(?:[价的是:]|\s){{0,2}}{_SOME}{UNLIKE_PRICE}",
        r"(?P<money>(?<![0-9.])[0-9]{1,9}\.[0-9]{1,4})起(?!码)",
        rf"{_SOME}(?=真?的?(?:不能再[少低]|是?最低了?|是底价))",
        rf"{_WHOLE}(?:(?P<low>{NUMBER})\s?[-~到至]\s?)?(?P<money>(?:¥\s?{NUMBER}|{NUMBER}\s?(?:{_YUAN}|[毛角]|分钱))(?:(?<=[块元毛角圆])零?(?:{_ONE_DIGIT}|半)(?:[毛角]{_ONE_DIGIT}?)?{NOT_MORE})?){UNLIKE_PRICE}",
    )
)
_BARE = re.compile(rf"(?:大概|最低|大约|就|给你|\s){{0,2}}{_SOME}(?:吧|左右|起|哈|哦|\s){{0,2}}")
_NAMED = re.compile(
    rf"(?P<label>[^0-9{DIGIT}十百千万]{{1,6}}?)(?:本身|是|要|的|:|\s)?{_SOME}(?:吧|左右|哈|哦|\s){{0,2}}"
)
_QUALIFIERS = re.compile(rf"(?:\s?{_TERMS}\s?[的价哦哈]?){{1,4}}")

_NOTES = (
    ("tax_excluded", re.compile(r"不含税|未税|不带票|裸价")),
    ("tax_included", re.compile(r"(?<!不)含税|(?<!不)带票")),
    ("freight_excluded", re.compile(r"不含运|不包邮|到付|不含税运")),
    ("freight_included", re.compile(r"(?<!不)含运|(?<!不)包邮|含邮")),
)
_POINTS = re.compile(rf"加(?P<points>{NUMBER})个?点")


def parse_money(text: str) -> Decimal | None:
    """Yuan: 六块五 is 6.5, 5毛 is 0.5, 2块半 is 2.5. None unless it is all one amount."""
    match = _PARTS.fullmatch(text)
    value = parse_number(match["number"]) if match else None
    if match is None or value is None:
        return None
    if match["hundredths"]:
        return value / 100
    if match["yuan"]:
        return value + _tenths(match["tail"]) + _tenths(match["fen"]) / 10
    if text.rstrip("分0123456789一二两三四五六七八九")[-1:] in {"毛", "角"}:
        return value / 10 + _tenths(match["cent"]) / 10
    return value


def _tenths(digit: str | None) -> Decimal:
    if not digit:
        return Decimal(0)
    small = Decimal(100 if digit[0] == "零" and len(digit) > 1 else 10)
    last = digit[-1]
    value = Decimal(5) if last == "半" else parse_number(last)
    return (value or Decimal(0)) / small


def read_prices(text: str, context: ReadingContext) -> Iterator[Find]:
    """One price for each clause that states one."""
    parts = clauses(text)
    found: list[tuple[str, int, int]] = []
    for place, clause in enumerate(parts):
        if _FEE.search(clause.text) or _REFUSED.search(clause.text) or _continues_a_fee(parts, place):
            continue
        rest = parts[place + 1 :]
        price = _find_price(clause) or _find_bare_price(clause, rest, context)
        if price:
            value, start, end = price
            found.append((value, start, _with_terms(text, end, clause, rest)))
    return as_facts(found, text)


def _continues_a_fee(parts: Sequence[Clause], place: int) -> bool:
    """可以先拍样品，12元包邮 and 费用另算，1块一个: the clause before says what the amount is for."""
    if not place or "价" in parts[place].text:
        return False
    before = parts[place - 1].text
    sample = _SAMPLE.search(before) and not re.search(rf"[0-9{GAP}]", before)
    return bool(sample or re.search("另[算收外]", before))


def _find_price(clause: Clause) -> tuple[str, int, int] | None:
    for pattern in _PATTERNS:
        for match in pattern.finditer(clause.text):
            if value := _spell_price(match):
                return value, clause.start + match.start(), clause.start + match.end()
    return None


def _spell_price(match: re.Match[str]) -> str:
    """6.5, 12-15, and 120/箱 where what is counted is no piece."""
    parts = match.groupdict()
    amounts = [parse_money(words) for words in (parts.get("low"), parts["money"]) if words]
    if not all(amounts):
        return ""
    each = parts.get("each") or ""
    return "-".join(spell(amount) for amount in amounts if amount) + (f"/{each}" if each in (*MEASURES, "打") else "")


def _find_bare_price(clause: Clause, rest: Sequence[Clause], context: ReadingContext) -> tuple[str, int, int] | None:
    """A number alone, or behind the goods' name, is a price where we asked for one; or where the next words are about
    tax or freight."""
    asked = "unit_price" in context.asked and "moq" not in context.asked
    described = bool(rest) and _QUALIFIERS.fullmatch(rest[0].text) is not None
    match = _BARE.fullmatch(clause.text) if asked or described else None
    if match is None and "unit_price" in context.asked:
        named = _NAMED.fullmatch(clause.text)
        match = named if named and set(named["label"]) & {*context.item, "这"} else None
    value = _spell_price(match) if match else ""
    return (value, clause.start, clause.end) if value else None


def _with_terms(text: str, end: int, clause: Clause, rest: Sequence[Clause]) -> int:
    """A price's quote goes on over what it says of tax and freight, in its clause and as the whole of the next ones."""
    if own := _QUALIFIERS.match(text, end, clause.end):
        end = own.end()
    if end == clause.end:
        for following in takewhile(lambda each: _QUALIFIERS.fullmatch(each.text), rest):
            end = following.end
    return end


def as_facts(found: Sequence[tuple[str, int, int]], text: str) -> Iterator[Find]:
    """One price is described by all that the message says of tax and freight, several each by their own words."""
    for value, start, end in found:
        described = text if len(found) == 1 else text[start:end]
        notes = [name for name, words in _NOTES if words.search(described)]
        points = _POINTS.search(described)
        percent = parse_number(points["points"]) if points else None
        notes += [f"tax+{spell(percent)}%"] if percent else []
        yield found_fact("unit_price", value, start, end, "|".join(notes))
