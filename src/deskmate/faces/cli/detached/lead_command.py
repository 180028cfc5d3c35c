"""The lead of a team that nobody has a window on, in the process that runs it.

The first line of stdin says what to run. Stdout gets one line, once the team runs or if it cannot. From then on, the
process belongs to nobody, and what it has to say goes to a file.
"""

import os
import sys
import time
from functools import partial
from pathlib import Path

import anyio

from deskmate import app
from deskmate.app import RunRequest
from deskmate.app.detached.lead_process import ORDER_CAP, LeadOrder, answer_line, run_detached
from deskmate.app.sessions.team_session import TeamSession
from deskmate.errors import DeskmateError, Refused
from deskmate.faces.common.error_log import discreet, error_text, logging_to
from deskmate.faces.common.exit_codes import INTERRUPTED, UNUSABLE
from deskmate.faces.common.handover.tree_reports import end_lines
from deskmate.faces.common.run_start import model_of, typed
from deskmate.faces.common.stop_signals import StopSignals
from deskmate.faces.common.terminal_text import clean
from deskmate.faces.common.trust_prompt import consent_of
from deskmate.fs.safe_files import append_private
from deskmate.trust.approvals import NO_CONSENT

LOG = "detached.log"


def carry_out(workspace: Path | None) -> int:
    """Run a lead to its end and return the exit code."""
    if sys.stdin.isatty():
        raise Refused("This command is only for use by Deskmate itself", 'To start a team, run: deskmate run "GOAL"')
    # The starter must neither have to wait for this process nor be able to end it with its own children.
    if os.fork():
        os._exit(0)
    app.seclude()
    app.raise_open_files(app.environment())
    line = sys.stdin.buffer.readline(ORDER_CAP)
    report = _Report()
    stop_signals = StopSignals(report.note)
    with stop_signals.signals(), logging_to(report.note):
        try:
            order = LeadOrder.told(line)
            request = _consented(order, workspace, report)
            team = anyio.run(_run, request, report, stop_signals, order.by_clock)
        except DeskmateError as error:
            report.fail(error)
            return UNUSABLE
    if team is None:
        return INTERRUPTED
    if request.settings.merge == "auto":
        for words in end_lines(workspace, team, "auto", partial(typed, request, "merge")):
            report.note(words)
    return 0


def _consented(order: LeadOrder, workspace: Path | None, report: "_Report") -> RunRequest:
    """Return the request with what the user trusts. Raises DeskmateError."""
    request = order.request(workspace, app.environment())
    model_of(request)
    for warning in request.settings.warnings:
        report.note(error_text(warning, before="deskmate: warning: "))
    consent = consent_of(workspace, request.settings, report.note, trusts=False, asks=False)
    return request.with_consent(consent or NO_CONSENT)


async def _run(request: RunRequest, report: "_Report", stop_signals: StopSignals, by_clock: bool) -> str | None:
    """Return the team, or None if the process was told to stop."""
    with anyio.CancelScope() as scope, stop_signals.stops(scope):
        return await run_detached(request, report.begin, by_clock=by_clock)
    return None


class _Report:
    """What is told to the process that started this one and, after that, kept in a file."""

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._team = ""

    def begin(self, session: TeamSession) -> None:
        """Tell that the team runs, and leave stdout to nobody."""
        self._team = session.home
        mode = session.permitted.mode.value
        self._answer({"team": self._team, "mode": mode, "notes": self._notes})

    def fail(self, error: DeskmateError) -> None:
        """Tell why the team does not run, or keep why it stopped."""
        if self._team:
            self.note(error_text(error))
        else:
            self._answer({"error": discreet(error.message), "hint": discreet(error.hint)})

    def note(self, words: str) -> None:
        """Keep words for the starter until the team runs, and in a file afterwards."""
        words = clean(discreet(words))
        if not self._team:
            self._notes.append(words)
            return
        head = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} process {os.getpid()}, team {self._team}: "
        append_private(app.state_folder(app.environment()) / LOG, f"{head}{words}\n".encode())

    def _answer(self, fields: dict[str, object]) -> None:
        try:
            sys.stdout.write(answer_line(fields))
            sys.stdout.flush()
        except OSError:
            # The starter has ended. The team runs all the same.
            pass
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1):
            os.dup2(nowhere, number)
        os.close(nowhere)
