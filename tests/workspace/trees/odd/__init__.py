"""Odd repositories, odd files and odd machines: each works, or is refused in words that say what to do."""
