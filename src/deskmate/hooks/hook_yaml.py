"""The `hooks` field of an agent file, which is YAML."""

from typing import Any

MOST_CHARACTERS = 16_000


def yaml_of(text: str) -> Any:
    """Return the value of the only field of this YAML. What cannot be read is a text that says so."""
    if len(text) > MOST_CHARACTERS:
        return f"`hooks` has more than {MOST_CHARACTERS:,} characters"
    # Imported here because only hooks of agent files need it.
    import yaml

    class NoAliases(yaml.SafeLoader):
        """Refuses references, with which a small file can describe millions of values."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("references are not supported")
            return super().compose_node(parent, index)

    try:
        (value,) = yaml.load(text, NoAliases).values()
    except (yaml.YAMLError, ValueError, AttributeError, RecursionError):
        return None
    return value
