"""Writes zips/*.zip with Python's zipfile, for the tests of the ZIP reader.

    python tests/data/make_zips.py
"""

import io
import pathlib
import zipfile

FOLDER = pathlib.Path(__file__).parent / "zips"
MEMBERS = {"root/first.txt": b"the first record\n" * 20, "root/empty": b"", "root/b/\u00e9.bin": bytes(range(256))}


class Pipe(io.RawIOBase):
    """Cannot seek, so zipfile writes data descriptors."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def write(name, compression, target=None, comment=b"", force_zip64=False):
    target = target or io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        archive.comment = comment
        for member, data in MEMBERS.items():
            info = zipfile.ZipInfo(member)
            info.compress_type = compression
            with archive.open(info, "w", force_zip64=force_zip64) as file:
                file.write(data)
    data = target.data if isinstance(target, Pipe) else target.getvalue()
    (FOLDER / f"{name}.zip").write_bytes(data)


FOLDER.mkdir(exist_ok=True)
write("stored", zipfile.ZIP_STORED)
write("deflated", zipfile.ZIP_DEFLATED)
write("streamed", zipfile.ZIP_DEFLATED, target=Pipe())
write("streamed_stored", zipfile.ZIP_STORED, target=Pipe())
write("local_zip64", zipfile.ZIP_DEFLATED, force_zip64=True)
write("comment", zipfile.ZIP_STORED, comment=b"a comment with PK\5\6 inside, and more behind it")
write("bzip2", zipfile.ZIP_BZIP2)
write("lzma", zipfile.ZIP_LZMA)
