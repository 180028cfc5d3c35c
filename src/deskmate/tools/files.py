"""read_file, write_file, edit_file: the files of the workspace, as this agent knows them.

What an agent has not read, or what changed since, it may not replace: teammates share files. The workspace below
checks the same once more at the very moment of writing.
"""

from collections.abc import Iterable
from dataclasses import replace

from anyio import to_thread
from pydantic import Field, field_validator

from deskmate.core.fingerprints import fingerprint
from deskmate.core.names import blob_name
from deskmate.core.policy import Attempt
from deskmate.core.prompts import Image
from deskmate.core.redaction import stand_ins
from deskmate.core.results import Result
from deskmate.errors import ToolError
from deskmate.ports import Desk, Tool, Workspace
from deskmate.tools.clips import counted, cut, fitting, lines_of
from deskmate.tools.described import Arguments, Described, texts
from deskmate.tools.diffs import diff
from deskmate.tools.edits import Edited, edit
from deskmate.tools.kinds import picture_type, read_text

MAX_READ_LINES = 2000
MAX_READ_CHARS = 40_000
MAX_LINE_CHARS = 2000
# Providers take 5 MB for a picture and count it as base64, which is a third more.
MAX_PICTURE_BYTES = 5 * 1024 * 1024 * 3 // 4


class PathArguments(Arguments):
    """The file that a call is about."""

    path: str

    @field_validator("path")
    @classmethod
    def _names_something(cls, path: str) -> str:
        if not path:
            raise ValueError("a path is needed, as src/app.py")
        return path


class ReadArguments(PathArguments):
    """Which lines of a file to read."""

    offset: int = Field(1, ge=1, description="first line")
    limit: int = Field(MAX_READ_LINES, ge=1, le=MAX_READ_LINES, description="lines")


class WriteArguments(PathArguments):
    """What a file shall hold."""

    content: str


class EditArguments(PathArguments):
    """What to put in the place of what."""

    old_text: str = Field(min_length=1)
    new_text: str
    replace_all: bool = False


class FileTool(Described):
    """A tool that is about one file."""

    async def attempt(self, arguments: PathArguments, desk: Desk) -> Attempt:
        """Return the file a call is about."""
        path, inside = await desk.workspace.locate(arguments.path)
        return Attempt(self.name, (path,), inside)


class EditingTool(FileTool):
    """A tool that changes one file."""

    async def attempt(self, arguments: PathArguments, desk: Desk) -> Attempt:
        """Return the file a call would change."""
        autorun = await desk.workspace.is_autorun(arguments.path)
        return replace(await super().attempt(arguments, desk), autorun=autorun)


class ReadFile(FileTool):
    """Reads a file, or a part of it."""

    async def run(self, arguments: ReadArguments, desk: Desk) -> Result:
        """Return the lines asked for, or the picture; the agent then knows the whole file, whatever was shown."""
        path, _ = await desk.workspace.locate(arguments.path)
        data = await desk.workspace.read(arguments.path)
        known = {path: fingerprint(data)}
        if media_type := picture_type(data):
            image = await _keep_picture(path, data, media_type, desk)
            return Result(f"{path}: {media_type}, {len(data):,} bytes", images=(image,), files=known)
        text = read_text(path, data)
        notes = (
            [] if text.faithful else ["(not UTF-8: � stands for what cannot be shown; edit_file does not work on it)"]
        )
        return Result("\n".join([*_view(path, text.body, arguments), *notes]), files=known)


async def _keep_picture(path: str, data: bytes, media_type: str, desk: Desk) -> Image:
    if len(data) > MAX_PICTURE_BYTES:
        raise ToolError(
            f"{path} is a picture of {len(data):,} bytes, more than the {MAX_PICTURE_BYTES:,} a model takes; "
            "make a smaller copy with bash and read that"
        )
    blob = f"{blob_name(desk.call)}.{media_type.removeprefix('image/')}"
    return Image(media_type, await desk.workspace.keep(blob, data))


def _view(path: str, body: str, arguments: ReadArguments) -> list[str]:
    """Return the lines asked for, numbered, and below them what else there is and how to read it."""
    lines, first = lines_of(body), arguments.offset
    if not lines:
        return [f"({path} is empty)"]
    if first > len(lines):
        raise ToolError(f"{path} has {counted(len(lines), 'line')}; choose an offset up to {len(lines)}")
    wanted = lines[first - 1 : first - 1 + arguments.limit]
    numbered = [f"{number}\t{cut(line, MAX_LINE_CHARS)}" for number, line in enumerate(wanted, first)]
    shown = fitting(numbered, MAX_READ_CHARS)
    return [*shown, *_notes(wanted[: len(shown)], first, len(lines))]


