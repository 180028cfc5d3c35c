"""Settings: who wins, what is refused and in which words, which model follows from them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from deskmate.config import (
    ModelSettings,
    Prices,
    Provider,
    Settings,
    choose_fallback,
    choose_model,
    config_folder,
    load,
    program_name,
    state_folder,
)
from deskmate.config.settings import TreeSettings
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.caps import Caps
from deskmate.errors import BadSettings

EVERYTHING = """
model = "claude-opus-4-1"
fallback_model = "openai:gpt-5.5"
permission_mode = "acceptEdits"
max_cost = 5
max_tokens = 2000000
max_time = 600
max_members = 4
max_calls = 8
max_member_cost = 1.5
max_member_tokens = 500000
max_steps = 50
thinking_tokens = 4000

[tree]
setup = "uv sync"
sparse = ["src", "docs/pictures/"]

[anthropic]
key = "sk-file"

[openai]
base_url = "http://localhost:11434/v1/"

[models."openai:llama3.1"]
window = 32000
output = 4000
prices = { input = 0.5, output = 1, cache_read = 0.05 }

[models.gpt-5]
window = 100000
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / ".config/deskmate/settings.toml"
    file.parent.mkdir(parents=True)
    file.touch(mode=0o600)
    return file


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


# -- who wins -------------------------------------------------------------------------------------


def test_without_a_file_all_is_at_its_default(home: dict[str, str], tmp_path: Path) -> None:
    settings = load(home)
    assert settings == Settings(
        file=tmp_path / ".config/deskmate/settings.toml",
        state=tmp_path / ".local/state/deskmate",
        claude_folder=tmp_path / ".claude",
    )
    assert (settings.permission_mode, settings.max_steps, settings.max_cost) == (None, 200, None)


def test_all_can_be_set_in_the_file(home: dict[str, str], file: Path) -> None:
    file.write_text(EVERYTHING)
    assert load(home) == Settings(
        file=file,
        state=Path(home["HOME"], ".local/state/deskmate"),
        claude_folder=Path(home["HOME"], ".claude"),
        addresses={"openai": f"openai.base_url in {file}"},
        key_places={"anthropic": f"anthropic.key in {file}"},
        model="claude-opus-4-1",
        fallback_model="openai:gpt-5.5",
        anthropic=Provider(key=SecretStr("sk-file")),
        openai=Provider(base_url="http://localhost:11434/v1"),
        permission_mode=Mode.ACCEPT_EDITS,
        max_cost=5.0,
        max_tokens=2_000_000,
        max_time=600.0,
        max_members=4,
        max_calls=8,
        max_member_cost=1.5,
        max_member_tokens=500_000,
        max_steps=50,
        thinking_tokens=4000,
        tree=TreeSettings(setup="uv sync", sparse=["src", "docs/pictures"]),
        models={
            "openai:llama3.1": ModelSettings(
                window=32000, output=4000, prices=Prices(input=0.5, output=1, cache_read=0.05, cache_write=0)
            ),
            "openai:gpt-5": ModelSettings(window=100000),
        },
    )


@pytest.mark.behaviour("budget")
def test_the_caps_are_those_that_are_set_and_steps(home: dict[str, str], file: Path) -> None:
    assert load(home).caps == Caps(members=100, steps=200)
    file.write_text(EVERYTHING)
    assert load(home).caps == Caps(
        cost=5.0,
        tokens=2_000_000,
        seconds=600.0,
        members=4,
        calls=8,
        member_cost=1.5,
        member_tokens=500_000,
        steps=50,
    )


def test_own_prices_are_four_numbers_a_model(home: dict[str, str], file: Path) -> None:
    file.write_text(EVERYTHING)
    assert load(home).prices == {"openai:llama3.1": (0.5, 1.0, 0.05, 0.0)}


def test_the_environment_wins_over_the_file_and_flags_over_both(home: dict[str, str], file: Path) -> None:
    file.write_text(EVERYTHING)
    variables = {
        "DESKMATE_MODEL": "gpt-5",
        "ANTHROPIC_BASE_URL": "https://gate.example",
        "OPENAI_API_KEY": " sk-env\n",
    }
    settings = load({**home, **variables})
    assert (settings.model, settings.max_steps) == ("gpt-5", 50)
    assert settings.anthropic == Provider(key=SecretStr("sk-file"), base_url="https://gate.example")
    assert settings.openai == Provider(key=SecretStr("sk-env"), base_url="http://localhost:11434/v1")
    settings = load({**home, **variables}, {"model": "o3", "permission_mode": "plan", "max_steps": 7, "max_cost": 0.5})
    assert (settings.model, settings.permission_mode, settings.max_steps, settings.max_cost) == (
        "o3",
        Mode.PLAN,
        7,
        0.5,
    )


