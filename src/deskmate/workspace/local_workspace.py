"""The workspace on this machine: files by descriptor, commands in their own process group.

Tools see it as `ports.Workspace`.
"""

import os
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import anyio
from anyio import to_thread

from deskmate.core.log.names import known_name
from deskmate.core.policy.passed_variables import is_passed
from deskmate.core.policy.redaction import SHAPES, Redaction
from deskmate.core.prompt.live_output import LiveOutput
from deskmate.core.team.tasks import Revision
from deskmate.errors import ToolError, UnsafeFolder, hint_of
from deskmate.fs.worker_threads import on_shared_thread
from deskmate.ports import AskHost, Ran
from deskmate.workspace import search
from deskmate.workspace.blobs import Blobs
from deskmate.workspace.command import CommandOrder, End, Sink, Why, ended_words, execute
from deskmate.workspace.command_output import MAX_BLOB, Output, clean
from deskmate.workspace.command_script import NAMED_PATTERN, file_named, handed_over, shell_words
from deskmate.workspace.descriptors import room_to_run, room_to_search
from deskmate.workspace.git.revisions import head_commit, status_words
from deskmate.workspace.paths import OURS, Outside, Place, resolved, telling
from deskmate.workspace.sandbox.bubblewrap import CommandSandbox
from deskmate.workspace.sandbox.mount_placeholders import Placeholders
from deskmate.workspace.sandbox.mounts import Level, Sandbox
from deskmate.workspace.sandbox.network.host_gate import HostGate, open_gate
from deskmate.workspace.sandbox.network.network_words import offline_words, refused_words
from deskmate.workspace.sandbox.protected_paths import AUTORUN, is_autorun, is_guarded, obeyed, would_be_bare
from deskmate.workspace.search import MAX_FOUND, Found, hits_by_file, listing_words, searching_words, shown_name
from deskmate.workspace.sweep import Groups, Unfinished
from deskmate.workspace.workspace_files import content, opened, put, resolved_within

SEARCH_SECONDS = 30.0
SEARCH_BYTES = 30_000
GRACE_SECONDS = 5.0


