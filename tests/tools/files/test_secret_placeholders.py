"""What a model reads of a file, written back: every secret stays as it was, or nothing is written."""

import base64
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from deskmate.core.policy.redaction import SHAPES, Redaction
from deskmate.core.policy.secret_placeholders import Unclear, conceal, restore
from deskmate.errors import ToolError
from tests.secret_formats import SECRETS
from tests.tools.tool_desk import MemoryWorkspace, ToolDesk

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("secrets")]

KEY, OTHER = SECRETS["GitHub personal"][0], SECRETS["GitHub OAuth"][0]
NAMED = "[redacted: GitHub token]"


def view(told: str) -> str:
    """Return what a model takes for the content of a file that it has read."""
    return "".join(f"{line.partition(chr(9))[2]}\n" for line in told.splitlines() if re.match(r"\d+\t", line))


@dataclass
class File:
    """A file that was read, and what was seen of it."""

    desk: ToolDesk
    workspace: MemoryWorkspace
    seen: str = ""

    async def read(self, data: str | bytes) -> "File":
        self.workspace.files["f"] = data.encode() if isinstance(data, str) else data
        self.seen = view((await self.desk.use("read_file", path="f")).text)
        return self

    async def write(self, content: str) -> str:
        return (await self.desk.use("write_file", path="f", content=content)).text

    async def edit(self, old: str, new: str, **more: bool) -> str:
        return (await self.desk.use("edit_file", path="f", old_text=old, new_text=new, **more)).text

    @property
    def now(self) -> str:
        return self.workspace.files["f"].decode()


@pytest.fixture
def file(desk: ToolDesk, workspace: MemoryWorkspace) -> File:
    return File(desk, workspace)


# -- what is put back -----------------------------------------------------------------------------


async def test_an_edit_around_a_stand_in_puts_the_secret_back(file: File) -> None:
    await file.read(f"A=1\nKEY={KEY}\nB=2\n")
    await file.edit(f"KEY={NAMED}\nB=2", f"# the key\nKEY={NAMED}\nB=3")
    assert file.now == f"A=1\n# the key\nKEY={KEY}\nB=3\n"


async def test_a_file_that_is_written_whole_has_its_secrets_again(file: File) -> None:
    await file.read(f"A=1\nKEY={KEY}\nB=2\n")
    assert await file.write(file.seen.replace("A=1", "A=9")) == "Wrote 3 lines to f"
    assert file.now == f"A=9\nKEY={KEY}\nB=2\n"


async def test_what_is_told_and_shown_of_a_change_has_no_secret(file: File) -> None:
    await file.read(f"A=1\nKEY={KEY}\n")
    edited = await file.desk.use("edit_file", path="f", old_text="A=1", new_text="A=2")
    written = await file.desk.use("write_file", path="f", content=f"A=3\nKEY={NAMED}\n")
    assert NAMED in edited.shown
    assert NAMED in written.shown
    assert KEY not in str([edited, written])


async def test_two_secrets_of_one_name_are_told_apart_by_their_lines(file: File) -> None:
    await file.read(f"a: {KEY}\nb: {OTHER}\nc: 1\n")
    await file.write(f"c: 2\nb: {NAMED}  # second\na: {NAMED}\n")
    assert file.now == f"c: 2\nb: {OTHER}  # second\na: {KEY}\n"


async def test_a_line_that_is_renamed_keeps_the_secret_that_no_other_line_has(file: File) -> None:
    await file.read(f"a: {KEY}\nb: {OTHER}\n")
    await file.write(f"new: {NAMED}\nb: {NAMED}\n")
    assert file.now == f"new: {KEY}\nb: {OTHER}\n"


async def test_two_secrets_on_the_same_kind_of_line_stay_if_only_other_lines_change(file: File) -> None:
    await file.read(f"- {KEY}\n- {OTHER}\nc: 1\n")
    await file.write(file.seen.replace("c: 1", "c: 2\nd: 3"))
    assert file.now == f"- {KEY}\n- {OTHER}\nc: 2\nd: 3\n"


