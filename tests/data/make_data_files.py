"""Writes files/* with numpy, torch and Pillow, and what they hold into files/expected.json.

    python tests/data/make_data_files.py

`tensors`: what reading gives, exact bytes in hexadecimal. `refused`: a part of the refusal.
"""

import collections
import json
import pathlib
import pickle
import struct
import zipfile
import zlib

import numpy as np
import torch
from PIL import Image

FOLDER = pathlib.Path(__file__).parent / "files"
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
         "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "uint16": "u16", "bool": "bool",
         "complex64": "c64", "complex128": "c128"}
tensors, refused = {}, {}


def describe(name, value):
    if isinstance(value, torch.Tensor):
        value = value.detach().contiguous()
        dtype, sizes = NAMES[str(value.dtype).removeprefix("torch.")], list(value.shape)
        data = bytes(value.view(-1).view(torch.uint8).tolist()) if value.numel() else b""
    else:
        dtype, sizes = NAMES[value.dtype.newbyteorder("=").name], list(value.shape)
        data = np.ascontiguousarray(value.astype(value.dtype.newbyteorder("<"))).tobytes()
    return {"name": name, "dtype": dtype, "sizes": sizes, "hex": data.hex()}


def expect(file, *named):
    tensors[file] = [describe(name, value) for name, value in named]


def npy(name, array, **options):
    with open(FOLDER / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, array, **options)


def numpy_files():
    ramp = np.arange(12).reshape(3, 4)
    for dtype in ["bool", "u1", "u2", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]:
        for order in "<>":
            array = (ramp % 5 * (1 + 0.5j if dtype[0] == "c" else 1)).astype(np.dtype(dtype).newbyteorder(order))
            name = f"{dtype}_{'little' if order == '<' else 'big'}"
            npy(name, array)
            expect(f"{name}.npy", ("", array))
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    special = {"fortran": np.asfortranarray(cube), "fortran_big": np.asfortranarray(cube.astype(">f8")),
               "scalar": np.array(2.5), "empty": np.zeros((0, 3), np.float32), "one": np.arange(3)}
    for name, array in special.items():
        npy(name, array)
        expect(f"{name}.npy", ("", array))
    for version in [(2, 0), (3, 0)]:
        npy(f"version{version[0]}", cube, version=version)
        expect(f"version{version[0]}.npy", ("", cube))
    for save, name in [(np.savez, "stored"), (np.savez_compressed, "deflated")]:
        save(FOLDER / f"{name}.npz", x=cube, y=np.asfortranarray(ramp))
        expect(f"{name}.npz", ("x", cube), ("y", ramp))
    npy("structured", np.zeros(2, dtype=[("a", "f4"), ("b", "i8")]))
    npy("objects", np.array([None, {}], dtype=object), allow_pickle=True)
    npy("text", np.array(["a", "bc"]))
    npy("unsigned32", np.zeros(2, np.uint32))
    np.savez(FOLDER / "objects.npz", fine=np.zeros(1), bad=np.array([None], dtype=object))
    refused["structured.npy"] = "holds a structured array"
    refused["objects.npy"] = "holds Python objects"
    refused["text.npy"] = "holds elements of type '<U2', which is not supported"
    refused["unsigned32.npy"] = "holds elements of type '<u4', which is not supported"
    refused["objects.npz"] = "objects.npz (array 'bad'): holds Python objects"


class Custom:
    pass


