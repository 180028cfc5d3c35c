"""A lead that wants to read a page: without the tool, without permission, and with it."""

from pathlib import Path
from typing import Any

import pytest

from deskmate import load_settings, run
from deskmate.testing import Asked, FakeProvider, Say, Use
from tests.webpages.hostile_site import page, site

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("web-fetch")]


@pytest.mark.parametrize(
    ("settings", "has_tool", "said"),
    [
        ({}, False, "You do not have the tool 'web_fetch'"),
        ({"web": True}, True, "nobody is here to answer"),
        ({"web": True, "permission": {"allow": ["web_fetch(localhost)"]}}, True, "localhost is not a public address"),
        ({"web": True, "permission_mode": "bypass"}, True, "localhost is not a public address"),
    ],
)
async def test_a_page_is_read_only_with_the_tool_and_permission_and_never_from_this_machine(
    tmp_path: Path, settings: dict[str, Any], has_tool: bool, said: str
) -> None:
    with site({"/": page("secret")}) as running:

        def lead(asked: Asked) -> Say:
            if asked.results:
                return Say(asked.results[0].text)
            return Say("I look.", [Use("web_fetch", {"url": running.url(host="localhost")})])

        async with FakeProvider(lead) as provider:
            own = load_settings(anthropic={"key": "any", "base_url": provider.url}, sandbox=False, **settings)
            outcome = await run("read it", workspace=tmp_path, settings=own)
        assert running.asked == []
    assert provider.complaints == []
    assert said in outcome.text
    assert ("web_fetch" in provider.requests[0].tools) == has_tool
