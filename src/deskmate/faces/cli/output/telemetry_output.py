"""What telemetry prints: that spans were sent, or the spans themselves."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import anyio

from deskmate.app.parts.telemetry_parts import TeamExported, check_collector, export_team
from deskmate.core.telemetry.conventions import COST, INPUT_TOKENS, OUTPUT_TOKENS
from deskmate.core.telemetry.span_values import FinishedSpan
from deskmate.core.telemetry.team_metrics import Measured
from deskmate.faces.cli.output import json_output
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.exit_codes import UNUSABLE
from deskmate.faces.common.output_stream import OutputStream
from deskmate.faces.common.terminal_text import one_line
from deskmate.faces.common.text_tables import note, put, warn

Form: TypeAlias = Literal["collector", "tree", "json"]


def telemetry(folder: Path | None, team: str | None, form: Form, *, follows: bool) -> int:
    """Send the spans of a team, or print them. With `follows`, also what is new, until Ctrl-C."""
    place = check_collector() if form == "collector" else ""
    with logging_to(note):
        if follows and place:
            note(f"deskmate: exporting to {place} until you press Ctrl-C")
        exported, failure = anyio.run(_exported, folder, team, form, follows)
    if failure:
        warn(f"cannot write to stdout: {failure}")
        return UNUSABLE
    if exported is None:
        return 0
    if exported.metrics_failure:
        warn(f"the metrics were not sent: {exported.metrics_failure}. Without metrics: OTEL_METRICS_EXPORTER=none")
    if exported.runs:
        warn(f"team '{exported.team}' runs, and spans that have not ended yet are left out. To send them too: --follow")
    what = f"{exported.spans:,} spans{' and metrics' if exported.metrics else ''}"
    sent = f"sent {what} of team {exported.team} to {exported.place}"
    return put([sent] if form == "collector" else [], exported.damage)


async def _exported(
    folder: Path | None, team: str | None, form: Form, follows: bool
) -> tuple[TeamExported | None, str]:
    """Return what was exported, None if nobody reads the output any more, and why it could not be written."""
    loop, exported = asyncio.get_running_loop(), None
    with anyio.CancelScope() as scope:
        with OutputStream(sys.stdout, lambda: loop.call_soon_threadsafe(scope.cancel)) as output_stream:
            as_json = form == "json"
            printer = None if form == "collector" else _Printer(output_stream, as_json=as_json, at_once=follows)
            exported = await export_team(folder, team, printer, follows=follows)
            if printer is not None:
                printer.finish()
    return exported, output_stream.failure


class _Printer:
    """Prints spans instead of sending them. A tree is printed at the end, or `at_once` as a list."""

    def __init__(self, output_stream: OutputStream, *, as_json: bool, at_once: bool) -> None:
        self._output_stream, self._as_json, self._at_once = output_stream, as_json, at_once
        self._kept: list[FinishedSpan] = []

    trouble = ""

    def send_spans(self, spans: Sequence[FinishedSpan]) -> str:
        if self._as_json:
            self._put([json_output.line(_fields(span)) for span in spans])
        elif self._at_once:
            self._put([_line(span) for span in spans])
        else:
            self._kept += spans
        return ""

    def send_metrics(self, metrics: Sequence[Measured], at: float) -> str:
        return ""

    def finish(self) -> None:
        """Print the tree."""
        self._put(_tree(self._kept))

    def _put(self, lines: Sequence[str]) -> None:
        self._output_stream.put("".join(f"{line}\n" for line in lines))


def _fields(span: FinishedSpan) -> json_output.Fields:
    return {
        "name": span.name,
        "trace_id": f"{span.trace_id:032x}",
        "span_id": f"{span.span_id:016x}",
        "parent_id": None if span.parent_id is None else f"{span.parent_id:016x}",
        "kind": span.kind,
        "start": span.start,
        "end": span.end,
        "error": span.error or None,
        "attributes": dict(span.attributes),
        "links": [{"span_id": f"{link.span_id:016x}", "message": link.message} for link in span.links],
    }


def _tree(spans: Sequence[FinishedSpan]) -> list[str]:
    known = {span.span_id for span in spans}
    under: dict[int | None, list[FinishedSpan]] = {}
    for span in sorted(spans, key=lambda span: span.start):
        under.setdefault(span.parent_id if span.parent_id in known else None, []).append(span)
    lines: list[str] = []
    left = [(span, 0) for span in reversed(under.get(None, []))]
    while left:
        span, depth = left.pop()
        lines.append("  " * depth + _line(span))
        left += [(one, depth + 1) for one in reversed(under.get(span.span_id, []))]
    return lines


def _line(span: FinishedSpan) -> str:
    facts = [f"{max(0.0, span.end - span.start):.3f} s"]
    tokens = span.attributes.get(INPUT_TOKENS), span.attributes.get(OUTPUT_TOKENS)
    if any(tokens):
        facts.append(f"{tokens[0]:,} in, {tokens[1]:,} out")
    if cost := span.attributes.get(COST):
        facts.append(f"${cost:.4f}")
    facts += [f"caused by {link.message}" for link in span.links]
    facts += [span.error] if span.error else []
    return one_line(f"{span.name}: {', '.join(facts)}")
