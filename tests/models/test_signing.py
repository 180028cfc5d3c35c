"""Anthropic's models at Bedrock and Vertex AI: our requests, and those of Anthropic's own clients for the two."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anthropic
import pytest
from google.auth import credentials
from google.auth import exceptions as google_errors

from deskmate.app.parts.provider_models import provider_model
from deskmate.config import Settings, choose_model, load
from deskmate.errors import ModelRejected, ModelTrouble
from deskmate.models.model_limits import limits_of
from deskmate.models.signing.aws_signature import AwsSigning
from deskmate.models.signing.google_token import GoogleTokens
from deskmate.models.wires.anthropic import AnthropicModel
from deskmate.models.wires.http_client import new_client
from deskmate.ports import Model
from deskmate.testing import Say, Use
from deskmate.testing.fake_provider import FakeProvider
from tests.models.in_process_provider import LIMITS, Provider, all_of, reply_of

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("providers")]

SAY = Say("Wörter", [Use("bash", {"command": "ls"})], thinking="hm")
# Its classes have no types.
exceptions: Any = google_errors
SECRET = "wJalrXUtnFEMI-bPxRfiCYEXAMPLEKEY"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Set the environment as Amazon's tools read it."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)


def settings_with(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / ".config/deskmate/settings.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return load({"HOME": str(tmp_path)})


def key_of(*parts: str) -> bytes:
    """Return the key that signs requests of a day, for a region and a service."""
    key = f"AWS4{SECRET}".encode()
    for part in parts:
        key = hmac.new(key, part.encode(), "sha256").digest()
    return key


def expected_signature(headers: Mapping[str, str], path: str, body: bytes, region: str, service: str) -> str:
    """Return the signature of a request, from what its own headers say was signed."""
    names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    lines = "".join(f"{name}:{headers[name].strip()}\n" for name in names.split(";"))
    canonical = f"POST\n{path}\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    when = headers["x-amz-date"]
    scope = f"{when[:8]}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{when}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    return hmac.new(key_of(when[:8], region, service, "aws4_request"), text.encode(), "sha256").hexdigest()


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("host", "region", "service"),
    [
        ("bedrock-mantle.us-east-1.api.aws", "us-east-1", "bedrock-mantle"),
        ("bedrock-runtime.ap-south-1.amazonaws.com", "ap-south-1", "bedrock"),
        ("proxy.example:8443", "eu-west-1", "bedrock-mantle"),
    ],
)
async def test_a_request_to_bedrock_is_signed(host: str, region: str, service: str) -> None:
    provider = Provider(status=500)
    url = f"https://{host}/anthropic"
    model = AnthropicModel(AwsSigning(provider, "bedrock:m"), "m", key="none", base_url=url, limits=LIMITS)
    with pytest.raises(ModelTrouble):
        await all_of(model)
    (request,) = provider.asked
    assert request.url == f"{url}/v1/messages"
    assert "x-api-key" not in request.headers
    headers = {**request.headers, "host": host}
    signature = expected_signature(headers, "/anthropic/v1/messages", request.content, region, service)
    assert headers["authorization"].endswith(f"Signature={signature}")


@pytest.mark.usefixtures("aws")
async def test_a_step_goes_to_bedrock_and_back_as_with_anthropics_own_client(tmp_path: Path) -> None:
    async with FakeProvider([SAY, SAY]) as provider, new_client(secure=False) as client:
        settings = settings_with(tmp_path, f'[providers.bedrock]\nbase_url = "{provider.url}/anthropic"\n')
        name = choose_model(settings, "bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0@low")
        reply = await reply_of(provider_model(name, settings, client))
        async with anthropic.AsyncAnthropicBedrockMantle(
            base_url=f"{provider.url}/anthropic", aws_region="eu-west-1"
        ) as sdk:
            stream = sdk.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
            async with stream as streamed:
                message = await streamed.get_final_message()
    assert (reply.text, reply.calls[0].arguments) == (SAY.text, {"command": "ls"})
    assert message.content[1].text == SAY.text
    assert provider.complaints == []
    ours, theirs = provider.requests
    assert ours.body["thinking"] == {"type": "enabled", "budget_tokens": 4096}
    scopes = [one.headers["authorization"].partition(", ")[0].split("/", 2)[2] for one in (ours, theirs)]
    assert scopes == ["eu-west-1/bedrock-mantle/aws4_request"] * 2


async def test_without_credentials_the_way_to_some_is_told(aws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ModelRejected, match=r"There are no AWS credentials for bedrock:m\. Set AWS_PROFILE"):
        await AwsSigning(Provider(), "bedrock:m").post("https://bedrock-mantle.us-east-1.api.aws", {}, [])


# -- Vertex AI ------------------------------------------------------------------------------------


class Lent(credentials.Credentials):
    """Credentials that are given a new token each time, or none."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.error, self.made = error, 0

    def refresh(self, request: object) -> None:
        if self.error:
            raise self.error
        self.made += 1
        self.token = f"token-{self.made}"


