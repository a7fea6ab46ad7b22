"""Counts and the smallest order: 200个起, 起订量是1w个, 最少五百件, 10打起, 一件代发.

It knows no prices, except that 块 after a number is yuan unless something says that it counts boards.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from groundwire.apps.supplier.reading.captures import Find, ReadingContext, found_fact
from groundwire.apps.supplier.reading.numbers import NUMBER, parse_number, spell

PIECES = "个件只套双顶条根把张支盒瓶台对副本枚片袋盏辆串份块粒颗组"
MEASURES = ("箱", "米", "公斤", "千克", "斤", "吨", "平方", "平米", "卷", "包", "kg", "KG")
COUNTERS = PIECES + "打箱米斤吨卷包"
COUNTER = rf"(?:公斤|千克|平方米?|平米|[kK][gG]|[{COUNTERS}])"
COUNTED_BUT_YUAN = rf"(?:公斤|千克|平方米?|平米|[kK][gG]|[{COUNTERS.replace('块', '')}])"

_RANGE = rf"(?P<number>{NUMBER})(?:\s?[-~到至]\s?(?P<upper>{NUMBER}))?\s?"
_START = r"起(?![码来初飞伏诉床名源因])(?:订|定|批|拿|做|发|卖|售|印|接)?"
BELOW = rf"{NUMBER}\s?{COUNTER}?以[下内]的?(?:单子?|订单|量)?"
"""一万个以下: what is refused with these words tells the smallest order."""
_LEAST = r"(?:最少|最低|至少|起码|最起码)"
_MIXED = r"(?:混批|混款混色|混色混款|混款|混色|混装)"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:最低|最小)?(?:起订量|起批量|起订数|最低订量|起订|起批|起拿|(?i:moq))(?:[是为要:]|最低|最少|也?就|的话，?|每[款色]|\s){{0,3}}{_RANGE}(?P<unit>{COUNTER})?(?:{_START})?(?![0-9.%元毛天])",
        rf"(?:{_LEAST}要?|{_MIXED}(?:的话)?|\s){{0,3}}{_RANGE}(?P<unit>{COUNTER}){_START}",
        rf"(?:{_LEAST}要?|{_MIXED}(?:的话)?|\s){{0,3}}(?<![块元毛角¥]){_RANGE}(?P<unit>){_START}",
        rf"(?:最少|最低|至少)(?:也?要|得|也得|起订|起做|做|订|拿|是|\s){{0,3}}{_RANGE}(?P<unit>{COUNTED_BUT_YUAN})(?!以?内|一)(?:以上)?",
        rf"(?:最少|至少)(?:也?要|得|也得|做|订|拿|\s){{0,3}}{_RANGE}(?P<unit>)(?=$|[，。；！\n])",
        rf"(?:最起码|起码)(?:也?要|得|做|订|拿|\s){{0,3}}{_RANGE}(?P<unit>{COUNTER})(?:以上)?(?=才|，才)",
        rf"{_RANGE}(?P<unit>{COUNTED_BUT_YUAN})(?:及?以上)?(?:才能?|才可以?)(?:做|印|订|接|开机|定制|开模|发货?)",
        rf"要{_RANGE}(?P<unit>{COUNTED_BUT_YUAN})及?以上",
        rf"不[少低]于{_RANGE}(?P<unit>{COUNTED_BUT_YUAN})",
        rf"{_RANGE}(?P<unit>{COUNTED_BUT_YUAN})?以[下内]的?(?:单子?|订单|量)?(?:就|我们|都){{0,2}}(?:不做|不接|不卖|不发|做不了|接不了)",
        rf"(?:少于|不到|低于){_RANGE}(?P<unit>{COUNTED_BUT_YUAN})?(?:的|就|我们|都|\s){{0,3}}(?:不做|不接|不卖|不发|做不了|接不了)",
        rf"加到\s?{_RANGE}(?P<unit>{COUNTED_BUT_YUAN})?(?:就|也)?(?:可以|能做|行|做)",
    )
)
_ONE = re.compile(
    r"一件代发|支持代发|可以代发|一件起批?|(?:没有?|无|不限)起订量|没有最低起订|不限数量|(?:[一1]个|几个)(?:也|都)(?:可以|行|卖|能拿|能做)"
)
_MIX = re.compile(_MIXED)
_BARE = re.compile(rf"(?:大概|大约|差不多|要|\s){{0,2}}{_RANGE}(?P<unit>{COUNTER})?(?:吧|左右|以上|就行|就可以)?")


def read_moq(text: str, context: ReadingContext) -> Iterator[Find]:
    for match in _ONE.finditer(text):
        yield found_fact("moq", "1", match.start(), match.end(), note=match[0])
        return
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if find := _as_moq(match, text):
                yield find
                return
    if "moq" in context.asked and "unit_price" not in context.asked:
        bare = _BARE.fullmatch(text.strip("。！？ ，"))
        if bare and (find := _as_moq(bare, text, text.index(bare[0]))):
            yield find


def _as_moq(match: re.Match[str], text: str, shift: int = 0) -> Find | None:
    number, unit = match["number"], match["unit"] or ""
    count = parse_number(number)
    if count is None or count != count.to_integral_value() or count < 1:
        return None
    if number == "一" and not unit:  # 一起 is "together"
        return None
    if unit == "块" and "价" in text[max(0, match.start("number") + shift - 4) : match.start("number") + shift]:
        return None
    upper = parse_number(match["upper"]) if match["upper"] else None
    dozen = 12 if unit == "打" else 1
    value = "-".join(spell(each * dozen) for each in (count, upper) if each is not None)
    notes = [f"{number}打"] if unit == "打" else []
    if _MIX.search(text):
        notes.append("mixed")
    start = match.start() + len(match[0]) - len(match[0].lstrip())
    return found_fact(
        "moq", value + (unit if unit in MEASURES else ""), shift + start, shift + match.end(), "|".join(notes)
    )


def parse_count(number: str) -> Decimal | None:
    """A whole number of at least one, as quantities are."""
    count = parse_number(number)
    return count if count is not None and count >= 1 and count == count.to_integral_value() else None
