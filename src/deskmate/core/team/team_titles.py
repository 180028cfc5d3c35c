"""The title of a team in lists."""

TITLE_CHARS = 60


def title_of(message: str) -> str:
    """Return the first words of a message on one line, at most TITLE_CHARS characters; empty for a blank one."""
    words = " ".join(message.split())
    if len(words) <= TITLE_CHARS:
        return words
    cut = words[:TITLE_CHARS]
    # Cut at the end of a word, if one ends late enough.
    end = cut.rfind(" ")
    return f"{cut[:end] if end > TITLE_CHARS // 2 else cut[:-1]}…"
