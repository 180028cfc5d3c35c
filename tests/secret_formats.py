"""Formats of secrets: how vendors write their keys, with made-up values, and where people write passwords.

Each value is made when the tests run: one that was written here would be a find in this very project. In a format
`{a36}` stands for 36 letters and digits, `{h32}` for hexadecimal digits, `{H32}` for capital ones, `{d9}` for digits,
`{l8}` for small letters, `{u16}` for capitals and digits, `{b40}` for base64, `{w20}` for letters, digits, `_` and `-`.
If only a part of it is the secret, that part is between `«` and `»`.
"""

import hashlib
import re
import string
from collections.abc import Iterator

_HEX = "0123456789abcdef"
_LETTERS = {
    "a": string.ascii_letters + string.digits,
    "h": _HEX,
    "H": _HEX.upper(),
    "d": string.digits,
    "l": string.ascii_lowercase,
    "u": string.ascii_uppercase + "234567",
    "b": string.ascii_letters + string.digits + "+/",
    "w": string.ascii_letters + string.digits + "_-",
}
_UUID = "{h8}-{h4}-{h4}-{h4}-{h12}"

_PEM = "-----BEGIN PRIVATE KEY-----\n{b64}\n{b64}\n-----END PRIVATE KEY-----\n"

FORMATS = {
    # -- models
    "Anthropic": "sk-ant-api03-{w93}AA",
    "Anthropic admin": "sk-ant-admin01-{w93}AA",
    "Anthropic OAuth": "sk-ant-oat01-{w93}AA",
    "OpenAI": "sk-{a20}T3BlbkFJ{a20}",
    "OpenAI project": "sk-proj-{w58}T3BlbkFJ{w58}",
    "OpenAI service account": "sk-svcacct-{w58}T3BlbkFJ{w58}",
    "OpenAI admin": "sk-admin-{w58}T3BlbkFJ{w58}",
    "OpenRouter": "sk-or-v1-{h64}",
    "DeepSeek": "sk-{h32}",
    "LiteLLM": "sk-{w22}",
    "Langfuse": "sk-lf-" + _UUID,
    "Groq": "gsk_{a52}",
    "xAI": "xai-{a80}",
    "Perplexity": "pplx-{a48}",
    "Hugging Face": "hf_{a34}",
    "Hugging Face organisation": "api_org_{a34}",
    "Replicate": "r8_{a37}",
    "Fireworks": "fw_{a24}",
    "LangSmith": "lsv2_pt_{h32}_{h10}",
    "LangSmith service": "lsv2_sk_{h32}_{h10}",
    "Nvidia": "nvapi-{w64}",
    "Tavily": "tvly-{a32}",
    "E2B": "e2b_{h40}",
    "Jina": "jina_{h32}{w28}",
    "Voyage": "pa-{w43}",
    "Firecrawl": "fc-{h32}",
    "Together": "tgp_v1_{w43}",
    "Pinecone": "pcsk_{a6}_{a60}",
    "Weights & Biases": "WANDB_API_KEY=«{h40}»",
    "Cohere in a variable": "COHERE_API_KEY=«{a40}»",
    # -- code and packages
    "GitHub personal": "ghp_{a36}",
    "GitHub OAuth": "gho_{a36}",
    "GitHub user": "ghu_{a36}",
    "GitHub server": "ghs_{a36}",
    "GitHub refresh": "ghr_{a36}",
    "GitHub fine-grained": "github_pat_{a22}_{a59}",
    "GitLab personal": "glpat-{w20}",
    "GitLab routable": "glpat-{w27}.01.{h9}",
    "GitLab runner": "glrt-{w20}",
    "GitLab deploy": "gldt-{w20}",
    "GitLab trigger": "glptt-{h40}",
    "GitLab CI job": "glcbt-{a2}_{w20}",
    "GitLab feed": "glft-{w20}",
    "GitLab mail": "glimt-{w25}",
    "GitLab agent": "glagent-{w50}",
    "GitLab SCIM": "glsoat-{w20}",
    "GitLab OAuth": "gloas-{h64}",
    "GitLab feature flags": "glffct-{w20}",
    "GitLab registration": "GR1348941{w20}",
    "Bitbucket app password": "ATBB{a28}{H8}",
    "Atlassian": "ATATT3xFfGF0{w160}={H8}",
    "Atlassian connect": "ATCTT3xFfGN0{w160}={H8}",
    "npm": "npm_{a36}",
    "npm legacy": "//registry.npmjs.org/:_authToken=«" + _UUID + "»",
    "npm basic": "//npm.example.org/:_auth=«{b40}»",
    "npm password": "//npm.example.org/:_password=«{b24}»",
    "PyPI": "pypi-AgEIcHlwaS5vcmc{w80}",
    "PyPI test": "pypi-AgENdGVzdC5weXBpLm9yZw{w80}",
    "RubyGems": "rubygems_{h48}",
    "NuGet": "oy2{l10}{d2}{l31}",
    "Clojars": "CLOJARS_{h60}",
    "crates.io": "cio{a32}",
    "Docker Hub": "dckr_pat_{w27}",
    "Docker Hub organisation": "dckr_oat_{w32}",
    "Docker auth": '{"auths": {"ghcr.io": {"auth": "«b2N0bzpn{b44}»"}}}',
    "Artifactory": "AKCp{a69}",
    "Artifactory reference": "cmVmdGtu{a56}",
    "Sourcegraph": "sgp_{h16}_{h40}",
    "SonarQube": "sqp_{h40}",
    "SonarQube user": "squ_{h40}",
    "Snyk": "snyk_uat.{h8}.{w120}",
    "Codecov in a variable": "CODECOV_TOKEN=«" + _UUID + "»",
    "Buildkite": "bkua_{h40}",
    "CircleCI": "CCIPAT_{a22}_{h40}",
    "Travis in a variable": "TRAVIS_TOKEN=«{a22}»",
    "Octopus": "API-{u26}",
    "Netlify": "nfp_{a36}",
    "Vercel": "vcp_{a56}",
    "Render": "rnd_{a28}",
    "Railway in a variable": "RAILWAY_TOKEN=«" + _UUID + "»",
    # -- clouds
    "AWS key": "AKIA{u16}",
    "AWS temporary key": "ASIA{u16}",
    "AWS secret": "aws_secret_access_key = «{b40}»",
    "AWS secret in JSON": '"SecretAccessKey": "«{b40}»"',
    "AWS session token": "aws_session_token = «IQoJb3JpZ2luX2Vj{b300}»",
    "AWS session token in JSON": '"SessionToken": "«FwoGZXIvYXdzE{b300}»"',
    "AWS Bedrock": "ABSK{b109}=",
    "AWS Bedrock short": "bedrock-api-key-{b80}",
    "AWS MWS": "amzn.mws." + _UUID,
    "Google key": "AIza{w35}",
    "Google OAuth token": "ya29.{w120}",
    "Google client secret": "GOCSPX-{w28}",
    "Google refresh token": "1//0{w60}",
    "Google service account": '"private_key": "«' + _PEM.replace("\n", "\\n") + '»"',
    "Azure storage": "AccountName=app;AccountKey=«{b86}==»;EndpointSuffix=core.windows.net",
    "Azure bus": "SharedAccessKeyName=Root;SharedAccessKey=«{b43}=»",
    "Azure client secret": "a2b8Q~{w34}",
    "Azure shared access": "?sv=2024-01-01&sp=r&sig=«{a40}%2B{a2}%3D»",
    "Azure DevOps": "AZURE_DEVOPS_PAT=«{l26}{d4}{l22}»",
    "DigitalOcean": "dop_v1_{h64}",
    "DigitalOcean OAuth": "doo_v1_{h64}",
    "DigitalOcean refresh": "dor_v1_{h64}",
    "Cloudflare in a variable": "CLOUDFLARE_API_TOKEN=«{w40}»",
    "Cloudflare origin": "v1.0-{h24}-{h146}",
    "Cloudflare new": "cfut_{a40}{h8}",
    "Heroku": "HRKU-AA{w58}",
    "Heroku in a variable": "HEROKU_API_KEY=«" + _UUID + "»",
    "Fly": "fo1_{w43}",
    "Fly macaroon": "FlyV1 «fm2_{b160}»",
    "Alibaba": "LTAI{a20}",
    "Tencent": "AKID{a32}",
    "Scaleway": "SCW_SECRET_KEY=«" + _UUID + "»",
    "Hetzner in a variable": "HCLOUD_TOKEN=«{a64}»",
    "Linode in a variable": "LINODE_TOKEN=«{h64}»",
    "Yandex": "AQVN{w36}",
    "IBM in a variable": "IBMCLOUD_API_KEY=«{w44}»",
    "Kubernetes": "client-key-data: «{b200}»",
    "Kubernetes token": "    token: «{a20}{h30}»",
    "OpenShift": "sha256~{w43}",
    "Databricks": "dapi{h32}",
    "Databricks OAuth": "dose{h32}",
    "Confluent": "cflt{b60}",
    # -- infrastructure
    "Vault": "hvs.{w95}",
    "Vault batch": "hvb.{w140}",
    "Vault recovery": "hvr.{w95}",
    "Vault old": "VAULT_TOKEN=«s.{a24}»",
    "Terraform": "{a14}.atlasv1.{w65}",
    "Pulumi": "pul-{h40}",
    "Doppler": "dp.pt.{a43}",
    "Doppler service": "dp.st.prd.{a43}",
    "1Password": "ops_eyJ{b260}",
    "1Password secret key": "A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}",
    "age": "AGE-SECRET-KEY-1{u58}",
    "Tailscale": "tskey-auth-{a17}-{a32}",
    "Tailscale API": "tskey-api-{a17}-{a32}",
    "Infisical": "st.{h24}.{h32}.{h32}",
    "PlanetScale": "pscale_tkn_{w43}",
    "PlanetScale password": "pscale_pw_{w43}",
    "Supabase": "sbp_{h40}",
    "Supabase secret": "sb_secret_{w31}",
    "Neon": "napi_{a64}",
    "Upstash in an address": "redis://default:«{a40}»@eu1.upstash.io:6379",
    "MongoDB in an address": "mongodb+srv://app:«{a16}»@cluster0.example.net/db",
    "Prefect": "pnu_{a36}",
    "Dynatrace": "dt0c01.{u24}.{u64}",
    "Grafana": "glsa_{a32}_{h8}",
    "Grafana cloud": "glc_eyJ{b80}",
    "New Relic": "NRAK-{u27}",
    "New Relic ingest": "NRII-{w32}",
    "New Relic licence": "{h36}NRAL",
    "Datadog in a variable": "DD_API_KEY=«{h32}»",
    "Sentry": "sntrys_eyJ{b100}_{b43}",
    "Sentry user": "sntryu_{h64}",
    "Honeycomb": "hcaik_{l2}{a58}",
    "Launchdarkly": 'launchDarkly = init("«sdk-' + _UUID + '»")',
    "Launchdarkly API": "LAUNCHDARKLY_ACCESS: «api-" + _UUID + "»",
    "Postman": "PMAK-{h24}-{h34}",
    "Linear": "lin_api_{a40}",
    "Linear OAuth": "lin_oauth_{h64}",
    "Notion": "ntn_{d11}{a35}",
    "Notion old": "secret_{a43}",
    "Figma": "figd_{w40}",
    "Airtable": "pat{a14}.{h64}",
    "ClickUp": "pk_{d8}_{u32}",
    "Contentful": "CFPAT-{w43}",
    "Typeform": "tfp_{w44}_{w14}",
    "HubSpot": "pat-na1-" + _UUID,
    "ReadMe": "rdme_{h70}",
    "PostHog": "phx_{a43}",
    "Segment": "sgp_{a60}",
    # -- messages and payments
    "Slack bot": "xoxb-{d12}-{d13}-{a24}",
    "Slack user": "xoxp-{d12}-{d12}-{d13}-{h32}",
    "Slack app": "xapp-1-A{u10}-{d13}-{h64}",
    "Slack configuration": "xoxe.xoxp-1-{a160}",
    "Slack webhook": "https://hooks.slack.com/services/«T{u9}/B{u10}/{a24}»",
    "Discord bot": "M{a25}.G{a5}.{w38}",
    "Discord webhook": "https://discord.com/api/webhooks/«{d18}/{w68}»",
    "Teams webhook": "https://x.webhook.office.com/webhookb2/«" + f"{_UUID}@{_UUID}/IncomingWebhook/{{h32}}/{_UUID}»",
    "Telegram": "{d10}:AA{w33}",
    "Twilio": "SK{h32}",
    "Twilio account in a variable": "TWILIO_AUTH_TOKEN=«{h32}»",
    "SendGrid": "SG.{w22}.{w43}",
    "Mailgun": "key-{h32}",
    "Mailchimp": "{h32}-us12",
    "Brevo": "xkeysib-{h64}-{a16}",
    "Resend": "re_{a8}_{a24}",
    "Stripe": "sk_live_{a24}",
    "Stripe restricted": "rk_live_{a24}",
    "Stripe test": "sk_test_{a24}",
    "Stripe webhook": "whsec_{a32}",
    "Square": "sq0atp-{w22}",
    "Square secret": "sq0csp-{w43}",
    "Square token": "EAAA{w60}",
    "Braintree": "access_token$production${a16}${h32}",
    "PayPal in a variable": "PAYPAL_CLIENT_SECRET=«E{w79}»",
    "Shopify": "shpat_{h32}",
    "Shopify custom": "shpca_{h32}",
    "Shopify private": "shppa_{h32}",
    "Shopify shared": "shpss_{h32}",
    "Plaid": "access-production-" + _UUID,
    "Razorpay": "rzp_live_{a14}",
    "Flutterwave": "FLWSECK-{h32}-X",
    "Facebook": "EAAC{a120}",
    "Mapbox": "sk.eyJ{w60}.{w22}",
    "EasyPost": "EZAK{h32}{w22}",
    "Duffel": "duffel_live_{w43}",
    "Shippo": "shippo_live_{h40}",
    "Adobe": "p8e-{h32}",
    "Dropbox": "sl.B{w135}",
    "Frame.io": "fio-u-{w64}",
    "Okta": "Authorization: SSWS «00{w40}»",
    "MaxMind": "{a6}_{a29}_mmk",
    # -- in general
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{a30}.{w43}",
    "bearer": "Authorization: Bearer «{w30}»",
    "basic": "authorization: Basic «{b28}=»",
    "header": "x-api-key: «{w32}»",
    "header in JSON": '"X-API-Key": "«{w32}»"',
    "curl": 'curl -H "PRIVATE-TOKEN: «{w20}»" https://gitlab.example.org/',
    "netrc": "machine example.org login me " + "password «{a16}»",
    "netrc lines": "machine example.org\n  login me\n  password «{a16}»\n",
    "password in an address": "postgres://app:«{a14}»@db.example.org:5432/app",
    "password with @": "postgres://app:«p@{a6}»@db:5432/app",
    "password with :": "postgres://app:«{a4}:{a4}»@db/app",
    "password with /": "postgres://app:«{a6}/{a4}»@db/app",
    "password with $": "postgres://app:«{a6}$1»@db/app",
    "password with all of them": "amqp://app:«p@ss:w/{a4}$1»@mq.example.org/vhost",
    "short password": "mysql://root:" + "«x7Kq»@127.0.0.1/app",
    "password of letters": "mysql://app:" + "«qzvwjxkh»@db.example.org/app",
    "password alone": "redis://:«{a12}»@cache:6379/0",
    "token as user name": "https://«{a40}»@github.example.org/team/app.git",
    "Sentry DSN": "https://«{h32}»@o123.ingest.sentry.io/456",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\n{b64}\n{b64}\n-----END RSA PRIVATE KEY-----",
    "private key without its first line": "«{b64}\n{b64}\n{b30}==»\n-----END OPENSSH PRIVATE KEY-----",
    "PGP key": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{b64}\n{b64}\n-----END PGP PRIVATE KEY BLOCK-----",
    "PuTTY key": "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n«{b64}»\nPrivate-MAC: {h64}",
    "WireGuard": "PrivateKey = «{b43}=»",
    "variable": "DEPLOY_TOKEN=«{a32}»",
    "exported variable": 'export APP_SECRET_KEY="«{w50}»"',
    "variable in YAML": "  SESSION_SECRET: «{a40}»",
    "Django": "SECRET_KEY = 'django-insecure-«{a50}»'",
    "Rails": "SECRET_KEY_BASE=«{h128}»",
}  # fmt: skip