def test_an_empty_variable_is_as_good_as_none(home: dict[str, str], file: Path) -> None:
    file.write_text(EVERYTHING)
    assert load({**home, "ANTHROPIC_API_KEY": "", "NO_COLOR": ""}) == load(home)


def test_no_color_is_heeded(home: dict[str, str]) -> None:
    assert (load(home).colour, load({**home, "NO_COLOR": "1"}).colour) == (True, False)


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HOME": "/home/ann"}, "/home/ann/.config/deskmate"),
        ({"HOME": "/home/ann", "XDG_CONFIG_HOME": "/cfg"}, "/cfg/deskmate"),
        ({"HOME": "/home/ann", "XDG_CONFIG_HOME": ""}, "/home/ann/.config/deskmate"),
        ({"HOME": "/home/ann", "XDG_CONFIG_HOME": "here"}, "/home/ann/.config/deskmate"),
        ({}, "/.config/deskmate"),
    ],
)
def test_the_folder_is_the_users_own_and_never_a_relative_one(environ: dict[str, str], folder: str) -> None:
    assert config_folder(environ) == Path(folder)
    assert load(environ).skill_folders[0] == Path(folder, "skills")


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HOME": "/home/ann"}, "/home/ann/.local/state/deskmate"),
        ({"HOME": "/home/ann", "XDG_STATE_HOME": "/state"}, "/state/deskmate"),
        ({"HOME": "/home/ann", "XDG_STATE_HOME": "here"}, "/home/ann/.local/state/deskmate"),
    ],
)
def test_what_is_our_own_is_kept_in_a_folder_of_the_users(environ: dict[str, str], folder: str) -> None:
    assert (state_folder(environ), load(environ).state) == (Path(folder), Path(folder))


