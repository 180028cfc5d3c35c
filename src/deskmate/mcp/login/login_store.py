"""The login at one server, on disk: a file of mode 0600 in Deskmate's state folder, which the sandbox hides."""

import contextlib
import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from anyio import to_thread

from deskmate.core.mcp import LOGINS
from deskmate.core.mcp.server_logins import ServerLogin, read_login, write_login
from deskmate.errors import BadRecord, BadSettings, StoreUnavailable
from deskmate.fs.safe_files import file_lock, private_folder, read_up_to, regular_file, replace_file

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 500_000


class LoginStore:
    """`key`: changes with the server's entry. `url`: the server's address, for which alone a login counts."""

    def __init__(self, state: Path, key: str, url: str, workspace: Path) -> None:
        self._state, self._name, self._url, self._workspace = state, f"{key}.json", url, workspace

    def load(self) -> ServerLogin | None:
        """Return the login, None if there is none that can be used."""
        file = self._state / LOGINS / self._name
        if self._is_exposed:
            return None
        try:
            with regular_file(file) as fd:
                status = os.fstat(fd)
                login = read_login(read_up_to(fd, _MOST_BYTES))
        except FileNotFoundError:
            return None
        except (OSError, BadRecord) as error:
            _LOG.warning("Ignoring the login in %s: %s", file, error)
            return None
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            _LOG.warning("Ignoring the login in %s: others can read it. Delete it, and log in again", file)
            return None
        return login if login.url == self._url else None

    def save(self, login: ServerLogin) -> None:
        """Replace the login. Raises StoreUnavailable, or BadSettings if agents could read it."""
        self.check()
        with self._folder() as folder:
            replace_file(folder, self._name, write_login(login))

    def check(self) -> None:
        """Raise BadSettings if a login could not be kept from agents."""
        if self._is_exposed:
            raise BadSettings(
                f"{self._state} is in the workspace, where agents could read the login",
                "Set XDG_STATE_HOME to a folder outside of it.",
            )

    def remove(self) -> bool:
        """Forget the login. Return whether there was one."""
        try:
            os.unlink(self._state / LOGINS / self._name)
        except FileNotFoundError:
            return False
        return True

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Keep other processes from renewing the login meanwhile: most tokens for that can be used only once."""
        with ExitStack() as stack:
            await to_thread.run_sync(self._lock, stack)
            yield

    def _lock(self, stack: ExitStack) -> None:
        folder = stack.enter_context(self._folder())
        stack.enter_context(file_lock(folder, f"{self._name}.lock"))

    @property
    def _is_exposed(self) -> bool:
        return Path(os.path.realpath(self._state)).is_relative_to(self._workspace)

    @contextlib.contextmanager
    def _folder(self) -> Iterator[int]:
        try:
            self._state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with private_folder(self._state.parent.resolve(), self._state.name, LOGINS) as folder:
                yield folder
        except OSError as error:
            raise StoreUnavailable(
                f"Cannot write in {self._state / LOGINS}: {error.strerror}", "Make it a folder that you can write."
            ) from error
