"""Bombs of size, depth and count, of at most 1 MiB, and the wire format of protobuf."""

import itertools

MAX_BYTES = 1 << 20


def fill(unit, head=b"", tail=b"", limit=MAX_BYTES):
    """As many of `unit` between head and tail as fit."""
    return head + unit * ((limit - len(head) - len(tail)) // len(unit)) + tail


def gather(parts, head=b"", tail=b"", separator=b"", limit=MAX_BYTES):
    """As many of the parts as fit."""
    taken, size = [], len(head) + len(tail)
    for part in parts:
        size += len(part) + len(separator)
        if size > limit:
            break
        taken.append(part)
    return head + separator.join(taken) + tail


def numbered(line):
    return (line % i for i in itertools.count())


def bytes_of_any_kind(size=MAX_BYTES):
    return {"size_zeros": bytes(size), "size_ones": b"\xff" * size, "size_counting": bytes(range(256)) * (size // 256)}


# The wire format of protobuf

def varint(value):
    encoded = b""
    while value > 0x7f:
        encoded += bytes([value & 0x7f | 0x80])
        value >>= 7
    return encoded + bytes([value])


def field(number, content=b""):
    return varint(number << 3 | 2) + varint(len(content)) + content


def many(*path, head=b"", limit=MAX_BYTES):
    """A message with `head` and as many empty fields as fit, at the end of a path of field numbers."""
    message = fill(field(path[-1]), head, limit=limit - 8 * len(path))
    for number in reversed(path[:-1]):
        message = field(number, message)
    return message


LONG = b"x" * (MAX_BYTES - 32)
GROUPS = fill(varint(1000 << 3 | 3))  # of a field that no message has, inside each other
