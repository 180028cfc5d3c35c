"""Glob, grep."""

from collections.abc import Iterable

from pydantic import Field

from deskmate.core.agent.tool_results import Result
from deskmate.core.policy.permissions import Attempt
from deskmate.errors import ToolError
from deskmate.ports import Tool, ToolContext, Workspace
from deskmate.texts import text
from deskmate.tools.clip import clip, cut, lines_of
from deskmate.tools.tool_base import Arguments, Described

_MAX_LINE_CHARS = 500


class GlobArguments(Arguments):
    """Which files to find."""

    pattern: str = Field(min_length=1)


class GrepArguments(Arguments):
    """Which lines to find, and where."""

    pattern: str = Field(min_length=1)
    path: str = Field(".", description="file or folder to search")
    glob: str = Field("", description="only files that match this, such as *.py")


class GlobTool(Described):
    """Finds files."""

    async def attempt(self, arguments: GlobArguments, context: ToolContext) -> Attempt:
        """Return an attempt with unknown files: which ones match is known only after searching."""
        return Attempt(self.name, None, inside=True)

    async def run(self, arguments: GlobArguments, context: ToolContext) -> Result:
        """Return the paths that match, most recently changed first."""
        found = await context.workspace.find(arguments.pattern)
        none = f"No file matches {cut(arguments.pattern, _MAX_LINE_CHARS)}"
        return Result(clip(found, "Narrow the pattern") if found else none)


class Grep(Described):
    """Finds lines."""

    async def attempt(self, arguments: GrepArguments, context: ToolContext) -> Attempt:
        """Return the file that is searched. For a folder, the files are known only after searching."""
        path, inside = await context.workspace.locate(arguments.path)
        return Attempt(self.name, (path,) if await _is_file(arguments.path, context.workspace) else None, inside)

    async def run(self, arguments: GrepArguments, context: ToolContext) -> Result:
        """Return the matching lines, each with its file and line number."""
        ran = await context.workspace.search(arguments.pattern, arguments.path, arguments.glob)
        lines = [cut(line, _MAX_LINE_CHARS) for line in lines_of(ran.output)]
        none = "Found nothing so far." if ran.ended else f"No line matches {cut(arguments.pattern, _MAX_LINE_CHARS)}"
        found = clip(lines, "Narrow the pattern, the path or the glob") if lines else none
        # A search that was stopped is a success if it found something. If not, nobody knows whether there is a match.
        return Result(f"{found}\n{ran.ended}" if ran.ended else found, ok=bool(lines) or not ran.ended)


async def _is_file(path: str, workspace: Workspace) -> bool:
    try:
        await workspace.read(path)
    except ToolError:
        return False
    return True


def tools() -> Iterable[Tool]:
    """Return the tools of this family."""
    return [GlobTool("glob", text("tools/glob"), GlobArguments), Grep("grep", text("tools/grep"), GrepArguments)]
