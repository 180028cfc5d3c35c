"""host and hosts, with their help. Docstrings of commands are their help."""

import click

from deskmate.faces.cli.run_options import options
from deskmate.faces.common.command_start import importing

_EPILOG = """
\b
Examples:
  deskmate host --name gpu1 --labels gpu,linux --slots 8
  deskmate -C ~/shop host --model openai:gpt-5.5 --max-cost 20
"""


@click.command(epilog=_EPILOG)
@click.option("--name", help="How leads name this host. Default: the name of this machine.")
@click.option("--labels", default="", metavar="A,B", help="What this machine has, such as gpu,linux.")
@click.option(
    "--slots",
    type=click.IntRange(1, 1000),
    help="Run at most this many teammates at once. Default: one for each processor.",
)
@options
@click.pass_context
def host(ctx: click.Context, /, name: str | None, labels: str, slots: int | None, trusts: bool, **flags: object) -> int:
    """Run teammates of other machines on this one, until Ctrl-C.

    The teams must be on a PostgreSQL or NATS server: set DESKMATE_STORE to the same URL, with the same ?space=, as on
    the machines of the leads. Teammates here work in this folder, with the keys and settings of this machine. At the
    first Ctrl-C or SIGTERM, they finish their step and go to other hosts. At the second one, everything ends at once.
    """
    with importing():
        from deskmate.faces.cli.hosts import host_output

    return host_output.serve(ctx.meta["workspace"], name, labels, slots, flags, trusts=trusts)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.pass_context
def hosts(ctx: click.Context, /, as_json: bool) -> int:
    """List the machines that run teammates, with labels, slots, load, state and who runs on each.

    A host is lost if its process does not answer any more. Its teammates continue on other hosts.
    """
    with importing():
        from deskmate.faces.cli.hosts import host_output

    return host_output.listing(ctx.meta["workspace"], as_json=as_json)


HOST_COMMANDS = (host, hosts)
