"""What the text in a rule matches, for paths and commands.

A rule that allows matches narrowly, and one that asks or denies matches widely, so that a doubt never permits more. A
command is one line of words. `tools.shell.shell_commands` says how these are written.
"""

import posixpath
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

# In a command, up to the end of a word: text that is known only when the command runs.
HOLE = "\0"

_WORD = re.compile(r"(?:\\.|[^\\ ])+", re.DOTALL)
_SIGNS = ("<", ">")
# In the text that a `*` matches, these leave the folder before it: a step up, and a path from the root.
_STEP_UP = re.compile(r"(?<!\.)\.\.(?=[/:,]|$)")
_FROM_ROOT = re.compile(r"(?<![^=:,])/|(?<=^-\w)/")
# An option that names no path.
_PLAIN_OPTION = re.compile(r"--?[A-Za-z0-9][\w-]*(?:=[\w,:+-]+)?")
# What a `*` may add to a word: a version, as in `python3.11`, and a part after a colon, as in `test:unit`. Letters
# would make it another command: `git difftool` instead of `git diff`.
_WORD_TAIL = re.compile(r"[0-9.]*(?::[\w:.-]*)?(?= |$)")
# Scheme, host, and the rest.
_URL = re.compile(r"([a-z][a-z0-9+.-]*://)([^/?#@\\]*)([/?#].*)?", re.DOTALL)
_URL_STEP_UP = re.compile(r"/(?:\.|%2e){2}(?=[/?#\\]|$)", re.IGNORECASE)
_SETTING = re.compile(r"\w+=")
# The folders of a program that a pattern names by its full path.
_FULL_PATH = re.compile(r"^/(?:[^/ *]*/)*(?=[^/ *]+(?: |$))")
# Options of git itself whose value is the next word.
_GIT_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"})


# -- text and paths -------------------------------------------------------------------------------


def text_matches(pattern: str, text: str, *, whole_words: bool = False) -> bool:
    """Tell whether `text` is `pattern` with anything in place of each `*`. Hostile patterns are not slower.

    `whole_words`: if a word of the pattern ends in a letter or digit and a `*`, the word in `text` must end there too,
    except for a version or a part after a colon.
    """
    first, *rest = re.sub(r"\*+", "*", pattern).split("*")
    if not rest:
        return pattern == text
    at = len(first)
    if not text.startswith(first) or (whole_words and _ends_word(first, rest[0]) and not _is_word_end(text, at)):
        return False
    for part, after in pairwise(rest):
        at = _end_of(part, text, at, at_word_end=whole_words and _ends_word(part, after))
        if at < 0:
            return False
    return text.endswith(rest[-1]) and at + len(rest[-1]) <= len(text)


def _ends_word(before: str, after: str) -> bool:
    """Tell whether a star between these is at the end of a word that it must not extend."""
    return before[-1:].isalnum() and after[:1] in ("", " ")


def _is_word_end(text: str, at: int) -> bool:
    return _WORD_TAIL.match(text, at) is not None


def _end_of(part: str, text: str, at: int, *, at_word_end: bool) -> int:
    """Return where `part` first ends in `text` from `at` on; -1 if it does not occur."""
    while (at := text.find(part, at)) >= 0:
        if not at_word_end or _is_word_end(text, at + len(part)):
            return at + len(part)
        at += 1
    return -1


_PIECE = re.compile(r"(?<![^/])\*\*/|\*+|[^*]+")


def path_matches(pattern: str, path: str) -> bool:
    """Tell whether a whole path matches, by tracking where each piece of the pattern may end."""
    ends = {0}
    for piece in _PIECE.findall(pattern):
        ends = _ends(piece, path, ends)
        if not ends:
            return False
    return len(path) in ends


def _ends(piece: str, path: str, starts: set[int]) -> set[int]:
    match piece:
        case "*":
            return _within_folder(path, starts)
        case "**/":
            return starts | {at + 1 for at in range(min(starts), len(path)) if path[at] == "/"}
        case _ if piece.startswith("**"):
            return set(range(min(starts), len(path) + 1))
        case _:
            return {start + len(piece) for start in starts if path.startswith(piece, start)}


