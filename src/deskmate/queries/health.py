"""Whether machine, settings and workspace are ready for a team.

These checks use no network and show no key. They only ask model servers on this machine. `damage` checks the teams.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from deskmate.config import Settings, choose_fallback, choose_model, load, names_collector, state_folder
from deskmate.core.checks import Check, State
from deskmate.core.values import frozen
from deskmate.errors import BadSettings, DeskmateError, Problem, StoreError, hint_of
from deskmate.fs.disk_calls import Files
from deskmate.fs.private_folder import MOUNTS, PrivateFolder, mount_of, refuse_local_locks, try_lock
from deskmate.queries.installation import Installation, has_telemetry, has_terminal_ui
from deskmate.queries.model_server import is_on_this_machine, obstacle_of
from deskmate.queries.stream_reader import telling, workspace_at
from deskmate.stores.file_watch import FileWatch, best_watch
from deskmate.stores.jsonl_store import NET_SECONDS, TEAMS
from deskmate.trust.approvals import survey
from deskmate.trust.chosen_engine import engine_at
from deskmate.trust.folders import holds_home, teams_beyond
from deskmate.trust.sandbox_choice import sandbox_of
from deskmate.trust.team_signature import Signing
from deskmate.workspace.sandbox.mounts import Level, Sandbox

LITTLE_BYTES, TOO_LITTLE_BYTES = 10**9, 50 * 10**6
_PATIENCE_SECONDS = 5.0
# File systems on another machine. Those that a program serves begin with `fuse.`.
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "beegfs"})
_SERVED = frozenset({"fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.davfs"})


@frozen
class CheckedWorkspace:
    """A workspace. `place`: None if there is none. `usable`: whether a team can work there."""

    place: Path | None
    usable: bool
    checks: tuple[Check, ...]


def error_check(what: str, error: DeskmateError | Problem, state: State = "bad") -> Check:
    """Return an error as a check: what is wrong, and what to do about it."""
    return Check(what, state, error.message, error.hint)


# -- the machine ----------------------------------------------------------------------------------


def check_machine(environ: Mapping[str, str]) -> tuple[Check, ...]:
    """Check Python, Deskmate and the programs that it uses."""
    python = f"{platform.python_version()}, {sys.executable} (3.11 or later required)"
    return (
        Check("python", "ok", python),
        _deskmate(),
        _git(_version_of("git", environ)),
        _ripgrep(_version_of("rg", environ)),
        _terminal_ui(),
        *_telemetry(environ),
    )


def _deskmate() -> Check:
    try:
        return Check("deskmate", "ok", version("deskmate"))
    except PackageNotFoundError:
        return Check("deskmate", "warn", "not installed, so its version is unknown", "Install it: pip install deskmate")


def _version_of(program: str, environ: Mapping[str, str]) -> str | None:
    """Return the version line of a program, or None if it is missing or does not run."""
    found = shutil.which(program, path=environ.get("PATH", os.defpath))
    if found is None:
        return None
    try:
        ran = subprocess.run(
            [found, "--version"],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.decode(errors="replace").partition("\n")[0]


def _git(found: str | None) -> Check:
    if found:
        return Check("git", "ok", found)
    missed = "missing, or it does not run. The demo needs it, and without it searches include files that git ignores"
    return Check("git", "warn", missed, "Install git.")


def _ripgrep(found: str | None) -> Check:
    if found:
        return Check("ripgrep", "ok", found)
    missed = "missing, or it does not run. Searches use grep, which includes files that git ignores"
    return Check("ripgrep", "warn", missed, "Install ripgrep to leave out files that git ignores.")


def _terminal_ui() -> Check:
    if has_terminal_ui():
        return Check("terminal UI", "ok", f"installed, on textual {version('textual')}")
    command = Installation.current().command_for_all
    return Check(
        "terminal UI", "warn", "not installed: deskmate opens the plain chat", f"To install it, run: {command}"
    )


def _telemetry(environ: Mapping[str, str]) -> tuple[Check, ...]:
    """Check whether telemetry can be sent, if the user names a collector."""
    if not names_collector(environ):
        return ()
    from deskmate.config.telemetry_choice import telemetry_choice  # most users have no collector

    choice = telemetry_choice(environ)
    if choice.disabled:
        return (Check("telemetry", "ok", "switched off by OTEL_SDK_DISABLED"),)
    if has_telemetry():
        return (Check("telemetry", "ok", f"goes to {choice.place}"),)
    command = Installation.current().command_for("all", "telemetry")
    missed = f"nothing goes to {choice.place}: the packages for it are not installed"
    return (Check("telemetry", "warn", missed, f"To install them, run: {command}"),)


# -- settings -------------------------------------------------------------------------------------


def check_settings(environ: Mapping[str, str], place: Path | None) -> tuple[Check, ...]:
    """Check the user's settings, whether they allow a model to be used, and how commands are confined in a folder."""
    try:
        settings = load(environ)
    except BadSettings as error:
        return (error_check("settings", error),)
    words = str(settings.file) if settings.file.exists() else f"the defaults, because there is no file {settings.file}"
    checks = (Check("settings", "ok", words), *_warnings(settings), _model(settings), *_fallback(settings))
    checks = (*checks, *_providers(settings), *_servers(settings))
    try:
        return (*checks, _sandbox(sandbox_of(settings), place), *_missing(settings))
    except BadSettings as error:
        return (*checks, error_check("sandbox", error))


