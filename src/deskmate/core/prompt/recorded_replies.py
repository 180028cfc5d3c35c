"""From a reply to the entry that records it. `rendering` gives its blocks again."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, assert_never

from deskmate.core.agent.entries import Call, Said
from deskmate.core.policy.redaction import Redaction
from deskmate.core.prompt.frames import storable
from deskmate.core.prompt.prompts import CallBlock, Reply, Spoken, TextBlock, ThinkingBlock
from deskmate.core.prompt.rendering import tidy

REFUSED = "(the provider stopped this answer)"


def said(reply: Reply) -> Said:
    """Return the entry that records a reply. Rendering it gives the blocks of the reply again.

    A reply that the provider stopped has no calls: an answer that is taken back must have no effects.
    """
    blocks = _recorded(reply)
    return Said(
        # The space between two pieces of an answer is part of the answer, although it is not sent back to a provider.
        text=_text(blocks) + (_space_at_end(reply) if reply.end == "length" else ""),
        calls=tuple(
            Call(tool=block.tool, arguments=_storable_arguments(block.arguments), flaw=block.flaw)
            for block in blocks
            if isinstance(block, CallBlock)
        ),
        blocks=blocks_of(reply),
        usage=usage_of(reply),
        unfinished=reply.end == "length",
    )


def _space_at_end(reply: Reply) -> str:
    match reply.blocks:
        case [*_, TextBlock(text=text)]:
            return text[len(text.rstrip()) :]
        case [*before, ThinkingBlock()] if any(isinstance(block, TextBlock) for block in before) and not reply.calls:
            # Text before a thought is complete: what comes next does not continue it.
            return "\n\n"
        case _:
            return ""


def redacted(entry: Said, redaction: Redaction) -> Said:
    """Return an entry without secrets. A call that contained one is marked.

    A thought that contained one loses its signature and is not sent back: its provider would refuse it.
    """
    return entry.model_copy(
        update={
            "text": redaction.text(entry.text),
            "calls": tuple(_redacted_call(call, redaction) for call in entry.calls),
            "blocks": tuple(_redacted_block(block, redaction) for block in entry.blocks),
        }
    )


def _redacted_call(call: Call, redaction: Redaction) -> Call:
    arguments = redaction.value(call.arguments)
    held = arguments != call.arguments
    return call.model_copy(update={"arguments": arguments, "redacted": True}) if held else call


def _redacted_block(block: Mapping[str, Any], redaction: Redaction) -> dict[str, Any]:
    written = dict(redaction.value(block))
    return {**written, "signature": ""} if "signature" in block and written != block else written


def blocks_of(reply: Reply) -> tuple[dict[str, Any], ...]:
    """Return the blocks of a reply as they are recorded; none if it is just text followed by calls."""
    blocks = _recorded(reply)
    calls = [block for block in blocks if isinstance(block, CallBlock)]
    text = _text(blocks)
    if blocks == [*([TextBlock(text)] if text else []), *calls]:
        return ()
    return tuple(_records(blocks))


def _recorded(reply: Reply) -> list[Spoken]:
    blocks = tidy(reply.blocks)
    if reply.end != "refused":
        return blocks
    words: list[Spoken] = [block for block in blocks if not isinstance(block, CallBlock)]
    return words if _text(words) else [*words, TextBlock(REFUSED)]


def _text(blocks: Iterable[Spoken]) -> str:
    return "\n\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def _records(blocks: Iterable[Spoken]) -> Iterator[dict[str, Any]]:
    index = 0
    for block in blocks:
        match block:
            case TextBlock(text=text):
                yield {"type": "text", "text": text}
            case ThinkingBlock(text=text, signature=signature, sealed=sealed):
                yield {"type": "thinking", "text": storable(text), "signature": signature, "sealed": sealed}
            case CallBlock():
                yield {"type": "call", "index": index}
                index += 1
            case unreachable:
                assert_never(unreachable)


def _storable_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as a store returns them, so that a restart changes no byte of the prompt."""
    text = json.dumps(arguments, ensure_ascii=False)
    kept = storable(text)
    return dict(arguments) if kept is text else dict(json.loads(kept))


def usage_of(reply: Reply) -> dict[str, Any]:
    """Return what a call used, cost and took, as entries have it."""
    usage = reply.usage
    counts = {
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "model": reply.model,
    }
    known = {"cost": reply.cost, "seconds": reply.seconds}
    return counts | {name: value for name, value in known.items() if value is not None}
