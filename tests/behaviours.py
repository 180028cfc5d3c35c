"""The behaviours Deskmate has: id → one sentence saying what holds, by how far it is built.

A test shows some of them by carrying `@pytest.mark.behaviour("id", ...)`; `test_behaviours.py` checks both ways.
"""

# Whole: what it says holds for whoever uses the streams, today.
PROMISES: dict[str, str] = {
    "M1": "every send that returned is heard by its recipient, whoever is killed, whatever the disk or the power does",
    "M2": "each message enters a transcript once; repeating what is in doubt doubles nothing",
    "M3": "the messages of one sender are heard in the order sent, also across its restarts",
    "M4": "no reader sees part of a record; a torn tail is fenced, reported, never merged",
    "M5": "damage is reported with file and line; all that is whole is still delivered; nothing is treated as empty",
    "M6": "a send to an unknown or departed name is refused, naming who is here; unheard mail comes back from who left",
    "M7": "an append wakes whoever waits for its stream, in any process; a scan finds what the watch missed",
    "M8": "a broadcast reaches the recipients fixed before it, each once, also when a crash cut it half-way",
    "B1": "a task has at most one owner; its epoch grows by one at each change of owner",
    "B2": "a board write with an old epoch is refused",
    "B3": "a task returns to the board when its owner leaves; a live owner keeps it, whatever the clock says",
    "B4": "every accepted change of the board is in its log; changes of different fields both survive",
    "B5": "dependencies never have a circle, an edge to itself or to nothing; such an edit is refused with the path",
    "B6": "a task whose blockers are done is taken by some idle teammate it fits",
    "B7": "board and projections can be read by another process at any instant",
    "P1": "every shutdown request ends: agreed, refused with a reason, or forced within its deadline, in every state",
    "P2": "the final answer of a run comes after every teammate has left; no process outlives the lead's",
    "P3": "a response counts for an open request of its kind, from who may answer, the first time",
    "S1": "one holder per seat; a dead holder's seat is free at once",
    "C1": "every prompt is well formed: calls and results paired, ids unique, nothing empty, whatever was killed",
    "C2": "a call is journalled before it runs; after a crash it has its stored result or is told to be interrupted",
    "C3": "identity, team, mode, open requests, open tasks and unanswered mail survive compaction; the log stays whole",
    "C4": "a run that was killed and resumed ends with the same files as one that was not",
    "P4": "a member in plan mode, the lead included, only reads and writes mail until its plan is approved",
    "P5": "permission fails closed: unattended it is denied, attended it waits; a yes is for one call as asked",
    "P6": "what goes wrong at a provider is retried within a budget; then the agent is parked, its task free",
    "P7": "a teammate that fails more than three times in a minute is parked, not started for ever",
    "S2": "caps are checked before each call, by all that every process has spent",
    "S3": "output of any size leaves memory flat; what is cut is said and kept in a blob",
    "S4": "a folder written by an earlier version opens; unknown kinds and fields are kept",
    "K1": "every member on the team is named to the model with its role; a status that is told was true then",
    "K2": "every request that the model may answer is in its prompt with its id, and no other is called open",
    "K3": "the task in progress is in the prompt with its text and its verify command",
    "K4": "the prompt states the mode, and offers no tool that this mode always refuses",
    "K5": "every tool, name, id and path that the model is told to use exists and works as printed",
    "K6": "what the model is told was sent, done or open is so in the logs",
    "K7": "K1 to K6 hold after a summary too",
    "K8": "nothing is told twice in one context unless it changed",
}

# The agent: works through `deskmate run` and `deskmate resume`.
AGENT: dict[str, str] = {
    "loop": "call the model, run every call, one result each in the order asked, until it asks for none",
    "tools-base": "bash, read_file, write_file, edit_file, glob, grep; bounded, whole groups ended, exit status told",
    "tools-safety": "file tools stay in the workspace, out of our folders; no edit of what was not read or has changed",
    "tools-errors": "an unknown tool, bad arguments, a crash in a tool are results the model reads; the loop goes on",
    "models": "Anthropic's and OpenAI's wires, streamed; thinking kept; caching by a stable prefix; usage and cost",
    "retry": "back-off with jitter, retry-after honoured, shown as waiting; then a fallback; then parked",
    "prompt": "one system prompt of identity, team, rules, notes, skills, environment; the same bytes each step",
    "rules-text": "the prompt tells each agent the rules of the team that its tools make it need",
    "compact-micro": "old results are cleared, the newest three kept, only where it frees enough",
    "compact-auto": "near the end of the window the conversation is summarised; team, open tasks and requests survive",
    "large-output": "a result above its cap goes to a blob, with a preview and the path",
    "subagent": "a one-shot agent with a fresh context and fewer tools; its answer is the result; it resumes",
    "background": "bash and Task go on by themselves; the agent is told when they end, also that they were cut off",
    "skills": "a line each in the prompt, the body on demand",
    "agent-types": "files describe types of agents: their prompt, tools, model, mode; never wider than what is allowed",
    "resume": "after a kill the lead goes on where it was; what was cut off is told to its model",
    "task-tools": 'TaskCreate, TaskGet, TaskUpdate, TaskList for lead and teammates; ids as 3, "3" or "#3"',
    "budget": "caps are checked before each call, and the cap on time also ends what runs; one that is reached parks",
    "trust": "of a repository only bytes that a person approved count, and no team that this user did not begin",
    "spawn": "Task with a name makes a teammate that stays; a name is never used twice",
}

