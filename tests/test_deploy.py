"""The files in deploy/ start what exists: commands and options of ours, and servers that Deskmate accepts."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from deskmate.config.environment import environment
from deskmate.faces.cli.root_commands import deskmate
from deskmate.stores.engines.engine_table import engine_of
from deskmate.testing.servers.nats_servers import nats_program
from tests.servers.needed import need, need_nats, need_postgres
from tests.servers.postgres import new_server

DEPLOY = Path(__file__).parent.parent / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
# What bubblewrap needs: a /proc of its own, and namespaces.
BREAKS_THE_SANDBOX = {"ProtectKernelTunables", "ProtectKernelLogs", "ProtectProc", "ProcSubset", "RestrictNamespaces"}


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return found


def unit_fields(unit: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in unit.read_text().splitlines() if not line.startswith(("#", "[")))
    return {name: value for name, equals, value in lines if equals}


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield every command of ours, without the name of the program."""
    for name, service in services().items():
        if service["image"] == "deskmate":
            yield name, service["command"]
    for unit in UNITS:
        yield unit.name, shlex.split(unit_fields(unit)["ExecStart"])[1:]
    text = "".join(path.read_text() for path in (DEPLOY / "compose.yaml", *UNITS))
    for words in re.findall(r"run --rm daemon (.+)", text):
        yield "compose.yaml", shlex.split(words)


def parse(words: list[str]) -> str:
    """Parse a command line without carrying it out, and return the command. Raises ClickException."""
    context = deskmate.make_context("deskmate", words, resilient_parsing=False)
    rest = [*context._protected_args, *context.args]
    command = deskmate.get_command(context, rest[0])
    if command is None:
        raise click.UsageError(f"no command {rest[0]}")
    command.make_context(rest[0], rest[1:], parent=context)
    return rest[0]


@pytest.mark.parametrize(
    ("where", "words"),
    [pytest.param(*one, id=one[0]) for one in commands()],
)
def test_each_command_is_one_of_ours_with_its_options(
    where: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The folders of a container or a server, in a folder of this test.
    there = [str(tmp_path) if word in ("/work", "%f") else word for word in words]
    assert parse(there) in ("host", "daemon", "run")


@pytest.mark.parametrize("words", [["daemon", "--no-such-option"], ["no-such-command"], ["daemon", "--max-cost", "x"]])
def test_a_mistake_in_a_command_is_found(words: list[str]) -> None:
    with pytest.raises(click.ClickException):
        parse(words)


def test_services_use_files_and_volumes_that_are_there() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    sources = [volume.split(":")[0] for service in services().values() for volume in service.get("volumes", ())]
    for source in sources:
        assert (DEPLOY / source).is_file() if source.startswith(".") else source in compose["volumes"], source
    assert (DEPLOY.parent / services()["host1"]["build"]["dockerfile"]).is_file()
    assert {tuple(service["profiles"]) for service in services().values()} == {
        ("postgres", "nats"),
        ("postgres",),
        ("nats",),
    }


def test_the_stores_of_the_example_are_servers_of_the_profiles() -> None:
    urls = re.findall(r"DESKMATE_STORE=(\S+)", (DEPLOY / "env.example").read_text())
    assert [engine_of(url, Path()).shared for url in urls] == [True, True]
    named = {host for url in urls for host in re.findall(r"[@/,](postgres|nats\d)\b", url)}
    assert named == {name for name in services() if name.startswith(("postgres", "nats"))}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_are_valid_and_leave_the_sandbox_its_namespaces(unit: Path, tmp_path: Path) -> None:
    fields = unit_fields(unit)
    assert fields["NoNewPrivileges"] == "yes"
    assert not BREAKS_THE_SANDBOX & fields.keys()
    assert "@mount" in fields["SystemCallFilter"]
    need(shutil.which("systemd-analyze"), "systemd-analyze", "apt-get install -y systemd")
    # It looks for the program, which is not installed here.
    here = tmp_path / unit.name
    here.write_text(unit.read_text().replace("/usr/local/bin/deskmate", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", here], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_the_database_with_this_configuration_passes_every_check(tmp_path: Path) -> None:
    need_postgres()
    lines = [line.partition("#")[0] for line in (DEPLOY / "postgresql.conf").read_text().splitlines()]
    settings = [line.replace("'", "").replace(" ", "") for line in lines if line.strip()]
    # Servers of tests listen on a socket only.
    options = [setting for setting in settings if not setting.startswith("listen_addresses")]
    assert len(options) == len(settings) - 1
    with contextmanager(new_server)(*options) as server, closing(engine_of(server.url, tmp_path)) as engine:
        checks = {check.what: check for check in engine.checks()}
    assert {checks[what].state for what in ("store", "durability", "replication", "connections")} == {"ok"}


def test_the_nats_servers_can_read_their_configuration(tmp_path: Path) -> None:
    need_nats()
    config = tmp_path / "nats.conf"
    config.write_text((DEPLOY / "nats.conf").read_text().replace('"/data"', f'"{tmp_path}"'))
    words = [str(nats_program()), "-t", "--config", str(config)]
    done = subprocess.run(
        words, env={**environment(), "SERVER_NAME": "nats1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