def _within_folder(path: str, starts: set[int]) -> set[int]:
    """Return every place reached from one of `starts` without crossing a `/`."""
    reached: set[int] = set()
    for at in range(len(path) + 1):
        if at in starts or (at - 1 in reached and path[at - 1] != "/"):
            reached.add(at)
    return reached


def is_resolved(path: str) -> bool:
    """Tell whether a path has no `.` or `..` steps, so that it leads where it says."""
    return path == "." or {"", ".", ".."}.isdisjoint(path.removeprefix("/").split("/"))


# -- commands that a rule allows ------------------------------------------------------------------


def allows(pattern: str, command: str) -> bool:
    """Tell whether the pattern of a rule that allows matches a command.

    `*` matches anything, with two limits. In a word with a `/`, and in the target of a redirection, it matches paths
    below that folder; at the end of the pattern, options that name no path may follow. After a letter or digit at the
    end of a word, it adds only a version or a part after a colon to that word.
    """
    words, wanted = words_of(command), words_of(pattern)
    if words[:1] and words[0] in _SIGNS:
        return pattern.strip("*") == "" or _allows_target(wanted, words)
    if any("/" in word and "*" in word for word in wanted):
        return _allows_words(wanted, words)
    return text_matches(pattern, command, whole_words=True)


def words_of(command: str) -> list[str]:
    """Return the words of a command as they are written in it."""
    return _WORD.findall(command)


def _allows_target(wanted: Sequence[str], words: Sequence[str]) -> bool:
    match wanted, words:
        case [sign, path], [written, target] if sign == written:
            path = path.removeprefix("./")
            return path == target or (is_resolved(target) and _is_below(path, target))
        case _:
            return False


def _is_below(pattern: str, word: str, *, whole_words: bool = False) -> bool:
    """Tell whether a word matches and its path stays in the pattern's folder, or its URL on the pattern's host."""
    if HOLE in word:
        return False
    if site := _URL.fullmatch(pattern):
        return _is_on_site(site, word)
    return all(
        len(leaving.findall(word)) == len(leaving.findall(pattern)) for leaving in (_STEP_UP, _FROM_ROOT)
    ) and text_matches(pattern, word, whole_words=whole_words)


def _is_on_site(site: re.Match[str], word: str) -> bool:
    """Tell whether a word is a URL that matches a pattern part by part: a `*` in the host matches only the host."""
    url = _URL.fullmatch(word)
    if not url or url[1] != site[1] or _URL_STEP_UP.search(word):
        return False
    rest = site[3] or ("*" if site[2].endswith("*") else "")
    return text_matches(site[2], url[2], whole_words=True) and text_matches(rest, url[3] or "")


