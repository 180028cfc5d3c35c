"""Redaction: what is known to be a secret is replaced by its name, in one piece or in many, and nothing else is."""

import base64
import json
import random
import subprocess
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.policy.redaction import SHAPES, Redaction, secrets_in
from deskmate.core.policy.secret_placeholders import placeholders_in
from tests.secret_formats import SECRETS, UNKNOWN

ROOT = Path(__file__).parents[3]
VALUE = 'tr0ub4dor&3 "x"/y'
KNOWN = Redaction({"DB_PASSWORD": VALUE, "DEPLOY_TOKEN": "Zk3vQ9tRw7" + "Lx2MbN"})
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
# Written in two parts: a secret that stands here would be a find in this very file.
SHAPED = {
    "Anthropic key": "sk-ant-" + "api03-kL9x2mQ8vT4nR7wY1zB5",
    "API key": "sk-" + "proj-kL9x2mQ8vT4nR7wY1zB5_A",
    "GitHub token": "ghp_" + "kL9x2mQ8vT4nR7wY1zB5cD3fG6hJ0pS8aE2u",
    "GitLab token": "glpat-" + "kL9x2mQ8vT4nR7wY1zB5",
    "AWS key": "AKIA" + "IOSFODNN7QRSTUVW",
    "Slack token": "xoxb-" + "123456789012-kL9x2mQ8vT4nR7wY",
    "Google key": "AIza" + "SykL9x2mQ8vT4nR7wY1zB5cD3fG6hJ0pS8a",
    "npm token": "npm_" + "kL9x2mQ8vT4nR7wY1zB5cD3fG6hJ0pS8aE2u",
    "PyPI token": "pypi-" + "AgEIcHlwaS5vcmcCJDkL9x2mQ8vT4nR7wY1zB5cD3fG6hJ0pS8aE2u",
    "Hugging Face token": "hf_" + "kL9x2mQ8vT4nR7wY1zB5cD3fG6hJ0pS8aE",
    "Stripe key": "sk_" + "live_kL9x2mQ8vT4nR7wY1zB5",
    "JWT": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.kL9x2mQ8vT4nR7wY1zB5",
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END RSA PRIVATE KEY-----",
}
BEHIND = {
    "AWS secret": ('aws_secret_access_key = "', "kL9x2mQ8vT4nR7wY1zB5cD3fG6hJ0pS8aE2u/+xY"),
    "authorization": ("Authorization: Bearer ", "kL9x2mQ8vT4nR7wY1zB5"),
    "password in an address": ("postgres://app:", "kL9x2mQ8vT4n"),
}


@pytest.mark.parametrize("name", SHAPED)
def test_what_has_the_shape_of_a_secret_is_replaced_by_the_name_of_that_shape(name: str) -> None:
    assert SHAPES.text(f"x = '{SHAPED[name]}', y") == f"x = '[redacted: {name}]', y"


@pytest.mark.parametrize("name", BEHIND)
def test_what_stands_before_a_secret_and_tells_that_it_is_one_stays(name: str) -> None:
    before, secret = BEHIND[name]
    assert SHAPES.text(f"{before}{secret}@ rest") == f"{before}[redacted: {name}]@ rest"


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        json.dumps(VALUE)[1:-1],
        quote(VALUE, safe=""),
        *(base64.b64encode(before + VALUE.encode() + b"\n").decode() for before in (b"", b"a", b"ab")),
        base64.urlsafe_b64encode(f"app:{VALUE}".encode()).decode(),
    ],
)
def test_a_value_is_found_however_it_is_written(written: str) -> None:
    told = KNOWN.text(f"it is {written}, is it?")

    assert "[redacted: DB_PASSWORD]" in told
    assert written not in told


def test_a_value_that_has_a_shape_goes_by_the_name_of_its_variable() -> None:
    known = Redaction({"MY_KEY": SHAPED["Anthropic key"]})

    assert known.text(f"Authorization: Bearer {SHAPED['Anthropic key']}") == "Authorization: Bearer [redacted: MY_KEY]"