# The team: works through `deskmate run`, with teammates in the lead's process and in processes of their own.
TEAM: dict[str, str] = {
    "task-deps": "unknown ids, self-edges and circles are refused; completing or deleting frees what it blocked",
    "claim": "compare-and-set: pending, unowned, unblocked, role fits, lowest number first; the loser is told who won",
    "assign": "lead or user put a task in a member's queue, whatever its role, and wake it; other teammates may not",
    "complete": "only owner, lead or user; with `verify` only with a receipt that it passed",
    "worktree": "a teammate may have its own copy of the repository; its work is merged once, verified, or returned",
    "radar": "members that change the same files in different trees hear of it, once per change, without a turn for it",
    "release": "who leaves or is parked gives its task back with a note; so may its owner; a stale owner is refused",
    "send": "by name, to who is here; what is larger than the cap or could not be heard is refused",
    "broadcast": "to each recipient once; the result names who was not reached",
    "deliver": "an idle hearer is woken, a busy one hears before its next call; each message once, in order per sender",
    "sender": "the runtime stamps the sender; words that are all that came of a turn wake the lead, batched",
    "bounce": "mail unheard by who left comes back whole, to the lead if its sender left too",
    "urgent": "an interrupt rests the agent; the user's text and a shutdown request skip calls nobody is asked about",
    "tiers": "one table says which tools lead, teammate and subagent have, in plan and delegate mode too",
    "idle": "after each turn a record with its last words, and a member that stays and can be written to",
    "autoclaim": "who is idle takes the next task that fits by itself and is told of it; mail comes first",
    "nudge": "who rests on a task is reminded once, then the lead is told",
    "lead-wake": "by mail, its task, words alone, who is parked or gone, quiet; never by an interrupt of the user",
    "shutdown": "a free teammate agrees without a model turn; else its model answers; else the deadline ends it",
    "plan": "in plan mode, the lead included, only reading, mail and the plan work; lead or user answer a plan, once",
    "config": "`config.json` and a file per task show roster and board within a second, rebuilt when lost or damaged",
    "team-create": "TeamCreate founds a named team beside the lead's home; either name brings back both",
    "two-teams": "while the lead works in a named team, its home goes on: work, mail, questions, shutdown, the end",
    "team-delete": "TeamDelete archives a team that everyone has left, with force after asking them; its name is free",
    "headless": "the lead is reminded once at each quiet, then all are asked to stop; a run ends, naming what is left",
    "task-fields": "a task has a number never used twice, words, status, owner, epoch, edges, role, verify and notes",
    "task-authors": "a task's words come with their authors; only creator, owner, lead and user edit or delete it",
    "look-alikes": "nobody joins under a name that can be read as a reserved one or as another member's",
    "colours": "teammates are cyan, yellow, magenta, green, blue in the order they joined, those who left counted",
    "permission": "deny beats ask beats allow, then the mode; unattended means no; an answer is bound to its one call",
    "forgery": "what an agent runs or writes cannot forge, replay or alter a record, nor give itself a permission",
    "supervise": "a teammate that dies is started again, three times a minute; a second lead is told who leads",
}

# Faces: what people type and see.
FACES: dict[str, str] = {
    "cli": "words open a conversation, commands run, look and act; a user's mistake is a sentence and an exit code",
    "commands": "a file is a prompt that a person sends by name; its shell commands run only as the lead's bash would",
    "memory": "notes of the user, the project and the teams of a workspace outlive a team, bounded and framed",
    "team-files": "a file describes a team; checked as a whole, started once; it can only narrow what is permitted",
    "repl": "what is typed goes to the lead, `@name` to a teammate, `/word` is a command; looking consumes nothing",
    "attach": "a second window reads and writes a team of another process as its user, holds no seat and stops nothing",
    "tui": "one screen from 80×24 on: conversation, members, board, mail and questions, the keys shown; it resizes",
    "demo": "without a key or a network a rehearsed team does real work, and the tests of its application are green",
}

# Safety: what agents cannot do, whatever they read.
SAFETY: dict[str, str] = {
    "fence": "without a sandbox, landlock keeps commands from writing elsewhere and from keys; the rest is told",
    "hosts": "where hosts are listed, a command reaches those by name and port, through a proxy, and nothing else",
    "limits": "whoever takes all there is comes to an end that is told, and its neighbours go on",
    "injection": "what agents read never widens what they may do",
    "questions": "who asks, the tool, its exact arguments and why, at any face; those that ask the same are one",
    "sandbox": "commands write only in the workspace, see neither secrets nor records, leave nothing; or a run refuses",
    "secrets": "what Deskmate knows to be a secret is written nowhere; commands get few variables, and no keys",
}

BEHAVIOURS: dict[str, str] = {**PROMISES, **AGENT, **TEAM, **FACES, **SAFETY}
