"""What a supplier cannot or will not do, by the kind of obstacle.

Whether the whole request is refused is for the status rules to say.
"""

import re
from collections.abc import Iterator
from itertools import islice

from groundwire.apps.supplier.contracts import BlockerType
from groundwire.apps.supplier.reading.captures import Find, ReadingContext
from groundwire.apps.supplier.reading.folding import Clause, clauses
from groundwire.apps.supplier.reading.numbers import NUMBER
from groundwire.apps.supplier.reading.processes import CUSTOM
from groundwire.apps.supplier.reading.quantities import BELOW, COUNTED_BUT_YUAN, COUNTER, parse_count

_REASONS = {
    BlockerType.QUANTITY_TOO_LOW: "数量太少，工艺做不了",
    BlockerType.MOQ_MISMATCH: "低于起订量",
    BlockerType.SPEC_REFUSAL: "规格或工艺做不了",
    BlockerType.AUTHORITY_BOUNDARY: "对方没有权限决定",
    BlockerType.PRICE_DEAD_END: "价格没有余地",
}
_CANNOT = r"(?:做不了|做不来|印不了|绣不了|刻不了|开不了机?|不好做|没法做|没法印|不能做|不能印|接不了|生产不了)"
_TOO_FEW = re.compile(
    rf"数量太少|量太少|数量少了?(?:做|印)不了|(?:这么|太)少(?:了)?(?:的话)?(?:做不了|不做|不接|没法|不好做|不好印)|{_CANNOT}(?:这么|那么)少|量(?:有点)?(?:太)?小了?{_CANNOT}|开不了机|不够开机"
    rf"|{NUMBER}\s?{COUNTED_BUT_YUAN}(?:(?:的话|也|是|真|\s){{0,2}}{_CANNOT}|[^，。]{{0,8}}(?:划不来|不划算))"
    rf"|{NUMBER}\s?{COUNTER}(?:的?话|的|也|是|确实|真的?|实在|有点|\s){{0,2}}(?:太少|少了点|太小)"
)
_MACHINE = re.compile(r"开不了机|开机|机器")
_BELOW_MINIMUM = re.compile(
    rf"(?:少了|少于[^，。]{{0,6}}|不到[^，。]{{0,6}}|低于[^，。]{{0,6}}|不够[^，。]{{0,6}}|{BELOW})(?:就|我们|都){{0,2}}(?:不做|不接|不卖|不发|不出|{_CANNOT})"
)
_MINIMUM = re.compile(
    rf"(?:最低|最少|至少|起订量?是?|少于|不到|低于|不够)(?:要|\s){{0,2}}(?P<number>{NUMBER})\s?{COUNTER}?|(?P<below>{NUMBER})(?=\s?{COUNTER}?以[下内])"
)
_AUTHORITY = re.compile(
    r"老板定的?|老板规定|公司规定|公司定的?|我没有?权限|没有?权限|我?做不了主|我?定不了|我说了不算|上面定的?|厂里定的?|统一定?价"
)
_FLOOR = re.compile(r"底价了|最低价了|已经是?(?:底价|最低)|不讲价|不议价")
_DEFENDED = re.compile(
    r"亏本|亏的|成本都?不够|(?:不够|低于)成本|[0-9](?:块|元|的|的话|真|是|都|也){0,2}(?:拿不到|给不了|做不到|做不下来)|(?:价|[块元]).{0,6}(?:给不了|做不了|做不到|做不下来|拿不到|亏|不可能)|再低(?:就)?(?:不行|做不了|没法|真的?不行|亏)|(?:不能|没法|无法|没办法)再(?:低|少|便宜|降)|(?:少|降|低)不了|没有?利润|一分(?:都|也)不能少"
)
_REFUSED = re.compile(
    rf"{_CANNOT}|印不[上牢]|绣不[上牢]|没做过|换不了|改不了|不支持|不(?:能|可以)(?:换|改|定制?|印|绣|刻)|不(?:接|做)(?:定制|来图|印|logo|LOGO|丝印|激光|刺绣|烫金)|(?:工艺|材质|颜色|规格|尺寸|款式|机器|设备)(?:我们|这边|目前|暂时|的)?(?:没有(?!现?货|库存)|没法|不行|换不了|做不了|改不了)|(?:丝印|激光|烫金|刺绣|热转印|压字|刻字)(?:我们|这边|目前|暂时)?没有|没有?(?:这个|这种|这|那个)?(?:工艺|材质|机器|设备|规格)"
)
_SPEC = re.compile(rf"工艺|材质|颜色|规格|尺寸|款式|形状|机器|设备|{CUSTOM.pattern}")
_PRICE = re.compile(r"价|再低|便宜|[块元毛]|降|折|利润|亏")
_ASKS_BACK = re.compile(r"报不[了出]|核不了|算不了|(?:没法|无法|不好|没办法)(?:报|核|算)")


