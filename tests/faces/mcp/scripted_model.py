"""A model for clients of others, with the few words of Anthropic's API that they need.

The fake provider refuses everything that we would not send, so it is of no use for programs that send more.
"""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Gets the results of tools so far, and returns the next block of an answer.
Script = Callable[[list[str]], dict[str, Any]]


def results_in(body: dict[str, Any]) -> list[str]:
    """Return the texts of all results of tools in a request."""
    blocks = [block for one in body["messages"] if isinstance(one["content"], list) for block in one["content"]]
    return [json.dumps(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def events_of(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of an answer with one block."""
    is_call = block["type"] == "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    begun = {**block, "input": {}} if is_call else {**block, "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": begun}
    said = json.dumps(block["input"]) if is_call else block["text"]
    delta = {"type": "input_json_delta", "partial_json": said} if is_call else {"type": "text_delta", "text": said}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "tool_use" if is_call else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


@contextmanager
def scripted_model(script: Script) -> Iterator[str]:
    """Serve a script in a thread. Yields the base URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            is_main = self.path.startswith("/v1/messages?") or self.path == "/v1/messages"
            self.send_response(200 if is_main and body.get("stream") else 404)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            if is_main and body.get("stream"):
                for event in events_of(script(results_in(body))):
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