async def test_words_that_look_like_a_stand_in_stay_words_beside_a_secret_of_that_name(file: File) -> None:
    await file.read(f"log: {NAMED}\nkey: {KEY}\nend\n")
    await file.write(file.seen.replace("end", "the end"))
    assert file.now == f"log: {NAMED}\nkey: {KEY}\nthe end\n"
    await file.edit(f"log: {NAMED}", f"old log: {NAMED}")
    await file.edit(f"key: {NAMED}", f"new key: {NAMED}")
    assert file.now == f"old log: {NAMED}\nnew key: {KEY}\nthe end\n"


async def test_replacing_everywhere_leaves_alone_what_is_inside_a_secret(file: File) -> None:
    await file.read(f"q7 is q7, not {KEY}\n")
    assert "q7" in KEY
    assert await file.edit("q7", "x", replace_all=True) == "Edited f: 2 places, first line 1"
    assert file.now == f"x is x, not {KEY}\n"


async def test_a_stand_in_may_be_replaced_by_something_else_and_that_is_told(file: File) -> None:
    await file.read(f"KEY={KEY}\n")
    told = await file.edit(f"KEY={NAMED}", "KEY=$GITHUB_TOKEN")
    assert told == f"Edited f: line 1. No longer in it: {NAMED}"
    assert file.now == "KEY=$GITHUB_TOKEN\n"


async def test_a_key_of_many_lines_is_one_line_and_the_numbers_behind_it_are_those_of_the_file(file: File) -> None:
    key = SECRETS["private key"][0]
    await file.read(f"a\n{key}\nb\n")
    told = (await file.desk.use("read_file", path="f")).text
    assert told == "1\ta\n2\t[redacted: private key]\n6\tb"
    assert await file.edit("b", "c\nd") == "Edited f: line 6"
    assert file.now == f"a\n{key}\nc\nd\n"


@pytest.mark.parametrize("offset", [3, 4, 5])
async def test_a_part_of_a_key_is_not_shown(file: File, offset: int) -> None:
    key = SECRETS["private key"][0]
    await file.read(f"a\n{key}\nb\n")
    told = (await file.desk.use("read_file", path="f", offset=offset, limit=1)).text
    assert told.startswith("2\t[redacted: private key]\n(lines ")


async def test_a_secret_where_a_long_line_is_cut_is_not_shown_by_half(file: File) -> None:
    await file.read("x" * 1980 + f" {KEY} y\n")
    told = (await file.desk.use("read_file", path="f")).text
    assert KEY[:12] not in told


# -- what is refused ------------------------------------------------------------------------------


async def test_a_secret_is_not_copied_to_another_place_of_its_file(file: File) -> None:
    await file.read(f"KEY={KEY}\nB=2\n")
    for change in (file.write(f"KEY={NAMED}\nB={NAMED}\n"), file.edit("B=2", f"B={NAMED}")):
        with pytest.raises(ToolError, match=r"Nothing was written: in f, \[redacted: GitHub token\] would occur more"):
            await change
    assert file.now == f"KEY={KEY}\nB=2\n"


async def test_a_secret_is_not_copied_to_another_file(file: File) -> None:
    await file.read(f"KEY={KEY}\n")
    with pytest.raises(ToolError, match=r"is not a secret of g and would be written literally"):
        await file.desk.use("write_file", path="g", content=file.seen)
    assert list(file.workspace.files) == ["f"]


@pytest.mark.parametrize(
    "content", [f"- {NAMED}\n", f"- 1\n- {NAMED}\n", f"- {NAMED}\n- 1\n- {NAMED}\n- {NAMED}\n", f"x: {NAMED}\n"]
)
async def test_which_of_two_secrets_is_meant_is_never_guessed(file: File, content: str) -> None:
    await file.read(before := f"- {KEY}\n- {OTHER}\n")
    with pytest.raises(ToolError, match=r"Nothing was written: in f, \[redacted: GitHub token\]"):
        await file.write(content)
    assert file.now == before


