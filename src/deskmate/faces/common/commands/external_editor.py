"""A text in the user's own editor."""

import shlex
from collections.abc import Mapping
from tempfile import TemporaryDirectory

import anyio

from deskmate.errors import Refused


async def edit_text(text: str, environ: Mapping[str, str]) -> str:
    """Open a text in $VISUAL or $EDITOR and return it as it was saved. The terminal must be free.

    Raises Refused if the editor cannot be started or reports an error.
    """
    words = shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "vi")
    with TemporaryDirectory(prefix="deskmate-") as folder:
        file = anyio.Path(folder, "draft.md")
        await file.write_text(text, encoding="utf-8")
        try:
            ended = await anyio.run_process([*words, str(file)], stdin=None, stdout=None, stderr=None, check=False)
        except OSError as error:
            raise Refused(f"The editor '{words[0]}' cannot be started: {error.strerror}", "Set EDITOR.") from error
        if ended.returncode:
            raise Refused(f"The editor '{words[0]}' ended with {ended.returncode}. The draft is unchanged")
        saved = await file.read_text(encoding="utf-8", errors="replace")
        return saved.rstrip("\n")
