"""How vendors write their keys.

Facts about the formats come from the vendors' documents and from the rules of gitleaks and detect-secrets. Each shape
is tried once in a run of its own letters, or looks only a little way ahead and back. So the time for a text grows only
linearly with its length, even for hostile texts.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple, TypeAlias

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])"


class Span(NamedTuple):
    """A secret in a text, from `start` to `end`. `begin`: where the text that reveals it starts."""

    start: int
    end: int
    begin: int
    name: str


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled. Most are never needed, because no text contains what they begin with."""
    return re.compile(pattern, re.ASCII)


# Keys shown in documents: in the RFCs 6749, 7519 and 7617, by jwt.io, PyJWT, Stripe and Slack.
_EXAMPLES = frozenset(
    {
        "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "dXNlcjpwYXNzd29yZA==",
        "dXNlcjpwYXNz",
        "czZCaGRSa3F0MzpnWDFmQmF0M2JW",
        "4eC39HqLyjWDarjtT1zdp7dc",
        "BQokikJOvBiI2HlWgH4olfQ2",
        "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
        "4twFt5NiznN84AWoo1d7KO1T_yoc0Z6XOpOVswacPZg",
        "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        # The key of Azurite, the same for everyone.
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    }
)

# What people write in place of a password.
PLACEHOLDER = re.compile(
    r"(?:my|your)?[_-]?(?:pass(?:word|wd|w0rd|1)?|pw|pwd|secret|token|user(?:name)?|login|credentials|(?:api_?)?key)"
    r"|guest|anonymous|root|admin|postgres|mysql|test|example|changeme|hunter2|[x*.]+",
    re.IGNORECASE,
)
# One part of a path, a version, a host name or a name like `useUsersByIdV2`: a word, with or without a short number.
_PLAIN_PARTS = re.compile(
    r"(?:[a-z]*\d{0,4}|[A-Z]?[a-z]+\d{0,4}|[A-Z]+\d{0,4}|\d+)(?:[./:,;_@+-]+|\Z)"
    r"|(?:[A-Z][a-z]+|[a-z]{2,}|V)\d{0,2}(?=[A-Z])"
)


def is_plain(value: str) -> bool:
    """Tell whether a value is only words, numbers and what joins them: a path, a version, a host, a name."""
    at, parts = 0, 0
    while at < len(value):
        part = _PLAIN_PARTS.match(value, at)
        if part is None or part.end() == at:
            return False
        at, parts = part.end(), parts + 1
    return parts > 1


def is_example(secret: str) -> bool:
    """Tell whether a secret is an example from public documents."""
    return re.split(r"[.]|_(?:test|live)_", secret)[-1] in _EXAMPLES


# -- prefixes -------------------------------------------------------------------------------------

