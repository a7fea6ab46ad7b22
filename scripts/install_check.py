"""Install the package into an empty environment, as a user does: first alone, then with the extra for jobs.

Fails if the base installation has grown beyond its bound, if it cannot say which extra it lacks, or if a background tool
does not run with the extra.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_MEGABYTES = 45
INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")
"""What `python -m venv` puts into an environment before anything is installed."""

BACKGROUND = """
import asyncio, sys
from groundwire import ConfigError, Registry, Runtime, tool

@tool(background=True)
def scan(page: int) -> dict:
    "Scan a page."
    return {"page": page}

async def main():
    async with Runtime(Registry([scan]), "sqlite:///store.db") as runtime:
        await runtime.work()
        handle = await runtime.call("scan", {"page": 7})
        print((await runtime.job_result(handle.meta.job)).data)

try:
    asyncio.run(main())
except ConfigError as error:
    sys.exit(error.message)
"""


def megabytes(site_packages: Path) -> float:
    """Return what the packages take on disk, without the tools that were there before."""
    files = (path for path in site_packages.rglob("*") if path.is_file())
    own = [path for path in files if not path.relative_to(site_packages).parts[0].startswith(INSTALLERS)]
    return sum(path.stat().st_blocks * 512 for path in own) / 1_000_000


def expect(what: str, *, holds: bool) -> None:
    print(f"{'ok  ' if holds else 'FAIL'} {what}")
    if not holds:
        sys.exit(1)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "bin", "python")

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [str(python), *arguments]
            return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)

        def install(requirement: str) -> None:
            done = run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement)
            expect(f"pip install '{requirement.replace(str(ROOT), '.')}'", holds=done.returncode == 0)

        site_packages = Path(run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())
        install(str(ROOT))
        size = megabytes(site_packages)
        expect(f"the base takes {size:.1f} MB of {MAX_MEGABYTES}", holds=size <= MAX_MEGABYTES)
        refused = run("-c", BACKGROUND)
        says = refused.stderr.strip()
        expect(
            f"a background tool says: {says}", holds=refused.returncode == 1 and "'jobs'" in says and "\n" not in says
        )
        refused = run("-m", "groundwire", "jobs", "list")
        expect("`groundwire jobs` names the extra", holds=refused.returncode == 1 and "[jobs]" in refused.stderr)
        install(f"{ROOT}[jobs]")
        done = run("-c", BACKGROUND)
        expect(f"a background tool runs: {done.stdout.strip()}", holds=done.stdout == "{'page': 7}\n")
        print(f"With the extra for jobs it is {megabytes(site_packages):.1f} MB.")


if __name__ == "__main__":
    main()
