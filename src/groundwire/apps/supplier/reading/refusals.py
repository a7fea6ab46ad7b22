"""Refusals of the whole request, and offers that take a refusal back.

A refusal of one process, colour or discount is a blocker, and not read here.
"""

import re

from groundwire.apps.supplier.reading.folding import Clause, clauses, fold
from groundwire.apps.supplier.reading.numbers import NUMBER
from groundwire.apps.supplier.reading.processes import CUSTOM
from groundwire.apps.supplier.reading.quantities import COUNTER

_REFUSAL = re.compile(
    r"(?<![要做还])不做了(?![解样吗么没多几])|(?<![没未不会快])停产(?![吗么前]|之前)|不生产了|(?:没货|没有货|卖完|断货).{0,4}不(?:再|会|会再)?补|(?:^|也|以后|后面)不(?:再|会|会再|打算)?补(?:货|了)|(?<![要会])不做这[个款种]?了"
    r"|不接(?:定制|小|散|外贸|新)单|不接单|小单.{0,3}不[接做]|小批量.{0,3}不做|(?<!别)(?<!不用)(?:找|问|问问|去|去找|看看)(?:一下)?(?:别家|别处|别人|别的家|其他家|别的厂)(?!.{0,3}[比没])"
    r"|另找|另请高明|不[卖做接]外贸|不做出口"
)
_STOPPED = re.compile(r"不做了|停产")
_ONE_THING = re.compile(
    rf"[颜红黄蓝绿白黑灰粉紫橙]色|[大中小]号|尺寸|规格|打样|样品|代发|活动|优惠|包邮|赠品|彩盒|包装|(?:{CUSTOM.pattern})"
)
_SUPPOSED = re.compile(r"如果|要是|万一|假如|的话|会不会|不是|以为|[你您]们?(?:又|还|都|要是)?不做了")
_OFFER = re.compile(
    rf"不过|但是?|可是|除非|要不|或者|可以|换一?[款个种]|换成|推荐|另一?款|其他|别的[款颜型]|类似|同款|替代|新款|加到|加单|加量|才[能接做可]|{NUMBER}\s?{COUNTER}?(?:以上|起)|现货"
)

_NOTHING_ELSE = re.compile(
    r"(?:其他|别的|同款|类似|新款|现货)[^，]{0,6}(?:没有|没了|没货|停了|不做)|(?:没有?|无)(?:其他|别的|同款|类似|新款|替代|现货)"
)


def find_refusal(text: str) -> tuple[int, int] | None:
    """The clause that refuses everything, as a place in the message; None too where the message offers something else."""
    parts = clauses(fold(text))
    refusals = [clause for clause in parts if _refuses(clause)]
    if not refusals or any(_offers(clause) for clause in parts if clause not in refusals):
        return None
    first = refusals[0]
    return None if _offers_beside(first) else (first.start, first.end)


def offers_something(text: str) -> bool:
    """Whether a message after a refusal takes it back."""
    return any(_offers(clause) for clause in clauses(fold(text)) if not _refuses(clause))


def _offers(clause: Clause) -> bool:
    """其他的也没有 names other goods, and offers none."""
    return _OFFER.search(clause.text) is not None and not _NOTHING_ELSE.search(clause.text)


def _refuses(clause: Clause) -> bool:
    match = _REFUSAL.search(clause.text)
    if match is None or clause.asks or _SUPPOSED.search(clause.text):
        return False
    return not (_STOPPED.search(match[0]) and _ONE_THING.search(clause.text))


def _offers_beside(clause: Clause) -> bool:
    """不接小单但加到200可以, without punctuation."""
    rest = _REFUSAL.split(clause.text)[-1]
    return bool(re.search(r"(?:不过|但是?|可是|除非|要不)", rest))