def _allows_words(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Tell whether the words match one by one, by tracking the places that each word of the pattern may reach."""
    at = _after_name(wanted[0], words, alone=len(wanted) == 1)
    for number, pattern in enumerate(wanted[1:], 2):
        at = _after(pattern, words, at, is_last=number == len(wanted))
    return len(words) in at


def _after_name(pattern: str, words: Sequence[str], *, alone: bool) -> set[int]:
    """Return the places after a command's name. A pattern that is only a name with a `*` allows anything after it."""
    if pattern.strip("*") == "":
        return _after(pattern, words, {0})
    if not words or not _is_below(pattern, words[0], whole_words=True):
        return set()
    return set(range(1, len(words) + 1)) if alone and pattern.endswith("*") else {1}


def _after(pattern: str, words: Sequence[str], starts: set[int], *, is_last: bool = False) -> set[int]:
    """Return the places reached from one of `starts` by a word of a pattern.

    A word with a path and a `*` may match several paths. If it is the last word and ends in a `*`, options may follow
    the first path. None may follow a URL, since options of the program that loads it may name another host.
    """
    if not starts:
        return set()
    if pattern.strip("*") == "":
        return set(range(min(starts) + 1, len(words) + 1))
    reached = set[int]()
    with_options = is_last and pattern.endswith("*") and "/" in pattern and not _URL.fullmatch(pattern)
    for at, word in enumerate(words):
        if with_options and at in reached and _PLAIN_OPTION.fullmatch(word):
            reached.add(at + 1)
        if at in starts or ("*" in pattern and "/" in pattern and at in reached):
            fits = _is_below(pattern, word) if "/" in pattern else text_matches(pattern, word, whole_words=True)
            reached |= {at + 1} if fits else set()
    return reached


# -- commands that a rule asks about or denies ----------------------------------------------------


def spellings(command: str) -> tuple[str, ...]:
    """Return a command and plainer ways to write it. Rules that ask or deny are compared with all of them."""
    words = words_of(command)
    if not words:
        return (command,)
    if words[0] in _SIGNS:
        return tuple(dict.fromkeys((command, " ".join([words[0], *map(posixpath.normpath, words[1:])]))))
    name, forms = words[0].rpartition("/")[2], [command]
    # Some file systems ignore case.
    for spelled in (name, name.lower()):
        plain = ["git", spelled[4:], *words[1:]] if spelled.startswith("git-") else [spelled, *words[1:]]
        forms += [" ".join(plain), " ".join(_without_git_options(plain))]
    return tuple(dict.fromkeys(forms))


def _without_git_options(words: list[str]) -> list[str]:
    """Return a command without the options of git itself. If they set an alias, its action is unknown."""
    at = 1
    while words[0] == "git" and at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_VALUED else 1
    is_renamed = any("alias." in word.lower() for word in words[1:at])
    return [words[0], *([HOLE] if is_renamed else words[at:])]


def names(pattern: str, command: str) -> bool:
    """Tell whether the pattern of a rule that asks or denies matches one of the `spellings` of a command.

    `git push *` also matches `git push` alone, and `/usr/bin/git push` matches what `git push` does.
    """
    pattern = pattern if text_matches(pattern, command) else _FULL_PATH.sub("", pattern)
    alone = pattern.rstrip("*")
    is_ended = alone != pattern and alone.endswith(" ")
    return text_matches(pattern, command) or (is_ended and text_matches(alone[:-1], command))


def may_name(pattern: str, command: str) -> bool:
    """Tell whether a pattern that does not match as written may still apply: by a HOLE or options between its words."""
    pattern = _FULL_PATH.sub("", pattern)
    return _may_become(pattern, command) or _fits_without_options(pattern, words_of(command))


def _may_become(pattern: str, command: str) -> bool:
    """Tell whether a command with a HOLE may become one that matches: both must be the same up to the HOLE."""
    known, hole, _ = command.partition(HOLE)
    # The hole may turn out to be no word at all.
    known = known.removesuffix(" ")
    first, star, _ = pattern.partition("*")
    return bool(hole) and (first.startswith(known) or (bool(star) and known.startswith(first)))


def _fits_without_options(pattern: str, words: Sequence[str]) -> bool:
    """Tell whether a command matches with options left out, each with or without the word after it."""
    first, star, _ = pattern.partition("*")
    heads = words_of(first)
    if not heads or not words or words[0] != heads[0]:
        return False
    begins = bool(star) and not first.endswith(" ")
    at = {1}
    for number, head in enumerate(heads[1:], 2):
        places = [place for place in _past_options(words, at) if place < len(words)]
        if any(HOLE in words[place] and head.startswith(words[place].partition(HOLE)[0]) for place in places):
            return True
        may_go_on = begins and number == len(heads)
        at = {place + 1 for place in places if words[place] == head or (may_go_on and words[place].startswith(head))}
        if not at:
            return False
    # The first place leaves the most words, which a star can match. Without a star nothing may be left.
    end = min(at) if star else max(at)
    return names(pattern, " ".join([*heads[:-1], *words[end - 1 :]]))


def _past_options(words: Sequence[str], starts: Iterable[int]) -> set[int]:
    """Return every place reached from one of `starts` past options, their values, and settings such as `A=b`."""
    reached, todo = set[int](), list(starts)
    while todo:
        at = todo.pop()
        if at in reached:
            continue
        reached.add(at)
        if at < len(words) and words[at].startswith(("-", "+")):
            todo += [at + 1, at + 2]
        elif at < len(words) and _SETTING.match(words[at]):
            todo.append(at + 1)
    return reached
