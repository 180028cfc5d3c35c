"""One hook, as a command from its start until nothing of it is left.

Hooks of the user run as the user's own programs. Hooks of a workspace run in the sandbox, like the commands of agents.
Input and command are passed by descriptor, so that no process list shows them.
"""

import contextlib
import os
import select
import shutil
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from deskmate.core.hooks.hook_outputs import HookRun
from deskmate.core.hooks.hook_tables import Hook
from deskmate.core.policy.passed_variables import is_passed
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.workspace.command import CommandOrder, End, Why, execute
from deskmate.workspace.command_script import handed_over
from deskmate.workspace.sandbox.bubblewrap import CommandSandbox
from deskmate.workspace.sandbox.mounts import Sandbox
from deskmate.workspace.sweep import Groups

MOST_BYTES = 256_000
_GRACE_SECONDS = 2.0
# What the user's own programs need besides, such as those that show a notification on the desktop.
_OF_DESKTOP = frozenset(
    {"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "TMUX"}
)
_START = "exec 0<&{told} {told}<&- 2>&{errors} {errors}>&-; cd {folder} || exit 1; {read}"
_READ_ALL = "IFS= read -r -d '' <&{fd}; exec {fd}<&-; eval \"$REPLY\""


@frozen
class HookPlace:
    """Where hooks run. `user`: the environment of this process. `sandbox`: for hooks of the workspace, if any.

    `folder`: where the agent works. `records`: the workspace with the records of the team.
    """

    folder: Path
    records: Path
    team: str
    user: Mapping[str, str]
    sandbox: Sandbox | None

    def environ(self, hook: Hook, member: str) -> dict[str, str]:
        """Return the environment of a hook. Keys of providers are not in it."""
        more = frozenset[str]() if hook.of_project else _OF_DESKTOP
        passed = {key: value for key, value in self.user.items() if is_passed(key) or key in more}
        folder = str(self.folder)
        # The last two mark its processes, so that they are found after a kill.
        seat = member.partition(":")[0]
        return {
            **passed,
            "PWD": folder,
            "CLAUDE_PROJECT_DIR": folder,
            "DESKMATE_PROJECT_DIR": folder,
            "DESKMATE_ROOT": folder,
            "DESKMATE_SEAT": f"{self.team}/{seat}",
        }


async def run_command_hook(hook: Hook, told: bytes, place: HookPlace, member: str) -> HookRun:
    """Run a hook with this JSON on its stdin. Any failure is a result. If cancelled, nothing of it is left."""
    printed = _Printed()
    try:
        with _errors() as (errors, said), handed_over(hook.command) as script, handed_over(told.decode()) as given:
            words = _words(hook, place, script, given, errors)
            order = CommandOrder(
                words,
                # A command of the user may change git's settings, which would end a command of an agent.
                place.folder if hook.of_project else Path("/"),
                place.environ(hook, member),
                hook.seconds,
                _GRACE_SECONDS,
                command_sandbox=CommandSandbox(place.sandbox, place.folder, place.user, ())
                if hook.of_project and place.sandbox
                else None,
                fds=(script, given, errors),
            )
            end = await execute(order, printed, Groups(place.records, place.team, member.partition(":")[0]))
    except ToolError as error:
        return HookRun(hook, None, ended=f"could not be run: {error.message}")
    except OSError as error:
        return HookRun(hook, None, ended=f"could not be run: {error.strerror}")
    return _ended(hook, end, printed.text, said.text)


def _words(hook: Hook, place: HookPlace, script: int, given: int, errors: int) -> list[str]:
    shell = shutil.which("bash", path=place.user.get("PATH"))
    if shell is None:
        raise ToolError("there is no bash")
    read = _READ_ALL.format(fd=script)
    return [shell, "-c", _START.format(told=given, errors=errors, folder='"$DESKMATE_PROJECT_DIR"', read=read)]


def _ended(hook: Hook, end: End, stdout: str, stderr: str) -> HookRun:
    if not end.begun:
        return HookRun(hook, None, ended=f"did not run: the sandbox could not be set up: {stdout.strip()[:200]}")
    if end.why is Why.TIME:
        return HookRun(hook, None, ended=f"did not end within {hook.seconds:g} s")
    if end.why is Why.FLOOD:
        return HookRun(hook, None, ended=f"printed more than {MOST_BYTES // 1000} kB")
    if end.why is Why.PLANT:
        return HookRun(hook, None, ended="changed files that control git or agents, and was ended")
    if end.why is Why.CANCEL or end.status is None:
        return HookRun(hook, None, ended="was interrupted")
    # A shell reports a signal in the same way.
    code = end.status if end.status >= 0 else 128 - end.status
    return HookRun(hook, code, stdout, stderr)


class _Printed:
    """The first bytes of an output."""

    def __init__(self) -> None:
        self._data = b""

    def add(self, data: bytes) -> bool:
        """Take some output. Return whether there was room for all of it."""
        self._data = (self._data + data)[: MOST_BYTES + 1]
        return len(self._data) <= MOST_BYTES

    @property
    def text(self) -> str:
        return self._data.decode(errors="replace")


@contextlib.contextmanager
def _errors() -> Iterator[tuple[int, _Printed]]:
    """Yield a descriptor for stderr, and what arrives there. It is complete once the context is left."""
    said, over = _Printed(), threading.Event()
    ours, theirs = os.pipe()
    thread = threading.Thread(target=_listen, args=(ours, said, over), daemon=True)
    thread.start()
    try:
        yield theirs, said
    finally:
        os.close(theirs)
        over.set()
        thread.join()


def _listen(source: int, said: _Printed, over: threading.Event) -> None:
    """Read until the command is over and nothing is left to read. More than the first bytes is dropped."""
    with contextlib.closing(os.fdopen(source, "rb", buffering=0)):
        while True:
            is_over = over.is_set()
            ready, _, _ = select.select([source], [], [], 0 if is_over else 0.05)
            if ready:
                data = os.read(source, 1 << 16)
                if not data:
                    return
                said.add(data)
            elif is_over:
                return
