"""How many tokens a reply took.

Caps on tokens and money need this, so no answer may count as zero. What a provider does not report is estimated.
"""

import logging
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from deskmate.core.prompt.compaction import estimate
from deskmate.core.prompt.prompts import TOKENS_CAP, Prompt, Spoke, Spoken, Usage

_LOG = logging.getLogger(__name__)


class TokenCount:
    """The reported tokens of one answer. A later figure replaces an earlier one with the same name."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._tokens: dict[str, int] = {}
        self._unreadable: set[str] = set()

    def tell(self, name: str, found: Mapping[str, Any], key: str) -> None:
        """Record the figure under a key. A missing figure or null changes nothing."""
        value = found.get(key)
        if value is None:
            return
        tokens = read_tokens(value)
        if tokens is None:
            self._unreadable.add(name)
        else:
            self._tokens[name] = tokens
            self._unreadable.discard(name)

    def usage(self, prompt: Prompt, blocks: tuple[Spoken, ...], *, cached_in_input: bool = False) -> Usage:
        """Return the tokens of an answer to this prompt that consists of these blocks.

        `cached_in_input`: the reported input includes tokens read from the cache.
        """
        cache_read, cache_write = self._tokens.get("cache_read", 0), self._tokens.get("cache_write", 0)
        input_, output = self._tokens.get("input", 0), self._tokens.get("output", 0)
        if cached_in_input:
            cache_read = min(cache_read, input_)
            input_ -= cache_read
        if not self._is_told("input") or not self._unreadable.isdisjoint(("cache_read", "cache_write")):
            _warn_of_estimates(self._model)
            asked = estimate(prompt.passages, prompt.system, prompt.tools)
            input_ = max(input_, asked - cache_read - cache_write)
        if not self._is_told("output"):
            _warn_of_estimates(self._model)
            output = max(output, estimate([Spoke(blocks)]))
        return Usage(input_, output, cache_read, cache_write)

    def _is_told(self, name: str) -> bool:
        return name in self._tokens and name not in self._unreadable


def read_tokens(value: object) -> int | None:
    """Return the reported number of tokens, rounded up and at most TOKENS_CAP. None if it is not a valid number."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # This also refuses NaN.
    if not value >= 0:
        return None
    return math.ceil(min(value, TOKENS_CAP))


@cache
def _warn_of_estimates(model: str) -> None:
    """Log once that a model's tokens are estimated."""
    _LOG.warning("%s does not report usable token counts. Deskmate estimates them from the text.", model)
