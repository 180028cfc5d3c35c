"""Every command a shell text would run, or none if that is unclear.

Permission rules are matched against these commands. The grammar is tree-sitter's. Anything that it and a shell could
read differently is refused: only the node kinds listed here are accepted, with nothing but blanks between them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from deskmate.tools.shell.heredocs import check_heredoc
from deskmate.tools.shell.shell_programs import is_name, is_plain_test, is_variable, told
from deskmate.tools.shell.shell_words import Untold, Word, WordPart, assembled, in_quotes, unquoted

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_CHARS = 10_000
_MAX_DEPTH = 40
# More than any accepted test has.
_MAX_TEST_DEPTH = 8
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_PARAMETER = re.compile(rb"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]|\{(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])\})")
_DIGIT = re.compile("[0-9]")
_PLAIN_FILE = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*")
_RANGE = re.compile(rb"\{-?[0-9]+\.\.-?[0-9]+\}")
_PATTERN = re.compile(rb"[A-Za-z0-9_./*?-]+")

# Statements that only contain other statements. Line ends are allowed between these.
_BLOCK_KINDS = (
    "program list pipeline subshell compound_statement do_group if_statement elif_clause else_clause while_statement "
    "command_substitution process_substitution"
)
_WORD_KINDS = (
    "word number string raw_string concatenation simple_expansion expansion command_substitution process_substitution "
    "brace_expression"
)
_SIGNS = "; & && || | |& ( ) $( ` <( >( < > >> >| >& <& >&- <&- &> &>> <<<"
_KEYWORDS = "if then elif else fi while until do done for in { } !"
_BLOCKS, _WORDS = frozenset(_BLOCK_KINDS.split()), frozenset(_WORD_KINDS.split())
_OPERATORS = frozenset(_SIGNS.split())
_TOKENS = frozenset([*_OPERATORS, *_KEYWORDS.split()])
_EXPANSIONS = frozenset({"simple_expansion", "expansion", "command_substitution"})
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_LOOKS = frozenset(f"-{letter}" for letter in "defhLnrswxz")


def commands_of(text: str) -> tuple[str, ...] | None:
    """Return every command that a shell text would run and every file that it opens, or None if that is unclear.

    Words are separated by one space. A blank, a quote or a backslash in a word has a backslash before it. HOLE marks
    what is known only at run time. A file is returned as `< path` or `> path`, as written in the text.
    """
    try:
        return tuple(dict.fromkeys(_commands(text, 0)))
    except (Untold, RecursionError):
        return None


def _commands(text: str, depth: int) -> list[str]:
    if len(text) > MAX_CHARS or _UNSAFE.search(text):
        raise Untold
    source = text.encode()
    root = parsed(source)
    # An operator token whose text is longer than the operator has swallowed a word.
    if root.has_error or any(node.type != (node.text or b"").decode().lstrip() for node in _signs(root)):
        raise Untold
    reader = _Reader(source, depth)
    reader.all_of(root)
    return reader.found


def _signs(root: "Node") -> Iterator["Node"]:
    """Yield the operators and keywords of a tree."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        nodes += node.children
        if not node.is_named:
            yield node


def parsed(source: bytes) -> "Node":
    """Return the syntax tree of a shell text, even if it has errors."""
    return _parser().parse(source).root_node


