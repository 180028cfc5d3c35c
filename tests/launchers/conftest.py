"""A fresh folder to work in, and a home nobody has configured."""

from tests.scenarios.conftest import room

__all__ = ["room"]
