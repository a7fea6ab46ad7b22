"""Files that a supplier asks for, and whether a price waits for them.

A supplier who sends a file asks for none.
"""

import re
from collections.abc import Iterator

from groundwire.apps.supplier.reading.captures import AssetType, Find, Urgency
from groundwire.apps.supplier.reading.folding import Clause, clauses

_ASSETS: tuple[tuple[AssetType, re.Pattern[str]], ...] = (
    (
        "design",
        re.compile(
            r"设计[图稿]|设计文件|源文件|矢量[图文]|效果图|图稿|稿子|稿件|定稿|图案|花型图|(?<![A-Za-z])(?:AI|PSD|CDR|ai|psd|cdr)(?![A-Za-z])|设计"
        ),
    ),
    (
        "spec_sheet",
        re.compile(
            r"规格书|规格表|参数表?|尺寸[图表]|(?:提供|发|没有?|缺)[^，]{0,4}尺寸|尺寸[^，]{0,3}发|图纸|技术要求|工艺单|规格要求|详细规格|详细尺寸"
        ),
    ),
    ("sample_photo", re.compile(r"参考图|样图|实物图|照片|样品图|款式图|图片|图")),
    ("logo", re.compile(r"(?i:logo)|商标图?|标志")),
    ("other", re.compile(r"文件|资料|授权书?|营业执照")),
)
_ASKED = re.compile(
    r"(?<!我)(?<!我们)(?:发|传|提供|给|拿|寄)(?:一?[下个份张]|我|过来|来|到|给我|给我们|上来|下)|提供|(?:需要|要有|得有|要先有?|必须有|缺)|先出|先发|(?:要|得)先?看"
)
_MISSING = re.compile(
    r"(?:没有?|缺|没见到|看不到)(?:.{0,8})(?:报不了|没法|无法|不能|不好|算不了|核不了|做不了|没办法|报不出)"
)
_SENDING = re.compile(
    r"发你|发您|给你发|给您发|发给你|发给您|给你看|给您看|我发|我们发|已发|发过去|给你做|给您做|我们出|免费出|帮你"
)
_YOU_SEND = re.compile(r"[你您](?:先|把.{1,6})?发")
_HAVE = re.compile(r"有(?!现货|货)")
_BLOCKING = re.compile(
    r"先出|先发|先提供|先给|先有|才(?:好|能|可以)|(?:报不了|没法|无法|不能|不好|算不了|核不了|报不出)|必须|没有?(?:的话)?.{0,4}(?:做不了|不行)"
)
_OPTIONAL = re.compile(r"也可以|也行|要不|最好|方便的话|(?<!没)有的话|也能|可以发|或者不|不.{1,4}也")


def read_file_requests(text: str) -> Iterator[Find]:
    parts = clauses(text)
    seen: set[str] = set()
    for place, clause in enumerate(parts):
        match = _request_of(clause)
        following = parts[place + 1] if place + 1 < len(parts) else None
        asset = _asset_of(clause.text, match) if match else None
        if match is None or asset is None or asset in seen:
            continue
        seen.add(asset)
        urgency, end = _urgency_of(clause, following)
        start = clause.start + (match.start() if urgency == "blocking_quote" else 0)
        details = {"asset_type": asset, "urgency": urgency}
        yield Find(tool="note_file_request", start=start, end=end, details=details)


def _request_of(clause: Clause) -> re.Match[str] | None:
    if missing := _MISSING.search(clause.text):
        return missing
    if clause.asks:
        return _HAVE.search(clause.text)
    if _SENDING.search(clause.text) and not _YOU_SEND.search(clause.text):
        return None
    return _ASKED.search(clause.text)


def _asset_of(words: str, request: re.Match[str]) -> AssetType | None:
    """Of several files, the one nearest to the asking."""
    found = [(_distance(request, match), asset) for asset, names in _ASSETS if (match := names.search(words))]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _distance(one: re.Match[str], other: re.Match[str]) -> int:
    return max(one.start() - other.end(), other.start() - one.end(), 0)


def _urgency_of(clause: Clause, following: Clause | None) -> tuple[Urgency, int]:
    """With the end of the quote: 不印也行 in the next clause belongs to the request that it softens."""
    if _OPTIONAL.search(clause.text):
        return "nice_to_have", clause.end
    if _BLOCKING.search(clause.text):
        return "blocking_quote", clause.end
    if following and _OPTIONAL.search(following.text):
        return "nice_to_have", following.end
    if following and _BLOCKING.search(following.text):
        return "blocking_quote", clause.end
    return "nice_to_have", clause.end
