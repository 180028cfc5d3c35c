"""Which model is used."""

import difflib

from deskmate.config.environment import program_name
from deskmate.config.settings import DEFAULT_MODELS, Settings, full_name
from deskmate.errors import BadSettings


def choose_model(settings: Settings, wanted: str | None = None) -> str:
    """Return the model to use, as `provider:model`: `wanted`, or the one set, or the default of a provider with a key.

    Raises BadSettings if none can be determined or its provider cannot be used.
    """
    if wanted is not None:
        return _asked(wanted, settings)
    if settings.model is not None:
        return _asked(settings.model, settings)
    for model in DEFAULT_MODELS.values():
        if settings.provider_of(model).key is not None:
            return model
    for provider, model in DEFAULT_MODELS.items():
        if url := settings.provider_of(model).base_url:
            raise BadSettings(
                f"No model is set, and Deskmate does not know which models {url} has",
                f"Set one with --model {provider}:NAME or DESKMATE_MODEL={provider}:NAME.",
            )
    raise BadSettings("There is no API key, and no address of a model server", _ways_to_set_a_key(settings))


def choose_fallback(settings: Settings) -> str | None:
    """Return the model to use if the first gives no answer, as `provider:model`, or None if none is set.

    Raises BadSettings as `choose_model` does.
    """
    return None if settings.fallback_model is None else _asked(settings.fallback_model, settings)


def _asked(model: str, settings: Settings) -> str:
    name = full_name(model)
    provider = model.removesuffix(":")
    if provider != model and provider in DEFAULT_MODELS:
        raise BadSettings(
            f"'{model}' does not name a model", f"Write its name after the colon, as in {DEFAULT_MODELS[provider]}."
        )
    if name is None:
        first, _, rest = model.partition(":")
        near = difflib.get_close_matches(first, DEFAULT_MODELS, n=1) if rest else []
        either = f"Write anthropic:{model} or openai:{model}."
        if rest:
            meant = near[0] if near else "openai"
            either = f"The providers are {' and '.join(DEFAULT_MODELS)}. Did you mean {meant}:{rest}?"
        raise BadSettings(
            f"The model '{model}' does not begin with a known provider",
            f"{either} Use openai for any server with an OpenAI-compatible API.",
        )
    if not settings.provider_of(name).reachable:
        provider = name.partition(":")[0]
        raise BadSettings(
            f"There is no API key for {name}",
            f"Set {provider.upper()}_API_KEY, or `key` under [{provider}] in {settings.file}. "
            f"For your own server, set {provider.upper()}_BASE_URL.",
        )
    return name


def _ways_to_set_a_key(settings: Settings) -> str:
    return f"""Set one of these:
  ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment
  `key` under [anthropic] or [openai] in {settings.file}
  OPENAI_BASE_URL for your own server, such as http://localhost:11434/v1 for Ollama, with --model openai:NAME
To watch a team without a key, run: {program_name()} demo"""
