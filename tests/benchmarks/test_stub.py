"""The stand-in for a provider answers whatever the clients that are compared send."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from benchmarks.stub import CALLS, stub

MESSAGES = [{"role": "user", "content": "x" * 100_000}]


@pytest.mark.parametrize(
    "body",
    [
        {"model": CALLS, "messages": [{"role": "user", "content": "hi"}]},
        {"model": CALLS, "messages": MESSAGES},
        {"model": CALLS, "messages": MESSAGES, "system": "You test.", "stream": False},
    ],
    ids=["short", "long, with the messages last", "long, with fields after the messages"],
)
def test_a_request_is_answered_and_its_arrival_noted_but_a_head_is_no_request(body: dict[str, object]) -> None:
    with stub() as at:
        connection = http.client.HTTPConnection(urlsplit(at.url).netloc, timeout=30)
        connection.request("HEAD", "/")
        assert connection.getresponse().read() == b""
        assert at.arrival() == 0
        connection.request("POST", "/v1/messages?beta=true", json.dumps(body, separators=(",", ":")))
        answer = json.loads(connection.getresponse().read())
        assert answer["stop_reason"] == "tool_use"
        assert at.arrival() > 0
        assert at.last().startswith(b"POST /v1/messages")
        assert at.last().endswith(json.dumps(body, separators=(",", ":")).encode())
        connection.request("GET", "/v1/models")
        assert connection.getresponse().status == 404
        connection.close()
