"""`groundwire metrics`: the snapshot behind /metrics, for all processes that share the store."""

import click

from groundwire.cli.options import global_options, json_option, tenant_option
from groundwire.cli.output import print_json, print_text


@click.command()
@tenant_option
@json_option
@global_options()
def metrics(tenant: str, *, as_json: bool) -> None:
    """Print counts, sizes and times of all calls.

    They are in Prometheus text form unless JSON is asked for.
    """
    from groundwire.cli.opening import read
    from groundwire.runtime.metrics import to_prometheus

    snapshot = read(lambda runtime: runtime.metrics(tenant=tenant))
    if as_json:
        print_json(snapshot)
    else:
        print_text(to_prometheus(snapshot).rstrip("\n"))