SHIFTED = {
    "numbers go down": ("API_KEY_1=K1\nAPI_KEY_2=K2\n", "API_KEY_0=R\nAPI_KEY_1=R\n"),
    "numbers go up": ("API_KEY_1=K1\nAPI_KEY_2=K2\n", "API_KEY_2=R\nAPI_KEY_3=R\n"),
    "three numbers go down": ("GH_1=K1\nGH_2=K2\nGH_3=K3\n", "GH_0=R\nGH_1=R\nGH_2=R\n"),
    "a rotation": ("TOKEN=K1\nNEW_TOKEN=K2\n", "OLD_TOKEN=R\nTOKEN=R\n"),
    "numbers in comments": ("K1 # 1\nK2 # 2\n", "R # 0\nR # 1\n"),
    "a name that goes on": ("GH=K1\nGH_1=K2\n", "GH_1=R\nGH_12=R\n"),
    "short names, both exported": ("t=K1\ne=K2\n", "export e=R\nexport t=R\n"),
    "sections": ("[a]\ntoken=K1\n[b]\ntoken=K2\n", "[b]\ntoken=R\n[a]\ntoken=R\n"),
    "renamed and out of order": ("a=K1\nb=K2\nc=K3\n", "c=R\na=R\nd=R\n"),
    "a beginning against an end": ("curl -u K1 https://a\ncurl -H K2 https://b\n", "curl -H R https://a\n"),
    "beginnings against ends": (
        "curl -u K1 https://a\ncurl -H K2 https://b\n",
        "curl -H R https://a\ncurl -u R https://b\n",
    ),
    "a number that goes on, out of order": ("KEY_0=K1\nK2 # 1\n", "R # 10\nKEY_0=R\n"),
    "one of two on a line": ('KEYS = ["K1", "K2"]\n', 'KEYS = ["R"]\n'),
    "one of two on a line, and a word": ('KEYS = ["K1", "K2"]\n', 'KEYS = ["R", "x"]\n'),
    "one of two moves to the next line": ('a = ["K1", "K2"]\nb = ["K3"]\n', 'a = ["R"]\nb = ["R", "R"]\n'),
    "a renamed one of two that are left": ("a=K1\nb=K2\nc=K3\n", "a=R\nd=R\n"),
}
CLEAR = {
    "exported": ("A=K1\nB=K2\nc=1\n", "export A=R\nexport B=R\nc=2\n"),
    "quoted": ("A=K1\nB=K2\n", 'A="R"\nB="R"\n'),
    "a field in each section": (
        "[a]\ntoken=K1\n[b]\ntoken=K2\nend\n",
        "[a]\nuser=x\ntoken=R\n[b]\nuser=y\ntoken=R\n",
    ),
    "another scheme": ("A=pg_db://u/K1/a\nB=pg_db://u/K2/b\n", "A=pg_dbs://u/R/a\nB=pg_dbs://u/R/b\n"),
    "a list that is quoted": ("- K1\n- K2\n", '- "R"\n- "R"\n'),
    "whole lines in another order": ('"a": "K1",\n"b": "K2",\n"c": "K3"\n', '"c": "R",\n"b": "R",\n"a": "R"\n'),
    "one is removed": ("a=K1\nb=K2\nc=K3\n", "a=R\nc=R\n"),
}
KEYS = {f"K{number}": f"{KEY[:-5]}{number:05}" for number in range(1, 4)}


def filled(text: str) -> str:
    """Return a text with the keys that it names."""
    return re.sub(r"\bK\d", lambda found: KEYS.get(found[0], found[0]), text)


@pytest.mark.parametrize("case", SHIFTED)
async def test_secrets_are_not_swapped_when_their_names_are_shifted(file: File, case: str) -> None:
    before, after = filled(SHIFTED[case][0]), re.sub(r"\bR\b", NAMED, SHIFTED[case][1])
    await file.read(before)
    for change in (file.write(after), file.edit(file.seen.strip(), after.strip())):
        with pytest.raises(ToolError, match="it is unclear which one you mean"):
            await change
    assert file.now == before


