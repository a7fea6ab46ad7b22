"""Print the newest Python of this machine, if it is newer than the one that runs this script; else print nothing.

Candidates are on the path and in the folders of version managers, whose shims may be on the path and still not start. A
candidate counts if it starts, is a regular release, and makes a virtual environment.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

NAME = re.compile(r"python3(\.\d+)?")
SECONDS = 60
DESCRIBE = """
import ensurepip, sys, sysconfig, venv
is_regular = sys.version_info.releaselevel == "final" and sys.implementation.name == "cpython"
print(*sys.version_info[:3] if is_regular and not sysconfig.get_config_var("Py_GIL_DISABLED") else ())
"""

Version = tuple[int, ...]


def find_candidates(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Give every file that may be a Python, without starting any."""
    on_path = [Path(folder) for folder in environ.get("PATH", "").split(os.pathsep) if folder]
    for folder in filter(Path.is_dir, on_path):
        yield from sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name))
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    managed = (
        Path(environ.get("PYENV_ROOT") or home / ".pyenv") / "versions",
        Path(environ.get("ASDF_DATA_DIR") or home / ".asdf") / "installs" / "python",
        Path(environ.get("MISE_DATA_DIR") or data / "mise") / "installs" / "python",
        Path(environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python"),
    )
    beside_shims = [folder.parent / "versions" for folder in on_path if folder.name == "shims"]
    for folder in (*managed, *beside_shims):
        yield from sorted(folder.glob("*/bin/python3"))


def read_version(python: Path) -> Version:
    """Return the version of a Python that starts and is a regular release; else an empty one."""
    try:
        run = subprocess.run(
            [python, "-c", DESCRIBE],
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS,
            env=_plain_environment(),
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(map(int, run.stdout.split()))


def makes_environment(python: Path) -> bool:
    """Return whether it makes a virtual environment with pip: some systems split that off into a package of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(python), "-m", "venv", folder]
        try:
            subprocess.run(command, capture_output=True, check=True, timeout=SECONDS, env=_plain_environment())
        except (OSError, subprocess.SubprocessError):
            return False
        return shutil.which("pip", path=str(Path(folder, "bin"))) is not None


def find_newest(environ: Mapping[str, str], home: Path, running: Version) -> Path | None:
    """Return the newest Python that counts, or None if none has a newer minor version than `running`."""
    versions = {path: read_version(path) for path in dict.fromkeys(find_candidates(environ, home))}
    newer = sorted(
        (path for path in versions if versions[path][:2] > running[:2]), key=versions.__getitem__, reverse=True
    )
    return next((path for path in newer if makes_environment(path)), None)


def _plain_environment() -> dict[str, str]:
    """Without variables that make one Python look for the modules of another."""
    return {
        name: value for name, value in os.environ.items() if name not in {"PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV"}
    }


if __name__ == "__main__":
    newest = find_newest(os.environ, Path.home(), sys.version_info[:3])
    print(newest or "", end="")