def _notes(shown: list[str], first: int, total: int) -> list[str]:
    last = first + len(shown) - 1
    notes = []
    if any(len(line) > MAX_LINE_CHARS for line in shown):
        notes.append(f"(lines are cut after {MAX_LINE_CHARS:,} characters; see the rest of them with bash)")
    if len(shown) < total:
        onward = f"; read on with offset {last + 1}" if last < total else ""
        notes.append(f"(lines {first} to {last} of {total}{onward})")
    return notes


class WriteFile(EditingTool):
    """Creates a file, or replaces all of it."""

    async def run(self, arguments: WriteArguments, desk: Desk) -> Result:
        """Write the file; refused where one stands that this agent has not read as it is now."""
        path, _ = await desk.workspace.locate(arguments.path)
        old = await _standing(desk.workspace, arguments.path)
        known = _known(path, old, desk) if old is not None else None
        _refuse_stand_ins(path, (old or b"").decode(errors="replace"), arguments.content)
        data = arguments.content.encode()
        # Before it is written: from then on nothing may be cut, or the outcome is not told.
        shown = await to_thread.run_sync(diff, path, (old or b"").decode(errors="replace"), arguments.content)
        await desk.workspace.write(arguments.path, data, known=known)
        lines = counted(len(lines_of(arguments.content)), "line")
        return Result(f"wrote {lines} to {path}", shown=shown, files={path: fingerprint(data)})


async def _standing(workspace: Workspace, path: str) -> bytes | None:
    """Return what stands at a path, None for nothing that can be read."""
    try:
        return await workspace.read(path)
    except ToolError:
        # Not only for want of a file; but writing as if nothing stood there is refused wherever something does.
        return None


def _known(path: str, data: bytes, desk: Desk) -> str:
    """Return the fingerprint of what stands at a path; raise ToolError unless this agent knows the file by it."""
    known = desk.files.get(path)
    if known is None:
        raise ToolError(f"{path} stands there and you have not read it; read it with read_file first")
    if known != fingerprint(data):
        raise ToolError(
            f"{path} was changed by someone since you read it; read it again, then change what is there now"
        )
    return known


def _refuse_stand_ins(path: str, old: str, new: str) -> None:
    """Raise ToolError where a file would get what only stands for a secret: the secret itself would be lost."""
    if strange := stand_ins(new) - stand_ins(old):
        raise ToolError(
            f"nothing was written: {min(strange)} stands for a secret that you are not shown, and would replace it in "
            f"{path}; leave that place as it is and edit around it, or name a variable of the environment"
        )


class EditFile(EditingTool):
    """Replaces a text in a file."""

    async def run(self, arguments: EditArguments, desk: Desk) -> Result:
        """Put the new text in the place of the old; refused where the file is not as this agent has read it."""
        path, _ = await desk.workspace.locate(arguments.path)
        data = await desk.workspace.read(arguments.path)
        known = _known(path, data, desk)
        text = read_text(path, data)
        if not text.faithful:
            raise ToolError(f"{path} is not UTF-8, so that an edit would damage it; convert it with bash first")
        edited, shown = await to_thread.run_sync(_edited, path, text.body, arguments)
        _refuse_stand_ins(path, text.body, edited.body)
        written = (text.bom + edited.body).encode()
        await desk.workspace.write(arguments.path, written, known=known)
        where = f"line {edited.line}" if edited.places == 1 else f"{edited.places:,} places, first line {edited.line}"
        return Result(f"edited {path}: {where}", shown=shown, files={path: fingerprint(written)})


def _edited(path: str, body: str, arguments: EditArguments) -> tuple[Edited, str]:
    """Return a text after an edit, and what it changed for a screen."""
    edited = edit(path, body, arguments.old_text, arguments.new_text, replace_all=arguments.replace_all)
    return edited, diff(path, body, edited.body)


def tools() -> Iterable[Tool]:
    """Return the tools of this family."""
    text = texts("files")
    return [
        ReadFile("read_file", text["read_file"], ReadArguments),
        WriteFile("write_file", text["write_file"], WriteArguments),
        EditFile("edit_file", text["edit_file"], EditArguments),
    ]
