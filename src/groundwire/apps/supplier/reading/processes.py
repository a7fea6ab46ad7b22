"""What can be done to goods for a buyer, by the words that suppliers have for it. Plain data."""

import re

METHODS = (
    ("digital_print", "数码印花?|数码直喷|全幅印花?"),
    ("heat_transfer", "热转印"),
    ("silk_screen", "丝印|丝网印刷?"),
    ("uv_print", "(?<![A-Za-z])[uU][vV]"),
    ("laser", "激光|镭雕|镭射"),
    ("hot_stamping", "烫金|烫银"),
    ("debossing", "压字|压印|压花|凹印"),
    ("embroidery", "刺绣|绣花|绣字"),
    ("engraving", "刻字|雕刻"),
    ("private_label", "贴牌|代工|(?i:oem)"),
    ("custom_from_drawing", "来图定[制做]|来样定[制做]"),
    ("logo_print", "印\\s?(?i:logo)|印标|印刷"),
)
PROCESSES = tuple((name, re.compile(words)) for name, words in METHODS)
CUSTOM = re.compile("|".join(words for _, words in METHODS) + "|定制|定做|(?i:logo)|印|绣|刻|开模")
