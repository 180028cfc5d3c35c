"""Markdown becomes elements that the page knows, and never markup of an agent."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.faces.web.markdown_tree import markdown_tree, plain_words
from tests.attacks.naughty_texts import STRINGS

KNOWN = {
    "p",
    "ul",
    "ol",
    "li",
    "blockquote",
    "strong",
    "em",
    "del",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "br",
    "hr",
    "code",
    "pre",
    "h3",
    "h4",
    "h5",
    "h6",
    "span",
    "a",
}


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (
            "Plain *em* **strong** `code`",
            [["p", {}, ["Plain ", ["em", {}, ["em"]], " ", ["strong", {}, ["strong"]], " ", ["code", {}, ["code"]]]]],
        ),
        ("# Title", [["h3", {}, ["Title"]]]),
        ("###### Deep", [["h6", {}, ["Deep"]]]),
        ("- a\n- b", [["ul", {}, [["li", {}, [["p", {}, ["a"]]]], ["li", {}, [["p", {}, ["b"]]]]]]]),
        ("```py\nx = 1\n```", [["pre", {}, [["code", {}, ["x = 1"]]]]]),
        ("a\nb", [["p", {}, ["a", "\n", "b"]]]),
        ("[docs](https://example.org/a)", [["p", {}, [["a", {"href": "https://example.org/a"}, ["docs"]]]]]),
        ("[run](javascript:alert(1))", [["p", {}, ["[run](javascript:alert(1))"]]]),
        ("[file](file:///etc/passwd)", [["p", {}, ["[file](file:///etc/passwd)"]]]),
        ("[mail](mailto:a@b.example)", [["p", {}, [["span", {"title": "mailto:a@b.example"}, ["mail"]]]]]),
        ("<script>alert(1)</script>", [["p", {}, ["<script>alert(1)</script>"]]]),
        (
            "![picture](https://example.org/x.png)",
            [["p", {}, ["!", ["a", {"href": "https://example.org/x.png"}, ["picture"]]]]],
        ),
    ],
)
def test_a_text_becomes_these_elements(text: str, tree: list[Any]) -> None:
    assert markdown_tree(text) == tree


def elements(nodes: list[Any]) -> Iterator[list[Any]]:
    for node in nodes:
        if not isinstance(node, str):
            yield node
            yield from elements(node[2])


def check(text: str) -> None:
    for tag, attributes, _ in elements(markdown_tree(text)):
        assert tag in KNOWN
        assert attributes.keys() <= {"href", "title"}
        if "href" in attributes:
            assert attributes["href"].startswith(("http://", "https://"))


@pytest.mark.parametrize("text", STRINGS)
def test_hostile_text_makes_no_other_element(text: str) -> None:
    check(text)


@given(st.text("<>&[]()!`*_#-:/ \n|javscriptdh\"'=\\", max_size=200))
def test_no_text_makes_another_element(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Plan\n\n1. Read `a.py`, *then* **b**.\n2. Go", "Plan Read a.py, then b. Go"),
        ("[a link](https://example.com)!", "a link!"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a b 1 2"),
        ("<b>no</b> markup", "<b>no</b> markup"),
        ("", ""),
    ],
)
def test_the_words_of_a_text_have_no_marks(text: str, words: str) -> None:
    assert plain_words(markdown_tree(text)) == words
