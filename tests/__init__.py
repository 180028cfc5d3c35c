"""Tests of Deskmate; each name is a sentence about an outcome."""