def test_secrets_that_overlap_are_replaced_as_one() -> None:
    known = Redaction({"A_KEY": "abcdefgh1234", "B_KEY": "1234ijklmnop"})

    assert known.text("<abcdefgh1234ijklmnop>") == "<[redacted: A_KEY]>"


def test_what_was_redacted_stays_as_it_is_when_it_is_redacted_again() -> None:
    text = "\n".join([*SHAPED.values(), *(before + secret + "@" for before, secret in BEHIND.values()), VALUE])
    once = KNOWN.text(text)

    assert KNOWN.text(once) == once
    assert len(set(placeholders_in(once))) == len(SHAPED) + len(BEHIND) + 1


def test_json_is_redacted_in_its_texts_and_keys_and_otherwise_left_as_it_is() -> None:
    secret = SHAPED["GitLab token"]

    assert SHAPES.value({"a": [1, None, (secret,)], secret: {"b": f"-{secret}"}, "n": 1.5}) == {
        "a": [1, None, ["[redacted: GitLab token]"]],
        "[redacted: GitLab token]": {"b": "-[redacted: GitLab token]"},
        "n": 1.5,
    }


# -- in pieces ------------------------------------------------------------------------------------

PARTS = (
    "API_KEY", "OBJECT_", "TOKEN", "db_password", "launchDarkly", "=", ": ", " = ", '"', "'", '\\"', " ", "\n", "\\n",
    "aB3dE5fG7hI9" + "jK1l", "#mN0pQ2rS", "$(x)", "(", ")", "word", "sdk-" + "550e8400-e29b-41d4-a716-446655440000",
    ",", "&b=", "{}", "ü", "x7" * 200, "django-insecure-", "Authorization: Bearer ",
)  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join), st.lists(st.integers(0, 900), max_size=8))
def test_a_text_is_redacted_the_same_in_whatever_pieces_it_comes(text: str, cuts: list[int]) -> None:
    passing = SHAPES.passing()
    ends = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [passing.add(text[start:end]) for start, end in pairwise(ends)]

    assert "".join([*pieces, passing.end()]) == SHAPES.text(text)


LINE = f"see {VALUE} and\n{''.join(BEHIND['authorization'])} or {SHAPED['private key']} 好的Zk3vQ9tRw7Lx2MbN.\n"


