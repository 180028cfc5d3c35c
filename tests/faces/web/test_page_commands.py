"""`deskmate web` and `deskmate export` as people type them."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from deskmate.core.team.messages import Plain
from tests.faces.disk_teams import OpenTeam, at, in_team
from tests.faces.fake_app import Env

pytestmark = pytest.mark.behaviour("web")

SOON = 60


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_a_link_serves_the_page_and_ends_with_a_signal(place: Path, env: Env, number: signal.Signals) -> None:
    environ = {**os.environ, **{name: value for name, value in env.items() if value is not None}}
    command = [sys.executable, "-m", "deskmate", "-C", str(place), "web", "main"]
    with subprocess.Popen(command, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as web:
        try:
            assert web.stdout is not None
            link = web.stdout.readline().strip()
            address, _, rest = link.partition("/#token=")
            token, _, team = rest.partition("&team=")
            assert (address[:17], team, len(token) >= 32) == ("http://127.0.0.1:", "main", True)
            answer = httpx2.get(f"{address}/api/teams", headers={"Authorization": f"Bearer {token}"})
            assert answer.json()["teams"][0]["name"] == "main"
            assert httpx2.get(f"{address}/").status_code == 200
            with httpx2.stream(
                "GET", f"{address}/api/teams/main/events", headers={"Authorization": f"Bearer {token}"}
            ) as events:
                assert next(events.iter_lines()) == "event: changes"
                # An open page must not keep the server from ending.
                web.send_signal(number)
                _, errors = web.communicate(timeout=SOON)
        finally:
            web.kill()
    assert web.returncode in (130, -number)
    assert token not in errors
    assert "Traceback" not in errors


def test_a_conversation_has_its_page_beside_it_until_it_ends(place: Path, env: Env) -> None:
    environ = {**os.environ, **{name: value for name, value in env.items() if value is not None}}
    environ |= {"OPENAI_API_KEY": "none", "DISPLAY": ""}
    command = [sys.executable, "-m", "deskmate", "-C", str(place), "--web", "--plain", "--model", "openai:none"]
    with subprocess.Popen(
        command, env=environ, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as talk:
        try:
            assert talk.stderr is not None
            link = next(line for line in talk.stderr if "/#token=" in line).partition("http")[2].strip()
            address, _, rest = f"http{link}".partition("/#token=")
            headers = {"Authorization": f"Bearer {rest.partition('&')[0]}"}
            assert httpx2.get(f"{address}/api/teams", headers=headers).json()["teams"][0]["name"] == "main"
            # The end of the input ends the conversation, and the page with it.
            talk.communicate(timeout=SOON)
        finally:
            talk.kill()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{address}/")


def test_a_port_that_is_taken_is_named_with_what_to_do(place: Path, env: Env) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = at(place, "web", "--port", str(port), env=env)
    assert ended.code != 0
    assert ended.stdout == ""
    assert f"Port {port}" in ended.stderr
    assert "--port" in ended.stderr


@pytest.mark.parametrize("command", [["web"], ["export", "--html", "-"]])
def test_a_team_that_does_not_exist_is_refused(place: Path, env: Env, command: list[str]) -> None:
    ended = at(place, command[0], "nobody", *command[1:], env=env)
    assert ended.code != 0
    assert "nobody" in ended.stderr


def test_a_team_is_saved_to_a_new_file_and_never_over_another(
    place: Path, env: Env, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert at(place, "export", "--html", "team.html", env=env).code == 0
    page = Path("team.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "write the schema" in page
    again = at(place, "export", "--html", "team.html", env=env)
    assert again.code != 0
    assert "team.html" in again.stderr
    assert at(place, "export", "--html", "-", env=env).stdout == page + "\n"


def test_a_secret_that_is_known_now_is_not_in_a_saved_page(place: Path, env: Env) -> None:
    secret = "Zq7Kf-4711-Quagga0815x"

    async def tell(team: OpenTeam) -> None:
        await team.roster.refresh()
        await team.mailbox("lead").send("alice", Plain(content=f"use {secret}"))

    in_team(place, tell)
    assert secret in at(place, "export", "--html", "-", env=env).stdout
    assert secret not in at(place, "export", "--html", "-", env={**env, "MY_API_KEY": secret}).stdout


def test_without_its_packages_the_command_says_how_to_install_them(place: Path, env: Env) -> None:
    environ = {**os.environ, **{name: value for name, value in env.items() if value is not None}}
    hidden = "import sys; sys.modules['starlette'] = None; from deskmate.faces.cli.main import main; sys.exit(main())"
    found = subprocess.run(
        [sys.executable, "-c", hidden, "-C", str(place), "web"],
        env=environ,
        text=True,
        capture_output=True,
        check=False,
    )
    assert found.returncode != 0
    assert "[all]" in found.stderr
    assert "Traceback" not in found.stderr
