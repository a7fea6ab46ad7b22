"""What a database says when something is wrong, in our words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, OperationalError

from groundwire.contracts.errors import StoreError, StoreUnavailable


@contextmanager
def in_our_words() -> Iterator[None]:
    try:
        yield
    except (OperationalError, sqlite3.OperationalError) as error:
        raise StoreUnavailable(f"the jobs cannot be reached: {getattr(error, 'orig', error)}") from error
    except DBAPIError as error:
        raise StoreError(f"the jobs cannot be kept: {error.orig}") from error
