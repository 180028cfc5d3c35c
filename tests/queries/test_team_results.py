"""What came of a team."""

from deskmate.queries.team_results import working_seconds


def test_time_counts_from_each_message_to_the_last_call_for_it_and_not_while_nobody_works() -> None:
    assert working_seconds([100.0, 900.0], [105.0, 110.0, 903.0]) == 13.0
    assert working_seconds([100.0, 104.0], [103.0, 108.0]) == 7.0
    assert working_seconds([100.0], []) == 0.0
    assert working_seconds([], [7.0]) == 0.0
