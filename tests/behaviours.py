"""The behaviours Deskmate promises: id → one sentence saying what must hold.

A test proves some of them by carrying `@pytest.mark.behaviour("id", ...)`; `test_behaviours.py` checks
both ways.
"""

BEHAVIOURS: dict[str, str] = {}
