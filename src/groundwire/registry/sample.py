"""The sample project that `groundwire init` writes: two tools, settings, and how to add a tool.

Knows only which files there are. They are plain files in `sample/`, checked like the rest of the code.
"""

import os
from importlib.resources import files
from pathlib import Path

from groundwire.contracts.errors import RegistryError

# A .gitignore inside a package would hide files from its own build, so the sample's has another name there.
SAMPLE_FILES = {
    ".gitignore": "gitignore",
    "README.md": "README.md",
    "groundwire.toml": "groundwire.toml",
    "tools/README.md": "tools/README.md",
    "tools/get_weather/guide.md": "tools/get_weather/guide.md",
    "tools/get_weather/handler.py": "tools/get_weather/handler.py",
    "tools/get_weather/schema.json": "tools/get_weather/schema.json",
    "tools/send_note/guide.md": "tools/send_note/guide.md",
    "tools/send_note/handler.py": "tools/send_note/handler.py",
    "tools/send_note/schema.json": "tools/send_note/schema.json",
}


def write_sample(path: str | os.PathLike[str]) -> list[str]:
    """Write the sample into a folder, made if need be; the names of the files. Refuses to touch files that exist."""
    folder = Path(path)
    existing = [name for name in SAMPLE_FILES if (folder / name).exists()]
    if existing:
        raise RegistryError(
            f"{folder} already has {', '.join(existing)}.",
            reason="file_exists",
            hint="Name an empty or new folder.",
        )
    sample = files("groundwire.registry").joinpath("sample")
    try:
        for name, stored in SAMPLE_FILES.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(sample.joinpath(*stored.split("/")).read_bytes())
    except OSError as error:
        raise RegistryError(f"{error.filename} cannot be written: {error.strerror}", reason="unwritable") from None
    return list(SAMPLE_FILES)