@pytest.mark.parametrize("case", CLEAR)
async def test_a_change_around_several_secrets_that_leaves_no_doubt_is_made(file: File, case: str) -> None:
    before, after = filled(CLEAR[case][0]), re.sub(r"\bR\b", NAMED, CLEAR[case][1])
    lines = {"one is removed": "K1 K3", "whole lines in another order": "K3 K2 K1"}
    keys = iter(lines.get(case, "K1 K2 K3").split())
    wanted = re.sub(re.escape(NAMED), lambda _: KEYS[next(keys)], after)
    await file.read(before)
    await file.write(after)
    assert file.now == wanted


LINES = st.tuples(st.sampled_from(["KEY_{}=*", "{}=*", "- *", "* # {}", "x {} y"]), st.integers(0, 3))
EDITS = st.tuples(st.sampled_from(["rename", "renumber", "swap", "delete", "insert", "copy"]), *[st.integers(0, 5)] * 2)


def changed(lines: list[str], edit: tuple[str, int, int]) -> list[str]:
    """Return lines after one more edit."""
    kind, at, to = edit
    at, to = at % (len(lines) or 1), to % (len(lines) or 1)
    if kind == "insert" or not lines:
        return [*lines[:at], "new line", *lines[at:]]
    if kind == "swap":
        lines[at], lines[to] = lines[to], lines[at]
        return lines
    if kind == "delete":
        return [*lines[:at], *lines[at + 1 :]]
    if kind == "copy":
        return [*lines[:at], lines[at], *lines[at:]]
    number = str(edit[2] - 1) if kind == "renumber" else f"\\g<0>{edit[2]}"
    lines[at] = re.sub(r"\d", number, lines[at], count=1)
    return lines


@given(st.lists(LINES, min_size=2, max_size=5), st.lists(EDITS, max_size=6))
def test_secrets_stay_in_order_or_on_their_own_lines_whatever_is_changed(
    made: list[tuple[str, int]], edits: list[tuple[str, int, int]]
) -> None:
    lines = [line.format(number) for line, number in made]
    keys = iter(f"{KEY[:-5]}{number:05}" for number in range(99))
    old = conceal(re.sub(r"\*", lambda _: next(keys), "\n".join(lines)), SHAPES)
    edited = lines[:]
    for edit in edits:
        edited = changed(edited, edit)
    after = "\n".join(edited)
    try:
        found = restore(old, old.mark(after.replace("*", NAMED)))
    except Unclear:
        return
    own = dict(zip(old.hidden, (line for line in lines if "*" in line), strict=True))
    order = [old.hidden.index(text) for text in found]
    marked = [line for line in after.split("\n") if "*" in line]
    assert order == sorted(set(order)) or [own[text] for text in found] == marked


async def test_a_file_with_the_words_of_a_stand_in_does_not_get_more_of_them(file: File) -> None:
    await file.read(before := f"log: {NAMED}\n")
    with pytest.raises(ToolError, match="Nothing was written"):
        await file.write(f"log: {NAMED}\nlog: {NAMED}\n")
    assert file.now == before


@pytest.mark.parametrize(
    "nearly", ["[redacted:GitHub token]", "[REDACTED: GitHub token]", "[ redacted : github  token]"]
)
async def test_a_stand_in_that_was_not_copied_exactly_is_not_written(file: File, nearly: str) -> None:
    await file.read(before := f"KEY={KEY}\nB=2\n")
    for change in (file.write(f"KEY={nearly}\nB=3\n"), file.edit(f"KEY={NAMED}", f"KEY={nearly}")):
        with pytest.raises(ToolError, match="is not a secret of f and would be written literally"):
            await change
    assert file.now == before


