"""Which model is used."""

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
                f"no model is set, and which ones {url} has cannot be guessed; "
                f"name one, as in --model {provider}:NAME or DESKMATE_MODEL={provider}:NAME"
            )
    raise BadSettings(_ways_to_set_a_key(settings))


def choose_fallback(settings: Settings) -> str | None:
    """Return the model to use if the first gives no answer, as `provider:model`, or None if none is set.

    Raises BadSettings as `choose_model` does.
    """
    return None if settings.fallback_model is None else _asked(settings.fallback_model, settings)


def _asked(model: str, settings: Settings) -> str:
    name = full_name(model)
    provider = model.removesuffix(":")
    if provider != model and provider in DEFAULT_MODELS:
        raise BadSettings(f"'{model}' names no model; write it behind the colon, as in {DEFAULT_MODELS[provider]}")
    if name is None:
        raise BadSettings(
            f"The provider of the model '{model}' is not known; write anthropic:{model} or openai:{model}. "
            "Write openai: also for any other server with an API like OpenAI's"
        )
    if not settings.provider_of(name).reachable:
        provider = name.partition(":")[0]
        raise BadSettings(
            f"{name} needs a key; set {provider.upper()}_API_KEY, or `key` under [{provider}] in {settings.file}"
            f" (or {provider.upper()}_BASE_URL for a server of your own)"
        )
    return name


def _ways_to_set_a_key(settings: Settings) -> str:
    return f"""no model can be asked: there is no key and no address of a server; set one of these
  ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment
  `key` under [anthropic] or [openai] in {settings.file}
  OPENAI_BASE_URL for a server of your own, such as http://localhost:11434/v1 for Ollama, with --model openai:NAME
to watch a team without a key: deskmate demo"""
