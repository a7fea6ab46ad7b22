"""What every test may rely on. Fixtures of one package belong in that package's folder."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parent.parent
