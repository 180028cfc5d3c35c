"""The tables and functions in the database. They are created and upgraded by the first client that connects.

Every function that appends first takes the gate of its team in shared mode, and a process that takes a seat takes it
alone. So an append either ends before the seat has a new holder, or is refused because of the seat's new epoch.
"""

import asyncpg

from deskmate.errors import StoreUnavailable

# Namespaces of advisory locks.
SEAT, GATE, MIGRATION = 0x646D0001, 0x646D0002, 0x646D0003
# The error of an append by a process that has lost a seat: its name is the message, the new holder's note the detail.
SEAT_LOST = "DM001"

_TABLES = """
CREATE TABLE deskmate.team (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space text NOT NULL,
    name text NOT NULL,
    archived boolean NOT NULL DEFAULT false,
    UNIQUE (space, name)
);
CREATE TABLE deskmate.stream (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team bigint NOT NULL REFERENCES deskmate.team ON DELETE CASCADE,
    name text NOT NULL,
    last bigint NOT NULL DEFAULT 0,
    unsynced bigint NOT NULL DEFAULT 0,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (team, name)
);
COMMENT ON COLUMN deskmate.stream.last IS 'the number of the last record';
COMMENT ON COLUMN deskmate.stream.unsynced IS 'the last record that was committed without waiting for the disk';
CREATE TABLE deskmate.record (
    stream bigint NOT NULL REFERENCES deskmate.stream ON DELETE CASCADE,
    number bigint NOT NULL,
    stamp bytea NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (stream, number),
    UNIQUE (stream, stamp)
);
COMMENT ON COLUMN deskmate.record.stamp IS 'run and ord of the record, which no other record of the stream has';
CREATE TABLE deskmate.seat (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team bigint NOT NULL REFERENCES deskmate.team ON DELETE CASCADE,
    name text NOT NULL,
    note text NOT NULL DEFAULT '',
    epoch bigint NOT NULL DEFAULT 0,
    UNIQUE (team, name)
);
COMMENT ON COLUMN deskmate.seat.epoch IS 'how often it was taken. Holders of earlier epochs cannot append';
"""
_FUNCTIONS = f"""
CREATE FUNCTION deskmate.check_seats(team_id bigint, seats text[], epochs bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE other deskmate.seat;
BEGIN
    IF cardinality(seats) = 0 THEN RETURN; END IF;
    PERFORM pg_advisory_xact_lock_shared({GATE}, team_id::integer);
    SELECT s.* INTO other FROM unnest(seats, epochs) AS held(name, epoch)
        JOIN deskmate.seat s ON s.team = team_id AND s.name = held.name WHERE s.epoch <> held.epoch LIMIT 1;
    IF FOUND THEN RAISE EXCEPTION '%', other.name USING ERRCODE = '{SEAT_LOST}', DETAIL = other.note; END IF;
END $$;

CREATE FUNCTION deskmate.locked_stream(team_id bigint, stream_name text) RETURNS deskmate.stream LANGUAGE plpgsql AS $$
DECLARE found_stream deskmate.stream;
BEGIN
    SELECT * INTO found_stream FROM deskmate.stream WHERE team = team_id AND name = stream_name FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO deskmate.stream (team, name) VALUES (team_id, stream_name) ON CONFLICT DO NOTHING;
        SELECT * INTO found_stream FROM deskmate.stream WHERE team = team_id AND name = stream_name FOR UPDATE;
    END IF;
    RETURN found_stream;
END $$;

-- Returns the numbers of the records, or the last number as a negative one minus 1 if `expect` is another.
CREATE FUNCTION deskmate.append(
    team_id bigint, stream_name text, stamps bytea[], bodies text[], expect bigint, lazy boolean,
    seats text[], epochs bigint[]
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    into_stream deskmate.stream;
    numbers bigint[];
    end_number bigint;
BEGIN
    IF lazy THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
    PERFORM deskmate.check_seats(team_id, seats, epochs);
    into_stream := deskmate.locked_stream(team_id, stream_name);
    numbers := ARRAY(
        SELECT r.number FROM unnest(stamps) WITH ORDINALITY AS new(stamp, place)
        LEFT JOIN deskmate.record r ON r.stream = into_stream.id AND r.stamp = new.stamp ORDER BY new.place
    );
    IF array_position(numbers, NULL) IS NULL THEN RETURN numbers; END IF;
    IF expect <> into_stream.last THEN RETURN ARRAY[-1 - into_stream.last]; END IF;
    end_number := into_stream.last;
    FOR place IN 1 .. cardinality(stamps) LOOP
        IF numbers[place] IS NULL THEN
            end_number := end_number + 1;
            numbers[place] := end_number;
            INSERT INTO deskmate.record VALUES (into_stream.id, end_number, stamps[place], bodies[place]);
        END IF;
    END LOOP;
    UPDATE deskmate.stream SET last = end_number, changed_at = clock_timestamp(),
        unsynced = CASE WHEN lazy THEN end_number ELSE unsynced END WHERE id = into_stream.id;
    PERFORM pg_notify('deskmate_' || team_id, stream_name || ' ' || end_number);
    RETURN numbers;
END $$;

-- Locks a stream. Returns first its last number, with no body, then what is after a number.
CREATE FUNCTION deskmate.locked_news(
    team_id bigint, stream_name text, after bigint, seats text[], epochs bigint[]
) RETURNS TABLE (number bigint, body text) LANGUAGE plpgsql AS $$
DECLARE of_stream deskmate.stream;
BEGIN
    PERFORM deskmate.check_seats(team_id, seats, epochs);
    of_stream := deskmate.locked_stream(team_id, stream_name);
    RETURN QUERY SELECT of_stream.last, NULL::text;
    RETURN QUERY SELECT r.number, r.body FROM deskmate.record r
        WHERE r.stream = of_stream.id AND r.number > after ORDER BY r.number;
END $$;

-- Returns the seat and its new epoch, or epoch 0 and the note of the session that holds it.
CREATE FUNCTION deskmate.take_seat(team_id bigint, seat_name text, new_note text)
RETURNS TABLE (seat integer, new_epoch bigint, holder text) LANGUAGE plpgsql AS $$
DECLARE wanted deskmate.seat;
BEGIN
    INSERT INTO deskmate.seat (team, name) VALUES (team_id, seat_name) ON CONFLICT DO NOTHING;
    SELECT * INTO wanted FROM deskmate.seat WHERE team = team_id AND name = seat_name;
    IF NOT pg_try_advisory_lock({SEAT}, wanted.id) THEN
        RETURN QUERY SELECT wanted.id, 0::bigint, wanted.note;
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock({GATE}, team_id::integer);
    UPDATE deskmate.seat SET epoch = epoch + 1, note = new_note WHERE id = wanted.id RETURNING * INTO wanted;
    RETURN QUERY SELECT wanted.id, wanted.epoch, wanted.note;
END $$;
"""
# Each entry upgrades a database by one version. Entries are never changed, only added.
MIGRATIONS = (_TABLES + _FUNCTIONS,)


async def migrate(connection: "asyncpg.Connection[asyncpg.Record]", place: str) -> None:
    """Bring the schema of a database to our version. Raises StoreUnavailable for a newer one."""
    found = await _version(connection)
    if found < len(MIGRATIONS):
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1, 0)", MIGRATION)
            found = await _version(connection)
            if found == 0:
                await connection.execute(
                    "CREATE SCHEMA IF NOT EXISTS deskmate; CREATE TABLE deskmate.version (version integer NOT NULL);"
                    "INSERT INTO deskmate.version VALUES (0)"
                )
            for step in MIGRATIONS[found:]:
                await connection.execute(step)
            await connection.execute("UPDATE deskmate.version SET version = $1", len(MIGRATIONS))
    elif found > len(MIGRATIONS):
        raise StoreUnavailable(
            f"{place} was upgraded by a newer version of Deskmate to schema {found}, after {len(MIGRATIONS)}",
            "Upgrade Deskmate here, too.",
        )


async def _version(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    if await connection.fetchval("SELECT to_regclass('deskmate.version')") is None:
        return 0
    return int(await connection.fetchval("SELECT version FROM deskmate.version"))
