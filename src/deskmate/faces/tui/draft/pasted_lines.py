"""Long pasted texts, shown as one short label."""

# More lines than this do not fit into the draft.
MOST_LINES = 8


class PastedTexts:
    """Pasted texts by the label that stands for each in the draft."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def label(self, text: str) -> str:
        """Return what to insert for a pasted text: a label if it is long, otherwise the text itself."""
        count = len(text.splitlines())
        if count <= MOST_LINES:
            return text
        same = sum(label.startswith(f"[{count} lines pasted") for label in self._texts)
        label = f"[{count} lines pasted{f' #{same + 1}' if same else ''}]"
        self._texts[label] = text
        return label

    def expand(self, draft: str) -> str:
        """Return a draft with the pasted texts in place of their labels."""
        for label, text in self._texts.items():
            # One label per paste: the same words typed again are words.
            draft = draft.replace(label, text, 1)
        return draft

    def label_before(self, text: str) -> str:
        """Return the label that a text ends with, or an empty string."""
        return next((label for label in self._texts if text.endswith(label)), "")
