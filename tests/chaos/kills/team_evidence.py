"""What the run of a whole team left behind, and what is wrong with it, read by code that the product does not share.

`test_team_kills` gathers it at the end of a run, whoever was killed in it. `agent_evidence` below looks at each agent
alone: its calls, its files; here is what stands between them: mail, tasks, handshakes, and who plays whom.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from tests.chaos.files.independent_reader import Found, look
from tests.chaos.kills import agent_evidence
from tests.chaos.kills.agent_evidence import PROC, Evidence, calls_of

GONE_SECONDS = 20.0
Records = Sequence[Found]


@dataclass(frozen=True)
class TeamEvidence:
    """All that the run of a team left behind.

    `agents`: what can be told of each by itself, and the user's files. `mail`: the mailboxes, by owner: the lead has
    one at home and one in the team it founded. `checks`: which call each run of the command that verifies said it was
    for. `complaints`: what the provider refused.
    """

    agents: Evidence
    mail: Mapping[str, Records]
    board: Records
    roster: Records
    checks: Sequence[str]
    complaints: Sequence[str] = ()

    @property
    def transcripts(self) -> Mapping[str, Records]:
        """The transcripts, by the name of the agent."""
        return self.agents.transcripts


def gather(workspace: Path, complaints: Sequence[str] = ()) -> TeamEvidence:
    """Look at a workspace whose run has ended; what is about to end is given the time to."""
    deadline = time.monotonic() + GONE_SECONDS
    while (left := survivors(workspace)) and time.monotonic() < deadline:
        time.sleep(0.01)
    agents = agent_evidence.gather(workspace)
    boxes = sorted({path.name for path in workspace.glob(".teams/*/*_inbox.jsonl")})
    return TeamEvidence(
        # What signs for itself there is what a model asked for; here it is what verifies.
        agents=replace(agents, ran=(), processes=left),
        mail={box.removesuffix("_inbox.jsonl"): _stream(workspace, f".teams/*/{box}") for box in boxes},
        board=_stream(workspace, ".tasks/*/board.jsonl"),
        roster=_stream(workspace, ".teams/*/roster.jsonl"),
        checks=agents.ran,
        complaints=complaints,
    )


def _stream(workspace: Path, pattern: str) -> list[Found]:
    """Return the records of a stream: those at home, then those of the team founded from there."""
    paths = sorted(workspace.glob(pattern), key=lambda path: path.parent.name != "main")
    return [record for path in paths for record in look(path).records]


def survivors(workspace: Path) -> list[int]:
    """Return the processes that belong to a workspace: those that were told of it, and what their commands started."""
    told, started = str(workspace.resolve()).encode(), f"DESKMATE_ROOT={workspace.resolve()}".encode()
    return [pid for pid in _pids() if told in _words(pid, "cmdline") or started in _words(pid, "environ")]


def players(workspace: Path) -> dict[int, str]:
    """Return the processes that play, or stand in line to play, a teammate of a workspace, with its name."""
    told, found = str(workspace.resolve()).encode(), {}
    for pid in _pids():
        words = _words(pid, "cmdline")
        if told in words and b"play" in words:
            found[pid] = words[words.index(b"play") + 1].decode()
    return found


def at_seat(workspace: Path, name: str) -> tuple[list[int], list[int]]:
    """Return the processes that hold a teammate's seat, and those that stand in line for it, as the kernel has them."""
    (seat,) = workspace.glob(f".teams/*/{name}.seat")
    inode = seat.stat().st_ino
    lines = [line.split() for line in (PROC / "locks").read_text().splitlines()]
    ours = [words for words in lines if words[-3].endswith(f":{inode}")]
    return [int(words[-4]) for words in ours if "->" not in words], [int(words[-4]) for words in ours if "->" in words]


def _pids() -> list[int]:
    return [int(path.name) for path in PROC.iterdir() if path.name.isdigit()]


def _words(pid: int, file: str) -> list[bytes]:
    try:
        return (PROC / str(pid) / file).read_bytes().split(b"\0")
    except OSError:
        # It ended while we looked, or is another user's.
        return []


# -- what is wrong with it ------------------------------------------------------------------------

Letters = Mapping[str, Sequence[tuple[str, str]]]


def flaws(found: TeamEvidence, unkilled: TeamEvidence, letters: Letters) -> list[str]:
    """Return all that a run which was never killed could not have left behind; `letters`: who hears what from whom."""
    return [
        *(f"refused: {complaint}" for complaint in found.complaints),
        *agent_evidence.flaws(found.agents, unkilled.agents.files),
        *_lost(found),
        *_misheard(found, letters),
        *_tasks(found.board, unkilled.board),
        *_handshakes(found),
        *(flaw for name, records in found.transcripts.items() for flaw in _two_players(name, records)),
        *_checks(found),
    ]


