"""A fresh folder to work in, and a home nobody has configured."""

from tests.scenarios.conftest import harness

__all__ = ["harness"]
