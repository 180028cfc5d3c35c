"""KillHarness: `deskmate` in a warm process that is killed where a test says, against a provider of its own.

`kill_harness(script)` opens one. What each run leaves behind is judged by `agent_evidence` and `team_evidence`.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.team_scripts import MemberScript
from tests.chaos import memory_folder
from tests.chaos.kills.agent_run import Warm


@dataclass(frozen=True)
class KillHarness:
    """A provider, a warm process that runs commands, and a folder for workspaces. `fill` fills a new workspace."""

    folder: Path
    environ: Mapping[str, str]
    provider: FakeProvider
    warm: Warm
    fill: Callable[[Path], None]

    def workspace(self, name: str) -> Path:
        """Make a workspace."""
        self.fill(self.folder / name)
        return self.folder / name

    def complaints(self) -> list[str]:
        """Return what the provider refused since the last call."""
        complaints = list(self.provider.complaints)
        self.provider.complaints.clear()
        return complaints


@contextmanager
def kill_harness(
    script: MemberScript, fill: Callable[[Path], None] = Path.mkdir, cleanup: Callable[[Path], None] | None = None
) -> Iterator[KillHarness]:
    """Open a harness. `cleanup` is called with its folder at the end, before that is removed."""
    with ExitStack() as stack:
        folder = stack.enter_context(memory_folder())
        if cleanup:
            stack.callback(cleanup, folder)
        portal = stack.enter_context(start_blocking_portal())
        provider = stack.enter_context(portal.wrap_async_context_manager(FakeProvider(script)))
        environ = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        environ |= {"HOME": str(folder), "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": provider.url}
        yield KillHarness(folder, environ, provider, stack.enter_context(Warm(folder, environ)), fill)
