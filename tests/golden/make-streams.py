"""Compressed streams with options that Kafka's Java clients do not use, but other producers may.

Each file is named <codec>_<what>.<size>: decompressed it is the first <size> bytes of the test pattern.
"""
import gzip
import pathlib
import struct
import sys

import lz4.frame
import snappy
import zstandard

directory = pathlib.Path(sys.argv[1])


def pattern(size, start=0):
    return bytes(((i >> 8) * 31 + i % 61) & 0xFF for i in range(start, start + size))


def save(name, size, data):
    (directory / f"{name}.{size}").write_bytes(data)


plain = pattern(300_000)
parts = [plain[:100_000], plain[100_000:100_001], plain[100_001:]]

for linked in (False, True):
    for level in (0, 9):
        save(f"lz4_{'linked' if linked else 'independent'}_level{level}_checksums", len(plain), lz4.frame.compress(
            plain, compression_level=level, block_linked=linked, content_checksum=True, block_checksum=True,
            block_size=lz4.frame.BLOCKSIZE_MAX64KB, store_size=True))
save("lz4_4mb_blocks", len(plain), lz4.frame.compress(plain, block_size=lz4.frame.BLOCKSIZE_MAX4MB, store_size=False))
save("lz4_frames", len(plain), b"".join(lz4.frame.compress(p, store_size=i % 2 == 0) for i, p in enumerate(parts)))
save("lz4_skippable", 1000, struct.pack("<II", 0x184D2A50, 5) + b"extra" + lz4.frame.compress(plain[:1000]))

save("zstd_with_size", len(plain), zstandard.ZstdCompressor(level=3, write_content_size=True).compress(plain))
save("zstd_checksum_level19", len(plain), zstandard.ZstdCompressor(level=19, write_checksum=True).compress(plain))
save("zstd_frames", len(plain), b"".join(zstandard.ZstdCompressor(write_content_size=False).compress(p) for p in parts))
stream = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=27)).compressobj()
save("zstd_large_window", len(plain), b"".join(stream.compress(p) for p in parts) + stream.flush())

save("gzip_members", len(plain), b"".join(gzip.compress(p, level, mtime=0) for p, level in zip(parts, (1, 0, 9))))
save("snappy_raw", len(plain), snappy.compress(plain))


def chunked(data):
    blocks = (snappy.compress(data[i:i + 5000]) for i in range(0, len(data), 5000))
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


save("snappy_joined", len(plain), b"".join(chunked(p) for p in parts))