class LocalWorkspace:
    """The folder `root`, as one member of a team may use it. Make one for each seat: it lists what that member runs.

    `sandbox`: confines commands. Without one they are not confined. It also confines git and the search program,
    because their settings, and even the programs, may be in the workspace. `redaction`: the secrets that neither the
    output nor its blob shows. `records`: the workspace with the records of the team, if `root` is a member's own tree.
    `readable`: folders that commands can read wherever they are. `skills`: the same for skills, whose files can be read
    with `read`, too.
    """

    def __init__(
        self,
        root: Path,
        team: str,
        member: str,
        *,
        environ: Mapping[str, str],
        sandbox: Sandbox | None = None,
        redaction: Redaction = SHAPES,
        grace_seconds: float = GRACE_SECONDS,
        records: Path | None = None,
        readable: tuple[Path, ...] = (),
        skills: tuple[Path, ...] = (),
    ) -> None:
        self._root = Path(os.path.realpath(root))
        self._member, self._readable = known_name(member), (*readable, *skills)
        self._skills = skills
        home = Path(os.path.realpath(records)) if records else self._root
        self._blobs = Blobs(home, self._root, team, self._member)
        self._grace_seconds, self._redaction = grace_seconds, redaction
        confined = sandbox if sandbox and sandbox.level is not Level.NONE else None
        self._sandbox = confined and confined.hiding(home / name for name in OURS if records)
        self._groups = Groups(home, team, member)
        self._unfinished = Unfinished(self._root, home, team, member)
        self._seat = {"DESKMATE_ROOT": str(self._root), "DESKMATE_SEAT": f"{team}/{member}"}
        self._user = environ
        self._has_perl: bool | None = None
        self._environ = {**_allowed(environ), "TERM": "dumb", "PWD": str(self._root), **self._seat}

    @property
    def root(self) -> str:
        """The absolute path of the folder, without symlinks."""
        return str(self._root)

    # -- files ------------------------------------------------------------------------------------

    async def locate(self, path: str) -> tuple[str, bool]:
        """Return a resolved path and whether it is inside the root: relative to the root if it is, else absolute."""
        return await on_shared_thread(lambda: self._locate(path))

    def _locate(self, path: str) -> tuple[str, bool]:
        try:
            with self._resolved(path) as place:
                return "/".join(place.parts) or ".", True
        except Outside:
            with telling(path):
                return os.path.realpath(self._root / path), False

    async def is_autorun(self, path: str) -> bool:
        """Tell whether one of the user's programs runs commands from a file at this path without asking."""
        return await on_shared_thread(lambda: self._is_autorun(path))

    def _is_autorun(self, path: str) -> bool:
        try:
            with resolved(self._root, path) as place:
                return is_autorun(self._root, place, self._user)
        except Outside:
            # The user is asked about paths outside the workspace anyway.
            return False

    async def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises ToolError if it is missing, not a regular file, or above the cap."""
        return await on_shared_thread(lambda: self._read(path))

    def _read(self, path: str) -> bytes:
        with resolved_within(self._skills, self._blobs.base(path, self._root), path) as place:
            self._refuse_ours(place)
            return content(place)

    async def write(self, path: str, data: bytes, *, known: str | None) -> None:
        """Write a file atomically. Raises ToolError unless the current file has the fingerprint `known`."""
        await on_shared_thread(lambda: self._write(path, data, known))

    def _write(self, path: str, data: bytes, known: str | None) -> None:
        with self._resolved(path) as place:
            if place.ours:
                raise _ours(place)
            guarded = is_guarded(place.parts) or would_be_bare(self._root, place.parts)
            if guarded or place.passes(obeyed(self._root)):
                raise ToolError(
                    f"{place.path} controls git or agents, so only the user can change it. Ask the user to do it."
                )
            put(place, data, known, self._unfinished.listing)

    def _resolved(self, path: str) -> AbstractContextManager[Place]:
        return resolved(self._blobs.base(path, self._root), path)

    def _refuse_ours(self, place: Place) -> None:
        if place.ours and not self._blobs.has(place):
            raise _ours(place)

    # -- blobs ------------------------------------------------------------------------------------

    async def keep(self, blob: str, data: bytes) -> str:
        """Keep bytes under a name that begins with the member's. Return the path by which it can read them."""
        name = self._blobs.own(blob)
        await on_shared_thread(lambda: self._blobs.keep(name, data))
        return self._blobs.shown(name)

    async def blob(self, path: str) -> bytes:
        """Return the bytes kept under a path. Raises ToolError for anything but a blob of this member."""
        return await on_shared_thread(lambda: self._blob(path))

    def _blob(self, path: str) -> bytes:
        with self._resolved(path) as place:
            if not self._blobs.has(place):
                raise self._blobs.refusal(place)
            return content(place, MAX_BLOB)

    # -- searching --------------------------------------------------------------------------------

    async def find(self, pattern: str) -> list[str]:
        """Return at most 1,000 files that match a glob pattern, most recently changed first, none that git ignores."""
        async with room_to_search():
            return await self._find(pattern)

    async def _find(self, pattern: str) -> list[str]:
        with telling(pattern), closing(Found(self._root, pattern)) as found:
            in_time = await self._list(found)
            # If git lists nothing, this folder is not in a repository.
            if not found.heard:
                with anyio.move_on_after(SEARCH_SECONDS) as limit:
                    await to_thread.run_sync(found.walk)
                in_time = not limit.cancelled_caught
            if not in_time:
                raise ToolError(f"The search took more than {SEARCH_SECONDS:g} s. Begin the pattern with a folder.")
            return await on_shared_thread(found.paths)

    async def _list(self, found: Found) -> bool:
        """Read the files that git lists, if git is installed. Return whether that finished in time."""
        git = shutil.which("git", path=self._environ.get("PATH"))
        if not git:
            return True
        end = await self._execute(listing_words(git), found, SEARCH_SECONDS, complains=False)
        return end.why is not Why.TIME

    async def search(self, pattern: str, path: str, glob: str) -> Ran:
        """Return the matching lines as `path:line:text`, bounded. Raises ToolError for an invalid pattern."""
        async with room_to_search():
            return await self._matching_lines(pattern, path, glob)

    async def _matching_lines(self, pattern: str, path: str, glob: str) -> Ran:
        paths = await on_shared_thread(lambda: self._searched(path, glob))
        if not paths:
            return Ran(1, "")
        end, output = await self._search(pattern, glob, paths)
        text = await on_shared_thread(lambda: self._confirmed(output.whole_lines()))
        if end.why is Why.TIME:
            return Ran(None, text, f"Stopped after {SEARCH_SECONDS:g} s. Search in one folder, or for less.")
        if end.why is Why.FLOOD:
            return Ran(None, text, f"Stopped after {SEARCH_BYTES:,} bytes of matches. Search for less.")
        if end.status not in (0, 1):
            # Unreadable files and invalid patterns give the same status. A search without files tells them apart.
            check, output = await self._search(pattern, glob, [os.devnull], complains=True)
            if check.status not in (0, 1):
                complaint = NAMED_PATTERN.sub("", output.lines().strip())
                raise ToolError(f"The pattern is not valid: {complaint}")
        return Ran(0 if text else 1, text)

    async def _search(
        self, pattern: str, glob: str, paths: Sequence[str], *, complains: bool = False
    ) -> tuple[End, Output]:
        rg = shutil.which("rg", path=self._environ.get("PATH"))
        # Not redacted, because it is compared with what is in the files.
        output = Output(SEARCH_BYTES, head=SEARCH_BYTES, tail=0, redaction=None)
        blobs = [path for path in paths if Path(self._root, path).is_relative_to(self._blobs.folder)]
        if rg is None and self._has_perl is None:
            check = await self._execute(search.PERL_CHECK, Output(SEARCH_BYTES, redaction=None), SEARCH_SECONDS)
            self._has_perl = check.status == 1
        if rg is None and not self._has_perl:
            pattern = search.with_plain_digits(pattern)
        with handed_over(f"{pattern}\n") as fd:
            words = searching_words(rg, pattern, file_named(fd), glob, paths, perl=bool(self._has_perl))
            end = await self._execute(
                words, output, SEARCH_SECONDS, complains=complains, shows_blobs=bool(blobs), fds=(fd,)
            )
        return end, output

    def _confirmed(self, printed: bytes) -> str:
        """Return the results of a search as `path:line:text`, if the file really has that line.

        The search program follows paths by itself. Anything it found outside the workspace is left out here.
        """
        lines = list[str]()
        for path, hits in hits_by_file(printed):
            with suppress(ToolError), self._resolved(path) as place:
                self._refuse_ours(place)
                with opened(place) as fd:
                    lines += (f"{shown_name(path)}:{hit.line}:{hit.shown}\n" for hit in hits if hit.stands_in(fd))
        return self._redaction.text(clean("".join(lines)))

    def _searched(self, path: str, glob: str) -> list[str]:
        """Return the paths to search for a path given by a model. In the blob folder, only this member's blobs."""
        with self._resolved(path) as place:
            if self._blobs.is_folder(place):
                names = sorted(name for name in os.listdir(place.folder) if fnmatchcase(name, glob or "*"))
                return [self._blobs.shown(name) for name in self._blobs.names(names)][:MAX_FOUND]
            self._refuse_ours(place)
            if place.rest:
                with opened(place):
                    pass
            if self._blobs.has(place):
                return [self._blobs.shown(place.parts[-1])]
            return ["/".join((".", *place.parts))]

    # -- commands ---------------------------------------------------------------------------------

    async def run(
        self,
        command: str,
        *,
        timeout_seconds: float,
        blob: str,
        printed: LiveOutput | None = None,
        ask_host: AskHost | None = None,
    ) -> Ran:
        """Run a shell command until it ends, is cancelled, or reaches its timeout or output cap. No process is left."""
        name = self._blobs.own(blob)
        shell = shutil.which("bash", path=self._environ.get("PATH")) or "/bin/sh"
        kept = Output(MAX_BLOB, lambda: self._blobs.open(name), redaction=self._redaction)
        if printed:
            path = self._blobs.shown(name)
            printed.look = lambda: (kept.so_far(path), path if kept.kept else None)
        async with room_to_run(timeout_seconds), self._gate(ask_host) as gate:
            with closing(kept) as output, handed_over(command) as script:
                words = shell_words(shell, script)
                end = await self._execute(words, output, timeout_seconds, call=name, fds=(script,), gate=gate)
        text = output.text(self._blobs.shown(name))
        if end.why is Why.EXIT and end.ended:
            text = f"{text.rstrip()}\n[{end.ended} left running in the background, now stopped]".lstrip()
        status = end.status if end.why is Why.EXIT else None
        code = status if status is not None and status >= 0 else None
        met = self._sandbox.limits.met(status, text) if self._sandbox else ""
        offline = self._sandbox is not None and self._sandbox.network is False and gate is None
        refused = offline_words(text) if offline else refused_words(end.refused)
        ended = "; ".join(
            filter(None, (ended_words(end, timeout_seconds, MAX_BLOB), met, refused, *end.told, _protected(text)))
        )
        return Ran(
            code,
            text,
            ended,
            self._blobs.shown(name) if output.kept else None,
            output.line_ends if output.is_cut else None,
        )

    def _gate(self, ask: AskHost | None) -> AbstractAsyncContextManager[HostGate | None]:
        """Return what lets a command ask about hosts, if the sandbox can keep it from them."""
        can_ask = self._sandbox and self._sandbox.level is Level.BUBBLEWRAP and self._sandbox.network is not True
        return open_gate(ask) if ask and can_ask else nullcontext()

    async def revision(self) -> Revision | None:
        """Return the current commit of the folder, or None if there is none or it is unknown."""
        commit = await on_shared_thread(lambda: head_commit(self._root))
        return Revision(commit, await self._is_clean()) if commit else None

    async def _is_clean(self) -> bool | None:
        git = shutil.which("git", path=self._environ.get("PATH"))
        if not git:
            return None
        output = Output(SEARCH_BYTES, head=SEARCH_BYTES, tail=0, redaction=None)
        try:
            end = await self._execute(status_words(git), output, SEARCH_SECONDS, complains=False)
        except ToolError:
            return None
        if end.why is Why.FLOOD:
            return False
        return not output.lines().strip() if end.why is Why.EXIT and end.status == 0 else None

    async def sweep(self) -> int:
        """End what a dead predecessor in this seat left running, and remove files it did not finish.

        Return how many processes were ended. Call it when the seat is held, before anything is run.
        """
        entries = frozenset(os.fsencode(f"{key}={value}") for key, value in self._seat.items())
        try:
            ended = await on_shared_thread(lambda: self._groups.sweep(entries, self._grace_seconds))
            await on_shared_thread(self._unfinished.sweep)
            if self._sandbox:
                await on_shared_thread(Placeholders(self._sandbox.state).sweep)
        except OSError as error:
            raise UnsafeFolder(
                f"Cannot clean up after an earlier run in {self._root}: {error}",
                hint_of(error) or "Fix that, then start again.",
            ) from error
        return ended

    async def _execute(
        self,
        words: Sequence[str],
        sink: Sink,
        timeout_seconds: float,
        *,
        call: str = "",
        complains: bool = True,
        shows_blobs: bool = False,
        fds: tuple[int, ...] = (),
        gate: HostGate | None = None,
    ) -> End:
        environ = {**self._environ, "DESKMATE_CALL": call or f"{self._member}-{secrets.token_hex(8)}"}
        shown = (*self._readable, *((self._blobs.folder,) if shows_blobs else ()))
        command_sandbox = CommandSandbox(self._sandbox, self._root, self._user, shown, gate) if self._sandbox else None
        order = CommandOrder(
            words, self._root, environ, timeout_seconds, self._grace_seconds, complains, command_sandbox, fds
        )
        end = await execute(order, sink, self._groups)
        if isinstance(sink, Output) and not sink.finish():
            end = replace(end, why=Why.FLOOD)
        if not end.begun:
            said = (isinstance(sink, Output) and sink.lines().strip()) or "no reason was given"
            raise ToolError(f"The command was not run: the sandbox could not be set up: {said}. Tell the user.")
        return end


def _allowed(environ: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environ.items() if is_passed(key)}


def _ours(place: Place) -> ToolError:
    return ToolError(f"{place.path} belongs to the team's own records. Use the task and message tools instead.")


def _protected(output: str) -> str:
    """Return which auto-run files a command could not change, judged by its output. Git itself may continue."""
    failed = [line for line in output.splitlines() if "Read-only file system" in line]
    names = [name for name in AUTORUN if any(re.search(rf"(?<![\w.]){re.escape(name)}\b", line) for line in failed)]
    if not names:
        return ""
    return (
        f"{', '.join(names)}: read-only for commands, because the user's own tools run commands from there. Git may "
        "have left these files as they were: check with git status, and ask the user to run such a git command"
    )