@given(st.lists(st.integers(0, len(LINE)), max_size=8))
def test_a_secret_is_found_in_whatever_pieces_it_comes(cuts: list[int]) -> None:
    passing = KNOWN.passing()
    ends = [0, *sorted(cuts), len(LINE)]
    pieces = [passing.add(LINE[start:end]) for start, end in pairwise(ends)]

    assert "".join([*pieces, passing.end()]) == KNOWN.text(LINE)


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_of_any_format_is_hidden_the_same_in_one_piece_and_in_many(name: str) -> None:
    text = f"see\n{SECRETS[name][0]}\nand {SECRETS[name][0]}, or so.\n"
    whole = SHAPES.text(text)
    for size in (1, 3, 17, len(text) // 2):
        passing = SHAPES.passing()
        pieces = [passing.add(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join([*pieces, passing.end()]) == whole


@pytest.mark.parametrize("name", sorted(SECRETS.keys() - UNKNOWN))
def test_a_secret_of_any_known_format_is_found(name: str) -> None:
    text, secret = SECRETS[name]
    told = SHAPES.text(f"see\n{text}\nand so on")

    assert "[redacted: " in told
    assert not any(secret[at : at + 12] in told for at in range(max(1, len(secret) - 11)))


CUT = "aB3dE5fG7hI9" + "jK1l"


@pytest.mark.parametrize("sign", ["#", "$", "(", ")", ",", ":", ";", "?", "!", "[", "]", "{", "}", "|", "~", "ü"])
@pytest.mark.parametrize("line", ['DB_PASSWORD="{}"', "API_KEY = '{}'", '"TOKEN": "{}",', '\\"TOKEN\\": \\"{}\\"'])
def test_a_value_between_quotes_is_hidden_whole_whatever_signs_it_has(line: str, sign: str) -> None:
    for value in (f"{CUT}{sign}mN0pQ2rS", f"aB3{sign}dE5fG7hI{sign}9{CUT}", f"{CUT} {sign} mN0pQ2rS"):
        assert SHAPES.text(line.replace("{}", value)) == line.replace("{}", "[redacted: value of a secret name]")


@pytest.mark.parametrize("sign", ["#", "$", "(", ",", ":", ";", "?", "!", "[", "{"])
def test_a_value_without_quotes_is_hidden_up_to_a_blank(sign: str) -> None:
    told = "[redacted: value of a secret name]"
    assert SHAPES.text(f"DB_PASSWORD={CUT}{sign}mN0pQ2rS x\n") == f"DB_PASSWORD={told} x\n"


@pytest.mark.parametrize(
    "around", ["f(api_key={})", "f(api_key={}, x)", "TOKEN={};", "TOKEN={},B_X=1", "?api_key={}&b=1"]
)
def test_the_code_around_a_value_is_no_part_of_it(around: str) -> None:
    assert SHAPES.text(around.replace("{}", CUT)) == around.replace("{}", "[redacted: value of a secret name]")


@pytest.mark.parametrize(
    "text", ["TOKEN=short,API_TOKEN={}", "?api_key=1&b_api_key={}", 'A_KEY="${X} and API_KEY={} now, not later"']
)
def test_a_value_behind_one_that_is_no_secret_is_hidden(text: str) -> None:
    assert SHAPES.text(text.replace("{}", CUT)) == text.replace("{}", "[redacted: value of a secret name]")


@pytest.mark.parametrize("prefix", ["django-insecure-", ""])
def test_every_key_that_django_makes_is_hidden_whole(prefix: str) -> None:
    chosen = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)"
    keys = ["".join(chosen.choices(letters, k=50)) for _ in range(2000)]
    told = f"SECRET_KEY = '{prefix}[redacted: value of a secret name]'"

    assert [key for key in keys if SHAPES.text(f"SECRET_KEY = '{prefix}{key}'") != told] == []


def test_words_pass_at_once_but_for_the_last_which_may_go_on() -> None:
    passing = KNOWN.passing()

    assert [passing.add(piece) for piece in ("Hello wor", "ld, th", "is is 你好", "\n")] == [
        "Hello ",
        "world, ",
        "this is 你好",
        "\n",
    ]
    assert passing.end() == ""


def test_a_text_without_spaces_is_not_held_back_for_ever_and_still_shows_no_secret() -> None:
    passing, secret = KNOWN.passing(), SHAPED["AWS key"]
    told = [passing.add("x," * 2000 + secret + ",") for _ in range(10)]
    whole = "".join([*told, passing.end()])

    assert sum(map(len, told)) > len(whole) - 20_000
    assert whole == ("x," * 2000 + "[redacted: AWS key],") * 10


# -- what is left alone ---------------------------------------------------------------------------


def test_nothing_in_this_project_looks_like_a_secret() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    texts = {name: (ROOT / name).read_bytes().decode(errors="replace") for name in listed.decode().split("\0")[:-1]}

    # The key of a server that listens in tests only, on this machine, and passwords that tests send to such servers.
    keys = [
        "tests/faces/mcp/test_http_guard.py",
        "tests/models/http/test_post_client.py",
        "tests/models/http/test_proxy_choice.py",
        "tests/models/wires/certificates/server.pem",
    ]
    assert [name for name, text in texts.items() if SHAPES.text(text) != text] == keys
    assert len(texts) > 400


@pytest.mark.parametrize(
    "text",
    [
        "commit 9901cdc0d1c6a2f0b8f7d0d6a0f5b9c1e2d3f4a5",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha512-" + base64.b64encode(bytes(range(64))).decode(),
        "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 40).decode(),
        ".sk-folding-cube-with-four-squares { }",
        "task-12-of-the-release-of-2026-A",
        "https://user:password@host/ postgres://postgres:postgres@db:5432/app",
        "https://$USER:${PASSWORD1}@host redis://:<password1>@host",
        "Authorization: Bearer $TOKEN, Authorization: Bearer <your-token-here>",
        "npm_config_registry_of_the_whole_team_and_all_of_its_members",
        'if "-----BEGIN RSA PRIVATE KEY-----" in text: raise ValueError("a key")',
        "AKIAIOSFODNN7QRSTUVWX and fooAKIAIOSFODNN7QRSTUVW",
        "sk-SK-Chirp3-HD-Achernar and sk-SK-Standard-A2-of-2026",
        f"docker://nginx:1.25.3-alpine@sha256:{'0a1b' * 16} docker://a/b:v1@sha512:1",
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "Authorization: Bearer abcdefghijklmnop, Authorization: Basic dXNlcjpwYXNzd29yZA==",
        "git@github.com:team/app.git ssh://git@host:22/team/app.git",
        "http://localhost:3000/@user https://example.com:8080/a@b (http://a.b:80/?q=me@c.d)",
        "https://medium.com/@someone/a-title-with-12-words-a1b2c3d4e5f6",
        "postgres://{user}:{password}@{host}/{name} mysql://%s:%s@%s/ ftp://user:pass@ftp.example.org",
        r"re.compile(r'://[^:@/]+:[^@/]+@')",
        "mongodb://localhost:27017,localhost:27018/app?replicaSet=a@b",
        "S3_KEY=assets/app.v2.js CACHE_KEY=v1.2.3-rc1-linux-x64-2026 JWT_SECRET=localhost:3000",
        "API_KEY=your-api-key-goes-here-12345 TOKEN=${GITHUB_TOKEN} SECRET_KEY='changeme-changeme-1234'",
        "const MAX_TOKENS = 1234567890123456789; PRIMARY_KEY = 'users_pkey_2026_01_01_v2'",
        "api_key=settings.ANTHROPIC_API_KEY_2 client_secret=self.config.client_secret_v2_value",
        "x-api-key: $ANTHROPIC_API_KEY",
        "user.auth_token = AuthorizationCodeGrant_v2",
        "machine learning needs a login and a password like no other",
        "DAI_TOKEN=0x6B175474E89094C44Da98b954EedeAC495271d0F",
        "LOCAL_STORAGE_KEY = 'myApp_settings_v2_2023' and SAVE_KEY = 'myApp_settings_v2_2023'",
        "QUERY_KEY='useGetUsersByIdV2Query1' HOOK_KEY='useGetUsersByIdV2Query1'",
        "OBJECT_KEY=a1b2c3d4/e5f6a7b8/c9d0e1f2.json",
        "IDEMPOTENCY_KEY=550e8400-e29b-41d4-a716-446655440000",
        "GPG_KEY=A035C8C19219BA821ECEA86B64E628F8D684696D",
        "STRIPE_PUBLISHABLE_KEY=pk_test_TYooMQauvdEDq54NiTphI7jx",
        '"auth": "requiredForAllRoutes"',
        "machine example.org login me password PASSWORD",
        "Authorization: Bearer YOUR_ACCESS_TOKEN_12345",
        "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
        "aws_session_token = AQoEXAMPLEH4aoAH0gNCAPy" + "JrxrkqDn1" * 20,
        "sk-learn-Version-1-0-2-release-notes sk-Fading-Circle-12-Something",
        "sdk-550e8400-e29b-41d4-a716-446655440000 api-550e8400-e29b-41d4-a716-446655440000",
        "HEX_PAT = '[0-9A-Fa-f]{1,4}' TOKEN = '[a-zA-Z_][a-zA-Z0-9_-]*'",
        "SECRET = '\\x1b[31mred\\x1b[0m \\x07bell'",
        "PASSWORD = 'Please enter at least 8 characters, 2 of them digits'",
        "API_KEY=get_key('service-v2',region1) TOKEN=$(pass show a/B1c2D3e4F5) TOKEN=${TOKEN:-aB3dE5fG7hI9}",
        "KEY: z.string().min(32).max(128), TOKEN=names[index2].tokenOfUser1",
        "the key-0123456789abcdef of a dict; v1.0-beta; re_compiled_pattern; pat-a-cake",
    ],
)
def test_what_only_looks_a_little_like_a_secret_is_left_alone(text: str) -> None:
    assert SHAPES.text(text) == text


# -- what is known --------------------------------------------------------------------------------


def test_variables_hold_a_secret_where_their_name_says_so_and_addresses_their_password() -> None:
    environ = {
        "GITHUB_TOKEN": "a1",
        "SECRET_KEY_BASE": "b2",
        "MYSQL_PWD": "c3",
        "apiKey": "d4",
        "AWS_CREDENTIALS_JSON": "e5",
        "TOKEN_2": "f6",
        "DATABASE_URL": "postgres://app:g7@host/db",
        "TOKEN_URL": "https://host/token",
        "KEYBOARD": "us",
        "TOKEN_EXPIRY": "2026-11-16T00",
        "AWS_ACCESS_KEY_ID": "h8",
        "PWD": "/home/me/project1",
        "PATH": "/bin",
    }

    assert secrets_in(environ) == {
        "GITHUB_TOKEN": "a1",
        "SECRET_KEY_BASE": "b2",
        "MYSQL_PWD": "c3",
        "apiKey": "d4",
        "AWS_CREDENTIALS_JSON": "e5",
        "TOKEN_2": "f6",
        "DATABASE_URL": "g7",
    }


@pytest.mark.parametrize(
    "value", ["", "sk-test", "production", "not-needed", "12345678", "/run/secrets/db1", "~/key1.pem", "$OTHER_1x"]
)
def test_a_value_that_may_stand_anywhere_is_not_taken_for_a_secret(value: str) -> None:
    assert Redaction({"A_TOKEN": value}).text(f"it is {value}.") == f"it is {value}."


def test_of_a_value_of_many_lines_each_long_word_is_known_too() -> None:
    key = "kL9x2mQ8vT4nR7wY1zB5"
    known = Redaction({"A_JSON": f'{{"type": "service_account",\n "private_key_id": "{key}"}}'})

    assert known.text(f'2\t "private_key_id": "{key}"') == '2\t "private_key_id": "[redacted: A_JSON]"'
    assert known.text('"type": "service_account"') == '"type": "service_account"'


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("S3_KEY", "assets/app.v2.js"),
        ("CACHE_KEY", "v1.2.3-rc1"),
        ("CACHE_KEY", "node-modules-8f3a2b1c9d0e"),
        ("BUILD_KEY", "release-2026.11-linux-x64"),
        ("JWT_SECRET", "localhost:3000"),
        ("GIT_CONFIG_KEY_0", "http.https://github.com/.extraheader"),
        ("SSH_PUBLIC_KEY", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB9"),
        ("APP_DSN", "sqlite:///data/app.db"),
    ],
)
def test_a_variable_with_an_innocent_value_hides_nothing(name: str, value: str) -> None:
    assert Redaction(secrets_in({name: value})).text(f"see {value}.") == f"see {value}."


@pytest.mark.parametrize(
    "name",
    ["API_KEYS", "GITLAB_PAT", "AZURE_STORAGE_CONNECTION_STRING", "STRIPE_KEY_LIVE", "APP_TOKEN_V2",
     "DOCKER_AUTH_CONFIG", "SENTRY_DSN", "SLACK_WEBHOOK_URL", "SESSION_COOKIE", "DB_CREDS"],
)  # fmt: skip
def test_a_variable_that_is_named_like_a_secret_is_known(name: str) -> None:
    value = SECRETS["variable"][1]
    assert Redaction(secrets_in({name: value})).text(f"see {value}.") == f"see [redacted: {name}]."


def test_a_password_may_be_made_of_words_and_is_known_by_the_name_of_its_variable() -> None:
    assert (
        Redaction({"DB_PASSWORD": "correct-horse-battery"}).text("correct-horse-battery") == "[redacted: DB_PASSWORD]"
    )


@pytest.mark.parametrize("value", ["Passw0rd", "hunter2!hunter", "correct horse battery staple", "0" * 19 + "1"])
def test_a_value_that_stands_out_is(value: str) -> None:
    assert Redaction({"A_TOKEN": value}).text(f"it is {value}.") == "it is [redacted: A_TOKEN]."
