"""What somebody trusted with an earlier version counts in today's code, and is kept as it was written then."""

import re
from pathlib import Path

import pytest

from deskmate.core.policy.trusted_files import read_trust, signature, write_trust

pytestmark = pytest.mark.behaviour("S4", "trust")

V1 = Path(__file__).parent / "trust" / "v1.json"
PAGE = Path(__file__).parents[2] / "docs/reference/formats/trust.md"


def test_a_file_of_the_first_format_is_read_whole_and_written_as_it_was() -> None:
    found = read_trust(V1.read_bytes())
    assert {place: [*of] for place, of in found.items()} == {
        "/home/ann/calc": [".deskmate/settings.toml", "AGENTS.md"],
        "/srv/café \udce9": [],
    }
    assert write_trust(found) == V1.read_bytes()


def test_the_example_of_the_page_is_one() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert write_trust(read_trust(example.encode())) == example.encode()


def test_a_signature_of_the_first_format_still_fits() -> None:
    made = b"ac962ec1190418f764098da2164afc9b135b3cdf04157590c09cebe87aaed09f"
    assert signature(bytes(range(32)), b"/home/ann/calc", "main") == made
