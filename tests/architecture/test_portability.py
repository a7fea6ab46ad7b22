import re
import subprocess

import pytest

FOLDERS = "work|farm|root"
HOSTS = r"/simple\b|pypi\b|npmjs?\b|debian\b"
LOCAL = re.compile(rf"(?<![\w.])/(?:{FOLDERS})/|https?://\S*(?:{HOSTS})")


def list_files(repository):
    """Give what is or would be committed; without git, everything outside hidden and generated folders."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    run = subprocess.run(listing, cwd=repository, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return [repository / name for name in run.stdout.split("\0") if name]
    generated = {"__pycache__", "node_modules", "dist", "build", "reports"}
    return [
        path
        for path in repository.rglob("*")
        if not any(part.startswith(".") or part in generated for part in path.relative_to(repository).parts[:-1])
    ]


def test_no_file_names_a_machine_path_or_a_package_host(repository):
    found = []
    for path in list_files(repository):
        if not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if match := LOCAL.search(line):
                found.append(f"{path.relative_to(repository)}:{number}: {match[0]}")
    assert found == []


@pytest.mark.parametrize("folder", FOLDERS.split("|"))
def test_a_machine_path_is_found(folder):
    assert LOCAL.search(f"see /{folder}/thing")
    assert not LOCAL.search(f"see our{folder}/thing or ./{folder}/thing")


@pytest.mark.parametrize(
    "host", ["index.example/simple", "files.pypi.example", "registry.npmjs.example", "deb.debian.example"]
)
def test_a_package_host_is_found(host):
    assert LOCAL.search(f"fetch https://{host}/thing")
    assert not LOCAL.search(f"the word {host}")