# Vendor, prefixes, and what follows them. Each prefix ends with one of `_`, `-` and `.`.
_PREFIXED = (
    # sk-: names of styles and of voices (sk-SK-Chirp3-HD-Achernar) also begin like that.
    ("API key", "sk-", r"(?!ant-|[A-Z]{2}-)(?:(?=[\w-]{0,99}?\d)(?=[\w-]{0,99}?[A-Z])[\w-]{20,}|[0-9a-f]{32,}(?!\w))"),
    ("API key", "sk-or-v1-", r"[0-9a-f]{48,}"),
    ("API key", "sk-lf-", _UUID),
    ("Anthropic key", "sk-ant-", r"[\w-]{20,}"),
    ("Groq key", "gsk_", r"[A-Za-z0-9]{40,}"),
    ("xAI key", "xai-", r"[A-Za-z0-9]{60,}"),
    ("Perplexity key", "pplx-", r"[A-Za-z0-9]{40,}"),
    ("Hugging Face token", "hf_ api_org_", r"[A-Za-z0-9]{30,}(?!\w)"),
    ("Replicate token", "r8_", r"[A-Za-z0-9]{37}(?!\w)"),
    ("Fireworks key", "fw_", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{24}(?!\w)"),
    ("LangSmith key", "lsv2_pt_ lsv2_sk_", r"[0-9a-f]{32}_[0-9a-f]{10}"),
    ("Nvidia key", "nvapi-", r"[\w-]{60,}"),
    ("Tavily key", "tvly- tvly-dev- tvly-prod-", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{32}(?!\w)"),
    ("E2B key", "e2b_", r"[0-9a-f]{40}(?!\w)"),
    ("Jina key", "jina_", r"[0-9a-f]{32}[\w-]{28}"),
    ("Voyage key", "pa-", r"(?=[\w-]{0,42}?\d)(?=[\w-]{0,42}?[A-Z])(?=[\w-]{0,42}?[a-z])[\w-]{43}(?![\w-])"),
    ("Firecrawl key", "fc-", r"[0-9a-f]{32}(?!\w)"),
    ("Together key", "tgp_v1_", r"[\w-]{40,}"),
    ("Pinecone key", "pcsk_", r"[A-Za-z0-9]{4,8}_[A-Za-z0-9]{50,}"),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,}"),
    ("GitHub token", "github_pat_", r"\w{22,}"),
    (
        "GitLab token",
        "glpat- glrt- gldt- glptt- glcbt- glft- glimt- glagent- glsoat- gloas- glffct- glrtr- glwt-",
        r"[\w-]{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?",
    ),
    ("npm token", "npm_", r"[A-Za-z0-9]{36}(?!\w)"),
    ("PyPI token", "pypi-", r"AgE[\w-]{50,}"),
    ("RubyGems key", "rubygems_", r"[0-9a-f]{48}(?!\w)"),
    ("Clojars token", "CLOJARS_", r"[0-9a-f]{60}(?!\w)"),
    ("Docker token", "dckr_pat_ dckr_oat_", r"[\w-]{24,}"),
    ("Sourcegraph token", "sgp_", r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}(?!\w)"),
    ("Segment token", "sgp_", r"[A-Za-z0-9]{60,}"),
    ("SonarQube token", "sqp_ squ_ sqa_", r"[0-9a-f]{40}(?!\w)"),
    ("Snyk token", "snyk_uat. snyk_sat.", r"[0-9a-f]{8}\.[\w.-]{40,}"),
    ("Buildkite token", "bkua_ bkct_", r"[0-9a-f]{40}(?!\w)"),
    ("CircleCI token", "CCIPAT_ CCIPRJ_", r"\w{16,30}_[0-9a-f]{40}"),
    ("Octopus key", "API-", r"(?=[A-Z]*\d)[A-Z0-9]{25,27}(?!\w)"),
    ("Netlify token", "nfp_ nfc_ nfo_ nfu_", r"[A-Za-z0-9]{36}(?!\w)"),
    ("Vercel token", "vcp_ vci_ vca_ vcr_ vck_", r"[A-Za-z0-9]{24,}(?!\w)"),
    ("Render key", "rnd_", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{28,32}(?!\w)"),
    ("AWS key", "bedrock-api-key-", r"[A-Za-z0-9+/]{40,}={0,2}"),
    ("AWS key", "amzn.mws.", _UUID),
    ("Google token", "ya29.", r"[\w-]{30,}(?:\.[\w-]+)?"),
    ("Google secret", "GOCSPX-", r"[\w-]{28}"),
    ("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}"),
    ("Cloudflare key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    ("Cloudflare token", "cfut_ cfat_ cfk_", r"[A-Za-z0-9]{40,}"),
    ("Heroku key", "HRKU-", r"AA[\w-]{56,}|" + _UUID),
    ("Fly token", "fo1_", r"[\w-]{43}"),
    ("Fly token", "fm1a_ fm1r_ fm2_", r"[A-Za-z0-9+/]{80,}={0,3}"),
    ("Vault token", "hvs. hvb. hvr.", r"[\w-]{24,}"),
    ("Vault token", "s.", r"(?=[A-Za-z]*\d)(?=[A-Za-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{24}(?![\w.(\[])"),
    ("Infisical token", "st.", r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    ("Pulumi token", "pul-", r"[0-9a-f]{40}(?!\w)"),
    ("Doppler token", "dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9]{40,44}"),
    ("Doppler token", "dp.st.", r"(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    ("1Password token", "ops_", r"eyJ[A-Za-z0-9+/=]{100,}"),
    ("1Password key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("age key", "AGE-SECRET-KEY-", r"1[A-Z0-9]{58}"),
    ("Tailscale key", "tskey- tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook-", r"\w{8,}-\w{16,}"),
    ("PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w=.-]{32,64}"),
    ("Supabase token", "sbp_", r"[0-9a-f]{40}(?!\w)"),
    ("Supabase key", "sb_secret_", r"[\w-]{20,}"),
    ("Neon key", "napi_", r"[a-z0-9A-Z]{48,}"),
    ("Prefect key", "pnu_ pnb_", r"[A-Za-z0-9]{36}(?!\w)"),
    ("Dynatrace token", "dt0c01. dt0s01. dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("Grafana token", "glsa_", r"[A-Za-z0-9]{32}_[0-9A-Fa-f]{8}"),
    ("Grafana token", "glc_", r"eyJ[A-Za-z0-9+/=]{40,}"),
    ("New Relic key", "NRAK- NRIQ-", r"[A-Z0-9]{27}(?!\w)"),
    ("New Relic key", "NRII- NRJS-", r"(?=[\w-]{0,31}?\d)[\w-]{19,32}"),
    ("Sentry token", "sntrys_", r"eyJ[A-Za-z0-9+/=]{20,}_[A-Za-z0-9+/]{40,}"),
    ("Sentry token", "sntryu_ sntrya_", r"[0-9a-f]{64}"),
    ("Honeycomb key", "hcaik_ hcxik_ hcamk_ hcalk_", r"[A-Za-z0-9]{50,}"),
    ("Postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    ("Linear key", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{40,}"),
    ("Notion token", "ntn_", r"[A-Za-z0-9]{40,}"),
    ("Notion token", "secret_", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{43}(?!\w)"),
    ("Figma token", "figd_ figo_", r"[\w-]{40,}"),
    ("ClickUp token", "pk_", r"\d{6,10}_[A-Z0-9]{32}(?!\w)"),
    ("Contentful token", "CFPAT-", r"[\w-]{40,}"),
    ("Typeform token", "tfp_", r"[\w.=-]{40,}"),
    ("HubSpot token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", _UUID),
    ("ReadMe key", "rdme_", r"[a-z0-9]{70}"),
    ("PostHog key", "phx_", r"[A-Za-z0-9]{40,}"),
    ("Slack token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xapp-", r"(?=[\w-]{0,99}?\d)[\w%-]{20,}"),
    ("SendGrid key", "SG.", r"[\w-]{20,24}\.[\w-]{39,50}"),
    ("Mailgun key", "key-", r"[0-9a-f]{32}(?!\w)"),
    ("Brevo key", "xkeysib- xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("Resend key", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?!\w)"),
    ("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}"),
    ("Stripe secret", "whsec_", r"[A-Za-z0-9+/]{32,}={0,2}"),
    ("Square token", "sq0atp- sq0csp-", r"[\w-]{22,}"),
    ("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}(?!\w)"),
    ("Plaid token", "access-production- access-development- access-sandbox-", _UUID),
    ("Razorpay key", "rzp_live_", r"[A-Za-z0-9]{14}(?!\w)"),
    ("Flutterwave key", "FLWSECK- FLWSECK_TEST-", r"[0-9a-h]{32}-X"),
    ("Mapbox token", "sk.", r"eyJ[\w-]{20,}\.[\w-]{20,}"),
    ("Duffel token", "duffel_live_ duffel_test_", r"[\w=-]{43}"),
    ("Shippo token", "shippo_live_ shippo_test_", r"[0-9a-fA-F]{40}"),
    ("Adobe secret", "p8e-", r"[A-Za-z0-9]{32}(?!\w)"),
    ("Dropbox token", "sl.", r"[\w-]{130,}"),
    ("Frame.io token", "fio-u-", r"[\w=-]{64}"),
)
# What may precede a prefix: nothing, a character other than a letter or digit, or the end of an escape sequence.
_BEGINS = re.compile(
    r"(?:\A|[^A-Za-z0-9]|\\[abfnrtv0]|\\(?:x|u00)[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|\x1b\[[\d;]{0,8}[A-Za-z])\Z"
)
_BEGINS_CHARS = 12
# These are so long, or so rare in words, that they count anywhere.
_ANYWHERE = frozenset({"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-ant-", "pypi-"})


class _Delimited(NamedTuple):
    """The prefixes that end with the same character. `guard`: that character, and enough of what a key has."""

    guard: re.Pattern[str]
    prefixes: tuple[str, ...]
    shapes: dict[str, list[tuple[str, str]]]


def _delimited(delimiter: str, guard: str) -> _Delimited:
    shapes = dict[str, list[tuple[str, str]]]()
    for name, prefixes, rest in _PREFIXED:
        for prefix in prefixes.split():
            if prefix.endswith(delimiter):
                shapes.setdefault(prefix, []).append((name, re.escape(prefix) + f"(?:{rest})"))
    # The longest first: one may be the end of another.
    return _Delimited(re.compile(guard, re.ASCII), tuple(sorted(shapes, key=len, reverse=True)), shapes)


# A guard begins with one fixed character: `re` finds that fast, but not one of several.
_DELIMITED = (
    _delimited("_", r"_(?=[A-Za-z0-9][\w+/=.-]{13})"),
    _delimited("-", r"-(?=[A-Za-z0-9][\w+/-]{15})"),
    _delimited(".", r"\.(?=[A-Za-z0-9_-][\w.-]{22})"),
)
_LONGEST = max(len(prefix) for one in _DELIMITED for prefix in one.prefixes)


def prefixed_in(text: str) -> Iterator[Span]:
    """Yield the keys that begin with the prefix of a vendor."""
    for guard, prefixes, shapes in _DELIMITED:
        known = 0
        for hit in guard.finditer(text):
            end = hit.end()
            # Skip prefixes within a key: a text of nothing but prefixes would be searched for each of them.
            if end <= known:
                continue
            before = text[max(0, end - _LONGEST) : end]
            if not before.endswith(prefixes):
                continue
            prefix = before[next(at for at in range(len(before)) if before[at:] in shapes) :]
            start = end - len(prefix)
            if prefix in _ANYWHERE or _BEGINS.search(text[max(0, start - _BEGINS_CHARS) : start]):
                found = ((name, compiled(shape).match(text, start)) for name, shape in shapes[prefix])
                spans = [
                    Span(start, match.end(), start, name)
                    for name, match in found
                    if match and (prefix != "sk-" or not is_plain(text[end : match.end()]))
                ]
                known = max([known, *(span.end for span in spans)])
                yield from spans


# -- other shapes ---------------------------------------------------------------------------------


class Shape(NamedTuple):
    """A kind of secret: a needle without which it is not searched for, its name, and its pattern."""

    needle: str
    name: str
    pattern: str


Groups: TypeAlias = tuple[tuple[re.Pattern[str], list[Shape]], ...]


def grouped(shapes: Iterable[Shape]) -> Groups:
    """Return shapes grouped by the first letter of their needles, so that one search finds any of a group."""
    groups = dict[str, list[Shape]]()
    for shape in shapes:
        groups.setdefault(shape.needle[0], []).append(shape)
    rests = {first: "|".join(re.escape(shape.needle[1:]) for shape in group) for first, group in groups.items()}
    return tuple((re.compile(f"{re.escape(first)}(?:{rests[first]})"), group) for first, group in groups.items())


def present(groups: Groups, text: str) -> Iterator[Shape]:
    """Yield the shapes whose needles are in a text."""
    for guard, shapes in groups:
        if guard.search(text):
            yield from (shape for shape in shapes if shape.needle in text)


_IS = r"""\\{0,7}["']?\s{0,16}(?::|=>?)\s{0,16}\\{0,7}["']?"""
_AWS_SECRET = _IS + r"(?![\w+/]{30}EXAMPLEKEY)([\w+/]{40})(?![\w+/])"
_SESSION = _IS + r"(?![\w+/]{0,500}?EXAMPLE)([\w+/]{100,}={0,2})"
_SCHEME = r"(?i:bearer|basic|token|ssws|apikey|api-key)\s{1,16}"
_AUTHORIZATION = _IS + _SCHEME + r"(?!(?i:your|my)[_-])((?=[\w.~+/=-]*\d)[\w.~+/=-]{16,})"
_NETRC = r"machine\s{1,16}[\w.:-]{1,128}\s{1,16}login\s{1,16}\S{1,128}\s{1,16}password\s{1,16}(\S{1,128})"
_LAUNCH_DARKLY = r"(?i:_?darkly)[\w .\\\"':=(,-]{0,40}?((?:sdk|api|mob)-" + _UUID + ")"
_BOT = r"(?<=([MNO][A-Za-z0-9]{#})\.)"
_BOTS = "|".join(_BOT.replace("#", size) for size in ("23", "24", "25"))
_DISCORD = rf"(\.(?=[\w-]{{6}}\.)(?:{_BOTS})[\w-]{{6}}\.[\w-]{{27,40}})(?![\w-])"


# The needle that a text must contain for a shape to be searched for, the vendor, and the shape. A shape begins with
# fixed letters, so that `re` finds them fast, and looks back for what precedes them. Its groups, from first to last,
# are the secret. What is outside them only shows that it is one.
_SHAPES = grouped(
    Shape(*shape)
    for shape in (
        # AWS's own examples end with EXAMPLE and EXAMPLEKEY.
        ("AKIA", "AWS key", r"AKIA(?<![\w+/]....)(?![A-Z2-7]{9}EXAMPLE)[A-Z2-7]{16}(?![\w+/])"),
        ("ASIA", "AWS key", r"ASIA(?<![\w+/]....)(?![A-Z2-7]{9}EXAMPLE)[A-Z2-7]{16}(?![\w+/])"),
        ("ABSK", "AWS key", r"ABSK(?<![\w+/]....)[A-Za-z0-9+/]{100,}={0,2}"),
        ("ecret_access_key", "AWS secret", "ecret_access_key" + _AWS_SECRET),
        ("ECRET_ACCESS_KEY", "AWS secret", "ECRET_ACCESS_KEY" + _AWS_SECRET),
        ("ecretAccessKey", "AWS secret", "ecretAccessKey" + _AWS_SECRET),
        ("ession_token", "AWS token", "ession_token" + _SESSION),
        ("ESSION_TOKEN", "AWS token", "ESSION_TOKEN" + _SESSION),
        ("essionToken", "AWS token", "essionToken" + _SESSION),
        ("AIza", "Google key", r"AIza(?<![\w+/-]....)[\w-]{35}(?![\w+/-])"),
        ("1//0", "Google token", r"1//0(?<![\w/]....)[\w-]{40,}"),
        ("AKCp", "Artifactory key", r"AKCp(?<![\w+/]....)[A-Za-z0-9]{69}(?![\w+/])"),
        ("cmVmdGtu", "Artifactory token", r"cmVmdGtu(?<![\w+/]........)[A-Za-z0-9]{56}(?![\w+/])"),
        ("ATATT3", "Atlassian token", r"ATATT3(?<![\w+/]......)[\w-]{100,}(?:=[0-9A-F]{8})?"),
        ("ATCTT3", "Atlassian token", r"ATCTT3(?<![\w+/]......)[\w-]{100,}(?:=[0-9A-F]{8})?"),
        ("ATBB", "Bitbucket password", r"ATBB(?<![\w+/]....)[A-Za-z0-9]{32,36}(?![\w+/])"),
        ("AKID", "Tencent key", r"AKID(?<![\w+/]....)(?=[A-Za-z]*\d)[A-Za-z0-9]{32}(?![\w+/])"),
        ("AQVN", "Yandex key", r"AQVN(?<![\w+/-]....)[\w-]{35,38}(?![\w+/-])"),
        ("LTAI", "Alibaba key", r"LTAI(?<![\w+/]....)[A-Za-z0-9]{16,20}(?![\w+/])"),
        ("AccountKey=", "Azure key", r"AccountKey=([\w+/]{40,}={0,2})"),
        ("SharedAccessKey=", "Azure key", r"SharedAccessKey=([\w+/]{40,}={0,2})"),
        ("sig=", "Azure signature", r"sig=(?<=[?&;]sig=)([A-Za-z0-9%]{40,}%3[Dd])"),
        ("Q~", "Azure secret", r"(Q~(?<=([\w~.]{3}\d)Q~)[\w~.-]{31,34})(?![\w~-])"),
        ("EAAA", "Square token", r"EAAA(?<![\w+/-]....)(?=[A-Za-z_-]*\d)[\w-]{60}(?![\w+/-])"),
        ("EAAC", "Facebook token", r"EAAC(?<![\w+/-]....)[A-Za-z0-9]{100,}"),
        ("EZAK", "EasyPost key", r"EZAK(?<![\w+/-]....)[\w-]{54}(?![\w+/-])"),
        ("SK", "Twilio key", r"SK(?<![\w+/]..)[0-9a-f]{32}(?![\w+/])"),
        ("GR1348941", "GitLab token", r"GR1348941[\w-]{20,}"),
        ("NRAL", "New Relic key", r"(NRAL)(?<=([0-9a-f]{36})NRAL)(?!\w)"),
        ("_mmk", "MaxMind key", r"(_mmk)(?<=([A-Za-z0-9]{6}_[A-Za-z0-9]{29})_mmk)(?!\w)"),
        ("-us", "Mailchimp key", r"(-us(?<=([0-9a-f]{32})-us)\d{1,2})(?!\w)"),
        ("dapi", "Databricks token", r"dapi(?<![\w+/]....)[0-9a-f]{32}(?:-\d)?(?!\w)"),
        ("dose", "Databricks token", r"dose(?<![\w+/]....)[0-9a-f]{32}(?!\w)"),
        ("oy2", "NuGet key", r"oy2(?<![\w+/-]...)(?=[a-z]*\d)[a-z0-9]{43}(?![\w+/-])"),
        ("cio", "crates.io token", r"cio(?<![\w+/-]...)(?=[a-zA-Z]*\d)[A-Za-z0-9]{32}(?![\w+/-])"),
        ("cflt", "Confluent secret", r"cflt(?<![\w+/-]....)[A-Za-z0-9+/]{60}(?![\w+/-])"),
        ("sha256~", "OpenShift token", r"sha256~[\w-]{43}"),
        (".atlasv1.", "Terraform token", r"(\.atlasv1\.(?<=([A-Za-z0-9]{14})\.atlasv1\.)[\w-]{60,})"),
        (":AA", "Telegram token", r"(:AA(?<=(\d{8}):AA)[\w-]{33})(?![\w-])"),
        ("pat", "Airtable token", r"pat(?<![\w-]...)[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
        ("access_token$production$", "Braintree token", r"access_token\$production\$[a-z0-9A-Z]{16}\$[0-9a-f]{32}"),
        (".eyJ", "JWT", r"eyJ(?<![\w-]...)[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
        (".", "Discord token", _DISCORD),
        ("hooks.slack.com/", "webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w+/]{30,})"),
        ("/api/webhooks/", "webhook", r"/api/webhooks/(\d{16,20}/[\w-]{60,})"),
        ("webhook.office.com/", "webhook", r"webhook\.office\.com/webhookb2/([\w@/-]{80,})"),
        ("uthorization", "authorization", "uthorization" + _AUTHORIZATION),
        ("UTHORIZATION", "authorization", "UTHORIZATION" + _AUTHORIZATION),
        ("aunch", "LaunchDarkly key", "aunch" + _LAUNCH_DARKLY),
        ("AUNCH", "LaunchDarkly key", "AUNCH" + _LAUNCH_DARKLY),
        ("client-key-data", "client key", "client-key-data" + _IS + r"([\w+/]{40,}={0,2})"),
        ("PrivateKey", "private key", r"PrivateKey\s{0,16}=\s{0,16}([A-Za-z0-9+/]{43}=)"),
        ('"auth"', "registry login", r'"auth"\s{0,16}:\s{0,16}"([A-Za-z0-9+/]{16,}={0,2})"'),
        (":_auth", "npm token", r":_auth(?:Token)?\s{0,3}=\s{0,3}\"?([\w+/.~-]{16,}={0,2})"),
        (":_password", "npm password", r":_password\s{0,3}=\s{0,3}\"?([\w+/]{8,}={0,2})"),
        ("machine", "password", _NETRC),
    )
)


SHAPE_NAMES = frozenset({name for name, _, _ in _PREFIXED} | {shape.name for _, group in _SHAPES for shape in group})


def shaped_in(text: str) -> Iterator[Span]:
    """Yield the secrets that have one of the other shapes."""
    for shape in present(_SHAPES, text):
        is_one = _CHECKS.get(shape.name, bool)
        yield from (
            _span(match, shape.name)
            for match in compiled(shape.pattern).finditer(text)
            if is_one(match[match.lastindex or 0])
        )


def _is_login(coded: str) -> bool:
    """Tell whether a text in base64 is a user and a password."""
    return b":" in base64.b64decode(coded + "=" * (-len(coded) % 4), validate=False)


# Further conditions for a find, by the name of its shape.
_CHECKS: dict[str, Callable[[str], bool]] = {
    "registry login": _is_login,
    "password": lambda password: not PLACEHOLDER.fullmatch(password.rstrip("\"',;`")),
}


def _span(match: re.Match[str], name: str) -> Span:
    spans = [match.span(group) for group, text in enumerate(match.groups(), 1) if text] or [match.span()]
    start, end = min(start for start, _ in spans), max(end for _, end in spans)
    return Span(start, end, min(start, match.start()), name)
