"""How full the context is, what can be cleared, and what a summary must keep.

Compaction changes only what is rendered: `Cleared` blanks old results, and `Compacted` puts a summary in place of what
came before. The transcript keeps everything, and memory folds all of it.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from deskmate.core.agent.entries import Cleared, Compacted, Did, Entry, Heard, Said, Started, Took
from deskmate.core.agent.memory import Memory
from deskmate.core.agent.situation import (
    ALONE,
    home_lines,
    home_request_lines,
    mode_lines,
    overlap_lines,
    request_lines,
    task_lines,
    team_lines,
)
from deskmate.core.log.names import IN_CHARGE, LEAD, USER
from deskmate.core.prompt.frames import image_lines, unframed
from deskmate.core.prompt.prompts import (
    TOKENS_CAP,
    CallBlock,
    Passage,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    Told,
    ToolSpec,
)
from deskmate.core.prompt.rendering import CLEARED, Numbered, envelopes, framed_summary, pictures_in, told_texts
from deskmate.core.team.members import RosterState
from deskmate.core.team.messages import Envelope, Message, Plain, PlanRequest, ShutdownRequest
from deskmate.core.team.tasks import BoardState
from deskmate.texts import filled

BYTES_PER_TOKEN = 3.5
IMAGE_TOKENS = 1_600
# What each block costs in addition to its text.
BLOCK_TOKENS = 8

SUMMARY_OUTPUT = 8_000
MARGIN = 13_000
# Each reserve takes at most this fraction of the window, so that a small window is usable at all.
_RESERVED_PART = 4

KEPT_RESULTS = 3
WORTH_CLEARING = 20_000

LEFT_OUT = "(The older part of this conversation was left out here: it was too long.)"
NO_SUMMARY = "(the model gave no summary)"

# In characters: the model's own words, the request, each unanswered item, and all of those together.
SUMMARY_CAP = 60_000
REQUEST_CAP = 6_000
UNANSWERED_CAP = 4_000
ALL_UNANSWERED_CAP = 24_000
FILES_KEPT = 10


# -- how full it is -------------------------------------------------------------------------------


def estimate(passages: Iterable[Passage], system: str = "", tools: Iterable[ToolSpec] = ()) -> int:
    """Return roughly how many tokens a prompt has. For prose and code it errs on the high side."""
    specs = sum(_tokens(tool.name, tool.text, _json(tool.schema)) for tool in tools)
    return _tokens(system) + specs + sum(_passage_tokens(passage) for passage in passages)


def _tokens(*texts: str) -> int:
    return math.ceil(sum(len(text.encode(errors="replace")) for text in texts) / BYTES_PER_TOKEN)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _passage_tokens(passage: Passage) -> int:
    return sum(BLOCK_TOKENS + _block_tokens(block) for block in passage.blocks)


def _block_tokens(block: TextBlock | ResultBlock | ThinkingBlock | CallBlock) -> int:
    match block:
        case TextBlock(text=text, images=images) | ResultBlock(text=text, images=images):
            return _tokens(text) + IMAGE_TOKENS * len(images)
        case ThinkingBlock(text=text, signature=signature):
            return _tokens(text, signature) if signature else 0
        case CallBlock(tool=tool, arguments=arguments):
            return _tokens(tool, _json(arguments))


def context_tokens(entries: Sequence[Numbered], overhead: int) -> int:
    """Return roughly how many tokens the next prompt has, of which `overhead` are system prompt and tools.

    The provider's count for the latest answer is trusted, and only what came after it is estimated. Everything is
    estimated if there is no count or a compaction changed the prompt since. `entries`: the whole transcript.
    """
    after = 0
    for number, entry in reversed(entries):
        if isinstance(entry, Compacted | Cleared):
            break
        if isinstance(entry, Said) and (counted := counted_tokens(entry)):
            return counted + after
        after += entry_tokens(number, entry, 0)
    return overhead + _all_tokens(entries)


def counted_tokens(entry: Said) -> int:
    """Return how many tokens a prompt and its answer had, as the provider counted them; 0 if it did not."""
    counts = (entry.usage.get(key) for key in ("input", "cache_read", "cache_write", "output"))
    tokens = sum(count for count in counts if isinstance(count, int))
    # A count this high is a provider's mistake and says nothing about the context.
    return tokens if tokens < TOKENS_CAP else 0


def _all_tokens(entries: Sequence[Numbered]) -> int:
    upto, cleared, summary = summary_tokens(entries)
    return summary + sum(entry_tokens(number, entry, cleared) for number, entry in entries if number > upto)


def summary_tokens(entries: Sequence[Numbered]) -> tuple[int, int, int]:
    """Return the last entry that a summary replaces, the last cleared one, and the tokens of the summary. 0 if none."""
    compacted, cleared = _latest_compaction(entries), _cleared_upto(entries)
    if compacted is None:
        return 0, cleared, 0
    return compacted.upto, cleared, BLOCK_TOKENS + _tokens(framed_summary(compacted))


def entry_tokens(number: int, entry: Entry, cleared: int) -> int:
    """Return roughly how many tokens an entry takes. `cleared`: results up to this number are cleared."""
    match entry:
        case Said():
            thoughts = [text for block in entry.blocks for text in _thought(block)]
            calls = [text for call in entry.calls for text in (call.tool, _json(call.arguments))]
            return BLOCK_TOKENS * (1 + len(entry.calls)) + _tokens(entry.text, *thoughts, *calls)
        case Did(text=text, images=images):
            whole = number > cleared
            return BLOCK_TOKENS + (_tokens(text) + IMAGE_TOKENS * len(images) if whole else _tokens(CLEARED))
        case _:
            shown = sum(len(pictures_in(one)) for one in envelopes(entry)) if isinstance(entry, Heard) else 0
            return sum(BLOCK_TOKENS + _tokens(text) for text in told_texts(entry)) + IMAGE_TOKENS * shown


def _thought(block: Mapping[str, Any]) -> list[str]:
    """Return the parts of a stored thought that are sent back: only signed ones are."""
    parts = (block.get("text"), block.get("signature"))
    return [part for part in parts if isinstance(part, str)] if block.get("signature") else []


def _latest_compaction(entries: Sequence[Numbered]) -> Compacted | None:
    return next((entry for _, entry in reversed(entries) if isinstance(entry, Compacted)), None)


def _cleared_upto(entries: Sequence[Numbered]) -> int:
    return max((entry.upto for _, entry in entries if isinstance(entry, Cleared)), default=0)


def is_full(tokens: int, window: int, output: int) -> bool:
    """Tell whether a context of this many tokens leaves too little of the window for an answer and what follows it.

    The maximum length of the answer is kept free, since a provider counts it against the window in advance.
    """
    part = window // _RESERVED_PART
    return tokens >= window - min(output, part) - min(MARGIN, part)


# -- clearing old results -------------------------------------------------------------------------


def clearable(entries: Sequence[Numbered]) -> int | None:
    """Return the number up to which results can be cleared; None if that frees too little to be worth it.

    The newest few stay, and so does every result that the model has not seen.
    """
    compacted, cleared = _latest_compaction(entries), _cleared_upto(entries)
    above = max(cleared, compacted.upto if compacted else 0)
    seen = max((number for number, entry in entries if isinstance(entry, Said)), default=0)
    results = [(number, entry) for number, entry in entries if isinstance(entry, Did)]
    old = [(n, entry) for n, entry in results[:-KEPT_RESULTS] if above < n < seen]
    freed = sum(entry_tokens(n, entry, 0) - entry_tokens(n, entry, n) for n, entry in old)
    return old[-1][0] if freed >= WORTH_CLEARING else None


# -- summing up -----------------------------------------------------------------------------------


def summary_request(focus: str = "") -> str:
    """Return the text that asks a model to summarise its conversation so far."""
    wish = unframed(focus)
    return filled("summary", {"focus": wish}, {"focus"} if wish else ())


def summary_text(
    model_text: str,
    memory: Memory,
    entries: Sequence[Numbered],
    board: BoardState,
    roster: RosterState,
    home: RosterState | None = None,
) -> str:
    """Return what a compaction up to the last entry records: the model's summary, and what no summary may lose.

    That is the team a lead works in away from home, who is on the team, the request, the mode, open requests and tasks,
    whose work meets its own, unanswered input, the files last used and what runs in the background. `entries`: the
    whole transcript. Team and tasks are those of the current roster and board. `home`: the other team of a lead that
    works away from it.
    """
    is_member, requests = memory.name in roster.members, _requests(entries)
    unanswered = _unanswered(entries, memory, requests)
    at_home = home_request_lines(memory, home, UNANSWERED_CAP) if home else []
    meets = [line for line in overlap_lines(memory, board, roster) if not any(line in told for told in unanswered)]
    sections = (
        ("The team you lead until you close it with TeamDelete", [memory.away] if memory.away else []),
        ("On your team now", (team_lines(memory.name, roster) or [ALONE]) if is_member else []),
        (f"On your other team, {home.team}" if home else "", home_lines(home) if home else []),
        ("The request", requests),
        ("Your mode", mode_lines(memory)),
        ("Open requests", [*request_lines(memory, roster, _reasons(entries), UNANSWERED_CAP), *at_home]),
        ("Open tasks", task_lines(memory.name, board) if is_member else []),
        ("Others change the same files as you", meets),
        ("Messages and notices that you have not answered yet", unanswered),
        ("Files that you read or changed last. Read each again before you change it", _files(entries)),
        ("Running in the background", sorted(memory.background)),
    )
    kept = [f"{title}:\n" + "\n".join(f"- {item}" for item in items) for title, items in sections if items]
    return "\n\n".join([_cut(model_text.strip(), SUMMARY_CAP) or NO_SUMMARY, *kept])


def _requests(entries: Sequence[Numbered]) -> list[str]:
    """Return the first request to the agent and, if it differs, the last."""
    asked = [text for _, entry in entries for text in _asked_in(entry) if text.strip()]
    return [_cut(text, REQUEST_CAP) for text in dict.fromkeys([*asked[:1], *asked[-1:]])]


def _asked_in(entry: Entry) -> list[str]:
    if isinstance(entry, Started):
        return [entry.prompt]
    return [text for envelope in (envelopes(entry) if isinstance(entry, Heard) else ()) if (text := _request(envelope))]


def _request(envelope: Envelope) -> str:
    """Return what the user or lead asks for by mail; empty for other mail."""
    if envelope.sender not in IN_CHARGE or not isinstance(envelope.message, Plain):
        return ""
    # The images themselves are gone after a summary. The agent can read them again.
    words = "\n".join([envelope.message.content, *image_lines(envelope)])
    return f"from {envelope.sender}: {words}" if unframed(words) else ""


def _reasons(entries: Sequence[Numbered]) -> dict[str, str]:
    """Return why the agent was asked to leave, by request."""
    heard = (one.message for _, entry in entries if isinstance(entry, Heard) for one in envelopes(entry))
    return {message.request_id: message.content for message in heard if isinstance(message, ShutdownRequest)}


def _unanswered(entries: Sequence[Numbered], memory: Memory, requests: Sequence[str]) -> list[str]:
    """Return what the model was told since it last spoke: the newest, as far as there is room."""
    spoke = max((number for number, entry in entries if isinstance(entry, Said)), default=0)
    new = (entry for number, entry in entries if number > spoke)
    told = [_cut(text, UNANSWERED_CAP) for entry in new for text in _news(entry, memory, requests)]
    sizes = accumulate(len(text) for text in reversed(told))
    fitting = sum(size <= ALL_UNANSWERED_CAP for size in sizes)
    older = len(told) - fitting
    return [
        *([f"({older} older ones are left out here. The summary above covers them.)"] if older else []),
        *told[older:],
    ]


def _news(entry: Entry, memory: Memory, requests: Sequence[str]) -> list[str]:
    """Return what an entry told, without what other sections have: requests and the task in progress."""
    match entry:
        case Started():
            return []
        case Took(task=task, created_by=str()) if task in memory.tasks:
            return []
        case Heard():
            mail = [one for one in envelopes(entry) if not _is_listed(one.message, memory)]
            asked = [one for one in mail if (one.sender, one.recipient) == (USER, LEAD) and _request(one) in requests]
            rest = tuple(one.body() for one in mail if one not in asked)
            above = ["The last request of the user (see above)."] if asked else []
            return [*above, *told_texts(entry.model_copy(update={"mail": rest}))]
        case _:
            return told_texts(entry)


def _is_listed(message: Message, memory: Memory) -> bool:
    """Tell whether a message is in the list of open requests, if it matters at all."""
    if isinstance(message, ShutdownRequest):
        return message.request_id in memory.demands
    return isinstance(message, PlanRequest)


def _files(entries: Sequence[Numbered]) -> list[str]:
    paths = (path for _, entry in reversed(entries) if isinstance(entry, Did) for path in reversed(entry.files))
    return list(dict.fromkeys(paths))[:FILES_KEPT]


def _cut(text: str, cap: int) -> str:
    """Return at most `cap` characters of a text and, if some are missing, how many."""
    return text if len(text) <= cap else f"{text[:cap]} (… {len(text) - cap} characters more were cut here)"


# -- when even that is too long -------------------------------------------------------------------


def halved(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Return about the newer half of well-formed passages, still well formed, with no call without its result.

    To halve it again, call this again. The last block told always stays, but is cut itself if it is the only one. The
    first passage keeps no pictures.
    """
    sizes = [_passage_tokens(passage) for passage in passages]
    # The tokens after each passage. Of the first passage kept, only the text stays.
    behind = [sum(sizes) - size for size in accumulate(sizes)]
    starts = [place for place, passage in enumerate(passages) if place and isinstance(passage, Told)]
    start = next((place for place in starts if behind[place] <= sum(sizes) // 2), 0)
    first = passages[start]
    texts = (block.text for block in first.blocks if isinstance(block, TextBlock))
    words = [TextBlock(text) for text in texts if text != LEFT_OUT]
    if not start:
        words = words[len(words) // 2 :] if len(words) > 1 else [half for block in words for half in _later_half(block)]
    return Told((TextBlock(LEFT_OUT), *words)), *passages[start + 1 :]


def _later_half(block: TextBlock) -> list[TextBlock]:
    later = block.text[len(block.text) // 2 :]
    return [TextBlock(later)] if later.strip() else []
