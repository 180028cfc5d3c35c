"""What the browser brings back from a login: in a request to this machine, or in an address that the user pastes."""

import hmac
from urllib.parse import parse_qs, urlsplit

from deskmate.core.values import frozen
from deskmate.errors import BadInput, Refused

PATH = "/callback"
MOST_CHARS = 16_000


@frozen
class LoginAnswer:
    """`code`: what a token can be had for. `issuer`: who says that it sent the browser here, empty if nobody does."""

    code: str
    state: str
    issuer: str = ""


def read_answer(address: str, state: str) -> LoginAnswer:
    """Return the answer in an address that belongs to the login with this state.

    Raises BadInput for any other address, so that nobody else can end this login, and Refused if the authorization
    server says no.
    """
    try:
        parts = urlsplit(address.strip()[:MOST_CHARS])
        found = parse_qs(parts.query, max_num_fields=50)
    except ValueError as error:
        raise BadInput("This is not an address", f"It must contain {PATH}?code=…") from error
    if parts.path != PATH:
        raise BadInput("This is not the address of the page on which the login ends", f"It must contain {PATH}?code=…")
    if any(len(values) > 1 for values in found.values()):
        raise BadInput("This address says the same thing twice")
    told = {name: values[0] for name, values in found.items()}
    if not hmac.compare_digest(told.get("state", "").encode(), state.encode()):
        raise BadInput("This address belongs to another login", "Open the link above, and paste where it ends.")
    if "error" in told:
        words = ": ".join(ascii(told[name])[1:-1][:300] for name in ("error", "error_description") if name in told)
        raise Refused(f"The authorization server refused the login: {words}")
    if not told.get("code"):
        raise BadInput("This address has no code")
    return LoginAnswer(told["code"], told["state"], told.get("iss", ""))
