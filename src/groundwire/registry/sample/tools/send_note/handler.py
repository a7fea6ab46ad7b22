"""Appends notes to notes.txt in the working folder, each as one line: its id and its text as JSON."""

import hashlib
import json
import os
import uuid
from pathlib import Path

from groundwire import Context

NOTES = Path("notes.txt")


def execute(text: str, context: Context) -> dict[str, str]:
    note = {"noteId": note_id(context), "text": text}
    line = f"{note['noteId']} {json.dumps(text, ensure_ascii=False)}\n".encode("utf-8", "replace")
    # One write at the end of the file: lines of several processes never mix, and a crash leaves a whole line or none.
    file = os.open(NOTES, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        written = os.write(file, line)
        os.fsync(file)
    finally:
        os.close(file)
    if written != len(line):
        raise OSError(f"only {written} of {len(line)} bytes of the note were written")
    return note


def reconcile(text: str, context: Context) -> dict[str, str] | None:
    """After a crash: what the note's result was, or None if it was never written. Raise if that cannot be told."""
    if not NOTES.exists():
        return None
    wanted = f"{note_id(context)} "
    with NOTES.open(encoding="utf-8", newline="\n") as lines:
        found = any(line.startswith(wanted) and line.endswith("\n") for line in lines)
    return {"noteId": wanted.strip(), "text": text} if found else None


def note_id(context: Context) -> str:
    """The same for every attempt at the same effect, because it is made from the effect's key."""
    key = context.idempotency_key or uuid.uuid4().hex
    return "note_" + hashlib.sha256(key.encode()).hexdigest()[:12]
