import pytest

from groundwire.apps.supplier.reading.channels import find_invitation


def quote(text):
    span = find_invitation(text)
    return span and text[span[0] : span[1]]


@pytest.mark.parametrize("verb", ["加", "扫", "换", "用", "留"])
@pytest.mark.parametrize(
    "name", ["微信", "微", "V", "v", "vx", "VX", "wx", "WX", "威信", "薇信", "微❤", "卫星", "绿泡泡", "绿色软件"]
)
def test_each_verb_with_each_name_is_an_invitation(verb, name):
    assert quote(f"亲，{verb}个{name}吧") == f"{verb}个{name}吧"


@pytest.mark.parametrize(
    "text",
    [
        "加个微信详聊吧",
        "vx上说",
        "Ｖ上说",
        "卫星上说",
        "微信详聊",
        "卫星发我",
        "加一下我们老板的微信",
        "加我V",
        "加V：abc123",
        "加v聊",
        "扫一下微信",
        "微信同号",
        "我微信 abc123",
        "有微信吗",
        "加扣扣",
        "QQ上聊",
        "留个电话",
        "电话联系",
        "方便留个联系方式吗",
        "可以加个好友吗",
        "V我",
        "扫我二维码",
        "打我手机13800000000",
    ],
)
def test_an_invitation_is_found_in_each_form(text):
    assert quote(text) == text


def test_only_its_clause_is_quoted():
    assert quote("平台消息我不常看，vx上说，快") == "vx上说"


@pytest.mark.parametrize(
    "text",
    [
        "带卫星定位的",
        "用卫星定位",
        "加了卫星导航",
        "V领的",
        "换V领的要多两天",
        "加厚V领",
        "用5V供电",
        "加个V型槽",
        "加急的话，V领不行",
        "稍微加点钱",
        "加微量色粉",
        "用微波炉加热",
        "可以用微信支付",
        "用微信付款也行",
        "不用加微信",
        "别加微信",
        "平台不让加微信",
        "加不了微信",
        "QQ弹弹的",
        "换个颜色",
        "用这个包装",
        "svx2000上说明",
        "我们一起说",
        "卫星说明书",
        "用微发光材料",
        "加微细纤维",
        "用手机扫一下",
        "手机壳上说明",
        "用电话卡",
    ],
)
def test_ordinary_words_invite_nowhere(text):
    assert quote(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "加V13812345678",
        "可以加V吗",
        "你微信多少",
        "卫星一二三四五六七八详聊",
        "加一二三四五六七八微信",
        "V上说",
        "卫星发我",
    ],
)
def test_an_invitation_may_stand_up_to_eight_characters_apart(text):
    assert find_invitation(text) == (0, len(text))


@pytest.mark.parametrize(
    "text",
    [
        "卫星一二三四五六七八九详聊",
        "加一二三四五六七八九微信",
        "卫星定位功能",
        "V领的",
        "加一个V形槽",
        "换个V口",
        "加V8引擎",
    ],
)
def test_farther_apart_or_of_another_thing_it_is_none(text):
    assert find_invitation(text) is None


@pytest.mark.parametrize("text", ["方便加个V吗", "我V：abc12345", "你加我", "不加微信没法给你报价", "加我一下"])
def test_an_invitation_may_ask_or_insist(text):
    assert find_invitation(text) is not None


@pytest.mark.parametrize("text", ["加我50个", "V领的有吗", "不加微信也可以"])
def test_what_only_sounds_like_one_is_none(text):
    assert find_invitation(text) is None
