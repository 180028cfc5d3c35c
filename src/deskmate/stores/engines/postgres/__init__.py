"""Teams in a PostgreSQL database. Needs the extra `postgres`.

postgres_engine   the engine for a URL: what it keeps in which space
postgres_backend  streams and teams: reading, appending, deciding
postgres_reads    reads that go together, in one query
postgres_schema   tables and functions of the database, and their versions
postgres_session  the one connection that hears of changes and holds the seats
postgres_checks   what `deskmate doctor` checks of a server
postgres_errors   connections with timeouts, and trying again until a server is back
"""
