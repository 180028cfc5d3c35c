"""One team whose members ask four providers: killed in the middle, and continued."""

import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from anyio import to_thread

from deskmate.core.prompt.prompts import Spoke
from deskmate.testing import Asked, FakeProvider, Say
from deskmate.testing.provider_faults import Stall
from deskmate.testing.team_scripts import (
    Called,
    MemberScript,
    answer_stop,
    ask_to_stop,
    calls_in,
    in_turn,
    member_of,
    request_in,
    run_command,
    send_mail,
    spawn,
    was_told,
    write_file,
)
from tests.runtime.team_process import until
from tests.warm_program import begin_deskmate, run_deskmate

pytestmark = pytest.mark.anyio

# Member: its provider, its model, and the wire of that.
MEMBERS: Mapping[str, tuple[str, str, str]] = {
    "lead": ("anthropic", "claude-sonnet-4-5", "anthropic"),
    "alice": ("lab", "qwen3:8b", "responses"),
    "bob": ("gate", "gemini-like", "gemini"),
    "carol": ("ollama", "llama3.1", "openai"),
}
MATES = ("alice", "bob", "carol")
SETTINGS = """
model = "sonnet"
sandbox = false
permission_mode = "dontAsk"
launcher = "process"
permission = {{ allow = ["bash(env)"] }}
[aliases]
sonnet = "anthropic/claude-sonnet-4-5"
local = "ollama/llama3.1"
[anthropic]
base_url = "{anthropic}"
[providers.lab]
base_url = "{lab}/v1"
key_env = "LAB_KEY"
wire = "responses"
headers = {{ x-team = "search" }}
[providers.gate]
base_url = "{gate}"
wire = "gemini"
[providers.ollama]
base_url = "{ollama}/v1"
"""
KEYS = {"ANTHROPIC_API_KEY": "sk-anthropic-1", "LAB_KEY": "sk-lab-2", "GATE_API_KEY": "sk-gate-3"}


def lead(asked: Asked) -> Say:
    if not asked.results and not was_told(asked, "is ready"):
        models = {"alice": "lab/qwen3:8b@high", "bob": "gate/gemini-like", "carol": "local"}
        return Say("I share it out.", [spawn(name, model=models[name]) for name in MATES], thinking="Four of us.")
    if not all(was_told(asked, f"{name} is ready") for name in MATES):
        return Say("I wait.")
    has_asked = any(call[1].get("type") == "shutdown_request" for call in calls_of(asked))
    if not has_asked:
        return Say("You may leave.", [ask_to_stop(name) for name in MATES])
    have_left = all(was_told(asked, f"{name} left") for name in MATES)
    return Say("All is done." if have_left else "I wait.")


def calls_of(asked: Asked) -> list[Called]:
    return [call for one in asked.prompt.passages if isinstance(one, Spoke) for call in calls_in(one)]


def mate(name: str) -> MemberScript:
    works = in_turn(
        Say("I write.", [write_file(f"{name}.txt", f"by {name}\n")], thinking="A file."),
        Say("I look.", [run_command("env")]),
        Say("I tell.", [send_mail("lead", f"{name} is ready")]),
    )

    def script(asked: Asked) -> Say:
        request = request_in(asked, "shutdown_request")
        return Say("I leave.", [answer_stop(request)]) if request else works(asked)

    return script


def credentials(asked: Asked) -> str:
    return (
        asked.headers.get("x-api-key") or asked.headers.get("x-goog-api-key") or asked.headers.get("authorization", "")
    )


@pytest.mark.behaviour("providers", "resume")
async def test_a_team_with_four_providers_goes_on_after_a_kill(tmp_path: Path) -> None:
    scripts: Mapping[str, MemberScript] = {"lead": lead, **{name: mate(name) for name in MATES}}
    home, place = tmp_path / "home", tmp_path / "work"
    place.mkdir()
    async with AsyncExitStack() as stack:
        # The second request of carol gets no answer until everybody is killed.
        faults = {"carol": {1: Stall(0)}}
        at = {
            name: await stack.enter_async_context(FakeProvider(scripts[name], faults=faults.get(name, {})))
            for name in MEMBERS
        }
        env = {**KEYS, "HOME": str(home), "PATH": os.environ["PATH"]}
        file = home / ".config/deskmate/settings.toml"
        file.parent.mkdir(parents=True)
        urls = {provider: at[name].url for name, (provider, _, _) in MEMBERS.items()}
        file.write_text(SETTINGS.format(**urls))

        # The others have the results of their calls by then, so nothing of theirs is lost.
        await killed_when(lambda: all(len(one.requests) >= 2 for one in at.values()), place, env)
        ran = await to_thread.run_sync(lambda: run_deskmate(["resume"], folder=place, env=env))

        assert (ran.returncode, ran.stdout.decode().endswith("All is done.\n")) == (0, True), ran.stderr.decode()
        assert {name: (place / f"{name}.txt").read_text() for name in MATES} == {n: f"by {n}\n" for n in MATES}
        assert [provider.complaints for provider in at.values()] == [[]] * 4
        asked = {name: {(member_of(one), one.model, one.format) for one in at[name].requests} for name in MEMBERS}
        assert asked == {name: {(name, model, wire)} for name, (_, model, wire) in MEMBERS.items()}
        # Each provider got its own key, and no other one.
        assert {name: {credentials(one) for one in at[name].requests} for name in MEMBERS} == {
            "lead": {"sk-anthropic-1"},
            "alice": {"Bearer sk-lab-2"},
            "bob": {"sk-gate-3"},
            "carol": {""},
        }
        # Commands have none of the keys, and nobody is told one.
        results = [result.text for provider in at.values() for one in provider.requests for result in one.results]
        assert any("PATH=" in text for text in results)
        told = "".join(str(one.body) for provider in at.values() for one in provider.requests)
        assert not any(key in told for key in KEYS.values())
        assert {str(one.body.get("reasoning", {}).get("effort")) for one in at["alice"].requests} == {"high"}
        assert {one.headers.get("x-team") for one in at["alice"].requests} == {"search"}


async def killed_when(is_time: Callable[[], bool], place: Path, env: Mapping[str, str]) -> None:
    """Begin a team, and kill it at a moment. Teammates in processes of their own end with it."""
    with open(os.devnull, "r+b") as nothing:
        files = (nothing.fileno(), nothing.fileno(), nothing.fileno())
        run = begin_deskmate(["run", "Make three files."], folder=place, env=env, files=files)
        await until(lambda: run.poll() is not None or is_time())
        assert run.poll() is None
        run.kill()
        run.wait(60)
