"""Context window and output size by model family.

The user's settings can override them. No provider is asked.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from deskmate.ports import ModelLimits

UNKNOWN = ModelLimits(128_000, 8_192)

# A local server has the window it was started with, and truncates longer prompts without an error.
_SERVERS: Mapping[str, ModelLimits] = MappingProxyType({"ollama": ModelLimits(32_768, 8_192)})

# Prefixes of model names. The longest match counts. If hosts differ, the table has the smaller number.
_FAMILIES: Mapping[str, ModelLimits] = MappingProxyType(
    {
        "claude": ModelLimits(200_000, 32_000),
        "claude-3-": ModelLimits(200_000, 4_096),
        "claude-3-5": ModelLimits(200_000, 8_192),
        "claude-3-7": ModelLimits(200_000, 64_000),
        "claude-sonnet-4": ModelLimits(200_000, 64_000),
        "claude-haiku-4-5": ModelLimits(200_000, 64_000),
        "claude-opus-4-5": ModelLimits(200_000, 64_000),
        "claude-sonnet-4-6": ModelLimits(1_000_000, 64_000),
        "claude-opus-4-6": ModelLimits(1_000_000, 128_000),
        "claude-opus-4-7": ModelLimits(1_000_000, 128_000),
        "claude-opus-4-8": ModelLimits(1_000_000, 128_000),
        "claude-haiku-5": ModelLimits(1_000_000, 64_000),
        "claude-sonnet-5": ModelLimits(1_000_000, 128_000),
        "claude-opus-5": ModelLimits(1_000_000, 128_000),
        "claude-fable-5": ModelLimits(1_000_000, 128_000),
        "gpt-3.5": ModelLimits(16_385, 4_096),
        "gpt-4": ModelLimits(8_192, 4_096),
        "gpt-4-turbo": ModelLimits(128_000, 4_096),
        "gpt-4o": ModelLimits(128_000, 16_384),
        "gpt-4.1": ModelLimits(1_000_000, 32_768),
        "gpt-5": ModelLimits(400_000, 128_000),
        "gpt-5-chat": ModelLimits(128_000, 16_384),
        "gpt-5.1-chat": ModelLimits(128_000, 16_384),
        "gpt-5.2-chat": ModelLimits(128_000, 16_384),
        "gpt-5.3": ModelLimits(128_000, 16_384),
        "gpt-5.3-codex": ModelLimits(400_000, 128_000),
        "gpt-5.4": ModelLimits(1_050_000, 128_000),
        "gpt-5.4-mini": ModelLimits(400_000, 128_000),
        "gpt-5.4-nano": ModelLimits(400_000, 128_000),
        "gpt-5.5": ModelLimits(1_000_000, 128_000),
        "gpt-5.6": ModelLimits(1_050_000, 128_000),
        "gpt-6": ModelLimits(1_050_000, 128_000),
        "gpt-oss": ModelLimits(131_072, 32_768),
        "o1": ModelLimits(200_000, 100_000),
        "o1-mini": ModelLimits(128_000, 65_536),
        "o1-preview": ModelLimits(128_000, 32_768),
        "o3": ModelLimits(200_000, 100_000),
        "o4": ModelLimits(200_000, 100_000),
        "gemini": ModelLimits(1_000_000, 65_536),
        "gemini-1.5": ModelLimits(1_000_000, 8_192),
        "gemini-2.0": ModelLimits(1_000_000, 8_192),
        "llama-3": ModelLimits(8_192, 2_048),
        "llama-3.": ModelLimits(128_000, 8_192),
        "llama-4": ModelLimits(131_072, 8_192),
        "qwen": ModelLimits(32_768, 8_192),
        "qwen-plus": ModelLimits(1_000_000, 32_768),
        "qwen3": ModelLimits(128_000, 8_192),
        "qwen3-coder": ModelLimits(256_000, 32_768),
        "qwen3-max": ModelLimits(256_000, 32_768),
        "qwen3.": ModelLimits(128_000, 32_768),
        "deepseek": ModelLimits(64_000, 8_000),
        "deepseek-v3": ModelLimits(128_000, 8_000),
        "deepseek-v4": ModelLimits(1_000_000, 64_000),
        "deepseek-flash": ModelLimits(1_000_000, 64_000),
        "mistral": ModelLimits(32_768, 8_192),
        "mistral-small": ModelLimits(128_000, 16_384),
        "mistral-medium": ModelLimits(128_000, 16_384),
        "mistral-large": ModelLimits(128_000, 16_384),
        "mistral-large-4": ModelLimits(1_000_000, 32_768),
        "magistral": ModelLimits(40_960, 16_384),
        "ministral": ModelLimits(128_000, 8_192),
        "codestral": ModelLimits(256_000, 16_384),
        "devstral": ModelLimits(128_000, 16_384),
    }
)


def limits_of(model: str, override: ModelLimits | None = None, window: int | None = None) -> ModelLimits:
    """Return the limits of `provider:model`: those of `override`, else of the table, as checked in November 2026.

    `window` replaces only the window. The output is then at most half of it, to leave room for the prompt.
    """
    limits = override or _known(model)
    if window is None:
        return limits
    return replace(limits, window=window, output=min(limits.output, window // 2))


def _known(model: str) -> ModelLimits:
    provider, _, name = model.partition(":")
    if provider in _SERVERS:
        return _SERVERS[provider]
    family = _plain(name)
    fitting = [begin for begin in _FAMILIES if family.startswith(begin)]
    return _FAMILIES[max(fitting, key=len)] if fitting else UNKNOWN


def _plain(name: str) -> str:
    """Return a model's name as its maker writes it, without the vendor's prefix."""
    # Bedrock writes us.anthropic.claude-….
    plain = name.rpartition("/")[2].lower().rpartition("anthropic.")[2]
    # Some hosts write claude-opus-4.5 for claude-opus-4-5. In other names, the dot separates versions from dates.
    return plain.replace(".", "-") if plain.startswith("claude") else plain
