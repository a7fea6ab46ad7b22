"""The prompts, by name. Each file begins with its version, which goes into the record of whatever it was used for."""

from functools import cache
from importlib.resources import files

from msgspec import Struct


class Prompt(Struct, frozen=True):
    version: str
    text: str

    def fill(self, **values: str) -> str:
        """Each place once, so that a value that looks like a place stays what it is."""
        filled, rest = "", self.text
        while rest:
            before, opened, after = rest.partition("{")
            name, closed, behind = after.partition("}")
            if opened and closed and name in values:
                filled, rest = filled + before + values[name], behind
            else:
                filled, rest = filled + before + opened, after
        return filled.strip()


@cache
def read_prompt(name: str) -> Prompt:
    text = files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    first, _, body = text.partition("\n")
    return Prompt(version=first.removeprefix("version:").strip(), text=body.strip())
