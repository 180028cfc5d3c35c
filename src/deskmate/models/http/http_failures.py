"""How a request can fail."""


class HttpFailure(Exception):
    """A request failed, or its answer. Its connection cannot be used again."""


class BadAddress(HttpFailure):
    """The address cannot be asked. Asking again does not help."""


class BadResponse(HttpFailure):
    """The server sent something that is not a response of HTTP/1.1, or ended it too early."""


class ConnectFailure(HttpFailure):
    """There is no connection. The cause says why."""


class ConnectTimeout(ConnectFailure):
    """There was no connection within the time for it."""


class SilenceTimeout(HttpFailure):
    """The server sent nothing for too long, or took nothing, or no connection became free."""
