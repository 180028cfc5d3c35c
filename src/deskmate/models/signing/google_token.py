"""Google's access tokens, for Vertex AI. Needs `google-auth`, which also finds the credentials."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from deskmate.errors import ModelRejected, ModelTrouble

if TYPE_CHECKING:
    from deskmate.models.http.post_client import Posted, Poster

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class GoogleTokens:
    """Posts each request with a token that is valid. A token is made once and used until it expires.

    `load`: returns the credentials, by default those of Google's own tools.
    """

    def __init__(self, client: "Poster", name: str, load: Callable[[], Any] | None = None) -> None:
        self._client, self._name, self._load = client, name, load
        self._credentials: Any = None
        self._lock = anyio.Lock()

    async def post(self, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> "Posted":
        """Post a body, in parts, with a token. Raises ModelRejected if there are no credentials, and HttpFailure."""
        async with self._lock:
            token = await to_thread.run_sync(self._token)
        return await self._client.post(url, {**headers, "authorization": f"Bearer {token}"}, body)

    def _token(self) -> str:
        try:
            import google.auth
            from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError
            from google.auth.transport.requests import Request
        except ImportError:
            raise ModelRejected(
                f"{self._name} needs the extra 'vertex'", "Run: pip install 'deskmate[vertex]'"
            ) from None
        try:
            if self._credentials is None:
                self._credentials = self._load() if self._load else google.auth.default(scopes=[_SCOPE])[0]
            if not self._credentials.valid:
                self._credentials.refresh(Request())
        except DefaultCredentialsError:
            raise ModelRejected(
                f"There are no Google credentials for {self._name}",
                "Run: gcloud auth application-default login. Or set GOOGLE_APPLICATION_CREDENTIALS.",
            ) from None
        except TransportError as error:
            raise ModelTrouble(f"Google gave no token for {self._name}: {error}") from error
        except GoogleAuthError as error:
            raise ModelRejected(f"Google refused a token for {self._name}: {error}") from error
        return str(self._credentials.token)
