from groundwire.codecs.wire.gathering import GrowingTexts, gather


def test_lists_grow_where_they_are_and_of_anything_else_the_last_counts():
    tokens = [1]
    members = {"logprobs": {"content": tokens, "refusal": None}, "seed": 1}
    gather(members, {"logprobs": {"content": [2, 3], "refusal": [4]}, "seed": 2, "new": [5]})
    assert members == {"logprobs": {"content": [1, 2, 3], "refusal": [4]}, "seed": 2, "new": [5]}
    assert members["logprobs"]["content"] is tokens


def test_a_list_in_place_of_something_else_replaces_it():
    members = {"a": "text", "b": [1]}
    gather(members, {"a": [1], "b": "text"})
    assert members == {"a": [1], "b": "text"}


def test_texts_are_joined_when_all_pieces_have_come():
    members = {"content": "a", "other": 1}
    texts = GrowingTexts()
    for text in ("b", "c"):
        texts.add(members, "content", text)
        texts.add(members, "new", text)
    assert members == {"content": "a", "other": 1}
    texts.settle(members)
    assert members == {"content": "abc", "other": 1, "new": "bc"}


def test_a_text_that_was_replaced_goes_on_from_there():
    members = {}
    texts = GrowingTexts()
    texts.add(members, "content", "old")
    texts.replace(members, "content", "new")
    texts.add(members, "content", "er")
    texts.settle(members)
    assert members == {"content": "newer"}