def _missing(settings: Settings) -> Iterator[Check]:
    for name, places in {"writable": settings.writable, "hidden": settings.hidden}.items():
        for path in (path for path in places if not Path(path).expanduser().exists()):
            words = f"'{name}' in {settings.file} names {path}, which does not exist"
            yield Check("sandbox", "warn", words, f"Create {path}, or change '{name}'.")


def _sandbox(sandbox: Sandbox, place: Path | None) -> Check:
    why, step = sandbox.reason, sandbox.hint
    if sandbox.level is Level.NONE:
        free = f"none: {why}. A command that you allow can do all that you can, and can change the team's records"
        return Check("sandbox", "warn", free, step or "Allow only commands that you would run yourself.")
    if sandbox.level is Level.LANDLOCK:
        words = f"landlock: commands are partly confined, and Deskmate asks before each. {why[:1].upper()}{why[1:]}"
        return Check("sandbox", "warn", words, step)
    if place is not None and not sandbox.confines(place):
        home = f"{sandbox.level}, but {place} contains your home folder, so Deskmate asks before each command"
        return Check("sandbox", "warn", home, "Choose a folder below it with -C PATH.")
    hosts = "" if isinstance(sandbox.network, bool) else f"and reach only {', '.join(sandbox.network)}"
    network = hosts or ("and may use the network" if sandbox.network else "and have no network")
    places = " and ".join(["the workspace", *map(str, sandbox.writable)])
    words = f"{sandbox.level}: commands can write only in {places}, {network}"
    return Check("sandbox", "ok", ". But ".join(filter(None, [words, sandbox.reason])))


def _warnings(settings: Settings) -> Iterator[Check]:
    for warning in settings.warnings:
        yield error_check("settings", warning, "warn")


def _model(settings: Settings) -> Check:
    if settings.model is None and not any(
        settings.provider_of(name).reachable for name in settings.described_providers
    ):
        return Check(
            "model",
            "bad",
            "no API key, and no address of a model server",
            "Set ANTHROPIC_API_KEY or OPENAI_API_KEY. For your own server, set OPENAI_BASE_URL and DESKMATE_MODEL. "
            "To watch a team without a key, run: deskmate demo",
        )
    try:
        return _asked("model", choose_model(settings), settings)
    except BadSettings as error:
        return error_check("model", error)


def _providers(settings: Settings) -> Iterator[Check]:
    """Yield each provider of the settings that cannot be asked, and each alias that cannot be used."""
    for name in settings.providers:
        provider = settings.provider_of(name)
        table = f"[providers.{name}] in {settings.file}"
        if provider.base_url is None:
            yield Check("provider", "warn", f"{name} has no address", f"Set `base_url` under {table}.")
        elif not provider.reachable:
            yield Check("provider", "warn", f"{name} has no key", f"Set {provider.key_env}, or `key` under {table}.")
    for alias in settings.aliases:
        try:
            choose_model(settings, alias)
        except BadSettings as error:
            yield error_check(f"alias {alias}", error, "warn")


def _servers(settings: Settings) -> Iterator[Check]:
    """Yield what is wrong with the model servers on this machine."""
    named = [settings.model, settings.fallback_model, *settings.aliases]
    for name in dict.fromkeys(_provider_name(settings, one) for one in named if one):
        provider = settings.provider_of(name)
        if is_on_this_machine(provider) and (obstacle := obstacle_of(provider)):
            yield Check("model server", "warn", *obstacle)


def _provider_name(settings: Settings, model: str) -> str:
    """Return the provider of a model, empty if the model cannot be used."""
    try:
        return choose_model(settings, model).partition(":")[0]
    except BadSettings:
        return ""


def _fallback(settings: Settings) -> Iterator[Check]:
    try:
        if model := choose_fallback(settings):
            yield _asked("fallback", model, settings)
    except BadSettings as error:
        yield error_check("fallback", error)


def _asked(what: str, model: str, settings: Settings) -> Check:
    provider = settings.provider_of(model)
    where = f" at {provider.base_url}" if provider.is_own else ""
    key = "a key is set" if provider.key else "no key"
    return Check(what, "ok", f"{model}{where}, {key} (not tested)")


# -- trust ----------------------------------------------------------------------------------------


