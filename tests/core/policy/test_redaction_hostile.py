"""Redaction of texts that were written to get past it, or to keep it busy; in one piece and in many."""

import time
from collections.abc import Callable
from urllib.parse import quote, unquote

import pytest

from deskmate.core.policy.redaction import SHAPES, Redaction, secrets_in

SIZE = 8 * 1024
# In parts: as one, they would be found in this file.
SECRET = "kL9x2mQ8vT4n" + "R7wY1zB5cD3fG6hJ0pS8aE2u/+xY"
BEARER = "kL9x2mQ8vT4n" + "R7wY1zB5"
BEGIN, END = "-----BEGIN {}PRIVATE KEY{}-----\n", "-----END {}PRIVATE KEY{}-----"
KNOWN = {"A_KEY": "s3cretValue9", "B_KEY": "two words 99 Zz\nand one line more"}


def key(lines: int, kind: str = "RSA ", block: str = "") -> str:
    return BEGIN.format(kind, block) + ("A1b/" * 16 + "\n") * lines + END.format(kind, block)


def streamed(redaction: Redaction, text: str, size: int) -> str:
    passing = redaction.passing()
    return "".join([*(passing.add(text[at : at + size]) for at in range(0, len(text), size)), passing.end()])


# -- what is hidden -------------------------------------------------------------------------------

HIDDEN = {
    key(20).partition("\n")[2]: "[redacted: private key]",
    key(3, "OPENSSH ").partition("\n")[2]: "[redacted: private key]",
    "".join(f"{number}\t{line}\n" for number, line in enumerate(key(5).splitlines(), 1))
    .partition("\n")[2]
    .strip(): "2\t[redacted: private key]",
    "amqp://app:p@ss:" + "w/rd$1@host/vhost": "amqp://app:[redacted: password in an address]@host/vhost",
    "postgres://app:p@" + "ss@db:5432/a@b": "postgres://app:[redacted: password in an address]@db:5432/a@b",
    "redis://:x7" + "Kq@[::1]:6379/0": "redis://:[redacted: password in an address]@[::1]:6379/0",
    "https://u:pä/" + "ss@h/x": "https://u:[redacted: password in an address]@h/x",
    "AWS_SECRET_ACCESS_KEY=" + SECRET: "AWS_SECRET_ACCESS_KEY=[redacted: AWS secret]",
    '"SecretAccessKey": "' + SECRET + '"': '"SecretAccessKey": "[redacted: AWS secret]"',
    "secret_access_key:\n  " + SECRET: "secret_access_key:\n  [redacted: AWS secret]",
    "AUTHORIZATION: Bearer " + BEARER: "AUTHORIZATION: Bearer [redacted: authorization]",
    '\\"Authorization\\": \\"Bearer ' + BEARER + '\\"': '\\"Authorization\\": \\"Bearer [redacted: authorization]\\"',
    '"Authorization":\n  "Bearer ' + BEARER + '"': '"Authorization":\n  "Bearer [redacted: authorization]"',
    "Authorization: Bearer\n" + BEARER: "Authorization: Bearer\n[redacted: authorization]",
    "https://u:pä" + "hunter2hunter@h": "https://u:[redacted: password in an address]@h",
    key(20, "PGP ", " BLOCK"): "[redacted: private key]",
    key(200): "[redacted: private key]",
    key(900): "[redacted: private key]",
    BEGIN.format("", "") + "A1b/" * 3000 + '"': '[redacted: private key]"',
}


@pytest.mark.parametrize("size", [1, 7, 1000, 100_000])
@pytest.mark.parametrize(("text", "told"), HIDDEN.items(), ids=range(len(HIDDEN)))
def test_a_secret_is_hidden_as_well_in_a_stream_as_in_one_piece(text: str, told: str, size: int) -> None:
    assert SHAPES.text(f"see\n{text} !") == f"see\n{told} !"
    assert streamed(SHAPES, f"see\n{text} !", size) == f"see\n{told} !"


def test_words_about_a_private_key_do_not_hold_up_a_stream() -> None:
    passing = SHAPES.passing()
    told = passing.add('"' + BEGIN.format("", "") + '" begins a key; ' + "so it is. " * 100)

    assert len(told) > 1000


VALUE = "wjalr/utnfemi+k7(md!"


@pytest.mark.parametrize("written", [quote(VALUE), quote(VALUE, safe="").lower(), quote(VALUE, safe="!*'()")])
def test_a_value_is_found_in_an_address_however_that_is_escaped(written: str) -> None:
    assert Redaction({"A_KEY": VALUE}).text(f"?a={written}&b") == "?a=[redacted: A_KEY]&b"