def _lost(found: TeamEvidence) -> Iterator[str]:
    """Yield the messages that were sent and neither heard nor given back, and those that nobody sent."""
    sent = {name: {letter.body["id"] for letter in letters} for name, letters in found.mail.items()}
    back = {id_ for ids in sent.values() for id_ in ids if id_.startswith("undeliverable/")}
    for name, records in found.transcripts.items():
        heard = {message["id"] for record in records for message in record.body.get("mail", ())}
        lost = sorted(id_ for id_ in sent.get(name, set()) - heard if f"undeliverable/{id_}" not in back)
        yield from (f"{name} never heard {id_}" for id_ in lost)
        yield from (f"{name} heard {id_}, which is not in its mailbox" for id_ in sorted(heard - sent.get(name, set())))
        for id_ in _done(name, records, "SendMessage"):
            if not any(id_ in ids for ids in sent.values()):
                yield f"{id_} was told as sent and is in no mailbox"


def _done(name: str, records: Records, tool: str) -> Iterator[str]:
    """Yield the calls of a tool that came to something."""
    calls = calls_of(name, records)
    for record in records:
        if record.body["type"] == "did" and record.body["ok"] and calls[record.body["call"]]["tool"] == tool:
            yield record.body["call"]


def _misheard(found: TeamEvidence, letters: Letters) -> Iterator[str]:
    """Yield whose letters are not those of the story, each once, whatever their ids."""
    for name, records in found.transcripts.items():
        mail = [message for record in records for message in record.body.get("mail", ()) if message["sender"] != "user"]
        heard = Counter((message["sender"], message["content"]) for message in mail if message["type"] == "message")
        wanted = Counter(letters[name])
        yield from (f"{name} is missing {letter}" for letter in (wanted - heard).elements())
        yield from (f"{name} has {letter} too often" for letter in (heard - wanted).elements())


def _tasks(found: Records, unkilled: Records) -> Iterator[str]:
    """Yield the tasks that came another way, or to another end, than if nobody had been killed."""
    seen, wanted = _history(found), _history(unkilled)
    for task in sorted({*seen, *wanted}):
        if seen.get(task) != wanted.get(task):
            went = ", ".join(f"{what} by {who}" for what, who, *_ in seen.get(task, ()))
            yield f"task #{task} was {went or 'never made'}"


def _history(board: Records) -> dict[int, list[tuple[str, str, tuple[int, ...], int]]]:
    """Return what became of each task: what happened, by whom, its edges, its epoch. A repeat counts as nothing."""
    causes: set[str] = set()
    tasks: dict[int, list[tuple[str, str, tuple[int, ...], int]]] = {}
    for body in (record.body for record in board):
        if (cause := body.get("cause")) in causes:
            continue
        causes |= {cause} if cause else set()
        edges = tuple(body.get("blocked_by", ()))
        step = (body["type"].removeprefix("task_"), body["by"], edges, body.get("epoch", 0))
        tasks.setdefault(body["task"], []).append(step)
    return tasks


def _handshakes(found: TeamEvidence) -> Iterator[str]:
    """Yield the requests that were not answered once, by a yes, and the teammates that did not leave once, agreed."""
    requests = {id_: name for name in found.mail for id_ in _requests(found.mail[name], "shutdown_request")}
    # By their ids: what a crash left in doubt is sent again under the same one, and heard once.
    answers = {letter.body["id"]: letter.body for letter in _of(found.mail.get("lead", ()), "shutdown_response")}
    for id_, name in requests.items():
        said = [answer["approve"] for answer in answers.values() if answer["request_id"] == id_]
        if said != [True]:
            yield f"{name} answered {id_} with {said}"
    for name in sorted({record.body["name"] for record in _of(found.roster, "member_joined")}):
        left = [record.body["agreed"] for record in _of(found.roster, "member_left") if record.body["name"] == name]
        if left != [True]:
            yield f"{name} left with {left}"
    yield from (f"{record.body['name']} was parked" for record in _of(found.roster, "member_parked"))


def _requests(letters: Records, type_: str) -> set[str]:
    return {letter.body["request_id"] for letter in _of(letters, type_)}


def _of(records: Records, type_: str) -> list[Found]:
    return [record for record in records if record.body["type"] == type_]


def _two_players(name: str, records: Records) -> Iterator[str]:
    """Yield it if a process wrote into a transcript after another had begun to."""
    runs = [run for run, _ in groupby(record.body["run"] for record in records)]
    if len(runs) > len(set(runs)):
        yield f"{name} was played by two at once"


def _checks(found: TeamEvidence) -> Iterator[str]:
    """Yield the commands that verified a task twice for one call, for no call, or not at all."""
    yield from (f"{mark} verified {count} times" for mark, count in Counter(found.checks).items() if count > 1)
    began = {id_: record for records in found.transcripts.values() for id_, record in _began(records)}
    marks = {agent_evidence.mark(id_) for id_ in began}
    yield from (f"{mark} verified without being journalled" for mark in sorted({*found.checks} - marks))
    for body in (record.body for record in _of(found.board, "task_completed") if record.body.get("receipt")):
        call = body["cause"].removesuffix("/status")
        if agent_evidence.mark(call) not in found.checks:
            yield f"task #{body['task']} has a receipt of nothing"
        elif began[call].body["run"] != body["run"]:
            yield f"task #{body['task']} has a receipt of a process that did not begin to verify it"


def _began(records: Records) -> Iterator[tuple[str, Found]]:
    for record in _of(records, "began"):
        yield from ((id_, record) for id_ in record.body["calls"])
