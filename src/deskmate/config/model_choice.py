"""Which model is used."""

import difflib

from deskmate.config.environment import program_name
from deskmate.config.providers import ALIASES, DEFAULT_MODELS, PRESETS, full_name, split_effort
from deskmate.config.settings import Settings
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
    for name in settings.described_providers:
        if (provider := settings.provider_of(name)).reachable:
            raise BadSettings(
                f"No model is set, and Deskmate does not know which models {provider.base_url} has",
                f"Set one with --model {name}:NAME or DESKMATE_MODEL={name}:NAME.",
            )
    raise BadSettings("There is no API key, and no address of a model server", _ways_to_set_a_key(settings))


def choose_fallback(settings: Settings) -> str | None:
    """Return the model to use if the first gives no answer, as `provider:model`, or None if none is set.

    Raises BadSettings as `choose_model` does.
    """
    return None if settings.fallback_model is None else _asked(settings.fallback_model, settings)


def _asked(wanted: str, settings: Settings) -> str:
    bare, effort = split_effort(wanted)
    model, usual = split_effort(_named(bare, settings))
    name = full_name(model, settings.providers)
    if name is None:
        raise _unknown(model, settings)
    provider = settings.provider_of(name)
    if provider.base_url is None:
        raise BadSettings(
            f"There is no address for {name}", f"Set `base_url` under [providers.{provider.name}] in {settings.file}."
        )
    if not provider.reachable:
        table = provider.name if provider.name in DEFAULT_MODELS else f"providers.{provider.name}"
        own = f" For your own server, set {provider.name.upper()}_BASE_URL." if provider.name in DEFAULT_MODELS else ""
        raise BadSettings(
            f"There is no API key for {name}",
            f"Set {provider.key_env}, or `key` under [{table}] in {settings.file}.{own}",
        )
    effort = effort or usual
    return f"{name}@{effort}" if effort else name


def _named(model: str, settings: Settings) -> str:
    """Return the model that an alias stands for, or the same name if it is none."""
    if model in settings.aliases:
        return settings.aliases[model]
    usable = [one for one in ALIASES.get(model, ()) if settings.provider_of(one).reachable]
    return next(iter([*usable, *ALIASES.get(model, ())]), model)


def _unknown(model: str, settings: Settings) -> BadSettings:
    """Return the error for a name without a known provider."""
    known = [*PRESETS, *(name for name in settings.providers if name not in PRESETS)]
    separator = "/" if "/" in model.partition(":")[0] else ":"
    first, separated, rest = model.partition(separator)
    if first in known:
        return BadSettings(
            f"'{model}' does not name a model",
            f"Write its name after the provider, as in {DEFAULT_MODELS.get(first, f'{first}:NAME')}.",
        )
    hint = f"Write PROVIDER:{model}, such as anthropic:{model} or openai:{model}."
    if separated:
        near = difflib.get_close_matches(first, known, n=1)
        meant = f" Did you mean {near[0]}:{rest}?" if near else ""
        hint = f"The providers are {', '.join(known)}.{meant}"
    return BadSettings(
        f"The model '{model}' does not begin with a known provider",
        f"{hint} Describe another server under [providers.NAME] in {settings.file}.",
    )


def _ways_to_set_a_key(settings: Settings) -> str:
    return f"""Set one of these:
  ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment
  `key` under [anthropic] or [openai] in {settings.file}
  --model ollama:NAME for a model of Ollama on this machine
  OPENAI_BASE_URL for another server of your own, with --model openai:NAME
To watch a team without a key, run: {program_name()} demo"""