def read_blockers(text: str, context: ReadingContext, *, priced: bool) -> Iterator[Find]:
    """At most one for each goal and for the same words. `priced`: the message states a price, which 底价 then describes and does not defend."""
    blocked: set[str] = set()
    read_to = 0
    parts = clauses(text)
    for find in (
        *_read_quantity(text, parts, context),
        *_read_price(text, parts, context, priced=priced),
    ):
        if find.details["goal_id"] not in blocked:
            blocked.add(find.details["goal_id"])
            read_to = max(read_to, find.end)
            yield find
    if "customization" not in blocked:
        yield from islice((find for find in _read_spec(parts, context) if find.start >= read_to), 1)


def _read_quantity(text: str, parts: tuple[Clause, ...], context: ReadingContext) -> Iterator[Find]:
    for place, clause in enumerate(parts):
        if clause.asks or _ASKS_BACK.search(clause.text):
            continue
        if _BELOW_MINIMUM.search(clause.text):
            minimum = _MINIMUM.search(text, max(0, clause.start - 40), clause.end)
            count = parse_count(minimum["number"] or minimum["below"]) if minimum else None
            if count is None or not context.qty or context.qty < count:
                start = minimum.start() if minimum else clause.start
                yield _blocker("moq", BlockerType.MOQ_MISMATCH, start, clause.end)
        elif _TOO_FEW.search(clause.text):
            following = parts[place + 1] if place + 1 < len(parts) else None
            more = following is not None and _REFUSED.search(following.text) is not None
            end = following.end if following and more else clause.end
            about = text[clause.start : end]
            process = CUSTOM.search(about) or (context.want and _MACHINE.search(about))
            yield _blocker("customization" if process else "moq", BlockerType.QUANTITY_TOO_LOW, clause.start, end)


def _read_price(text: str, parts: tuple[Clause, ...], context: ReadingContext, *, priced: bool) -> Iterator[Find]:
    for clause in parts:
        if _AUTHORITY.search(clause.text):
            named = context.asked[0] if context.asked else "unit_price"
            goal_id = "unit_price" if _PRICE.search(text) else named
            yield _blocker(goal_id, BlockerType.AUTHORITY_BOUNDARY, clause.start, clause.end)
    for clause in parts:
        if _DEFENDED.search(clause.text) or (not priced and _FLOOR.search(clause.text)):
            yield _blocker("unit_price", BlockerType.PRICE_DEAD_END, clause.start, clause.end)


def _read_spec(parts: tuple[Clause, ...], context: ReadingContext) -> Iterator[Find]:
    for clause in parts:
        words = clause.text
        if clause.asks or _ASKS_BACK.search(words) or _TOO_FEW.search(words) or _AUTHORITY.search(words):
            continue
        if _REFUSED.search(words) and (_SPEC.search(words) or _is_wish(words, context)):
            yield _blocker("customization", BlockerType.SPEC_REFUSAL, clause.start, clause.end)


def _is_wish(words: str, context: ReadingContext) -> bool:
    """Whether it is about what the buyer wants done: two characters of it in a row, or nothing else was asked about."""
    if context.asked == ("customization",) and _REFUSED.fullmatch(words.strip("这个我们边的真啊哦呢哈亲")):
        return True
    return any(context.want[place : place + 2] in words for place in range(len(context.want) - 1))


def _blocker(goal_id: str, blocker_type: BlockerType, start: int, end: int) -> Find:
    details = {"goal_id": goal_id, "blocker_type": blocker_type, "reason": _REASONS[blocker_type]}
    return Find(tool="note_blocker", start=start, end=end, details=details)
