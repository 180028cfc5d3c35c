"""Teammates in processes of their own."""