@pytest.mark.parametrize(
    "blank",
    [
        "[redacted]",
        "<REDACTED>",
        "****",
        "<hidden>",
        "[ redacted : the token]",
        "[REDACTED: EMAIL]",
        "...",
        '"..."',
        "…",
        "<your-token-here>",
        "<token>",
        "xxxx",
        "XXXXXXXX",
        "已隐藏",
    ],
)
async def test_a_secret_is_not_overwritten_with_a_blank(file: File, blank: str) -> None:
    await file.read(before := f"KEY={KEY}\nB=2\n")
    for change in (file.write(f"KEY={blank}\nB=3\n"), file.edit(f"KEY={NAMED}", f"KEY={blank}")):
        with pytest.raises(
            ToolError, match=r"Nothing was written: \[redacted: GitHub token\] would be overwritten in f"
        ):
            await change
    assert file.now == before


ORDINARY = [
    're.sub(p, "[REDACTED: EMAIL]", s)\n',
    'return f"[redacted: {kind}]"\n',
    "echo [redacted: phone number] [ Redacted : SSN ]\n",
]


@pytest.mark.parametrize("text", ORDINARY)
async def test_what_other_programs_write_for_what_they_hide_is_ordinary_text(file: File, text: str) -> None:
    await file.read(f"KEY={KEY}\nB=2\n")
    await file.write(f"KEY={NAMED}\n{text}")
    await file.edit(text, f"B=3\n{text}")
    assert file.now == f"KEY={KEY}\nB=3\n{text}"
    await file.desk.use("write_file", path="g", content=text)


async def test_dots_tags_and_crosses_elsewhere_do_not_keep_a_secret_from_being_removed(file: File) -> None:
    await file.read(f"KEY={KEY}\nB=2\n")
    await file.write("KEY=$GITHUB_TOKEN\nB=<b>3</b> and so on ... xxxx\n")
    assert file.now == "KEY=$GITHUB_TOKEN\nB=<b>3</b> and so on ... xxxx\n"


@pytest.mark.parametrize("half", ["[redacted: GitHub", "GitHub token]", "token", KEY[:12]])
async def test_a_part_of_a_stand_in_or_of_a_secret_is_nowhere_in_a_file(file: File, half: str) -> None:
    await file.read(before := f"KEY={KEY}\n")
    with pytest.raises(ToolError, match="old_text does not occur"):
        await file.edit(half, "x", replace_all=True)
    assert file.now == before


@pytest.mark.parametrize(
    ("old", "new"), [("at ", "at"), ("at [redacted: npm token]", "at x[redacted: npm token]"), (" end", "end")]
)
async def test_a_secret_does_not_become_visible_by_what_is_put_beside_it(file: File, old: str, new: str) -> None:
    await file.read(before := f"at {SECRETS['npm'][0]} end\n")
    with pytest.raises(ToolError, match="no longer be hidden"):
        await file.edit(old, new)
    assert file.now == before


@pytest.mark.parametrize("name", ["A" * 200 + "_TOKEN", "ODD]NAME\n_TOKEN"])
async def test_a_secret_under_any_name_is_put_back(file: File, name: str) -> None:
    value = SECRETS["variable"][1]
    file.desk.redaction = Redaction({name: value})
    await file.read(f"a: {value}\n")
    await file.write(file.seen + "b\n")
    assert file.now == f"a: {value}\nb\n"


async def test_a_stand_in_under_a_name_that_is_no_longer_known_is_refused(file: File) -> None:
    file.desk.redaction = Redaction({"A_TOKEN": KEY})
    await file.read(before := f"KEY={KEY}\n")
    file.desk.redaction = SHAPES
    for change in (
        file.write(file.seen + "B=1\n"),
        file.edit("KEY=[redacted: A_TOKEN]", "KEY=[redacted: A_TOKEN] # x"),
    ):
        with pytest.raises(ToolError, match=r"\[redacted: A_TOKEN\].* secret"):
            await change
    assert file.now == before


async def test_a_value_that_is_there_as_it_is_and_encoded_is_put_back_as_each_of_them(file: File) -> None:
    value = SECRETS["variable"][1]
    file.desk.redaction = Redaction({"DB_PASSWORD": value})
    coded = base64.b64encode(value.encode()).decode()
    await file.read(f"plain: {value}\ncoded: {coded}\nend\n")
    assert file.seen.count("[redacted: DB_PASSWORD]") == 2
    await file.write("new\n" + file.seen.replace("end", "the end"))
    assert file.now == f"new\nplain: {value}\ncoded: {coded}\nthe end\n"