def test_every_password_of_every_address_is_known_and_a_secret_that_is_an_address() -> None:
    environ = {
        "TWO": "https://a:" + "first9999@h/x,https://b:" + "secnd8888@h",
        "ESCAPED": "postgres://u:" + "p%40ss9999word@h/db",
        "HOOK_SECRET": "https://hooks.example.org/services/T000/XyZ123abc456",
    }
    known = secrets_in(environ)

    assert known == {
        "TWO": "first9999",
        "TWO (2)": "secnd8888",
        "ESCAPED": "p%40ss9999word",
        "HOOK_SECRET": environ["HOOK_SECRET"],
    }
    assert Redaction(known).text(f"it is {unquote(known['ESCAPED'])}.") == "it is [redacted: ESCAPED]."


# -- what keeps it busy ---------------------------------------------------------------------------

UNITS = (
    "sk-", "-sk-a", "_sk-aaaaaaaaaaaaaaaaaaaaa", "sk-ant-", "-xoxa-aaaaaaaaaaaaaaaaaaaaaa", "_xoxa-", "glpat-",
    "pypi-AgE", "ghp_", "github_pat_", "npm_", "hf_aaaaaaaaaaaaaaaaaaaa", "sk_live_", "AKIA", "AIza", "eyJ",
    ".eyJaaaaaaaaaaaa", "-eyJ", "uthorization: ", "uthorization:bearer\t", "authorization: bearer aaaaaaaaaaaaaaa;",
    "ecret_access_key = ", "ECRET_ACCESS_KEY=", "ecretAccessKey\\\\\\", "://", "://a:", "://a:bbbbbbbbb", "://:aaaaaaaa1",
    "-----BEGIN ", "-",
    "glpat-", "gsk_a", "hvs.", "dp.st.", "s.", "SG.aaaaaaaaaaaaaaaaaaaaaa.", "xapp-", "github_pat_a", "%20sk-",
    "\\nsk-",
    "A3-AAAAAA-", "ATATT3", ":AA", "12345678:AA", "Q~", "aaaaaaQ~", "-us", "0123456789abcdef", "NRAL", ".aaaaaa.",
    "_mmk",
    "M" + "a" * 24 + ".aaaaaa.", "1//0", "cio", "sig=", '"auth": "', ":_authToken=", "machine ", "machine a login b ",
    "machine a login b " + "password c\n", "://a:b@", "://a:b/", "://a:b@c:", "://a:@", "://aaaaaaaaaaaaaaaaaaaa1",
    "@", "TOKEN=", "launchDarkly ", "sk-a1A-",
    'KEY="', 'KEY = "a ', "KEY='KEY=\"", 'TOKEN = "\\', "KEY=a,", "KEY=a)", "KEY=aaaaaaaaaaaaaaa1(",
    "TOKEN=a1a1a1a1a1a1a1a1", "KEY_", "KEY: ", "api_key=a.b.c.d.e.f.g.h", "a.1-", "_PAT=", "x-api-key: ",
    "A1b/" * 16 + "\n", "A1b/" * 16 + "\n" + END.format("", "") + "\n", "1\tA1b/\n",
    BEGIN.format("", ""), BEGIN.format("", "") + "A" * 32, BEGIN.format("", "") + "A" * 32 + "!", "PRIVATE KEY-----",
    END.format("", ""), BEGIN.format("", "") + "<" * 280 + "A" * 32, "s3cretValue", "two words 99 Zz\n", "a", " ",
)  # fmt: skip
HEADS = (
    "",
    "authorization",
    "authorization: bearer ",
    "ecret_access_key",
    "://",
    BEGIN.format("", "") + "A" * 40 + "\n",
)


def took(work: Callable[[], object]) -> float:
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("unit", UNITS)
def test_the_time_that_a_text_takes_grows_with_its_length_and_no_faster(unit: str, pieces: bool) -> None:
    known = Redaction(KNOWN)

    def work(size: int) -> float:
        texts = [(head + unit * size)[:size] for head in HEADS]
        return took(lambda: [streamed(known, text, 16) if pieces else known.text(text) for text in texts])

    size = SIZE // 4 if pieces else SIZE
    # Four times as long takes four times as much, and sixteen times as much if it grows with the square. Something
    # else may take the time of one try, so the fastest counts, and a second try is made only if the first was slow.
    short, long = [work(size)], [work(4 * size)]
    while min(long) >= 9 * max(min(short), 0.001) and len(long) < 5:
        short.append(work(size))
        long.append(work(4 * size))
    assert min(long) < 9 * max(min(short), 0.001)
