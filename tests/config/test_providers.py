"""Providers that the user describes, presets, and short names of models."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from deskmate.config import Settings, choose_model, load
from deskmate.errors import BadSettings

LAB = '[providers.lab]\nbase_url = "http://10.0.0.7:8000/v1/"\nkey_env = "LAB_KEY"\nheaders = { x-team = "search" }\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / ".config/deskmate/settings.toml"
    file.parent.mkdir(parents=True)
    file.touch(mode=0o600)
    return file


def read(file: Path, text: str, **environ: str) -> Settings:
    file.write_text(text)
    return load({"HOME": str(file.parents[2]), **environ})


@pytest.mark.behaviour("providers")
def test_several_providers_each_have_an_address_a_key_and_a_wire(file: Path) -> None:
    text = f'{LAB}[providers.gate]\nbase_url = "https://gate.example"\nwire = "anthropic"\n'
    settings = read(file, text, LAB_KEY="sk-lab", GATE_API_KEY="sk-gate", ANTHROPIC_API_KEY="sk-a")
    found = {name: settings.provider_of(f"{name}:m") for name in ("anthropic", "lab", "gate", "openai")}
    assert {name: (one.base_url, one.wire, one.key and one.key.get_secret_value()) for name, one in found.items()} == {
        "anthropic": ("https://api.anthropic.com", "anthropic", "sk-a"),
        "lab": ("http://10.0.0.7:8000/v1", "openai", "sk-lab"),
        "gate": ("https://gate.example", "anthropic", "sk-gate"),
        "openai": ("https://api.openai.com/v1", "openai", None),
    }
    assert found["lab"].headers == {"x-team": "search"}
    assert settings.origin_of("lab:m") == (f"providers.lab.base_url in {file}", "LAB_KEY", "")
    assert settings.own_servers == {"lab", "gate"}


def test_providers_can_share_a_variable(file: Path) -> None:
    text = f'{LAB}[providers.lab2]\nbase_url = "http://b/v1"\nkey_env = "LAB_KEY"\n[openai]\nkey_env = "LAB_KEY"\n'
    settings = read(file, text, LAB_KEY="sk-lab", OPENAI_API_KEY="sk-other")
    keys = [settings.provider_of(name).key for name in ("lab", "lab2", "openai")]
    assert [key and key.get_secret_value() for key in keys] == ["sk-lab"] * 3
    assert settings.key_places == {"lab": "LAB_KEY", "lab2": "LAB_KEY", "openai": "LAB_KEY"}


@pytest.mark.behaviour("providers")
@pytest.mark.parametrize(
    ("wanted", "model"),
    [
        ("lab/qwen3:8b", "lab:qwen3:8b"),
        ("lab:org/name", "lab:org/name"),
        ("openrouter/anthropic/claude-sonnet-4.5", "openrouter:anthropic/claude-sonnet-4.5"),
        ("ollama/qwen3:8b", "ollama:qwen3:8b"),
        ("openai:org/name", "openai:org/name"),
        ("claude-opus-5", "anthropic:claude-opus-5"),
        ("search", "lab:qwen3:8b"),
        ("opus", "lab:big"),
        ("sonnet", "anthropic:claude-sonnet-5-5"),
        ("fast", "openai:gpt-5.4-mini"),
    ],
)
def test_a_model_is_named_by_its_provider_or_by_an_alias(file: Path, wanted: str, model: str) -> None:
    text = f'[aliases]\nsearch = "lab/qwen3:8b"\nopus = "lab/big"\n{LAB}'
    environ = {"LAB_KEY": "k", "OPENROUTER_API_KEY": "k", "OPENAI_API_KEY": "k"}
    if wanted in ("sonnet", "claude-opus-5"):
        environ["ANTHROPIC_API_KEY"] = "k"
    assert choose_model(read(file, text, **environ), wanted) == model


def test_fast_is_the_small_model_of_the_first_provider_with_a_key(file: Path) -> None:
    settings = read(file, "", ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k")
    assert choose_model(settings, "fast") == "anthropic:claude-haiku-5-5"


@pytest.mark.behaviour("providers")
@pytest.mark.parametrize(
    ("text", "model", "said"),
    [
        (LAB, "lab/m", "There is no API key for lab:m. Set LAB_KEY, or `key` under [providers.lab] in {file}."),
        ("", "groq/m", "There is no API key for groq:m. Set GROQ_API_KEY, or `key` under [providers.groq] in {file}."),
        ("", "azure/m", "There is no address for azure:m. Set `base_url` under [providers.azure] in {file}."),
        ("", "sonnet", "There is no API key for anthropic:claude-sonnet-5-5. Set ANTHROPIC_API_KEY, or"),
        ("", "lab/m", "The model 'lab/m' does not begin with a known provider. The providers are anthropic, openai,"),
        ("", "lab", "The model 'lab' does not begin with a known provider. Write PROVIDER:lab, such as anthropic:lab"),
    ],
)
def test_a_provider_that_cannot_be_asked_is_named_with_the_next_step(
    file: Path, text: str, model: str, said: str
) -> None:
    with pytest.raises(BadSettings) as caught:
        choose_model(read(file, text), model)
    assert str(caught.value).startswith(said.format(file=file))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[providers.openai]\nkey = 'k'",
            "'providers.openai' in {file} cannot be the name of a provider here. Write [",
        ),
        ("[providers.'A B']\nkey = 'k'", "'providers.A B' in {file} cannot be the name of a provider here. Use small"),
        ("[providers]\nlab = 'http://x'", "'providers.lab' in {file} must be a table with `base_url`"),
        (
            "[providers.lab]\nwire = 'morse'",
            "'providers.lab.wire' in {file} must be anthropic, openai, responses, gemini, bedrock or",
        ),
        ("[providers.lab]\nbase_urls = 'x'", "'providers.lab.base_urls' in {file} is not a setting. Did you mean"),
        ("[providers.lab]\nkey_env = 'A B'", "'providers.lab.key_env' in {file} must be the name of a variable"),
        (
            "[providers.lab]\nkey_env = 'LC_KEY'",
            "'providers.lab.key_env' in {file} must be the name of a variable that",
        ),
        (
            "[openai]\nkey_env = 'HOME'",
            "'openai.key_env' in {file} must be the name of a variable that commands do not",
        ),
        ("[providers.lab]\nheaders = { a = 1 }", "'providers.lab.headers' in {file} must be a table of HTTP headers"),
        ('[providers.lab]\nheaders = { a = "x\\ny" }', "'providers.lab.headers' in {file} must be a table of HTTP"),
        ("[aliases]\nfast = ''", "'aliases' in {file} must be a table of models"),
        ("[models.'lab:m']\nwindow = 1", "'models' in {file} must be a table by model"),
    ],
)
def test_what_is_wrong_with_a_provider_is_named(file: Path, text: str, said: str) -> None:
    with pytest.raises(BadSettings) as caught:
        read(file, text)
    assert str(caught.value).startswith(said.format(file=file))


def test_a_wrong_key_is_named_by_its_own_variable(file: Path) -> None:
    with pytest.raises(BadSettings, match=r"^LAB_KEY in the environment must be a key without spaces"):
        read(file, LAB, LAB_KEY="a b")


def test_a_key_of_a_described_provider_that_others_may_read_is_warned_of(file: Path) -> None:
    text = '[providers.lab]\nbase_url = "http://lab/v1"\nkey = "sk-secret"'
    file.chmod(0o644)
    assert [warning.hint for warning in read(file, text).warnings] == [f"Run: chmod 600 {file}"]


def test_a_model_of_a_described_provider_has_settings_of_its_own(file: Path) -> None:
    settings = read(file, f'{LAB}[models."lab/qwen3"]\nwindow = 32768\nprices = {{ input = 0, output = 1 }}')
    assert settings.models["lab:qwen3"].window == 32768
    assert settings.prices == {"lab:qwen3": (0, 1, 0, 0)}


@pytest.mark.parametrize(
    ("text", "environ", "model"),
    [
        (LAB, {"LAB_KEY": "k"}, "--model lab:NAME"),
        ("", {"GROQ_API_KEY": "k"}, "--model groq:NAME"),
    ],
)
def test_without_a_model_a_provider_without_a_default_asks_for_one(
    file: Path, text: str, environ: Mapping[str, str], model: str
) -> None:
    with pytest.raises(BadSettings, match=f"^No model is set, .* Set one with {model}"):
        choose_model(read(file, text, **environ))