def torch_files():
    x = torch.arange(6, dtype=torch.float32).view(2, 3)
    base = torch.arange(20, dtype=torch.int64)
    saved = {
        "tensor": ((x,), x),
        "transposed": ((x.t(),), x.t()),
        "view": ((base[3:15].view(3, 4)[:, 1:3],), base[3:15].view(3, 4)[:, 1:3]),
        "parameter": ((torch.nn.Parameter(x),), torch.nn.Parameter(x)),
        "scalar0": ((torch.tensor(7),), torch.tensor(7)),
        "nothing": ((torch.empty(0, 2),), torch.empty(0, 2)),
    }
    for dtype in [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.float16,
                  torch.bfloat16, torch.float64, torch.complex64, torch.complex128, torch.uint16]:
        value = torch.tensor([0, 1, 3, 200]).to(dtype)
        saved[str(dtype).removeprefix("torch.")] = ((value,), value)
    for name, (_, value) in saved.items():
        torch.save(value, FOLDER / f"{name}.pt")
        expect(f"{name}.pt", ("", value))
    nested = collections.OrderedDict(image=x, meta={"epoch": 3, "rate": 0.5, "note": "n", "big": 2**40, 1: x[0]},
                                     pair=[x[:, 1], (x, None)])
    torch.save(nested, FOLDER / "nested.pt")
    expect("nested.pt", ("image", x), ("meta.1", x[0]), ("pair.0", x[:, 1]), ("pair.1.0", x))
    linear = torch.nn.Linear(2, 1)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[1.0, 2.0]]))
        linear.bias.copy_(torch.tensor([3.0]))
    torch.save(linear.state_dict(), FOLDER / "state_dict.pth")
    expect("state_dict.pth", ("weight", linear.weight), ("bias", linear.bias))
    torch.save([x, x], FOLDER / "protocol4.pt", pickle_protocol=4)
    expect("protocol4.pt", ("0", x), ("1", x))
    torch.save(x, FOLDER / "old.pt", _use_new_zipfile_serialization=False)
    refused["old.pt"] = "was saved by torch.save of PyTorch 1.5 or older"
    torch.save(linear, FOLDER / "module.pt")
    refused["module.pt"] = "needs the Python object 'torch.nn.modules.linear.Linear', which is never run"
    torch.save({"x": x, "c": Custom()}, FOLDER / "custom.pt")
    refused["custom.pt"] = "needs the Python object '__main__.Custom', which is never run"
    torch.save({"epoch": 3}, FOLDER / "no_tensors.pt")
    refused["no_tensors.pt"] = "holds no tensors"
    torch.save(torch.ones(1).expand(1000), FOLDER / "expanded.pt")
    refused["expanded.pt"] = "its tensor is an expanded view"
    torch.save(torch.view_as_complex(torch.ones(2, 2)).conj(), FOLDER / "conjugated.pt")
    refused["conjugated.pt"] = "holds a lazily conjugated or negated tensor"
    torch.save(x.to_sparse(), FOLDER / "sparse.pt")
    refused["sparse.pt"] = "needs the Python object 'torch._utils._rebuild_sparse_tensor', which is never run"
    with zipfile.ZipFile(FOLDER / "evil.pt", "w") as archive:  # would run a command if it were unpickled
        archive.writestr("evil/data.pkl", b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.")
    refused["evil.pt"] = "needs the Python object 'posix.system', which is never run"
    with zipfile.ZipFile(FOLDER / "cycle.pt", "w") as archive:  # a list that holds itself
        archive.writestr("cycle/data.pkl", b"\x80\x02]q\x00h\x00a.")
    refused["cycle.pt"] = "is nested too deeply or holds too many values"
    bomb = b"\x80\x02]q\x00" + b"".join(b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(60)) + b"."
    with zipfile.ZipFile(FOLDER / "bomb.pt", "w") as archive:  # 2^60 values in 400 bytes
        archive.writestr("bomb/data.pkl", bomb)
    refused["bomb.pt"] = "is nested too deeply or holds too many values"
    (FOLDER / "plain.pkl").write_bytes(pickle.dumps({"x": 1}))
    refused["plain.pkl"] = "is a Python pickle, which is never run"


def to_nchw(pixels, largest):
    pixels = np.asarray(pixels, dtype=np.float64)
    pixels = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    return (pixels[None] / largest).astype(np.float32)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def interlaced(grey):
    """A grey PNG in Adam7 order, which Pillow cannot write."""
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rows = b""
    for x, y, dx, dy in passes:
        part = grey[y::dy, x::dx]
        rows += b"".join(b"\0" + row.tobytes() for row in part) if part.size else b""
    header = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def image_files():
    grid = np.arange(5 * 7 * 4).reshape(5, 7, 4)
    rgba = (grid * 37 % 256).astype(np.uint8)
    grey16 = (grid[..., 0] * 9973 % 65536).astype(np.uint16)
    images = {
        "grey": Image.fromarray(rgba[..., 0]), "rgb": Image.fromarray(rgba[..., :3]), "rgba": Image.fromarray(rgba),
        "grey_alpha": Image.fromarray(rgba[..., :2], "LA"), "one_bit": Image.fromarray(rgba[..., 0] > 100),
        "palette": Image.fromarray(rgba[..., :3]).quantize(7),
    }
    shown = {**images, "grey_alpha": images["grey_alpha"].convert("L"), "one_bit": images["one_bit"].convert("L"),
             "palette": images["palette"].convert("RGB")}
    for name, image in images.items():
        image.save(FOLDER / f"{name}.png")
        expect(f"{name}.png", ("", to_nchw(shown[name], 255)))
    Image.fromarray(grey16).save(FOLDER / "grey16.png")
    expect("grey16.png", ("", to_nchw(grey16, 65535)))
    (FOLDER / "interlaced.png").write_bytes(interlaced(rgba[..., 0]))
    expect("interlaced.png", ("", to_nchw(Image.open(FOLDER / "interlaced.png"), 255)))
    Image.fromarray(rgba[..., 0]).save(FOLDER / "transparent.png", transparency=3)  # one grey is see-through
    expect("transparent.png", ("", to_nchw(rgba[..., 0], 255)))
    smooth = Image.fromarray(np.stack([np.tile(np.arange(0, 256, 16), (12, 1))] * 3, -1).astype(np.uint8))
    for name, image in {"rgb": smooth, "grey": smooth.convert("L")}.items():
        image.save(FOLDER / f"{name}.jpg", quality=90)
        expect(f"{name}.jpg", ("", to_nchw(Image.open(FOLDER / f"{name}.jpg"), 255)))
    smooth.save(FOLDER / "progressive.jpg", progressive=True)
    expect("progressive.jpg", ("", to_nchw(Image.open(FOLDER / "progressive.jpg"), 255)))
    smooth.convert("CMYK").save(FOLDER / "cmyk.jpg")
    refused["cmyk.jpg"] = "is a CMYK JPEG"
    for kind, what in {"tif": "TIFF", "gif": "GIF", "bmp": "BMP", "webp": "WebP"}.items():
        images["grey"].save(FOLDER / f"image.{kind}")
        refused[f"image.{kind}"] = f"is a {what} image"


def other_files():
    (FOLDER / "empty.bin").write_bytes(b"")
    refused["empty.bin"] = "is empty"
    (FOLDER / "text.txt").write_text("hello\n")
    refused["text.txt"] = "is not a kind of file that lowwater reads"
    with zipfile.ZipFile(FOLDER / "photos.zip", "w") as archive:
        archive.writestr("a.jpg", b"x")
    refused["photos.zip"] = "is a ZIP file, but neither .npz nor torch.save: it holds 'a.jpg'"
    with zipfile.ZipFile(FOLDER / "none.npz", "w"):
        pass
    refused["none.npz"] = "holds no arrays"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    numpy_files()
    torch_files()
    image_files()
    other_files()
    text = json.dumps({"tensors": tensors, "refused": refused}, indent=1)
    (FOLDER / "expected.json").write_text(text + "\n")
