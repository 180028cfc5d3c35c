"""US dollars by model.

Nothing is downloaded: the table is as old as the installed package.
"""

import logging
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from deskmate.core.prompt.prompts import Usage

# US dollars per million tokens: input, output, read from the cache, written to the cache.
Rates: TypeAlias = tuple[float, float, float, float]

_LOG = logging.getLogger(__name__)
_NO_OVERRIDES: Mapping[str, Rates] = MappingProxyType({})
# The library searches its whole table again for each model that it does not have.
_UNLISTED: set[tuple[str, str]] = set()
# For one answer, it adds up a price for longer than most other things of a step take.
_FIXED: dict[tuple[str, str], Rates] = {}
# What a price consists of if it depends on nothing but these counts. The others are for what no usage here counts.
_OWN_RATES = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
_OTHER_RATES = {"cache_write_1h_mtok", "web_searches_kcount", "storage_searches_kcount"}

# Our provider → the table's. No others: the table also guesses from parts of a name, and would bill a local server
# that serves a model with a known name as its maker bills.
PROVIDERS: Mapping[str, str] = MappingProxyType(
    {
        "anthropic": "anthropic",
        "azure": "azure",
        "bedrock": "aws",
        "cerebras": "cerebras",
        "deepseek": "deepseek",
        "fireworks": "fireworks",
        "gemini": "google",
        "google": "google",
        "groq": "groq",
        "mistral": "mistral",
        "openai": "openai",
        "openrouter": "openrouter",
        "together": "together",
        "xai": "x-ai",
    }
)


def price(model: str, usage: Usage, overrides: Mapping[str, Rates] = _NO_OVERRIDES) -> float | None:
    """Return the cost of this usage of `provider:model` in US dollars, or None if no price is known.

    `overrides`, by the same full name, take precedence over the table.
    """
    if model in overrides:
        return _at(overrides[model], usage)
    provider, _, name = model.partition(":")
    return _listed(PROVIDERS[provider], name, usage) if provider in PROVIDERS else None


def reported_price(
    overrides: Mapping[str, Rates], own_servers: frozenset[str], model: str, usage: Usage
) -> float | None:
    """Return the price as `price` does. If a provider itself has answered and none is known, say so once.

    The name may be wrong then. `own_servers`: the providers that stand for a server of the user's own.
    """
    found, provider = price(model, usage, overrides), model.partition(":")[0]
    if found is None and provider in PROVIDERS and provider not in own_servers:
        _warn_of(model)
    return found


@cache
def _warn_of(model: str) -> None:
    _LOG.warning("No price is known for %s. Check its name, or set its prices in settings.toml.", model)


def _at(rates: Rates, usage: Usage) -> float:
    tokens = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    return sum(rate * count for rate, count in zip(rates, tokens, strict=True)) / 1_000_000


def _listed(provider: str, name: str, usage: Usage) -> float | None:
    if (provider, name) in _UNLISTED:
        return None
    if rates := _FIXED.get((provider, name)):
        return _at(rates, usage)
    # Loading the table takes longer than the rest of the startup, so load it only if a price is needed.
    import genai_prices

    tokens = genai_prices.Usage(
        # Here the input counts the whole prompt. The library subtracts the cached part again.
        input_tokens=usage.prompt,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
    try:
        found = genai_prices.calc_price(tokens, name, provider_id=provider)
    except LookupError:
        _UNLISTED.add((provider, name))
        return None
    # A model may be listed without prices. It would then cost nothing.
    priced = found.model_price.input_mtok is not None and found.model_price.output_mtok is not None
    if priced and (rates := _fixed_rates(found.model.prices)):
        _FIXED[provider, name] = rates
    return float(found.total_price) if priced else None


def _fixed_rates(prices: object) -> Rates | None:
    """Return the rates of a listed model, or None if they depend on the time, the size of the prompt or anything else.

    `prices`: as the library has them.
    """
    # A model whose price changes with time has a list, and a rate that changes with size is no number.
    rates = {} if isinstance(prices, list) else {key: rate for key, rate in vars(prices).items() if rate is not None}
    is_fixed = all(isinstance(rate, Decimal) for rate in rates.values())
    if not is_fixed or not rates.keys() <= {*_OWN_RATES, *_OTHER_RATES}:
        return None
    input_, output, *cached = (float(rates[key]) if key in rates else None for key in _OWN_RATES)
    if input_ is None or output is None:
        return None
    # Without a rate of its own, what is cached costs as much as the rest of the input.
    read, write = (input_ if rate is None else rate for rate in cached)
    return input_, output, read, write
