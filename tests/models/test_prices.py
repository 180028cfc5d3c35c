"""Prices: hand-computed cases, what has no price, and that nothing is asked of any network."""

import subprocess
import sys

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot

from deskmate.core.prompt.prompts import Usage
from deskmate.models.prices import PROVIDERS, price

USAGE = Usage(input=1_000, output=2_000, cache_read=3_000, cache_write=4_000)


@pytest.mark.behaviour("models")
@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        # A million tokens: 5 dollars in, 25 out, 0.50 read from the cache, 6.25 written to it.
        ("anthropic:claude-opus-4-5", USAGE, (1_000 * 5 + 2_000 * 25 + 3_000 * 0.5 + 4_000 * 6.25) / 1e6),
        ("anthropic:claude-opus-4-5-20251101", Usage(output=1_000_000), 25.0),
        # 1.25 in, 10 out, 0.125 from the cache; writing to it is not billed apart from the input.
        ("openai:gpt-5.1", Usage(1_000, 2_000, 3_000), (1_000 * 1.25 + 2_000 * 10 + 3_000 * 0.125) / 1e6),
        ("openai:gpt-5.1", USAGE, (5_000 * 1.25 + 2_000 * 10 + 3_000 * 0.125) / 1e6),
        ("anthropic:claude-opus-4-5", Usage(), 0.0),
    ],
)
def test_a_listed_model_costs_what_its_tokens_add_up_to(model: str, usage: Usage, dollars: float) -> None:
    assert price(model, usage) == pytest.approx(dollars, rel=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        "anthropic:claude-nobody-9",
        "openai:",
        "ollama:llama3.3",
        "my-openai-proxy:gpt-5.1",
        "litellm:anthropic/claude-opus-4-5",
        "scripted:model",
        "gpt-5.1",
        "",
        # Listed, but without any figures.
        "cerebras:qwen-3-coder-480b",
    ],
)
def test_what_has_no_known_price_has_none(model: str) -> None:
    assert price(model, USAGE) is None


def test_a_price_of_ones_own_goes_before_the_table() -> None:
    overrides = {"ollama:qwen3": (1.0, 10.0, 100.0, 1000.0), "openai:gpt-5.1": (0.0, 0.0, 0.0, 0.0)}
    assert price("ollama:qwen3", Usage(1, 2, 3, 4), overrides) == pytest.approx(4321e-6)
    assert price("openai:gpt-5.1", USAGE, overrides) == 0.0
    assert price("openai:gpt-5", USAGE, overrides) == price("openai:gpt-5", USAGE) is not None


USAGES = [USAGE, Usage(), Usage(1, 2, 3, 4), Usage(300_000, 9, 500_000), Usage(0, 7), Usage(0, 0, 0, 9)]


def test_every_listed_model_costs_what_the_library_says_also_when_it_is_asked_again() -> None:
    providers = {provider.id: provider for provider in get_snapshot().providers}
    for ours, theirs in PROVIDERS.items():
        for model in providers[theirs].models:
            for usage in USAGES:
                tokens = genai_prices.Usage(
                    input_tokens=usage.prompt,
                    output_tokens=usage.output,
                    cache_read_tokens=usage.cache_read,
                    cache_write_tokens=usage.cache_write,
                )
                try:
                    found = genai_prices.calc_price(tokens, model.id, provider_id=theirs)
                except LookupError:
                    continue
                known = price(f"{ours}:{model.id}", usage)
                assert known is None or known == pytest.approx(float(found.total_price), rel=1e-9), (model.id, usage)


def test_every_provider_we_know_stands_in_the_table() -> None:
    assert set(PROVIDERS.values()) <= {provider.id for provider in get_snapshot().providers}


OFFLINE = """
import sys, threading
reached = []
sys.addaudithook(lambda event, _: reached.append(event) if event.startswith("socket.") else None)
from deskmate.core.prompt.prompts import Usage
from deskmate.models.prices import price
assert "genai_prices" not in sys.modules, "the table was loaded before anyone asked"
assert price("ollama:llama", Usage(1)) is None
assert "genai_prices" not in sys.modules, "the table was loaded for a provider it does not know"
assert price("openai:gpt-5.1", Usage(1_000_000)) == 1.25
assert price("openai:unheard-of", Usage(1)) is None
print(reached, threading.active_count())
"""


def test_the_table_is_loaded_when_first_needed_and_nothing_is_fetched() -> None:
    ran = subprocess.run([sys.executable, "-c", OFFLINE], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, "[] 1", "")