def expand(template: str, seed: str = "") -> str:
    """Return a format with made-up values in it, the same ones each time."""
    return re.sub(
        r"\{([ahHdlubw])(\d+)\}", lambda slot: _letters(slot[1], int(slot[2]), f"{seed}{slot.start()}"), template
    )


def _letters(kind: str, size: int, seed: str) -> str:
    letters = _LETTERS[kind]
    drawn = "".join(letters[value % len(letters)] for value in _bytes(f"{kind}{size}{seed}", size))
    # Whatever is drawn has a mix of its letters, and neither begins nor ends with a dash.
    mixed = {"a": "q7Z", "w": "q7Z", "b": "q7Z", "h": "7c", "H": "7C"}.get(kind, "")
    return (
        (mixed + drawn[len(mixed) : -1] + drawn[-1].replace("-", "x").replace("_", "x"))[:size] if size > 4 else drawn
    )


def _bytes(seed: str, size: int) -> Iterator[int]:
    for part in range(size // 64 + 1):
        yield from hashlib.sha512(f"{seed}.{part}".encode()).digest()[: size - 64 * part]


def parts(text: str) -> tuple[str, str]:
    """Return an expanded format as it is written, and the secret in it."""
    before, mark, rest = text.partition("«")
    secret, _, after = rest.partition("»")
    return (before + secret + after, secret) if mark else (text, text)


SECRETS = {name: parts(expand(template, name)) for name, template in FORMATS.items()}

# Without a prefix, and without a name before them that tells what they are.
UNKNOWN = {"Kubernetes token", "PuTTY key"}