@cache
def _parser() -> "Parser":
    # Imported here because only processes that check a command need them.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class _Reader:
    """Reads a syntax tree. `found`: the commands that the text would run."""

    def __init__(self, source: bytes, depth: int) -> None:
        self.found: list[str] = []
        self._source, self._depth = source, depth

    def all_of(self, root: "Node") -> None:
        """Read the whole text."""
        if (self._source[: root.start_byte] + self._source[root.end_byte :]).strip(b" \t\n"):
            raise Untold
        if root.children:
            self._statement(root)

    # -- statements -------------------------------------------------------------------------------

    def _statement(self, node: "Node") -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise Untold
        match node.type:
            case kind if kind in _BLOCKS:
                self._block(self._parts(node, lines=True))
            case "command":
                self._command(node, ())
            case "redirected_statement":
                self._redirected(node)
            case "negated_command":
                self._block(self._parts(node))
            case "for_statement":
                self._for(node)
            case "function_definition":
                self._function(node)
            case "variable_assignment":
                self._assignment(node)
            case "variable_assignments":
                self._block(self._parts(node))
            case "test_command":
                self._test(node)
            case kind if kind in _REDIRECTS:
                self._no_words(self._redirect(node))
            case _:
                raise Untold
        self._depth -= 1

    def _block(self, parts: Iterable["Node"]) -> None:
        for part in parts:
            if part.is_named:
                self._statement(part)
            elif part.type not in _TOKENS:
                raise Untold

    def _parts(self, node: "Node", *, lines: bool = False) -> list["Node"]:
        """Return the children of a node without comments. Raises Untold unless only blanks are between them."""
        if not node.children:
            raise Untold
        edges = [node.start_byte, *(at for child in node.children for at in child.byte_range), node.end_byte]
        first, *gaps, last = (self._source[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))
        if (first + last).strip(b" \t\n"):
            raise Untold
        for (left, right), gap in zip(pairwise(node.children), gaps, strict=True):
            self._check_gap(left, right, gap, b" \t\n" if lines else b" \t")
        return [child for child in node.children if not self._is_comment(child)]

    def _check_gap(self, left: "Node", right: "Node", gap: bytes, blanks: bytes) -> None:
        bare = gap.replace(b"\\\n", b"")
        if bare.strip(blanks):
            raise Untold
        if bare or (not gap and {left.type, right.type} & _OPERATORS):
            return
        # A digit or a brace directly before a redirection belongs to the redirection.
        before = self._source[left.end_byte - 1 : left.end_byte]
        if gap or right.type not in _REDIRECTS or right.children[0].is_named or before.isdigit() or before == b"}":
            raise Untold

    def _is_comment(self, node: "Node") -> bool:
        if node.type != "comment":
            return False
        before = self._source[: node.start_byte][-1:]
        after = self._source[node.end_byte :][:1]
        if before not in (b"", b" ", b"\t", b"\n") or after not in (b"", b"\n"):
            raise Untold
        return True

    def _for(self, node: "Node") -> None:
        keyword, variable, *rest = self._parts(node, lines=True)
        if keyword.type != "for" or not is_variable(self._text(variable)):
            raise Untold
        for part in rest:
            if part.type in _WORDS:
                self._word(part)
            else:
                self._block([part])

    def _function(self, node: "Node") -> None:
        parts = [part for part in self._parts(node) if part.type not in ("function", "(", ")")]
        if len(parts) != 2 or not is_name(self._text(parts[0])) or parts[1].type not in _BLOCKS:
            raise Untold
        self._statement(parts[1])

    def _assignment(self, node: "Node") -> None:
        name, sign, *value = node.children
        if name.type != "variable_name" or sign.type != "=" or not is_variable(self._text(name)):
            raise Untold
        self._check_adjacent(node)
        for part in value:
            self._word(part)

    # -- commands ---------------------------------------------------------------------------------

    def _command(self, node: "Node", more: Sequence[Word]) -> None:
        words: list[Word] = []
        for part in self._parts(node):
            if part.type in _REDIRECTS:
                self._no_words(self._redirect(part))
            else:
                words += map(self._word, self._parts(part) if part.type == "command_name" else [part])
        self.found += told([*words, *more], lambda text: _commands(text, self._depth))

    def _redirected(self, node: "Node") -> None:
        parts = self._parts(node)
        bodies = [part for part in parts if part.type not in _REDIRECTS]
        more = [word for part in parts if part.type in _REDIRECTS for word in self._redirect(part)]
        # A plain sh reads `a &> x b` as `a &`, then `> x b`.
        if more and any(part.type == "file_redirect" and part.children[0].type in ("&>", "&>>") for part in parts):
            raise Untold
        match bodies:
            case [body] if body.type == "command":
                self._command(body, more)
            case _:
                self._no_words(more)
                self._block(bodies)

    def _redirect(self, node: "Node") -> list[Word]:
        """Read a redirection. Return the words that the grammar puts in it but the shell gives to the command."""
        if node.type == "heredoc_redirect":
            self._heredoc(node)
            return []
        parts = self._parts(node)
        if parts[0].type == "file_descriptor":
            if parts[0].end_byte != parts[1].start_byte or not _DIGIT.fullmatch(self._text(parts[0])):
                raise Untold
            parts = parts[1:]
        sign, *words = parts
        if sign.type in (">&-", "<&-"):
            return [self._word(word) for word in words]
        if sign.type not in _OPERATORS or not words:
            raise Untold
        target, *more = map(self._word, words)
        if sign.type != "<<<":
            self._open(sign.type, target)
        return more

    def _open(self, sign: str, target: Word) -> None:
        if sign in (">&", "<&") and _DIGIT.fullmatch(target.text) and not target.open:
            return
        # After these, a number or `-` is not a file name, and the shell reads quoted text again.
        if target.open or sign == "<&" or (sign == ">&" and not _PLAIN_FILE.fullmatch(target.text)):
            raise Untold
        if target.text in _NOWHERE:
            return
        # Some of these are not files: a shell opens network connections for them.
        if target.text.startswith("/dev/"):
            raise Untold
        self.found.append(f"{'>' if sign in _WRITES else '<'} {target}")

    def _no_words(self, words: Sequence[Word]) -> None:
        if words:
            raise Untold

    def _heredoc(self, node: "Node") -> None:
        for part in check_heredoc(node, self._source):
            if part.type in _EXPANSIONS:
                self._piece(part, quoted=True)
            else:
                self._block([part])

    # -- tests ------------------------------------------------------------------------------------

    def _test(self, node: "Node") -> None:
        opening, *inner, closing = self._parts(node)
        match opening.type, closing.type, inner:
            case "[", "]", [one]:
                if not is_plain_test(list(self._operands(one))):
                    raise Untold
            case "[[", "]]", [one]:
                self._condition(one)
            case _:
                raise Untold

    def _operands(self, node: "Node", depth: int = 0) -> Iterator[Word]:
        """Yield the words of a test as the command `[` gets them."""
        if depth > _MAX_TEST_DEPTH:
            raise Untold
        if node.type in _WORDS:
            yield self._word(node)
        elif node.type in ("unary_expression", "binary_expression"):
            for part in self._parts(node):
                yield from self._operands(part, depth + 1)
        elif node.type == "test_operator" or node.type in ("=", "==", "!=", "!"):
            yield Word(self._text(node))
        else:
            raise Untold

    def _condition(self, node: "Node", depth: int = 0) -> None:
        """Read a condition in `[[`. Only operators that evaluate nothing are accepted.

        `&&` and `||` are not: a plain sh has no `[[` and takes what follows for a command.
        """
        if depth > _MAX_TEST_DEPTH:
            raise Untold
        if node.type in _WORDS:
            self._word(node)
            return
        if node.type == "extglob_pattern" and _PATTERN.fullmatch(node.text or b""):
            return
        parts = self._parts(node)
        match [part.type for part in parts]:
            case ["test_operator", _] if self._text(parts[0]) in _LOOKS:
                self._condition(parts[1], depth + 1)
            case ["!", _]:
                self._condition(parts[1], depth + 1)
            case [_, "=" | "==" | "!=", _]:
                self._condition(parts[0], depth + 1)
                self._condition(parts[2], depth + 1)
            case _:
                raise Untold

    # -- words ------------------------------------------------------------------------------------

    def _word(self, node: "Node") -> Word:
        return assembled(self._pieces(node))

    def _pieces(self, node: "Node") -> Iterator[WordPart]:
        match node.type:
            case "word" | "number":
                yield from unquoted(self._text(node))
            case "raw_string":
                text = self._text(node)
                if not re.fullmatch("'[^']*'", text):
                    raise Untold
                yield WordPart(text[1:-1], quoted=True)
            case "string":
                yield from self._string(node)
            case "concatenation":
                self._check_adjacent(node)
                for child in node.children:
                    yield from self._pieces(child)
            case _:
                yield self._piece(node)

    def _check_adjacent(self, node: "Node") -> None:
        if any(left.end_byte != right.start_byte for left, right in pairwise(node.children)):
            raise Untold

    def _string(self, node: "Node") -> Iterator[WordPart]:
        at, end = node.start_byte + 1, node.end_byte - 1
        if self._source[node.start_byte : at] != b'"' or self._source[end : node.end_byte] != b'"':
            raise Untold
        yield WordPart(quoted=True)
        for child in node.children:
            if child.type in _EXPANSIONS:
                # The grammar includes the blanks before an expansion in it.
                start = child.end_byte - len((child.text or b"").lstrip())
                yield self._literal(at, start)
                yield self._piece(child, quoted=True)
                at = child.end_byte
        yield self._literal(at, end)

    def _literal(self, start: int, end: int) -> WordPart:
        after = self._source[end : end + 1].decode("latin-1")
        return in_quotes(self._source[start:end].decode(), after)

    def _piece(self, node: "Node", *, quoted: bool = False) -> WordPart:
        """Read a part of a word whose value is known only at run time."""
        text = (node.text or b"").lstrip()
        match node.type:
            case "simple_expansion" | "expansion":
                if not _PARAMETER.fullmatch(text):
                    raise Untold
            case "command_substitution" | "process_substitution":
                # Between backquotes, a backslash or a quote does not mean what the grammar says.
                if text.startswith(b"`") and re.search(rb"[\\\"']", text):
                    raise Untold
                self._statement(node)
            case "brace_expression":
                if not _RANGE.fullmatch(text):
                    raise Untold
            case _:
                raise Untold
        return WordPart(quoted=quoted, open=True, many=not quoted or b"@" in text)

    def _text(self, node: "Node") -> str:
        return (node.text or b"").decode()
