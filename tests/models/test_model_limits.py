"""Limits: the table against names as people write them, and against figures gathered by others."""

from collections.abc import Iterator

import pytest
from genai_prices.data_snapshot import get_snapshot

from deskmate.models.model_limits import UNKNOWN, limits_of
from deskmate.ports import ModelLimits


@pytest.mark.parametrize(
    ("model", "limits"),
    [
        ("anthropic:claude-opus-4-1-20250805", ModelLimits(200_000, 32_000)),
        ("anthropic:claude-opus-4-5", ModelLimits(200_000, 64_000)),
        ("openrouter:anthropic/claude-opus-4.5", ModelLimits(200_000, 64_000)),
        ("anthropic:claude-opus-5-5", ModelLimits(1_000_000, 128_000)),
        ("anthropic:claude-3-5-haiku-latest", ModelLimits(200_000, 8_192)),
        ("openai:gpt-4o-mini", ModelLimits(128_000, 16_384)),
        ("openai:gpt-4.1-nano", ModelLimits(1_000_000, 32_768)),
        ("openai:gpt-5-mini", ModelLimits(400_000, 128_000)),
        ("openai:gpt-5.3-codex", ModelLimits(400_000, 128_000)),
        ("openai:o3-mini", ModelLimits(200_000, 100_000)),
        ("google:gemini-3.8-flash", ModelLimits(1_000_000, 65_536)),
        ("together:meta-llama/Llama-3.3-70B-Instruct-Turbo", ModelLimits(128_000, 8_192)),
        ("openrouter:qwen/qwen3-coder", ModelLimits(256_000, 32_768)),
        ("deepseek:deepseek-v4-pro", ModelLimits(1_000_000, 64_000)),
        ("mistral:mistral-large-latest", ModelLimits(128_000, 16_384)),
        ("ollama:qwen3-coder:30b", ModelLimits(32_768, 8_192)),
        ("vllm:my-own-model", UNKNOWN),
        ("claude-opus-4-5", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_a_model_has_the_limits_of_the_family_that_fits_it_best(model: str, limits: ModelLimits) -> None:
    assert limits_of(model) == limits


@pytest.mark.parametrize(
    ("override", "window", "limits"),
    [
        (ModelLimits(50_000, 9_000), None, ModelLimits(50_000, 9_000)),
        (None, 100_000, ModelLimits(100_000, 50_000)),
        (None, 190_000, ModelLimits(190_000, 64_000)),
        (ModelLimits(50_000, 9_000), 10_000, ModelLimits(10_000, 5_000)),
    ],
)
def test_settings_go_before_the_table(override: ModelLimits | None, window: int | None, limits: ModelLimits) -> None:
    assert limits_of("anthropic:claude-opus-4-5", override, window) == limits


OURS = (
    "claude-",
    "gpt-",
    "o1",
    "o3",
    "o4",
    "gemini-",
    "llama",
    "meta-llama/",
    "qwen",
    "deepseek",
    "mistral",
    "codestral",
)
# Models that read or make sound and pictures, search or moderate: no agent speaks through them.
SPECIAL = (
    "audio",
    "realtime",
    "transcribe",
    "tts",
    "image",
    "live",
    "guard",
    "embed",
    "ocr",
    "vision",
    "search",
    "saba",
)
# Names that no longer answer, or mean something newer today.
GONE = {"google:gemini-pro"}


def listed() -> Iterator[tuple[str, int]]:
    """Yield the models that someone else's table gives a window, at those who make them and at one host."""
    for provider in get_snapshot().providers:
        if provider.id in {"anthropic", "openai", "google", "deepseek", "mistral", "groq"}:
            for model in provider.models:
                name = f"{provider.id}:{model.id}"
                chats = model.id.startswith(OURS) and not any(word in model.id for word in SPECIAL)
                if chats and model.context_window and name not in GONE:
                    yield name, model.context_window


def test_no_window_is_larger_than_others_say_it_is() -> None:
    windows = dict(listed())
    assert len(windows) > 80
    assert {model: window for model, window in windows.items() if limits_of(model).window > window} == {}


def test_every_current_claude_and_gpt_has_the_very_window_others_say() -> None:
    current = {
        model: window
        for model, window in listed()
        if model.startswith(("anthropic:claude-", "openai:gpt-5", "openai:gpt-6"))
    }
    assert len(current) > 30
    assert {model: limits_of(model).window for model in current} == current
