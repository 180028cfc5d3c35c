"""What this machine can do to confine commands.

A machine may have bubblewrap or Landlock and still forbid what they need, so only a trial tells. The result is used
for all workspaces.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from deskmate.errors import Problem, ToolError, hint_of
from deskmate.workspace.sandbox.bubblewrap import CommandSandbox, ConfinedProcess, confined_process
from deskmate.workspace.sandbox.landlock import SCOPES_SINCE, version
from deskmate.workspace.sandbox.landlock_command import Fenced, fenced, sweep_scratch
from deskmate.workspace.sandbox.mount_placeholders import Placeholders
from deskmate.workspace.sandbox.mounts import Level, Sandbox, homes, named_secrets
from deskmate.workspace.sandbox.network.allowed_hosts import allowed
from deskmate.workspace.sandbox.resource_limits import ResourceLimits, counts_processes, sweep_cgroups
from deskmate.workspace.sandbox.seccomp import call_filter
from deskmate.workspace.sandbox.sockets import Sockets

# Never from PATH, which may point into a workspace, where agents write.
PROGRAMS = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")
_UNSHARE = ("/usr/bin/unshare", "/bin/unshare", "/run/current-system/sw/bin/unshare")
# With bubblewrap alone, later mounts appear inside, writable. If it starts from private mounts, they do not.
_PRIVATE = ("--mount", "--propagation", "private", "--")
_PRIVATE_OF_USER = ("--user", "--map-current-user", *_PRIVATE)
_ALWAYS = ("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--unshare-user")
# Also forbids new user namespaces inside, if bubblewrap is new enough.
_CLOSED = "--disable-userns"
_TRIAL = ("/bin/sh", "-c", ":")
_TRIAL_SECONDS = 10
_SAID = 4096


def find_sandbox(
    state: Path,
    *,
    environ: Mapping[str, str],
    network: bool | Sequence[str] = False,
    hidden: Sequence[Path] = (),
    writable: Sequence[Path] = (),
    limits: ResourceLimits | None = None,
    programs: Sequence[str] = PROGRAMS,
    landlock: bool = True,
) -> Sandbox:
    """Try out the sandboxes and return the best one that works here. Its `reason` says what it cannot do.

    `state`: a folder of Deskmate's own outside any workspace. `environ`: the user's variables. `programs`: where
    bubblewrap may be. `landlock`: whether Landlock may be used instead. The others are as in Sandbox. Takes some
    milliseconds. Raises BadSettings for an invalid host.
    """
    listed = network if isinstance(network, bool) else tuple(network)
    wanted = Sandbox(
        Level.BUBBLEWRAP,
        network=listed,
        hidden=tuple(hidden),
        homes=frozenset(homes(environ)),
        named=tuple(named_secrets(environ)),
        writable=tuple(writable),
        state=Path(os.path.realpath(state)),
        limits=limits or ResourceLimits(),
    )
    sweep_cgroups()
    sweep_scratch()
    allowed(() if isinstance(listed, bool) else listed)
    found = _bubblewrap(wanted, environ, programs)
    if isinstance(found, Problem) and landlock:
        found = _landlock(wanted, environ, found)
    return Sandbox(Level.NONE, found.message, found.hint) if isinstance(found, Problem) else found


def _bubblewrap(wanted: Sandbox, environ: Mapping[str, str], programs: Sequence[str]) -> Sandbox | Problem:
    """Return a sandbox that works, or why there is none."""
    program = next((path for path in programs if os.access(path, os.X_OK)), None)
    if program is None:
        return Problem("bubblewrap is not installed", "Install the package bubblewrap.")
    try:
        wanted.stand()
        Placeholders(wanted.state).sweep()
    except OSError as error:
        hint = hint_of(error) or "Make it a folder that you may write to."
        return Problem(f"the sandbox cannot use {error.filename or wanted.state}: {error.strerror}", hint)
    said = ""
    for words in _ways(program):
        sandbox = replace(wanted, program=words)
        said = _try(sandbox, environ)
        if not said:
            # Added only after the trial, because searching for sockets takes a while.
            return replace(sandbox, reason=_weakness(words), sockets=Sockets())
    return Problem(f"bubblewrap does not work here: {said}", f"Allow user namespaces for {program}.")


def _ways(program: str) -> Iterator[tuple[str, ...]]:
    """Yield the ways to start bubblewrap, the best first. Only a trial tells which of them work."""
    unshare = next((path for path in _UNSHARE if os.access(path, os.X_OK)), None)
    private = (_PRIVATE, _PRIVATE_OF_USER) if os.geteuid() == 0 else (_PRIVATE_OF_USER,)
    for before in (*((unshare, *words) for words in private if unshare), ()):
        yield from ((*before, program, *_ALWAYS, _CLOSED), (*before, program, *_ALWAYS))


def _landlock(wanted: Sandbox, environ: Mapping[str, str], why: Problem) -> Sandbox | Problem:
    """Return a Landlock sandbox if it works, or why there is no sandbox at all."""
    if not version() or call_filter() is None:
        return why
    reason = f"{why.message}. Until then, {_kept(wanted.network)}"
    sandbox = replace(wanted, level=Level.LANDLOCK, reason=reason, hint=why.hint)
    said = _try(sandbox, environ)
    return Problem(f"{why.message}. Landlock does not work here either: {said}", why.hint) if said else sandbox


def _kept(network: bool | Sequence[str]) -> str:
    """Return what Landlock does and does not protect here."""
    signals = "" if version() >= SCOPES_SINCE else ", and they can send signals to other processes"
    hosts = "" if isinstance(network, bool) else ". The network is off, because a list of hosts needs bubblewrap"
    return (
        "Landlock keeps commands from writing elsewhere and from reading your keys. "
        f"They can still change the team's records and git's settings{signals}{hosts}"
    )


def _try(sandbox: Sandbox, environ: Mapping[str, str]) -> str:
    """Run an empty command in a sandbox like any other command. Return what went wrong, or an empty string."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:

        def start(
            words: Sequence[str], inside: Mapping[str, str], fds: Sequence[int], source: int
        ) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                words,
                env=inside,
                stdin=source,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
                pass_fds=fds,
            )

        begin = fenced if sandbox.level is Level.LANDLOCK else confined_process
        # A trial needs no more than these. Other variables may be secrets.
        needed = {name: environ[name] for name in ("PATH", "HOME") if name in environ}
        try:
            with begin(CommandSandbox(sandbox, Path(os.path.realpath(folder)), environ), _TRIAL, needed, start) as one:
                status = _ended(one)
        except (ToolError, OSError) as error:
            status = str(error)
        output.seek(0)
        said = output.read(_SAID).decode(errors="replace").strip().splitlines()
    return (said[0].removeprefix("bwrap: ") if said else status) if status else ""


def _ended(one: ConfinedProcess | Fenced) -> str:
    """Wait for the trial to end. Return how it failed, or an empty string."""
    try:
        status = one.process.wait(_TRIAL_SECONDS)
    except subprocess.TimeoutExpired:
        one.end(0.0, time.sleep, by_itself=False)
        return f"it gave no result in {_TRIAL_SECONDS} s"
    one.end(0.0, time.sleep, by_itself=True)
    return f"exit status {status}" if status else ""


def _weakness(words: Sequence[str]) -> str:
    """Return what even the best level lacks here."""
    lacks = {
        "the number of processes cannot be limited for root": counts_processes(),
        "commands can create namespaces, because bubblewrap is too old to prevent it": _CLOSED in words,
        "a command can write to a disk that you mount while it runs, because unshare does not work": (
            "--propagation" in words
        ),
        "system calls are not filtered: commands can create setuid files and sockets of any family": (
            call_filter() is not None
        ),
    }
    return ", and ".join(said for said, held in lacks.items() if not held)
