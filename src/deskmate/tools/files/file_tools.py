"""Read_file, write_file, edit_file.

Teammates share files. So an agent may not replace a file that it has not read, or that changed since it read it. The
workspace checks this again at the moment of writing.

A model reads `[redacted: NAME]` for each secret and writes the same back. The written file has the secret again. If it
is not clear which secret is meant, nothing is written.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from anyio import to_thread
from pydantic import AfterValidator, Field, field_validator

from deskmate.core.agent.tool_results import Result
from deskmate.core.log.fingerprints import fingerprint
from deskmate.core.log.names import blob_name
from deskmate.core.picture_formats import MAX_PICTURE_BYTES, picture_type
from deskmate.core.policy.permissions import Attempt
from deskmate.core.policy.redaction import Redaction
from deskmate.core.policy.secret_placeholders import (
    Concealed,
    Unclear,
    blanked,
    conceal,
    exposed,
    has_marks,
    placeholders_in,
    restore,
)
from deskmate.core.prompt.prompts import Image
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.ports import Tool, ToolContext, Workspace
from deskmate.texts import text
from deskmate.tools.clip import clip, counted, cut, fitting, lines_of
from deskmate.tools.files.diffs import diff
from deskmate.tools.files.edits import EditedText, edit
from deskmate.tools.files.file_kinds import BOM, read_text
from deskmate.tools.files.known_versions import KnownVersions
from deskmate.tools.tool_base import Arguments, Described

MAX_READ_LINES = 2000
MAX_READ_CHARS = 40_000
MAX_LINE_CHARS = 2000
MAX_CHANGE_LINES, MAX_CHANGE_CHARS = 60, 4000
_SMALL = 8 * 1024


class PathArguments(Arguments):
    """The file that a call is about."""

    path: str

    @field_validator("path")
    @classmethod
    def _names_something(cls, path: str) -> str:
        if not path:
            raise ValueError("a path is needed, such as src/app.py")
        return path


class ReadArguments(PathArguments):
    """Which lines of a file to read."""

    offset: int = Field(1, ge=1, description="first line to read")
    limit: int = Field(MAX_READ_LINES, ge=1, le=MAX_READ_LINES, description="lines, 2000 at most")


def _encodable(text: str) -> str:
    if has_marks(text):
        raise ValueError("it contains half a surrogate pair, which UTF-8 cannot encode")
    return text


Words = Annotated[str, AfterValidator(_encodable)]


class WriteArguments(PathArguments):
    """The file to write, and all of its new content."""

    content: Words


class EditArguments(PathArguments):
    """Which text to replace, and with what."""

    old_text: Words = Field(min_length=1)
    new_text: Words
    replace_all: bool = False


@frozen
class FileTool(Described):
    """A tool that works on one file. `versions`: files as they were last read and written with these tools."""

    versions: KnownVersions

    async def attempt(self, arguments: PathArguments, context: ToolContext) -> Attempt:
        """Return the file that a call works on."""
        path, inside = await context.workspace.locate(arguments.path)
        return Attempt(self.name, (path,), inside)


class EditingTool(FileTool):
    """A tool that changes one file."""

    async def attempt(self, arguments: PathArguments, context: ToolContext) -> Attempt:
        """Return the file that a call would change, and whether it names commands that run without asking."""
        autorun = await context.workspace.is_autorun(arguments.path)
        return replace(await super().attempt(arguments, context), autorun=autorun)


class ReadFile(FileTool):
    """Reads a file, or a part of it."""

    async def run(self, arguments: ReadArguments, context: ToolContext) -> Result:
        """Return the lines asked for, or the picture. The agent then counts as having read the whole file."""
        path, _ = await context.workspace.locate(arguments.path)
        data = await context.workspace.read(arguments.path)
        known = {path: self.versions.keep(data)}
        if media_type := picture_type(data):
            image = await _keep_picture(path, data, media_type, context)
            return Result(f"{path}: {media_type}, {len(data):,} bytes", images=(image,), files=known)
        text = read_text(path, data)
        notes = (
            []
            if text.faithful
            else ["(Not UTF-8: � marks what cannot be shown. edit_file does not work on this file.)"]
        )
        # A thread, so that others can go on while a large file is searched for secrets. For a small one, it costs more.
        if len(text.body) <= _SMALL:
            view = _view(path, text.body, arguments, context.redaction)
        else:
            view = await to_thread.run_sync(_view, path, text.body, arguments, context.redaction)
        return Result("\n".join([*view, *notes]), files=known)


async def _keep_picture(path: str, data: bytes, media_type: str, context: ToolContext) -> Image:
    if len(data) > MAX_PICTURE_BYTES:
        raise ToolError(
            f"{path} is a picture of {len(data):,} bytes, more than the {MAX_PICTURE_BYTES:,} a model takes. "
            "Make a smaller copy with bash and read that."
        )
    blob = f"{blob_name(context.call)}.{media_type.removeprefix('image/')}"
    return Image(media_type, await context.workspace.keep(blob, data))


def _view(path: str, body: str, arguments: ReadArguments, redaction: Redaction) -> list[str]:
    """Return the requested lines, numbered, followed by notes on what else there is and how to read it.

    The whole file is searched for secrets, because a part of a secret would not be recognised.
    """
    total, first = len(lines_of(body)), arguments.offset
    if not total:
        return [f"({path} is empty)"]
    if first > total:
        raise ToolError(f"{path} has {counted(total, 'line')}. Use an offset of at most {total}.")
    numbered = _numbered(conceal(body, redaction))
    wanted = [line for line in numbered if line.last >= first and line.number < first + arguments.limit]
    shown = fitting([f"{line.number}\t{cut(line.text, MAX_LINE_CHARS)}" for line in wanted], MAX_READ_CHARS)
    return [*shown, *_notes(wanted[: len(shown)], first, total)]


class _Line(NamedTuple):
    """A line as shown, with its number in the file. `last`: its last number, if a secret spans several lines."""

    number: int
    last: int
    text: str


def _numbered(text: Concealed) -> Iterator[_Line]:
    number, hidden = 1, iter(text.hidden)
    for line in lines_of(text.body):
        last = number + sum(next(hidden).count("\n") for _ in range(text.marks_in(line)))
        yield _Line(number, last, text.show(line))
        number = last + 1


def _notes(shown: list[_Line], first: int, total: int) -> list[str]:
    last = shown[-1].last if shown else first - 1
    notes = []
    if any(len(line.text) > MAX_LINE_CHARS for line in shown):
        notes.append(f"(Lines are cut after {MAX_LINE_CHARS:,} characters. See the rest with bash.)")
    if first > 1 or last < total:
        onward = f". Continue with offset {last + 1}." if last < total else ""
        notes.append(f"(lines {first} to {last} of {total}{onward})")
    return notes


@frozen
class _Prepared:
    """What to write, and the result to report. `known`: the fingerprint of the file as it is now."""

    data: bytes
    known: str | None
    result: Result


class ChangingTool(EditingTool, ABC):
    """A tool that first prepares the new content of a file, then writes it."""

    async def foresee(self, arguments: PathArguments, context: ToolContext) -> Result | None:
        """Return the result if the call would change nothing, else None. Raises ToolError if it cannot succeed."""
        prepared = await self._prepare(arguments, context)
        return prepared if isinstance(prepared, Result) else None

    async def run(self, arguments: PathArguments, context: ToolContext) -> Result:
        """Write the file. Raises ToolError if it is not as this agent has read it."""
        # Do all work before writing: after the write, nothing may interrupt the report of the outcome.
        prepared = await self._prepare(arguments, context)
        if isinstance(prepared, Result):
            return prepared
        await context.workspace.write(arguments.path, prepared.data, known=prepared.known)
        self.versions.keep(prepared.data)
        return prepared.result

    async def _known(self, path: str, data: bytes, context: ToolContext) -> str:
        """Return the fingerprint of `data`. Raises ToolError unless it is the one this agent last read."""
        known, now = context.files.get(path), fingerprint(data)
        if known is None:
            raise ToolError(f"{path} exists and you have not read it. Read it with read_file first.")
        if known != now:
            writer = await context.writer_of(path, now)
            change = await to_thread.run_sync(_change_since, path, self.versions.get(known), data, context.redaction)
            raise ToolError(
                f"{path} was changed since you read it{f' by {writer}' if writer else ''}. "
                f"Read it again, then make your change.{change}"
            )
        return known

    @abstractmethod
    async def _prepare(self, arguments: Any, context: ToolContext) -> _Prepared | Result:
        """Return what to write, or the result if there is nothing to write."""


class WriteFile(ChangingTool):
    """Creates a file, or replaces all of it."""

    async def _prepare(self, arguments: WriteArguments, context: ToolContext) -> _Prepared | Result:
        path, _ = await context.workspace.locate(arguments.path)
        old = await _standing(context.workspace, arguments.path)
        known = await self._known(path, old, context) if old is not None else None
        before = (old or b"").decode(errors="replace").removeprefix(BOM)
        change = await to_thread.run_sync(_overwritten, path, before, arguments.content, context.redaction)
        data = change.after.encode()
        if data == old:
            return Result(f"{path} already has exactly this content. Nothing was written.")
        lines = counted(len(lines_of(change.after)), "line")
        told = f"Wrote {lines} to {path}{change.note}"
        return _Prepared(data, known, Result(told, shown=change.shown, files={path: fingerprint(data)}))


async def _standing(workspace: Workspace, path: str) -> bytes | None:
    """Return the current content of a file, or None if it cannot be read."""
    try:
        return await workspace.read(path)
    except ToolError:
        # There may be a file that cannot be read. Then the write is refused, because it expects that there is none.
        return None


def _change_since(path: str, before: bytes | None, now: bytes, redaction: Redaction) -> str:
    """Return what somebody changed in a file, without secrets and bounded. Empty if that is unknown, or not a text."""
    if before is None:
        return ""
    try:
        old, new = (conceal(read_text(path, data).body, redaction) for data in (before, now))
    except ToolError:
        return ""
    lines = lines_of(diff(path, old.show(old.body), new.show(new.body)))
    rest = "Read the file to see all of it"
    shown = clip(lines, rest, max_lines=MAX_CHANGE_LINES, max_chars=MAX_CHANGE_CHARS)
    return f" This was changed:\n{shown}" if lines else ""


class _Change(NamedTuple):
    """A file's text `after` a change, a diff for the screen, and a note on secrets that were removed."""

    after: str
    shown: str
    note: str


