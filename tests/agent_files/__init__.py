"""Folders of agent files in the forms that people use, written for these tests.

comma_lists  tools in one line, long descriptions with examples and line breaks, a colour
yaml_lists   tools as YAML lists, folded descriptions, modes, isolation
plain        few fields, names with spaces, no tools, a README
"""

from pathlib import Path

HERE = Path(__file__).parent
COMMA_LISTS, YAML_LISTS, PLAIN = (HERE / name for name in ("comma_lists", "yaml_lists", "plain"))
