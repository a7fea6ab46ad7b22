"""Annotations of output texts as citations, both ways."""

from typing import Any

from groundwire.codecs.openai_responses.profile import DIALECT
from groundwire.codecs.wire.private import give_back, keep, note_foreign, own_members, unknown_members
from groundwire.codecs.wire.reading import count_of, text_or_none
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import Citation, TextPart

_URL_MEMBERS = frozenset({"type", "url", "title", "start_index", "end_index"})


def read_annotations(annotations: list[Any]) -> tuple[Citation, ...]:
    return tuple(_read(annotation) for annotation in annotations if isinstance(annotation, dict))


def _read(annotation: JsonObject) -> Citation:
    if annotation.get("type") != "url_citation":
        title = text_or_none(annotation.get("filename"))
        return Citation(title=title, private=keep(DIALECT, {"_whole": annotation}))
    is_usual = annotation.keys() >= _URL_MEMBERS
    return Citation(
        url=text_or_none(annotation.get("url")),
        title=text_or_none(annotation.get("title")),
        start=count_of(annotation, "start_index"),
        end=count_of(annotation, "end_index"),
        private=keep(DIALECT, unknown_members(annotation, _URL_MEMBERS) if is_usual else {"_whole": annotation}),
    )


def write_annotations(part: TextPart, path: str, losses: Losses) -> list[JsonValue]:
    written: list[JsonValue] = []
    for citation in part.citations:
        members = own_members(citation.private, DIALECT)
        note_foreign(citation.private, DIALECT, path, losses)
        if "_whole" in members:
            written.append(members["_whole"])
        elif citation.url is None:
            losses.add("citation_dropped", path, "A citation without an address was left out.")
        else:
            written.append(give_back(_write(citation, part.text), members))
    return written


def _write(citation: Citation, text: str) -> JsonObject:
    return {
        "type": "url_citation",
        "url": citation.url,
        "title": citation.title or "",
        "start_index": 0 if citation.start is None else citation.start,
        "end_index": len(text) if citation.end is None else citation.end,
    }
