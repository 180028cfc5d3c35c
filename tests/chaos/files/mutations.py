"""Ways in which a stream file gets damaged at rest. Each takes the file's bytes, chance, and another stream's bytes."""

import random
from collections.abc import Callable

Mutation = Callable[[bytes, random.Random, bytes], bytes]


def _span(data: bytes, chance: random.Random, longest: int) -> tuple[int, int]:
    begin = chance.randrange(len(data))
    return begin, min(len(data), begin + chance.randint(1, longest))


def flip_a_bit(data: bytes, chance: random.Random, other: bytes) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def delete_bytes(data: bytes, chance: random.Random, other: bytes) -> bytes:
    begin, end = _span(data, chance, 8)
    return data[:begin] + data[end:]


def delete_a_line_end(data: bytes, chance: random.Random, other: bytes) -> bytes:
    at = chance.choice([index for index, byte in enumerate(data) if byte == ord("\n")])
    return data[:at] + data[at + 1 :]


def insert_bytes(data: bytes, chance: random.Random, other: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.randbytes(chance.randint(1, 8)) + data[at:]


def insert_a_line_end(data: bytes, chance: random.Random, other: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + b"\n" + data[at:]


def remove_a_block(data: bytes, chance: random.Random, other: bytes) -> bytes:
    begin, end = _span(data, chance, len(data) // 2)
    return data[:begin] + data[end:]


def splice_a_block(data: bytes, chance: random.Random, other: bytes) -> bytes:
    """Move a block elsewhere."""
    begin, end = _span(data, chance, 512)
    rest = data[:begin] + data[end:]
    at = chance.randrange(len(rest) + 1)
    return rest[:at] + data[begin:end] + rest[at:]


def swap_lines(data: bytes, chance: random.Random, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    one, two = chance.sample(range(len(lines)), 2)
    lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def duplicate_lines_behind(data: bytes, chance: random.Random, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    begin = chance.randrange(len(lines))
    end = min(len(lines), begin + chance.randint(1, 5))
    at = chance.randint(end, len(lines))
    return b"".join([*lines[:at], *lines[begin:end], *lines[at:]])


def duplicate_a_block(data: bytes, chance: random.Random, other: bytes) -> bytes:
    begin, end = _span(data, chance, 512)
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[begin:end] + data[at:]


def overwrite_with_another_block(data: bytes, chance: random.Random, other: bytes) -> bytes:
    begin, end = _span(data, chance, 512)
    at = chance.randrange(len(data))
    return data[:at] + data[begin:end] + data[at + end - begin :]


def put_in_a_garbage_line(data: bytes, chance: random.Random, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    garbage = chance.choice([b"", b"{}", b"null", b"<<<<<<< HEAD", chance.randbytes(40), b"x" * 10_000])
    lines.insert(chance.randint(0, len(lines)), garbage.replace(b"\n", b"") + b"\n")
    return b"".join(lines)


def zero_a_block(data: bytes, chance: random.Random, other: bytes) -> bytes:
    begin, end = _span(data, chance, 1024)
    return data[:begin] + bytes(end - begin) + data[end:]


def empty_the_file(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return b""


def cut_the_start(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return data[chance.randrange(1, len(data)) :]


def cut_the_end(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def convert_line_ends(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def convert_some_line_ends(data: bytes, chance: random.Random, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(line.replace(b"\n", b"\r\n") if chance.random() < 0.2 else line for line in lines)


def add_a_byte_order_mark(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data


def join_another_stream_behind(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return data + other


def join_another_stream_before(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return other + data


def mix_two_streams(data: bytes, chance: random.Random, other: bytes) -> bytes:
    begin, end = _span(other, chance, 512)
    at = chance.randrange(len(data) + 1)
    return data[:at] + other[begin:end] + data[at:]


MUTATIONS: tuple[Mutation, ...] = (
    flip_a_bit,
    delete_bytes,
    delete_a_line_end,
    insert_bytes,
    insert_a_line_end,
    remove_a_block,
    splice_a_block,
    swap_lines,
    duplicate_lines_behind,
    duplicate_a_block,
    overwrite_with_another_block,
    put_in_a_garbage_line,
    zero_a_block,
    empty_the_file,
    cut_the_start,
    cut_the_end,
    convert_line_ends,
    convert_some_line_ends,
    add_a_byte_order_mark,
    join_another_stream_behind,
    join_another_stream_before,
    mix_two_streams,
)
