"""Seeds of what reads images: IDX files, PNG, JPEG."""

import struct
import zlib

from seed_bytes import MAX_BYTES


def idx():
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return {
        "size_declared": struct.pack(">IIII", 0x803, 0xffffffff, 256, 256),
        "size_unpacked": b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush(),
        "size_images": struct.pack(">IIII", 0x803, 65_535, 4, 4) + bytes(65_535 * 16),
        "count_labels": struct.pack(">II", 0x801, MAX_BYTES - 8) + bytes(MAX_BYTES - 8),
    }


def pictures():
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    def png(width, height, rows, more=b""):
        return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + more +
                chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))

    def jpeg(side, scans):
        """Progressive and grey: a scan of the means, then scans that add nothing, each over the whole picture."""
        def segment(kind, content):
            return b"\xff" + kind + struct.pack(">H", len(content) + 2) + content

        def table(place, symbol):  # one symbol, of one bit
            return segment(b"\xc4", bytes([place, 1]) + bytes(15) + bytes([symbol]))

        blocks = (side // 8) ** 2
        runs = blocks // 32_767 + 1
        means = segment(b"\xda", b"\x01\x01\x00\x00\x00\x00") + bytes(blocks // 8 + 1)
        ends = int("01" + "1" * 13, 2)  # the symbol and 14 bits: a run of 32,767 blocks
        nothing = segment(b"\xda", b"\x01\x01\x00\x01\x3f\x00") + (ends << 1).to_bytes(2, "big") * runs
        return (b"\xff\xd8" + segment(b"\xdb", b"\x00" + b"\x01" * 64) +
                segment(b"\xc2", struct.pack(">BHHBBBB", 8, side, side, 1, 1, 0x11, 0)) + table(0, 0) + table(0x10, 0xe0) +
                means + nothing * scans + b"\xff\xd9")

    return {
        "good": png(2, 2, b"\x00\x10\x20" * 2), "size_declared": png(0x7fffffff, 0x7fffffff, b""),
        "size_unpacked": png(4096, 4096, bytes(4097 * 4096)), "count_chunks": png(1, 1, b"\x00\x00", chunk(b"tEXt", b"a\x00b") * 50_000),
        "jpeg": jpeg(16, 1), "size_declared_jpeg": jpeg(65_528, 0)[:200], "count_scans": jpeg(1024, 10_000),
    }