def _overwritten(path: str, before: str, content: str, redaction: Redaction) -> _Change:
    """Return the change that replaces a whole text, with secrets put back."""
    old = conceal(before, redaction)
    body = old.mark(content)
    try:
        return _checked(path, old, old.changed(body, restore(old, body)), redaction)
    except Unclear as error:
        raise ToolError(_unclear(path, error)) from error


def _checked(path: str, old: Concealed, new: Concealed, redaction: Redaction) -> _Change:
    """Return a change. Raises ToolError if it would write an unknown placeholder, or damage or expose a secret."""
    if strange := Counter(placeholders_in(new.body, redaction)) - Counter(placeholders_in(old.body, redaction)):
        raise ToolError(
            f"Nothing was written: {min(strange)} is not a secret of {path} and would be written literally. "
            "Use an environment variable instead, or copy the file that has the secret with cp"
        )
    if any("\ufffd" in text for text in new.hidden):
        raise ToolError(f"Nothing was written: {path} is not UTF-8, and writing it would damage a secret in it")
    if seen := exposed(new, redaction):
        raise ToolError(
            f"Nothing was written: without the words around it, {seen} in {path} would no longer be hidden. "
            "Leave those words as they are, or ask the user to make this change"
        )
    if secret := blanked(old, new):
        raise ToolError(
            f"Nothing was written: {secret} would be overwritten in {path}. Copy it exactly to keep the secret, "
            "or name an environment variable in its place"
        )
    lost = old.secrets() - new.secrets()
    note = f". No longer in it: {', '.join(sorted(lost))}" if lost else ""
    return _Change(new.text(), diff(path, old.show(old.body), new.show(new.body)), note)


