"""Text files that the user mentions in a message to the lead: read at once, and attached to it as data."""

from collections.abc import Iterable, Sequence

from deskmate.core.policy.permissions import Attempt, Effect, Mode, PermissionRule, judge
from deskmate.core.policy.redaction import Redaction
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.prompt.user_frames import UserFile
from deskmate.core.values import frozen
from deskmate.errors import ToolError
from deskmate.ports import Workspace
from deskmate.tools.clip import counted, cut, fitting, lines_of
from deskmate.tools.files.file_kinds import read_text

MAX_ATTACHED = 5
MAX_FILE_CHARS = 20_000
_MAX_LINE_CHARS = 2000
_READ = "read_file"


@frozen
class MentionedFiles:
    """The files that can be attached. `left_out`: the others, each with the reason, in words for the user."""

    attached: tuple[UserFile, ...] = ()
    left_out: tuple[str, ...] = ()


async def read_mentioned(
    paths: Sequence[str], workspace: Workspace, rules: Iterable[PermissionRule], redaction: Redaction
) -> MentionedFiles:
    """Return the mentioned files as they are now, each once. Only what every agent may read unasked is attached."""
    rules, attached, left_out = tuple(rules), dict[str, UserFile](), list[str]()
    for mentioned in paths:
        try:
            path, inside = await workspace.locate(mentioned)
            if path in attached:
                continue
            if not _may_read(path, inside, rules):
                raise ToolError(f"the permission rules do not allow {_READ} for it without asking")
            if len(attached) == MAX_ATTACHED:
                raise ToolError(f"a message has at most {MAX_ATTACHED} files")
            attached[path] = _file(path, await workspace.read(mentioned), redaction)
        except ToolError as error:
            left_out.append(f"{mentioned} is not attached: {error}")
    return MentionedFiles(tuple(attached.values()), tuple(left_out))


def _may_read(path: str, inside: bool, rules: tuple[PermissionRule, ...]) -> bool:
    attempt = Attempt(_READ, (path,), inside)
    verdict = judge(attempt, mode=Mode.DEFAULT, rules=rules, traits=TOOLS, confined=False, attended=True)
    return inside and verdict.effect is Effect.ALLOW


def _file(path: str, data: bytes, redaction: Redaction) -> UserFile:
    # Secrets are hidden before it is cut: a part of one would not be recognised.
    lines = lines_of(redaction.text(read_text(path, data).body))
    shown = fitting([cut(line, _MAX_LINE_CHARS) for line in lines], MAX_FILE_CHARS)
    if len(shown) == len(lines):
        return UserFile(path, "\n".join(shown), counted(len(lines), "line"))
    rest = f"(Cut here. To read the rest: {_READ} with offset {len(shown) + 1}.)"
    return UserFile(path, "\n".join([*shown, rest]), f"lines 1 to {len(shown)} of {len(lines)}")
