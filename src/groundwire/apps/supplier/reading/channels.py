"""Invitations to talk elsewhere: WeChat under its many disguises, QQ and the telephone.

Several disguises are ordinary words (卫星定位, V领, 稍微): they count only beside a verb of adding or of talking.
"""

import re

from groundwire.apps.supplier.reading.folding import clauses, fold

_ENDS = r"(?=$|[\s:，。吧吗么呢呗嘛哦哈聊我号]|[0-9]{5}|[详细私][聊谈说]|说(?!明)|发[我你您]|上(?![网的]))"
_PAYS = r"(?!支付|付款|转账|收款|付|小程序|公众号|零钱)"
_NAMES = (
    rf"(?:(?:微信|威信|薇信|微❤|微心|绿泡泡|绿色软件|(?<![A-Za-z0-9])(?i:vx|wx|wechat)(?![A-Za-z])){_PAYS}"
    rf"|(?:卫星|(?<!稍)微|(?<![A-Za-z0-9])[Vv]){_ENDS}|扣扣|(?<![A-Za-z])(?i:qq)(?![A-Za-z弹糖])|电话(?![卡线机手])|手机号|联系方式)"
)
_NOT = r"(?<!不)(?<!别)(?<!不用)(?<!不要)(?<!无需)(?<!不必)(?<!不让)(?<!不能)(?<!没法)(?<!禁止)"
_INVITATION = re.compile(
    rf"{_NOT}(?:加|扫|换|用|留|打)(?!不了)[^不没]{{0,8}}?{_NAMES}"
    rf"|{_NAMES}[^不没]{{0,8}}?(?:上[说聊谈]|[详细私]聊|聊|发[我你您]|联系|沟通|谈|说(?!明))"
    r"|(?:卫星|(?<![A-Za-z0-9])[Vv](?![A-Za-z领型形字口]))[^不没]{0,8}?(?:上说|详聊|发我)"
    rf"|不(?:加|用|换)[^，]{{0,3}}{_NAMES}[^，]{{0,3}}(?:没法|不能|不好|不方便|报不了|谈不了|不报)"
    r"|扫[^，]{0,4}(?:二维码|码)|(?:我的?|我们|打我)(?:电话|手机)[号是:\s]{0,2}1[3-9]|加个?(?:我|一下)?好友|加我(?:一?下|吧|哈)?$|(?<![A-Za-z0-9])[Vv]我|我的?(?:[Vv]|卫星|微)号?[是:]|(?:有|我的?|我们)(?:微信|(?i:vx|wx))(?:[吗么号是:]|\s|$)|微信(?:同号|号(?![码称])|是?多少|给我|发我)"
)


def find_invitation(text: str) -> tuple[int, int] | None:
    """The clause that invites elsewhere, as a place in the message."""
    for clause in clauses(fold(text)):
        if _INVITATION.search(clause.text):
            return clause.start, clause.end
    return None