async def test_two_lines_with_secrets_that_change_places_keep_their_own(file: File) -> None:
    await file.read(f"a={KEY}\nb={OTHER}\n")
    await file.edit(f"a={NAMED}\nb={NAMED}", f"b={NAMED}\na={NAMED}")
    assert file.now == f"b={OTHER}\na={KEY}\n"


async def test_many_secrets_in_a_long_file_are_put_back_in_time(file: File) -> None:
    lines = [f"key{number}: {KEY[:-5]}{number:05}" for number in range(20_000)]
    await file.read("\n".join(lines))
    seen = [f"key{number}: {NAMED}" for number in range(20_000)]
    await file.write("\n".join(["first", *seen[1:10_000], "middle", *seen[10_000:]]))
    assert file.now == "\n".join(["first", *lines[1:10_000], "middle", *lines[10_000:]])


async def test_old_words_with_an_unknown_stand_in_are_told_as_such(file: File) -> None:
    await file.read("KEY=$TOKEN\n")
    with pytest.raises(ToolError, match=r"old_text contains \[redacted: GitHub token\], a placeholder for a secret"):
        await file.edit(f"KEY={NAMED}", "KEY=1")


async def test_a_secret_that_is_known_by_the_words_before_it_does_not_lose_them(file: File) -> None:
    line, secret = SECRETS["bearer"]
    await file.read(line + "\n")
    with pytest.raises(ToolError, match="no longer be hidden"):
        await file.edit("Authorization: Bearer", "Here it is:")
    assert secret in file.now


async def test_a_secret_in_a_file_that_is_not_utf8_is_not_damaged() -> None:
    workspace = MemoryWorkspace()
    known = Redaction({"DB_PASSWORD": "pässw\ufffdrd1X9"})
    file = await File(ToolDesk(workspace, redaction=known), workspace).read(
        "key: pässw\udce9rd1X9\n".encode(errors="surrogateescape")
    )
    with pytest.raises(ToolError, match="f is not UTF-8, and writing it would damage a secret"):
        await file.write(file.seen + "more\n")


@pytest.mark.parametrize("half", ["\ud800", "a\udfff"])
@pytest.mark.parametrize("name", ["content", "old_text", "new_text"])
async def test_half_a_surrogate_pair_is_no_text_for_a_file(file: File, name: str, half: str) -> None:
    await file.read(f"KEY={KEY}\n")
    tool = "write_file" if name == "content" else "edit_file"
    texts = {"old_text": "KEY", "new_text": "K"} if name != "content" else {}
    with pytest.raises(ValidationError, match=r"half a surrogate pair|valid string"):
        await file.desk.use(tool, path="f", **{**texts, name: half})


COMMANDS = [
    f"cat > config.py <<'EOF'\nKEY = '{NAMED}'\nEOF",
    f"sed -i 's/KEY=.*/KEY={NAMED}/' .env",
    f'python3 - <<EOF\nopen(".env", "w").write("KEY={NAMED}")\nEOF',
    f"curl -H 'Authorization: Bearer {NAMED}' http://localhost",
    "sed -i 's/\\[redacted: GitHub token\\]/x/' log",
    "echo \"[redacted: \"'API key]' > .env",
]


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_with_a_stand_in_is_not_run(
    desk: ToolDesk, workspace: MemoryWorkspace, command: str, background: bool
) -> None:
    with pytest.raises(ValidationError, match="a placeholder for a secret, and would use that text literally"):
        await desk.use("bash", command=command, run_in_background=background)
    assert workspace.asked == []


