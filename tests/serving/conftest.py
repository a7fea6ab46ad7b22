from tests.conformance.conftest import postgres_server, postgres_url, shared, shared_url, store, store_url

__all__ = ["postgres_server", "postgres_url", "shared", "shared_url", "store", "store_url"]
