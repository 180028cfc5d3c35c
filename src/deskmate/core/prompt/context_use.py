"""What fills the context of an agent."""

from collections.abc import Sequence

from deskmate.core.agent.entries import Did, Entry, Said
from deskmate.core.prompt.compaction import context_tokens, entry_tokens, summary_tokens
from deskmate.core.prompt.rendering import Numbered
from deskmate.core.values import frozen


@frozen
class ContextUse:
    """About how many tokens the next prompt has, and how many of them each kind of text takes."""

    tokens: int
    parts: dict[str, int]


def context_use(entries: Sequence[Numbered]) -> ContextUse:
    """Return what the next prompt of an agent is made of. `entries`: its whole transcript.

    The provider's count for the latest answer is trusted. Whatever it has more than the estimated parts is the system
    prompt with the tools, so that part is known only after an answer.
    """
    upto, cleared, summary = summary_tokens(entries)
    parts = {"messages and notices": 0, "answers and calls": 0, "results of calls": 0, "summary": summary}
    for number, entry in entries:
        if number > upto:
            parts[_kind(entry)] += entry_tokens(number, entry, cleared)
    tokens = context_tokens(entries, 0)
    rest = {"system prompt and tools": max(0, tokens - sum(parts.values()))}
    return ContextUse(tokens, {kind: count for kind, count in (rest | parts).items() if count})


def _kind(entry: Entry) -> str:
    match entry:
        case Said():
            return "answers and calls"
        case Did():
            return "results of calls"
        case _:
            return "messages and notices"
