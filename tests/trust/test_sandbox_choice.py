"""Commands of a run are confined by default; a run that nobody attends does not begin where that cannot be."""

from pathlib import Path

import pytest

from deskmate.app import Feed, RunRequest
from deskmate.app.session import attended
from deskmate.config import Settings, load
from deskmate.core.log.names import ROSTER
from deskmate.errors import BadSettings
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.trust.sandbox_choice import sandbox_of
from deskmate.workspace.sandbox.mounts import Level
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness
from tests.workspace.conftest import bubblewrap

__all__ = ["bubblewrap", "harness"]

pytestmark = pytest.mark.anyio


def leaks(outside: Path) -> list[Say]:
    """Return a script that writes within the workspace and beside it, and tells what the lead sees."""
    command = f"echo in > inside; echo out > {outside}/canary; ls -A .teams; echo $?"
    return [Say("I try.", [Use("bash", {"command": command})]), Say("Tried.")]


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.behaviour("sandbox")
@pytest.mark.parametrize("mode", ["default", "dontAsk"])
async def test_a_run_confines_its_commands_and_so_needs_no_yes(harness: AppHarness, tmp_path: Path, mode: str) -> None:
    async with FakeProvider(leaks(tmp_path)) as provider:
        await harness.run(provider, "anthropic", sandbox=True, permission_mode=mode)
    (result,) = provider.requests[-1].results
    # The folder of the team is there, and nothing in it.
    assert result.text.split() == ["0"]
    assert ((harness.place / "inside").exists(), (tmp_path / "canary").exists()) == (True, False)
    levels = [record["sandbox"] for record in await harness.records(ROSTER) if record.get("sandbox")]
    assert levels == ["bubblewrap"]
    assert "Commands run in a sandbox" in provider.requests[0].system
    assert "cannot use the network" in provider.requests[0].system


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.behaviour("sandbox")
async def test_a_teammate_in_a_process_of_its_own_is_confined_too(harness: AppHarness, tmp_path: Path) -> None:
    def play(asked: Asked) -> Say:
        if "teammate on team" in asked.system:
            return Say("Done.") if asked.results else leaks(tmp_path)[0]
        if not asked.results:
            return Say("I hire.", [Use("Task", {"name": "alice", "prompt": "Try it."})])
        return Say("Hired.")

    async with FakeProvider(play) as provider:
        await harness.run(provider, "anthropic", sandbox=True, launcher="process")
    assert ((harness.place / "inside").exists(), (tmp_path / "canary").exists()) == (True, False)


@pytest.mark.behaviour("sandbox")
@pytest.mark.parametrize("mode", ["dontAsk", "bypass"])
async def test_an_unattended_run_does_not_begin_unconfined(harness: AppHarness, mode: str) -> None:
    # A workspace that holds the user's home is no confinement, whatever the machine has.
    inside = AppHarness(harness.home.parent, harness.home)
    async with FakeProvider([Say("Never asked.")]) as provider:
        why = f"Mode {mode} .*--no-sandbox"
        with pytest.raises(BadSettings, match=why):
            await inside.run(provider, "anthropic", sandbox=True, permission_mode=mode)
        assert (provider.requests, (inside.place / ".teams").exists()) == ([], False)
        assert (await inside.run(provider, "anthropic", sandbox=False, permission_mode=mode)).text == "Never asked."


@pytest.mark.behaviour("sandbox")
async def test_what_was_begun_attended_is_not_resumed_unattended_and_unconfined(harness: AppHarness) -> None:
    inside = AppHarness(harness.home.parent, harness.home)
    async with FakeProvider([Say("One."), Say("Two.")]) as provider:
        await inside.run(provider, "anthropic", permission_mode="bypass")
        before = await inside.records(ROSTER)
        for mode in (None, "bypass"):
            with pytest.raises(BadSettings, match="Mode bypass"):
                await inside.resume(provider, "anthropic", "go on", sandbox=True, permission_mode=mode)
        # Nothing was written by either.
        assert await inside.records(ROSTER) == before
        await inside.resume(provider, "anthropic", "go on", sandbox=True, permission_mode="acceptEdits")
    assert len(provider.requests) == 2


@pytest.mark.behaviour("sandbox")
async def test_who_only_pipes_words_in_is_nobody_who_watches(harness: AppHarness) -> None:
    inside = AppHarness(harness.home.parent, harness.home)
    async with FakeProvider([Say("Never asked.")]) as provider:
        settings = inside.settings(provider, "anthropic", sandbox=True, permission_mode="dontAsk")
        wanted = RunRequest(inside.place, "go", None, settings, watched=False)
        with pytest.raises(BadSettings, match="Mode dontAsk"):
            async with attended(wanted, Feed()):
                pass
    assert (provider.requests, (inside.place / ".teams").exists()) == ([], False)


@pytest.mark.behaviour("sandbox")
async def test_who_wants_no_sandbox_is_told_so(harness: AppHarness, caplog: pytest.LogCaptureFixture) -> None:
    async with FakeProvider([Say("Done.")]) as provider:
        await harness.run(provider, "anthropic", sandbox=False, permission_mode="bypass")
    assert "without a sandbox: switched off" in caplog.text


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ({"writable": ["/"]}, "names /, which contains your home"),
        ({"network": ["http://example.org"]}, r"^'network' in .*settings.toml: "),
    ],
)
def test_what_would_leave_no_wall_is_refused(tmp_path: Path, flags: dict[str, object], why: str) -> None:
    with pytest.raises(BadSettings, match=why):
        sandbox_of(load({"HOME": str(tmp_path)}, flags))


@pytest.mark.usefixtures("bubblewrap")
def test_the_users_settings_are_hidden_and_what_they_add_is_heeded(tmp_path: Path) -> None:
    settings = load({"HOME": str(tmp_path)}, {"writable": ["/var/cache"], "hidden": ["/opt"], "network": True})
    sandbox = sandbox_of(settings)
    assert (sandbox.level, sandbox.network, sandbox.writable) == (
        Level.BUBBLEWRAP,
        True,
        (Path("/var/cache"),),
    )
    # Then comes what variables of this machine name.
    assert sandbox.hidden[:2] == (tmp_path / ".config/deskmate", Path("/opt"))
    off = sandbox_of(Settings(file=settings.file, state=settings.state, sandbox=False))
    assert (off.level, off.reason) == (Level.NONE, "switched off by --no-sandbox or in the settings")
