"""Teams in NATS JetStream. Needs the extra `nats`, and servers of version 2.12 or later.

nats_engine    the engine for a URL: what it keeps in which space
nats_backend   the teams of a space, and everything else put together
nats_client    the connection: requests, errors, trying again, and which servers are refused
nats_checks    whether the servers sync every message before they confirm it
nats_health    what `deskmate doctor` checks of them
nats_messages  the messages of a stream: subjects, headers, records in a message
nats_log       appending, deciding and reading
nats_watch     waiting for changes
nats_seats     seats as messages that expire
"""
