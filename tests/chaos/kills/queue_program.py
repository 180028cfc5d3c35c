"""The merge queue of a team on disk, as a run of the product puts it together, until nothing waits.

No lead thinks and no teammate works meanwhile, so each run has the same steps. `test_queue_kills` kills it.
"""

import os
import sys
from pathlib import Path

import anyio

from deskmate.app.build import team_parts_of, team_state_of
from deskmate.app.parts.asked_models import sandbox_and_client
from deskmate.config import load_settings
from deskmate.core.log.names import BOARD, LEAD
from deskmate.core.team.tasks import merge_queue
from deskmate.runtime.events import Feed
from deskmate.runtime.task_groups import task_group
from deskmate.stores.jsonl_store import JsonlStore

TEAM = "main"


async def run(workspace: Path) -> None:
    """Run the queue of a team until every offer is merged or returned."""
    settings = load_settings()
    sandbox, client = await sandbox_and_client(settings)
    store = JsonlStore.open(workspace, TEAM, create=False)
    async with client, store.hold(LEAD, f"process {os.getpid()}"), task_group() as tasks:
        team_state = team_state_of(store, settings, Feed())
        await team_state.roster.refresh()
        # The other keeper is the radar, whose steps come whenever it looks.
        parts = team_parts_of(workspace, TEAM, settings, team_state, client, sandbox)
        trees = parts.trees.of_team(team_state, workspace, sandbox)
        queue, _ = parts.trees.keepers(team_state, trees, None, parts.workspace)
        tasks.start_soon(queue.keep)
        while merge_queue(board := await team_state.board.refresh()):
            await store.changed({BOARD: board.number})
        tasks.cancel_scope.cancel()
    store.close()


def main() -> int:
    """Write the id of this process into the file that is named, and run the queue of the folder."""
    Path(sys.argv[1]).write_text(f"{os.getpid()}\n")
    anyio.run(run, Path.cwd())
    return 0
