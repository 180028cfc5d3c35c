"""Two processes take work from one board and write home, through one folder of files."""

import sys
import tempfile
from pathlib import Path

import anyio

from deskmate import Board, Joined, JsonlStore, LogWriter, Mailbox, Plain, Roster, SystemClock, Transcript

folder, me = (Path(sys.argv[1]), sys.argv[2]) if sys.argv[1:] else (Path(tempfile.mkdtemp()), "lead")
writer = LogWriter(JsonlStore.open(folder, "demo", create=me == "lead"), SystemClock())
roster = Roster(writer)
board, mailbox = Board(writer, roster), Mailbox(me, writer, roster)


async def lead() -> None:
    await roster.found("demo")
    tasks = [await board.create(me, f"piece {number}", blocked_by=[1][:number]) for number in range(8)]
    for desk in ("ada", "bob"):
        await roster.join(Joined(name=desk, at=writer.clock.timestamp()))
        await anyio.open_process([sys.executable, __file__, str(folder), desk], stdout=None, stderr=None)
    while len((transcript := await Transcript.load(writer, me)).memory.ids) < 2:
        await writer.store.changed({"mail/lead": transcript.memory.cursors.get("mail/lead", 0)})
        print(*(f"{m['sender']}: {m['content']}" for m in (await mailbox.hear(transcript)).mail), sep="\n")
    print(f"All {len(tasks)} are done. Look at it: tail -n 3 {folder}/.t*/demo/*.jsonl")


async def teammate() -> None:
    while any(task.is_open for task in (await board.refresh()).tasks.values()):
        if task := await board.claim_next((await roster.refresh()).members[me]):
            await anyio.sleep(0.05)  # the work itself
            await board.complete(me, task.id, task.epoch)
        else:
            await writer.store.changed({"board": board.state.number})
    mine = [task.subject for task in board.state.tasks.values() if task.owner == me]
    await mailbox.send("lead", Plain(content=f"I did {', '.join(mine)}."))


anyio.run(lead if me == "lead" else teammate)