def test_nothing_is_read_from_the_folder_one_stands_in(
    home: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    for folder in (repository, repository / "deskmate", repository / ".config/deskmate"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.toml").write_text('permission_mode = "bypass"')
    monkeypatch.chdir(repository)
    assert load({**home, "XDG_CONFIG_HOME": "."}) == load(home)
    assert load(home).permission_mode is None


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_cots = 5", "'max_cots' in {file} is not a setting. Did you mean 'max_cost'?"),
        (
            "[openai]\nzzz = 1",
            "'openai.zzz' in {file} is not a setting. Settings here: key, base_url",
        ),
        ("[models.gpt-5]\nwindows = 1", "'models.gpt-5.windows' in {file} is not a setting. Did you mean 'window'?"),
        (
            "[models.gpt-5.prices]\ninput = 1\noutput = 1\ncache_reads = 1",
            "'models.gpt-5.prices.cache_reads' in {file} is not a setting. Did you mean 'cache_read'?",
        ),
        ("warnings = []", "'warnings' in {file} is not a setting. Settings here: "),
        ("file = 'x'", "'file' in {file} is not a setting. "),
        ("max_steps = '9'", "'max_steps' in {file} must be a whole number of at least 1"),
        ("max_steps = true", "'max_steps' in {file} must be a whole number of at least 1"),
        ("max_steps = 0", "'max_steps' in {file} must be a whole number of at least 1"),
        ("max_cost = nan", "'max_cost' in {file} must be a number of dollars above 0"),
        ("max_cost = inf", "'max_cost' in {file} must be a number of dollars above 0"),
        ("max_cost = 0", "'max_cost' in {file} must be a number of dollars above 0"),
        ("max_tokens = 0", "'max_tokens' in {file} must be a whole number of tokens, such as 2000000"),
        ("max_time = 0", "'max_time' in {file} must be a number of seconds above 0"),
        ("max_members = -1", "'max_members' in {file} must be a whole number of teammates, or 0"),
        ("max_calls = 0", "'max_calls' in {file} must be a whole number from 1 to 10000"),
        ("max_calls = 10001", "'max_calls' in {file} must be a whole number from 1 to 10000"),
        ("max_member_cost = 0", "'max_member_cost' in {file} must be a number of dollars above 0"),
        ("max_member_tokens = 1.5", "'max_member_tokens' in {file} must be a whole number of tokens, such as 500000"),
        ("model = 5", "'model' in {file} must be a model such as"),
        ("model = ''", "'model' in {file} must be a model such as"),
        ("permission_mode = 'yolo'", "'permission_mode' in {file} must be one of default, acceptEdits, plan"),
        ("thinking_tokens = 5", "'thinking_tokens' in {file} must be a whole number of at least 1024"),
        ("anthropic = 'sk-secret'", "'anthropic' in {file} must be a table with `key` or `base_url`"),
        ("anthropic.key = 'sk-secret sk-two'", "'anthropic.key' in {file} must be a key without spaces"),
        ("anthropic.key = ''", "'anthropic.key' in {file} must be a key without spaces"),
        ("openai.base_url = 'localhost:11434'", "'openai.base_url' in {file} must be an address such as http://"),
        ("openai.base_url = 'http://u:" + "sk-secret@h/v1'", "'openai.base_url' in {file} must be an address such as"),
        ("tree = 'uv sync'", "'tree' in {file} must be a table with `setup` or `sparse`"),
        ("[tree]\nset_up = 'uv sync'", "'tree.set_up' in {file} is not a setting. Did you mean 'setup'?"),
        ("[tree]\nsparse = 'src'", "'tree.sparse' in {file} must be a list of folders of the repository"),
        ("[tree]\nsparse = ['src', '/etc']", "'tree.sparse' in {file} must be a list of folders of the repository"),
        ("[tree]\nsparse = ['a/../..']", "'tree.sparse' in {file} must be a list of folders of the repository"),
        ("[tree]\nsparse = ['*.py']", "'tree.sparse' in {file} must be a list of folders of the repository"),
        ("[models.llama]\nwindow = 1", "'models' in {file} must be a table by model, such as"),
        ("[models.gpt-5]\n[models.'openai:gpt-5']", "'models' in {file} must be a table by model, such as"),
        ("[models.gpt-5]\nprices = {}", "'models.gpt-5.prices.input' in {file} must be dollars for a million"),
        ("[models.gpt-5]\nwindow = 0", "'models.gpt-5.window' in {file} must be a whole number of tokens"),
        (
            "[models]\n'openai:x' = 3",
            "'models.openai:x' in {file} must be a table with `window`, `output` or `prices`",
        ),
        ("[models]\ngpt-5 = 'sk-secret'", "'models.gpt-5' in {file} must be a table with"),
        ("model =\n", "{file} is not valid TOML: Invalid value (at line 1, column 8"),
        ("a = 1\na = 2\n", "{file} is not valid TOML: Cannot overwrite a value (at line 2"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(home: dict[str, str], file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(BadSettings) as caught:
        load(home)
    assert str(caught.value).startswith(said.format(file=file))
    assert "sk-secret" not in f"{caught.value!r}{caught.value.__cause__!r}"
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("OPENAI_BASE_URL", "nowhere", "OPENAI_BASE_URL in the environment must be an address such as"),
        ("ANTHROPIC_API_KEY", "sk-ü", "ANTHROPIC_API_KEY in the environment must be a key without spaces"),
        ("DESKMATE_MODEL", "a b", "DESKMATE_MODEL in the environment must be a model such as"),
    ],
)
def test_what_is_wrong_in_the_environment_is_named(home: dict[str, str], variable: str, value: str, said: str) -> None:
    with pytest.raises(BadSettings) as caught:
        load({**home, variable: value})
    assert str(caught.value).startswith(said)


def test_a_wrong_flag_is_named(home: dict[str, str]) -> None:
    with pytest.raises(BadSettings, match=r"^The option --max-cost must be a number of dollars above 0$"):
        load(home, {"max_cost": -1.0})


def test_a_file_that_cannot_be_read_is_named(home: dict[str, str], file: Path) -> None:
    file.write_bytes(b"model = '\xff'")
    with pytest.raises(BadSettings, match=f"^{file} is not valid UTF-8 at byte 9"):
        load(home)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_file_that_is_not_a_file_is_refused_and_nobody_waits(
    home: dict[str, str], file: Path, make: Callable[[Path], None]
) -> None:
    file.unlink()
    make(file)
    with pytest.raises(BadSettings, match=f"^Cannot read {file}: it is not an ordinary file"):
        load(home)


def test_a_link_to_a_file_elsewhere_is_followed(home: dict[str, str], file: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/deskmate.toml").write_text('model = "o3"')
    file.unlink()
    file.symlink_to("../../dotfiles/deskmate.toml")
    assert load(home).model == "o3"


def test_a_byte_order_mark_does_no_harm(home: dict[str, str], file: Path) -> None:
    file.write_text('model = "o3"', encoding="utf-8-sig")
    assert load(home).model == "o3"


# -- keys stay secret -----------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, True), (0o604, True), (0o622, False)])
def test_a_key_that_others_may_read_is_warned_of(home: dict[str, str], file: Path, mode: int, warned: bool) -> None:
    file.write_text('[openai]\nkey = "sk-secret"')
    file.chmod(mode)
    assert [warning.hint for warning in load(home).warnings] == ([f"Run: chmod 600 {file}"] if warned else [])


def test_a_file_without_a_key_may_be_read_by_all(home: dict[str, str], file: Path) -> None:
    file.write_text('model = "o3"\n[openai]\nbase_url = "http://localhost/v1"')
    file.chmod(0o644)
    assert load({**home, "OPENAI_API_KEY": "sk-env"}).warnings == ()


def test_keys_are_not_shown(home: dict[str, str], file: Path) -> None:
    file.write_text('[openai]\nkey = "sk-secret"')
    settings = load({**home, "ANTHROPIC_API_KEY": "sk-secret-too"})
    assert "sk-secret" not in f"{settings!r}{settings}{settings.model_dump()}{settings.model_dump_json()}"
    assert settings.openai.key is not None
    assert settings.openai.key.get_secret_value() == "sk-secret"


# -- which model ----------------------------------------------------------------------------------

BOTH = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}
LOCAL = {"OPENAI_BASE_URL": "http://localhost:11434/v1"}


@pytest.mark.parametrize(
    ("variables", "model"),
    [
        ({"ANTHROPIC_API_KEY": "a"}, "anthropic:claude-sonnet-5-5"),
        ({"OPENAI_API_KEY": "b"}, "openai:gpt-5.5"),
        (BOTH, "anthropic:claude-sonnet-5-5"),
        ({"ANTHROPIC_BASE_URL": "https://gate.example", "OPENAI_API_KEY": "b"}, "openai:gpt-5.5"),
        ({**BOTH, "DESKMATE_MODEL": "claude-opus-4-1"}, "anthropic:claude-opus-4-1"),
        ({**BOTH, "DESKMATE_MODEL": "gpt-5-mini"}, "openai:gpt-5-mini"),
        ({**BOTH, "DESKMATE_MODEL": "o3"}, "openai:o3"),
        ({**BOTH, "DESKMATE_MODEL": "openai:claude-like"}, "openai:claude-like"),
        ({**LOCAL, "DESKMATE_MODEL": "openai:llama3:8b"}, "openai:llama3:8b"),
        ({**LOCAL, "DESKMATE_MODEL": "gpt-oss:20b"}, "openai:gpt-oss:20b"),
    ],
)
def test_the_model_follows_from_what_is_set(home: dict[str, str], variables: dict[str, str], model: str) -> None:
    assert choose_model(load({**home, **variables})) == model


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "There is no API key"),
        (
            LOCAL,
            "No model is set, and Deskmate does not know which models http://localhost:11434/v1 has. Set one",
        ),
        (
            {**BOTH, "DESKMATE_MODEL": "llama3:8b"},
            "The model 'llama3:8b' does not begin with a known provider. The providers are anth",
        ),
        ({**BOTH, "DESKMATE_MODEL": "mine"}, "The model 'mine' does not begin with a known provider. Write PROVIDER:"),
        ({**BOTH, "DESKMATE_MODEL": "ollama"}, "'ollama' does not name a model. Write its name after the provider"),
        (
            {**BOTH, "DESKMATE_MODEL": "openai:"},
            "'openai:' does not name a model. Write its name after the provider, as in openai:gpt",
        ),
        (
            {**LOCAL, "DESKMATE_MODEL": "claude-opus-4-1"},
            "There is no API key for anthropic:claude-opus-4-1. Set ANTHROPIC_API_KEY",
        ),
        (
            {"ANTHROPIC_API_KEY": "a", "DESKMATE_MODEL": "o3"},
            "There is no API key for openai:o3. Set OPENAI_API_KEY, or `key` under",
        ),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused_with_the_way_out(
    home: dict[str, str], variables: dict[str, str], said: str
) -> None:
    with pytest.raises(BadSettings) as caught:
        choose_model(load({**home, **variables}))
    assert str(caught.value).startswith(said)


def test_without_any_key_all_the_ways_are_told(home: dict[str, str], file: Path) -> None:
    with pytest.raises(BadSettings) as caught:
        choose_model(load(home))
    for way in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", str(file), "OPENAI_BASE_URL", "Ollama"):
        assert way in str(caught.value)
    assert str(caught.value).endswith(f"\nTo watch a team without a key, run: {program_name()} demo")


def test_the_fallback_is_chosen_like_the_model_or_is_none(home: dict[str, str]) -> None:
    assert choose_fallback(load({**home, **BOTH})) is None
    assert choose_fallback(load({**home, **BOTH}, {"fallback_model": "gpt-5"})) == "openai:gpt-5"
    with pytest.raises(BadSettings, match=r"no API key for openai:gpt-5"):
        choose_fallback(load({**home, "ANTHROPIC_API_KEY": "a"}, {"fallback_model": "gpt-5"}))
