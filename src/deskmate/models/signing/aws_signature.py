"""Amazon's signatures, for Bedrock. Needs `botocore`, which also finds the credentials."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anyio import to_thread

from deskmate.errors import ModelRejected

if TYPE_CHECKING:
    from deskmate.models.http.post_client import Posted, Poster

_HOST = re.compile(r"(bedrock-mantle|bedrock)(?:-runtime)?(?:-fips)?\.([a-z0-9-]+)\.")
_USUAL_SERVICE = "bedrock-mantle"


class AwsSigning:
    """Signs each request and posts it. The region and the service are in the address.

    For another address, such as that of a proxy, the region is that of the user's AWS settings.
    """

    def __init__(self, client: "Poster", name: str) -> None:
        self._client, self._name = client, name

    async def post(self, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> "Posted":
        """Post a body, in parts, with a signature. Raises ModelRejected without credentials, and HttpFailure."""
        data = b"".join(body)
        # Credentials may come from a file, a program or another server.
        signed = await to_thread.run_sync(self._signed, url, dict(headers), data)
        return await self._client.post(url, signed, [data])

    @cached_property
    def _session(self) -> Any:
        try:
            import botocore.session
        except ImportError:
            raise ModelRejected(
                f"{self._name} needs the extra 'bedrock'", "Run: pip install 'deskmate[bedrock]'"
            ) from None
        return botocore.session.get_session()

    def _signed(self, url: str, headers: dict[str, str], data: bytes) -> dict[str, str]:
        session = self._session
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError

        found = _HOST.match(urlsplit(url).hostname or "")
        service, region = found.groups() if found else (_USUAL_SERVICE, session.get_config_variable("region"))
        if not region:
            raise ModelRejected(f"The AWS region of {self._name} is not known", "Set AWS_REGION.")
        try:
            credentials = session.get_credentials()
        except BotoCoreError as error:
            raise ModelRejected(f"The AWS credentials for {self._name} cannot be read: {error}") from error
        if credentials is None:
            raise ModelRejected(
                f"There are no AWS credentials for {self._name}",
                "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
            )
        own = {name: value for name, value in headers.items() if name != "x-api-key"}
        request = AWSRequest("POST", url, own, data)
        SigV4Auth(credentials, service, region).add_auth(request)
        return {name.lower(): str(value) for name, value in request.headers.items()}
