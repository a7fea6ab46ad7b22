"""HTML as values: whatever is not markup is escaped, so no text of a model can become any."""

from collections.abc import Iterable
from html import escape


class Markup(str):
    """Text that is HTML already. Only this package makes it."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. `class_` and `data_x` stand for `class` and `data-x`; an attribute that is None is left out."""
    return Markup(f"<{name}{_attributes(attributes)}>{join(children)}</{name}>")


def void(name: str, /, **attributes: object) -> Markup:
    """An element that closes itself, as those of SVG may."""
    return Markup(f"<{name}{_attributes(attributes)}/>")


def join(children: Iterable[object]) -> Markup:
    return Markup("".join(map(_render, children)))


def breakable(name: str) -> Markup:
    """An identifier that may go on in the next line after its joints."""
    text = escape(name)
    for joint in "_-/:":
        text = text.replace(joint, f"{joint}<wbr>")
    return Markup(text)


def _render(child: object) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(child)
    if isinstance(child, Iterable):
        return join(child)
    return escape(str(child))


def _attributes(attributes: dict[str, object]) -> str:
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
