import pytest

from groundwire.registry.docstrings import read_docstring

GOOGLE = """Book a table.

    More about tables.

    Args:
        place (str): The place
            where to go.
        people: How many: at least one.
        **extra: The rest.

    Returns:
        The booking.

    Example:
        book("Nonna", 2)
    """

NUMPY = """Book a table.

    More about tables.

    Parameters
    ----------
    place : str
        The place
        where to go.
    people, guests : int, optional
        How many.

    Returns
    -------
    dict
        The booking.

    Notes
    -----
    Closed on Mondays.
    """

REST = """Book a table.

    More about tables.

    :param str place: The place
        where to go.
    :param people: How many.
    :type people: int
    :returns: The booking.
    :raises ValueError: never
    """


@pytest.mark.parametrize(
    ("text", "parameters", "kept"),
    [
        (
            GOOGLE,
            {"place": "The place where to go.", "people": "How many: at least one.", "extra": "The rest."},
            'Example:\n    book("Nonna", 2)',
        ),
        (
            NUMPY,
            {"place": "The place where to go.", "people": "How many.", "guests": "How many."},
            "Notes\n-----\nClosed on Mondays.",
        ),
        (REST, {"place": "The place where to go.", "people": "How many."}, ""),
    ],
    ids=["google", "numpy", "rest"],
)
def test_parameters_are_read_and_taken_out_of_the_description(text, parameters, kept):
    docstring = read_docstring(text)

    assert docstring.summary == "Book a table."
    assert docstring.parameters == parameters
    assert docstring.description == f"Book a table.\n\nMore about tables.\n\n{kept}".strip()


@pytest.mark.parametrize(
    ("text", "summary", "description"),
    [
        (None, "", ""),
        ("", "", ""),
        ("One line.", "One line.", "One line."),
        ("A first\n    paragraph.\n\n    A second.", "A first paragraph.", "A first\nparagraph.\n\nA second."),
        ("Book it. People is the number of guests.",) * 3,
        (
            "Note: this stays.\n\nArgs: and so does this",
            "Note: this stays.",
            "Note: this stays.\n\nArgs: and so does this",
        ),
        ("Title\n-----\nText", "Title ----- Text", "Title\n-----\nText"),
        ("Args:", "", ""),
        (":param: nobody", "", ""),
    ],
)
def test_other_text_is_description(text, summary, description):
    docstring = read_docstring(text)
    assert (docstring.summary, docstring.description, docstring.parameters) == (summary, description, {})
