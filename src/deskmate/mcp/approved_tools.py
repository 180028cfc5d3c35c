"""Which tools of a server the user approved, on disk: one file for each server, in Deskmate's state folder."""

import contextlib
import os
from pathlib import Path

from deskmate.core.mcp.server_tools import ServerTool
from deskmate.core.mcp.tool_approvals import read_approvals, write_approvals
from deskmate.errors import BadRecord, StoreUnavailable
from deskmate.fs.safe_files import private_folder, read_regular, replace_file

FOLDER = "mcp"
_MOST_BYTES = 16_000_000


class ApprovedTools:
    """The approvals of one server. `key`: changes with what is started, so that another server has none.

    If the state folder is in the workspace, where agents can write, nothing is kept beyond this process.
    """

    def __init__(self, state: Path, key: str, workspace: Path) -> None:
        self._state, self._name = state, f"{key}.json"
        self._is_kept = not Path(os.path.realpath(state)).is_relative_to(workspace)
        self.tools: tuple[ServerTool, ...] | None = self._read()

    def _read(self) -> tuple[ServerTool, ...] | None:
        if not self._is_kept:
            return None
        try:
            return read_approvals(read_regular(self._state / FOLDER / self._name, _MOST_BYTES))
        except (OSError, BadRecord):
            # Then the tools are approved again, with the server.
            return None

    def refresh(self) -> None:
        """Read again what another process may have approved."""
        if self._is_kept:
            self.tools = self._read()

    def approve(self, tools: tuple[ServerTool, ...]) -> None:
        """Record that these tools are approved, and no others. Raises StoreUnavailable."""
        self.tools = tools
        if self._is_kept:
            try:
                self._state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with private_folder(self._state.parent.resolve(), self._state.name, FOLDER) as folder:
                    replace_file(folder, self._name, write_approvals(tools))
            except OSError as error:
                raise StoreUnavailable(
                    f"Cannot write in {self._state / FOLDER}: {error.strerror}", "Make it a folder that you can write."
                ) from error

    def forget(self) -> None:
        """Forget what was approved."""
        self.tools = None
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._state / FOLDER / self._name)