def _unclear(path: str, error: Unclear) -> str:
    return f"Nothing was written: in {path}, {error}. Leave lines with placeholders as they are and edit around them"


class EditFile(ChangingTool):
    """Replaces a text in a file."""

    async def _prepare(self, arguments: EditArguments, context: ToolContext) -> _Prepared | Result:
        path, _ = await context.workspace.locate(arguments.path)
        data = await context.workspace.read(arguments.path)
        known = await self._known(path, data, context)
        text = read_text(path, data)
        if not text.faithful:
            raise ToolError(f"{path} is not UTF-8, and an edit would damage it. Convert it with bash first.")
        edited, change = await to_thread.run_sync(_edited, path, text.body, arguments, context.redaction)
        written = (text.bom + change.after).encode()
        where = f"line {edited.line}" if edited.places == 1 else f"{edited.places:,} places, first line {edited.line}"
        told = f"Edited {path}: {where}{change.note}"
        return _Prepared(written, known, Result(told, shown=change.shown, files={path: fingerprint(written)}))


def _edited(path: str, body: str, arguments: EditArguments, redaction: Redaction) -> tuple[EditedText, _Change]:
    """Return the text after an edit, and the change to report."""
    old = conceal(body, redaction)
    try:
        edited = edit(path, old, arguments.old_text, arguments.new_text, replace_all=arguments.replace_all)
    except Unclear as error:
        raise ToolError(_unclear(path, error)) from error
    return edited, _checked(path, old, edited.text, redaction)


def tools() -> Iterable[Tool]:
    """Return the tools of this family."""
    versions = KnownVersions()
    return [
        ReadFile("read_file", text("tools/read_file"), ReadArguments, versions),
        WriteFile("write_file", text("tools/write_file"), WriteArguments, versions),
        EditFile("edit_file", text("tools/edit_file"), EditArguments, versions),
    ]
