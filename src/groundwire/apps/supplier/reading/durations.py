"""How long something takes: 7到10天, 两三天, 48小时, 15个工作日, 半个月; and when goods leave.

When somebody will answer is another question, and read elsewhere.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from groundwire.apps.supplier.reading.captures import Find, ReadingContext, found_fact
from groundwire.apps.supplier.reading.folding import Clause, clauses
from groundwire.apps.supplier.reading.numbers import NUMBER, parse_number, spell

_DIGITS = "一二两三四五六七八九"
_COUNT = rf"(?:(?<![0-9{_DIGITS}十百千万.])(?P<pair>[{_DIGITS}]{{2}})|(?P<low>{NUMBER}|半)(?:\s?[-~到至、]\s?(?P<high>{NUMBER}))?)"
DURATION = rf"{_COUNT}\s?(?P<more>几|来|多)?\s?(?P<unit>个?工作日|个?半?(?:小时|月|星期|礼拜)|周|天|日(?!元)|[hH](?![A-Za-z]))(?P<half>半)?"
_DURATION = re.compile(DURATION)
_ONLY = re.compile(rf"(?:大概|大约|差不多|一般|要|需要|\s){{0,3}}{DURATION}(?:左右|吧|哈|之?内|这样|的样子|\s){{0,2}}")
_UNITS = {
    "工作日": (1, "wd"),
    "小时": (1, "h"),
    "h": (1, "h"),
    "H": (1, "h"),
    "月": (30, "d"),
    "星期": (7, "d"),
    "礼拜": (7, "d"),
    "周": (7, "d"),
    "天": (1, "d"),
    "日": (1, "d"),
}

_SHIPPING = re.compile(
    r"交期|货期|工期|生产周期|大货|发货|出货|交货|发出|做货|做好|完工|能发|可发|生产|排单|现货|赶出来|能出|可以发"
)
_AFTER = re.compile(r"(?:付款|下单|定稿|确认|收到|打款|定金|出稿|样品).{0,6}后")
_AMOUNT = re.compile(r"[个件套只]的?话?(?:大概|大约)?(?:要|需要|得)|最快|最慢|[快急]的话|工作日")
_LEAVING = re.compile(r"发货|出货|交货|发出|做货|做好|完工|能发|可发|能出|可以发")
_REPLY = re.compile(r"回复|答复|告诉|给你|给您|发你|发您|联系|回你|回您|准信|报价|质保|保修")
_BEFORE_GOODS = re.compile(r"打样|打版|拿样|寄样|样品|出样|样衣|开模|模具|制版")
_CREDIT = re.compile(r"月结|账期|结算")
_AT_ONCE = re.compile(
    r"(?:有?现货)?(?:(?:当天|当日|今天下单今天|今天就|今天(?=可以|能|可|发)|秒)就?(?:可以|能|可)?(?:发货?|出货?|走)"
    r"|(?:拍下|下单|付款)(?:就|即|立马|马上|后?立即)(?:可以|能|可)?(?:发货?|出货)|随[拍到]随发"
    r"|(?:今天下单)?(?P<next>明天|次日|隔天|第二天)就?(?:可以|能|可)?(?:发货?|出货)"
    r"|今天(?:拍下?|下单|付款)(?P<leaves>明天|次日)就?(?:走|寄))(?![你您我图个])"
)
AFTER_SAMPLE = re.compile(r"(?:确认|确)好?样品?.{0,2}后|样品?确认.{0,2}后|确样")
_CONDITIONS = (
    ("_after_artwork", re.compile(r"(?:确认|定|出)(?:好)?(?:稿子?|设计|图|效果图).{0,2}后|定稿")),
    ("_after_sample", AFTER_SAMPLE),
    ("_unprinted", re.compile(r"不印|不定制|不做logo|空白|素色")),
)


def parse_duration(match: re.Match[str]) -> str | None:
    """7-10d, 48h, 15wd: a week is 7 days, a month 30, and 一个半月 45."""
    unit = match["unit"].removeprefix("个").removeprefix("半")
    factor, letter = _UNITS[unit]
    ends = [match["pair"][0], match["pair"][1]] if match["pair"] else [match["low"], match["high"]]
    values = [parse_number(end) for end in ends if end]
    if any(value is None for value in values):
        return None
    amounts = [value * factor for value in values if value is not None]
    if match["half"] or "半" in match["unit"]:
        amounts[-1] += Decimal(factor) / 2
    return "-".join(spell(amount) for amount in amounts) + letter + ("+" if match["more"] else "")


def read_lead_times(text: str, context: ReadingContext) -> Iterator[Find]:
    parts = clauses(text)
    alone = len(parts) == 1 and _ONLY.fullmatch(parts[0].text) is not None
    for clause in parts:
        condition = "".join(name for name, words in _CONDITIONS if words.search(clause.text))
        if match := _AT_ONCE.search(clause.text):
            value = "next_day" if match["next"] or match["leaves"] else "same_day"
            yield found_fact("lead_time", value + condition, clause.start + match.start(), clause.start + match.end())
            continue
        found = find_duration(clause)
        if found and _is_lead_time(clause, context, alone=alone):
            yield found_fact("lead_time", found[0] + condition, clause.start, clause.end)


def find_duration(clause: Clause) -> tuple[str, int, int] | None:
    for match in _DURATION.finditer(clause.text):
        if value := parse_duration(match):
            return value, clause.start + match.start(), clause.start + match.end()
    return None


def _is_lead_time(clause: Clause, context: ReadingContext, *, alone: bool) -> bool:
    words = clause.text
    if _CREDIT.search(words) or (_BEFORE_GOODS.search(words) and not _AFTER.search(words)):
        return False
    if _REPLY.search(words) and not _LEAVING.search(words):  # 过两天给你算好交期: somebody will answer then
        return False
    if _SHIPPING.search(words):
        return True
    if clause.asks:
        return False
    asked = "lead_time" in context.asked or (alone and "sample" not in context.asked)
    return asked or bool(_AFTER.search(words) or _AMOUNT.search(words))
