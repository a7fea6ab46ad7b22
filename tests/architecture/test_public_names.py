import groundwire


def test_every_public_name_can_be_imported():
    missing = [name for name in getattr(groundwire, "__all__", ()) if not hasattr(groundwire, name)]
    assert missing == []


def test_public_names_are_listed_once():
    names = list(getattr(groundwire, "__all__", ()))
    assert len(names) == len(set(names))