async def test_a_command_with_the_stand_in_of_a_secret_under_an_odd_name_is_not_run(
    desk: ToolDesk, workspace: MemoryWorkspace
) -> None:
    desk.redaction = Redaction({"REDIS": SECRETS["variable"][1]})
    with pytest.raises(ToolError, match=r"not run: it contains \[redacted: REDIS\], a placeholder for a secret"):
        await desk.use("bash", command="redis-cli -u '[redacted: REDIS]'")
    assert workspace.asked == []


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'Mask emails as [REDACTED: EMAIL]'",
        "grep '\\[REDACTED: EMAIL\\]' log",
        "echo '[redacted: {kind}]'",
    ],
)
async def test_a_command_with_what_other_programs_write_for_what_they_hide_is_run(
    desk: ToolDesk, workspace: MemoryWorkspace, command: str
) -> None:
    await desk.use("bash", command=command)
    assert len(workspace.asked) == 1


def test_every_name_that_is_shown_is_known_as_that_of_a_stand_in() -> None:
    texts = [text for text, _ in SECRETS.values()]
    shown = {find.name for text in texts for find in SHAPES.find(text)}
    assert [name for name in shown if not SHAPES.may_show(name)] == []
    assert len(shown) > 90


@pytest.mark.parametrize("command", ["grep -rn '\\[redacted' .", "grep 'redacted: API key' log", "echo '[redacted]'"])
async def test_a_command_that_looks_for_stand_ins_is_run(
    desk: ToolDesk, workspace: MemoryWorkspace, command: str
) -> None:
    await desk.use("bash", command=command)
    assert len(workspace.asked) == 1


# -- every format ---------------------------------------------------------------------------------

SURROUNDINGS = {
    "alone": "{}\n",
    "between lines": "a: 1\n{}\nb: 2\n",
    "CRLF": "a: 1\r\n{}\r\nb: 2\r\n",
    "BOM": "\ufeffa: 1\n{}\nb: 2\n",
    "twice": "a: 1\n{}\nmiddle\n{}\nb: 2\n",
    "with others": f"x: {KEY}\n{{}}\ny: {OTHER}\nz: {KEY}\n",
    "with the words of a stand-in": f"x: {NAMED}\n{{}}\ny: {KEY}\nlog {NAMED}\n",
}


def files(around: str) -> dict[str, str]:
    """Return files with each format of secrets in these surroundings."""
    made = {name: SURROUNDINGS[around].replace("{}", text) for name, (text, _) in SECRETS.items()}
    return {name: re.sub("\r?\n", "\r\n", text) if "\r" in text else text for name, text in made.items()}


def changes(seen: str) -> tuple[str, ...]:
    """Return a text as it is, with a line before it, and with one behind it."""
    return seen, f"first\n{seen}", f"{seen}last\n"


@pytest.mark.slow
@pytest.mark.parametrize("around", SURROUNDINGS)
async def test_writing_back_what_was_read_changes_no_secret(file: File, around: str) -> None:
    wrong = []
    for name, whole in files(around).items():
        wanted = changes(whole.removeprefix("\ufeff").replace("\r\n", "\n"))
        for at, after in enumerate(wanted):
            await file.read(whole)
            await file.write(changes(file.seen)[at])
            # A key of many lines keeps its line ends; all others are as the model writes them.
            wrong += [name] if file.now.replace("\r\n", "\n") != after else []
    assert wrong == []


@pytest.mark.parametrize("around", SURROUNDINGS)
async def test_an_edit_changes_no_secret(file: File, around: str) -> None:
    wrong = []
    for name, whole in files(around).items():
        await file.read(whole)
        first = file.seen.splitlines()[0]
        mine = "mine\r\n" if "\r" in whole else "mine\n"
        bom = "\ufeff" if whole.startswith("\ufeff") else ""
        wanted = bom + mine + whole.removeprefix(bom)
        try:
            await file.edit(first, f"mine\n{first}")
        except ToolError as error:
            wanted = whole if "times in f" in str(error) else ""
        wrong += [name] if file.now != wanted else []
    assert wrong == []


async def test_what_is_read_of_a_file_is_what_redaction_makes_of_it(file: File) -> None:
    for around in SURROUNDINGS:
        for whole in files(around).values():
            await file.read(whole)
            assert file.seen == SHAPES.text(whole.removeprefix("\ufeff")).replace("\r\n", "\n")