def check_trust(folder: Path | None, environ: Mapping[str, str]) -> tuple[Check, ...]:
    """Check which files and teams of a workspace are not used because the user has not trusted them."""
    state = state_folder(environ)
    try:
        found = survey(folder, state, reads=False)
        signing = Signing(state, found.workspace)
        strangers = [team for team in engine_at(found.workspace).teams() if not signing.signed(team)]
    except StoreError as error:
        return (error_check("trust", error),)
    checks = [error_check("trust", found.trouble, "warn")] if found.trouble else []
    if unused := [path if how is None else f"{path} ({how})" for path, how in found.unused.items()]:
        words = f"not used, because you have not trusted it: {', '.join(unused)}"
        checks.append(Check("trust", "warn", words, "To see it and decide, run: deskmate trust"))
    for team in strangers:
        words = f"you did not start team {team} here, so it cannot run"
        checks.append(Check("trust", "warn", words, f"To review and trust it, run: deskmate trust --team {team}"))
    used = ", ".join(one.path for one in found.consent.definitions)
    return tuple(checks) or (Check("trust", "ok", used or "no file here instructs agents"),)


# -- the workspace --------------------------------------------------------------------------------


def check_workspace(folder: Path | None, mountinfo: Path = MOUNTS) -> CheckedWorkspace:
    """Check the given folder, or the workspace of the current one. Leaves nothing there."""
    try:
        place = workspace_at(folder)
        with telling(place):
            free, kind = shutil.disk_usage(place).free, mount_of(place, mountinfo)[0]
    except StoreError as error:
        return CheckedWorkspace(None, False, (error_check("workspace", error),))
    needed = (_writable(place), *(() if folder else _beyond(place)), _file_system(kind), *_locks(place, mountinfo))
    usable = all(check.state != "bad" for check in needed)
    return CheckedWorkspace(place, usable, (*needed, check_space(free)))


def check_store(place: Path) -> tuple[Check, ...]:
    """Check the server that keeps the teams. Return nothing if they are files in the workspace."""
    try:
        return tuple(engine_at(place).checks())
    except StoreError as error:
        return (error_check("store", error),)


def _writable(place: Path) -> Check:
    if not os.access(place, os.W_OK | os.X_OK):
        return Check(
            "workspace", "bad", f"{place} is not writable", "Make it writable, or choose another folder with -C PATH."
        )
    if (place / TEAMS).exists():
        return Check("workspace", "ok", f"{place}, which has {TEAMS}")
    if (place / ".git").exists():
        return Check("workspace", "ok", f"{place}, the top of its git repository. No teams yet")
    above = next((home for home in place.parents if (home / ".git").exists() and holds_home(home)), None)
    why = (
        f"the git repository {above} contains your home folder"
        if above
        else f"no folder above has {TEAMS} or is a git repository"
    )
    return Check("workspace", "ok", f"{place}, because {why}. No teams yet")


def _beyond(place: Path) -> Iterator[Check]:
    """Yield a warning if a folder above has teams."""
    if found := teams_beyond(place):
        yield Check("workspace", "warn", f"{found[0]}, outside this workspace", f"To continue it, run: {found[1]}")


def _file_system(kind: str) -> Check:
    if kind in _NETWORK | _SERVED:
        words = f"{kind} is on another machine. A team is safe there only while one machine works on it"
        return Check("file system", "warn", words, "Choose a workspace on a disk of this machine.")
    return Check("file system", "ok", kind or "of unknown type")


def _locks(place: Path, mountinfo: Path) -> Iterator[Check]:
    """Yield whether locks work and whether changes are reported. Tried only if there are teams."""
    try:
        refuse_local_locks(place, mountinfo)
        if not (place / TEAMS).exists():
            return
        with telling(place), closing(PrivateFolder.of(place, (TEAMS,), Files(), create=False)) as folder:
            yield _lock(folder.path)
            yield check_file_watch(folder, best_watch)
    except StoreError as error:
        yield error_check("locks", error)


def _lock(folder: Path) -> Check:
    try:
        # Open it twice, as two processes would: a granted lock alone does not show that it keeps others out.
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".lock-") as first, open(first.name, "rb") as second:
            if try_lock(first.fileno()) and not try_lock(second.fileno()):
                return Check("locks", "ok", "working")
    except OSError as error:
        words = f"no file can be locked in {folder}: {error.strerror}"
        return Check("locks", "bad", words, "Fix that, then run: deskmate doctor")
    return Check("locks", "bad", f"locks do not work in {folder}", "Choose a workspace on a local file system.")


def check_file_watch(folder: PrivateFolder, watch: Callable[[], FileWatch]) -> Check:
    """Check whether the system reports when a file changes."""
    with closing(watch()) as watching:
        try:
            watching.add(folder, ".gitignore")
        except OSError as error:
            late = f"changes of other processes are found by a check every {NET_SECONDS:g} s"
            return Check("file watch", "warn", f"{error.strerror or error}. So {late}", hint_of(error))
    return Check("file watch", "ok", "changed files are reported at once")


def check_space(free_bytes: int) -> Check:
    """Check whether this much free space is enough."""
    if free_bytes >= LITTLE_BYTES:
        return Check("disk", "ok", f"{free_bytes / 10**9:,.1f} GB free")
    state: State = "bad" if free_bytes < TOO_LITTLE_BYTES else "warn"
    return Check("disk", state, f"{free_bytes // 10**6} MB free", "Free some space: a full disk stops every agent.")
