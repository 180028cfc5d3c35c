"""What `deskmate doctor` says of a model server on this machine."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deskmate.core.checks import Check
from deskmate.queries.health import check_settings

pytestmark = pytest.mark.behaviour("providers")


@contextmanager
def llama_server(template: str, status: int = 200) -> Iterator[str]:
    """Serve what llama.cpp does with a template: it fills in what the template has a place for, and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            filled = template.replace("{tools}", json.dumps(body["tools"])).replace("{messages}", "user: hi")
            found = status if self.path == "/apply-template" else 404
            self.send_response(found)
            self.end_headers()
            self.wfile.write(json.dumps({"prompt": filled}).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def checked(home: Path, url: str, **environ: str) -> list[Check]:
    file = home / ".config/deskmate/settings.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    server = f'[aliases]\nother = "llamacpp/m"\n[providers.llamacpp]\nbase_url = "{url}/v1"\n'
    file.write_text(f'model = "llamacpp/m"\nsandbox = false\n{server}')
    return [check for check in check_settings({"HOME": str(home), **environ}, None) if check.what == "model server"]


def test_a_template_without_tools_is_noticed(tmp_path: Path) -> None:
    with llama_server("<s>{messages}") as url:
        (check,) = checked(tmp_path, url)
    assert (check.state, check.words) == (
        "warn",
        f"the model at {url} sees no tools, because its chat template has no place for them, so it can only talk",
    )
    assert check.next.startswith("Start llama-server with --jinja")


def test_a_template_with_tools_and_another_server_are_fine(tmp_path: Path) -> None:
    with llama_server("<s>{tools}{messages}") as url:
        assert checked(tmp_path, url) == []
    with llama_server("", status=404) as url:
        assert checked(tmp_path, url) == []


def test_a_server_that_is_not_running_is_noticed(tmp_path: Path) -> None:
    with llama_server("") as url:
        pass
    (check,) = checked(tmp_path, url)
    assert check.words.startswith(f"{url} does not answer: ")


@pytest.mark.parametrize("url", ["http://192.0.2.1:8080", "https://localhost:8080", "http://localhost.example:8080"])
def test_other_machines_are_not_asked(tmp_path: Path, url: str) -> None:
    assert checked(tmp_path, url) == []
