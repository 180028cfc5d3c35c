"""Work modes in words: what an agent is told of a change is true of all its modes together."""

import pytest

from deskmate.core.agent.entries import WorkMode
from deskmate.core.agent.work_mode import change_text
from deskmate.core.log.names import LEAD

FREE = WorkMode(attended=True, barred=())
PLANS = WorkMode(planning=True, attended=True, barred=())
DELEGATES = WorkMode(delegating=True, attended=True, barred=())
BOTH = WorkMode(planning=True, delegating=True, attended=True, barred=())
LIMITED = WorkMode(attended=True, barred=("write_file",))


@pytest.mark.behaviour("tiers")
@pytest.mark.parametrize(
    ("told", "now", "text"),
    [
        (PLANS, FREE, "Plan mode is over for you. You have all your tools again."),
        (DELEGATES, FREE, "You no longer delegate. You have all your tools again."),
        (BOTH, DELEGATES, "Plan mode is over for you. You delegate as before."),
        (BOTH, PLANS, "You no longer delegate. You are in plan mode as before."),
    ],
)
def test_the_end_of_a_mode_promises_only_the_tools_that_the_other_modes_leave(
    told: WorkMode, now: WorkMode, text: str
) -> None:
    assert change_text(LEAD, told, now) == text


@pytest.mark.behaviour("tiers")
@pytest.mark.parametrize(
    ("told", "now", "tools_are_back"),
    [(DELEGATES, PLANS, False), (PLANS, DELEGATES, False), (PLANS, LIMITED, False), (BOTH, FREE, True)],
)
def test_all_tools_are_said_to_be_back_only_if_they_are(told: WorkMode, now: WorkMode, tools_are_back: bool) -> None:
    assert ("all your tools again" in change_text(LEAD, told, now)) == tools_are_back