def vertex_at(client: Any, url: str, lent: Lent) -> Model:
    tokens = GoogleTokens(client, "vertex:m", lambda: lent)
    more: dict[str, Any] = {"limits": LIMITS, "provider": "vertex", "is_vertex": True}
    model, address = "claude-sonnet-4-5@20250929", f"{url}/v1/projects/p/locations/eu"
    return AnthropicModel(tokens, model, key="none", base_url=address, **more)


async def test_a_step_goes_to_vertex_and_back_as_with_anthropics_own_client() -> None:
    lent = Lent()
    async with FakeProvider([SAY] * 3) as provider, new_client(secure=False) as client:
        model = vertex_at(client, provider.url, lent)
        replies = [await reply_of(model) for _ in range(2)]
        async with anthropic.AsyncAnthropicVertex(
            base_url=f"{provider.url}/v1", region="eu", project_id="p", access_token="theirs"
        ) as sdk:
            stream = sdk.messages.stream(
                model="claude-sonnet-4-5@20250929", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
            )
            async with stream as streamed:
                message = await streamed.get_final_message()
    assert [(reply.text, reply.model) for reply in replies] == [(SAY.text, "vertex:claude-sonnet-4-5@20250929")] * 2
    assert message.content[1].text == SAY.text
    assert provider.complaints == []
    assert [one.headers["authorization"] for one in provider.requests] == ["Bearer token-1"] * 2 + ["Bearer theirs"]
    assert {one.model for one in provider.requests} == {"claude-sonnet-4-5@20250929"}


@pytest.mark.parametrize(
    ("error", "expected", "said"),
    [
        (exceptions.TransportError("no route"), ModelTrouble, "Google gave no token for vertex:m: no route"),
        (exceptions.RefreshError("revoked"), ModelRejected, "Google refused a token for vertex:m: revoked"),
        (exceptions.DefaultCredentialsError("none"), ModelRejected, "There are no Google credentials for vertex:m"),
    ],
)
async def test_a_token_that_cannot_be_had_is_an_error(error: Exception, expected: type[Exception], said: str) -> None:
    with pytest.raises(expected, match=said):
        await all_of(vertex_at(Provider(), "https://x", Lent(error)))


async def test_a_key_for_vertex_is_a_token(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, '[providers.vertex]\nbase_url = "https://x/v1/projects/p"\nkey = "ya29.abc"\n')
    provider = Provider(status=500)
    with pytest.raises(ModelTrouble):
        await all_of(provider_model("vertex:claude-opus-5", settings, provider))
    (request,) = provider.asked
    assert request.url == "https://x/v1/projects/p/publishers/anthropic/models/claude-opus-5:streamRawPredict"
    assert request.headers["authorization"] == "Bearer ya29.abc"
    assert json.loads(request.content).keys() == {"anthropic_version", "max_tokens", "stream", "system", "messages"}


def test_models_at_bedrock_and_vertex_have_the_limits_of_their_family() -> None:
    known = limits_of("anthropic:claude-opus-4-5")
    assert limits_of("bedrock:us.anthropic.claude-opus-4-5-20251101-v1:0") == known
    assert limits_of("vertex:claude-opus-4-5@20251101") == known
