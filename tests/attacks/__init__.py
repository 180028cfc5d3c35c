"""Attacks on files, mail and board, and by text: each is made in earnest and judged from outside, by what came of it.

Each attack is shown to be worth something: without the defence it must succeed.
"""
