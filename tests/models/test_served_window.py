"""The window of a model on the user's own server, as the server says it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deskmate.app.parts.provider_models import provider_model
from deskmate.config import load
from deskmate.models.http.http_failures import HttpFailure
from deskmate.models.served_window import ServedWindow
from deskmate.models.wires.http_client import new_client
from deskmate.models.wires.openai import OpenAIModel
from deskmate.ports import ModelLimits
from deskmate.testing.fake_provider import FakeProvider
from tests.models.in_process_provider import Body, Provider, ResponseHead, reply_of

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("providers")]

KNOWN = ModelLimits(128_000, 8_192)


class Server(Provider):
    """A model server that answers questions about itself from a table."""

    def __init__(self, pages: Mapping[str, Any]) -> None:
        super().__init__(b"data: [DONE]\n\n")
        self.pages, self.visited = pages, list[str]()

    async def get(self, url: str, headers: Mapping[str, str]) -> Body:
        self.visited.append(url.removeprefix("http://here"))
        page = self.pages.get(self.visited[-1])
        if isinstance(page, Exception):
            raise page
        return Body(ResponseHead(404 if page is None else 200, "", {}, keeps=True), [json.dumps(page).encode()])


def model(**fields: Any) -> dict[str, Any]:
    return {"data": [{"id": "other", "max_model_len": 9999}, {"id": "m", **fields}]}


@pytest.mark.parametrize(
    ("pages", "limits"),
    [
        ({"/v1/models": model(max_model_len=16_384)}, ModelLimits(16_384, 4096)),
        ({"/v1/models": model(loaded_context_length=1_000_000)}, ModelLimits(1_000_000, 8192)),
        ({"/v1/models": {"data": [{"id": "file.gguf", "context_length": 4096}]}}, ModelLimits(4096, 1024)),
        (
            {"/v1/models": model(owned_by="llamacpp"), "/props": {"default_generation_settings": {"n_ctx": 8192}}},
            ModelLimits(8192, 2048),
        ),
        ({"/v1/models": model(owned_by="llamacpp")}, KNOWN),
        ({"/v1/models": model(max_model_len=5)}, KNOWN),
        ({"/v1/models": model(max_model_len="many")}, KNOWN),
        ({"/v1/models": ["odd"]}, KNOWN),
        ({"/v1/models": HttpFailure("gone")}, KNOWN),
        ({}, KNOWN),
    ],
)
async def test_the_window_is_what_the_server_says(pages: Mapping[str, Any], limits: ModelLimits) -> None:
    server = Server(pages)
    model = ServedWindow(
        OpenAIModel(server, "m", key=None, base_url="http://here/v1", limits=KNOWN), server, "http://here/v1", {}
    )
    assert model.limits == KNOWN
    await reply_of(model)
    asked = len(server.visited)
    await reply_of(model)
    assert (model.limits, len(server.visited)) == (limits, asked)
    assert [json.loads(request.content)["max_tokens"] for request in server.asked] == [limits.output] * 2


@pytest.mark.parametrize(
    ("more", "window"), [("", 16_384), ('[models."lab/m"]\nwindow = 50_000\n', 50_000)], ids=["told", "set"]
)
async def test_a_described_server_is_asked_unless_the_user_sets_the_window(
    tmp_path: Path, more: str, window: int
) -> None:
    file = tmp_path / ".config/deskmate/settings.toml"
    file.parent.mkdir(parents=True)
    listed = [{"id": "m", "max_model_len": 16_384}]
    async with FakeProvider(["hi"], models=listed) as provider, new_client(secure=False) as client:
        file.write_text(f'[providers.lab]\nbase_url = "{provider.url}/v1"\n{more}')
        model = provider_model("lab:m", load({"HOME": str(tmp_path)}), client)
        await reply_of(model)
    assert model.limits.window == window
    assert provider.complaints == []
