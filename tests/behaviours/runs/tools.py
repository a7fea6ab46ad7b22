"""Tools for runs, made anew for every test: each shows one thing that can happen to a call."""

from groundwire import ErrorType, ToolError, tool
from groundwire.testing import FakeClock


def make_tools(clock: FakeClock):
    @tool(category="retrieval")
    def get_weather(city: str, days: int = 1) -> dict:
        """The weather in a city."""
        return {"city": city, "days": days}

    @tool(category="retrieval")
    def read_book(pages: int) -> str:
        """So many pages of a book, ten characters each."""
        return "word word " * pages

    @tool(category="action")
    def patch_state(path: str, value: int) -> dict:
        """Set a value under /notes."""
        if not path.startswith("/notes/"):
            raise ToolError(ErrorType.VALIDATION, "A path starts with /notes/.", detail="INVALID_PATH")
        return {path: value}

    @tool(category="action", confirm=True)
    def book_table(place: str) -> dict:
        """Book a table."""
        return {"booked": place}

    @tool(category="action")
    def wait(seconds: int) -> str:
        """Let time pass."""
        clock.advance(seconds)
        return "later"

    return [get_weather, read_book, patch_state, book_table, wait]
