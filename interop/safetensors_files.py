"""What the safetensors package makes of files, and files it writes, for safetensors.interop.test.ts.

headers SEED COUNT   headers.bin, headers.json: files, sound and spoiled, each with its content or null
sets SEED COUNT      sets.bin, sets.json: what was given to the package, and the file it wrote
check                reads ours.bin, ours.json with the package and compares
torch-write          tied.safetensors, kinds.safetensors: as torch writes them
hub-write            sharded/: a model as huggingface_hub splits it
torch-read           prints what torch reads from ours.safetensors
"""

import ctypes
import json
import math
import random
import struct
import sys

from safetensors import TensorSpec, deserialize, serialize

SIZES = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
    "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}
WRITABLE = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "float8_e8m0fnu": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float4_e2m1fn_x2": 1,
}
CHARACTERS = list("abcxyz019._-/ ") + ["\"", "\\", "\n", "\t", "\x01", "\x7f", "é", "e\u0301", "\u2028", "～", "😀", "𐀀", "\x00"]


class Pack:
    def __init__(self):
        self.data = bytearray()

    def add(self, data):
        start = len(self.data)
        self.data += data
        return [start, len(self.data)]

    def save(self, name, index):
        with open(f"{name}.bin", "wb") as file:
            file.write(self.data)
        with open(f"{name}.json", "w") as file:
            json.dump(index, file)


def name(rng):
    if rng.random() < 0.1:
        return rng.choice(["__proto__", "constructor", "0", "10", "", "dtype", "__metadata_", "weight"])
    return "".join(rng.choice(CHARACTERS) for _ in range(rng.randrange(1, 8)))


def string(rng, text):
    out = []
    for c in text:
        kind = rng.random()
        if c in '"\\' or c < " ":
            out.append(json.dumps(c)[1:-1] if kind < 0.7 else f"\\u{ord(c):04x}")
        elif kind < 0.03 and ord(c) < 0x10000:
            out.append(f"\\u{ord(c):04X}")
        elif kind < 0.3 and ord(c) >= 0x10000:
            out.append(json.dumps(c)[1:-1])
        elif c == "/" and kind < 0.5:
            out.append("\\/")
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


def space(rng):
    return "" if rng.random() < 0.9 else rng.choice([" ", "\n", "\t", "\r\n", "   "])


def member(rng, key, value):
    return f"{space(rng)}{string(rng, key)}{space(rng)}:{space(rng)}{value}{space(rng)}"


def anything(rng, depth=0):
    kind = rng.randrange(9 if depth < 4 else 6)
    if kind == 6:
        return "[" + ",".join(anything(rng, depth + 1) for _ in range(rng.randrange(3))) + "]"
    if kind == 7:
        return "{" + ",".join(member(rng, name(rng), anything(rng, depth + 1)) for _ in range(rng.randrange(3))) + "}"
    if kind == 8:
        deep = rng.choice([3, 100, 124, 125, 126, 127, 128])
        return "[" * deep + "]" * deep
    return [string(rng, name(rng)), "null", "true", "-0", "1.5e-3", rng.choice(["1e308", "1e309", "-1e999", "123456789012345678901234567890", "0.1"])][kind]


def integer(rng, value):
    if rng.random() < 0.995:
        return str(value)
    return rng.choice([f"{value}.0", f"{value}e0", f"-{value}", f"0{value}", f'"{value}"', "true", "null", "-0", "18446744073709551615", "18446744073709551616", str(2**53), str(2**53 + 1), f"[{value}]", str(2**40)])


def entry(rng, dtype, shape, begin, end):
    if rng.random() < 0.01:
        dtype = rng.choice(["f32", "F99", "", "F32 ", "float32", "constructor"])
    fields = [
        ("dtype", string(rng, dtype)),
        ("shape", "[" + ",".join(space(rng) + integer(rng, dim) for dim in shape) + "]"),
        ("data_offsets", f"[{integer(rng, begin)},{space(rng)}{integer(rng, end)}]"),
    ]
    if rng.random() < 0.1:
        rng.shuffle(fields)
    if rng.random() < 0.1:
        fields.insert(rng.randrange(4), (name(rng), anything(rng)))
    if rng.random() < 0.01:
        fields.pop(rng.randrange(len(fields)))
    if rng.random() < 0.01:
        fields.append(rng.choice(fields))
    if rng.random() < 0.005:
        return "[" + ",".join(value for _, value in fields) + "]"
    if rng.random() < 0.005:
        return rng.choice(["null", "{}", "[]", '"x"', "1"])
    return "{" + ",".join(member(rng, key, value) for key, value in fields) + "}"


def header(rng):
    """Text of a header and how many bytes of data it has."""
    parts = []
    at = 0
    used = set()
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 6])):
        dtype = rng.choice(list(SIZES))
        shape = [rng.choice([0, 1, 2, 3, 4, 8]) for _ in range(rng.randrange(4))]
        if SIZES[dtype] % 8 and rng.random() < 0.9:
            shape.append(4)
        size = math.prod(shape) * SIZES[dtype] // 8
        begin, end = at, at + size
        if rng.random() < 0.02:
            begin += rng.choice([-1, 1, 4])
        if rng.random() < 0.02:
            end += rng.choice([-1, 1, 4])
        at += size
        key = name(rng)
        if key in used and rng.random() < 0.8:
            continue
        used.add(key)
        parts.append(member(rng, key, entry(rng, dtype, shape, max(begin, 0), max(end, 0))))
    if rng.random() < 0.1:
        rng.shuffle(parts)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 1, 1, 2]) if rng.random() < 0.1 else rng.randrange(2)):
        value = rng.choice(["null", "{}"]) if rng.random() < 0.1 else "{" + ",".join(
            member(rng, name(rng), string(rng, name(rng)) if rng.random() < 0.99 else anything(rng))
            for _ in range(rng.randrange(3))
        ) + "}"
        parts.insert(rng.randrange(len(parts) + 1), member(rng, "__metadata__", value))
    text = space(rng) + "{" + ",".join(parts) + "}" + space(rng)
    return text, at


def spoil(rng, data):
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        token = rng.choice([b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"1", b"-", b".", b"e", b" ", b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\\ud800", b"\\u0041", b"null", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80"])
        if kind == 0:
            data = data[:at] + token + data[at:]
        elif kind == 1:
            data = data[:at] + token + data[at + len(token):]
        elif kind == 2:
            data = data[:at] + data[at + rng.randrange(1, 4):]
        elif kind == 3:
            data = data[:at] + data[max(0, at - 6):at] + data[at:]
        elif data:
            i = rng.randrange(len(data))
            data = data[:i] + bytes([data[i] ^ (1 << rng.randrange(8))]) + data[i + 1:]
    return data


def make(rng):
    text, size = header(rng)
    data = text.encode()
    if rng.random() < 0.35:
        data = spoil(rng, data)
    if rng.random() < 0.5:
        data += b" " * (-len(data) % 8)
    if rng.random() < 0.02:
        size = max(0, size + rng.choice([-1, 1, 8]))
    file = struct.pack("<Q", len(data)) + data + bytes(i * 37 & 255 for i in range(size))
    if rng.random() < 0.02:
        file = spoil(rng, file)
    if rng.random() < 0.005:
        file = file[: rng.randrange(len(file) + 1)]
    return file


def content(file):
    """What the package reads; the metadata by Python's json, which the package does not give from bytes."""
    try:
        tensors = deserialize(file)
    except Exception:
        return None
    text = json.loads(file[8 : 8 + struct.unpack("<Q", file[:8])[0]])
    metadata = text.get("__metadata__") or {}
    return [
        sorted([key, info["dtype"], info["shape"], bytes(info["data"]).hex()] for key, info in tensors),
        sorted(metadata.items()),
    ]


def headers(seed, count):
    rng = random.Random(seed)
    pack = Pack()
    index = []
    for _ in range(count):
        file = make(rng)
        index.append([pack.add(file), content(file)])
    pack.save("headers", index)


def sets(seed, count):
    rng = random.Random(seed)
    pack = Pack()
    index = []
    for _ in range(count):
        specs, buffers, given = {}, [], []
        for _ in range(rng.randrange(0, 9)):
            key = name(rng)
            if key in specs or key == "__metadata__":
                continue
            dtype = rng.choice(list(WRITABLE))
            shape = [rng.choice([0, 1, 2, 3, 5]) for _ in range(rng.randrange(1 if dtype.startswith("float4") else 0, 4))]
            data = rng.randbytes(math.prod(shape) * WRITABLE[dtype])
            buffers.append(ctypes.create_string_buffer(data, len(data) + 1))
            spec = TensorSpec(dtype=dtype, shape=shape, data_ptr=ctypes.addressof(buffers[-1]), data_len=len(data))
            specs[key] = spec
            given.append([key, dtype, list(spec.shape), data.hex()])
        metadata = rng.choice([None, {name(rng): name(rng)}])  # empty metadata it writes, and we do not
        file = bytes(serialize(specs, metadata=metadata))
        index.append({"file": pack.add(file), "tensors": given, "metadata": list((metadata or {}).items())})
    pack.save("sets", index)


def check():
    with open("ours.bin", "rb") as file:
        data = file.read()
    with open("ours.json") as file:
        index = json.load(file)
    for (start, end), expected in index:
        assert json.loads(json.dumps(content(data[start:end]))) == expected, expected
    print(len(index))


def torch_write():
    import torch
    from safetensors.torch import save_file, save_model

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(5, 3)
            self.head = torch.nn.Linear(3, 5, bias=False)
            self.head.weight = self.embed.weight

    torch.manual_seed(0)
    model = Tied()
    save_model(model, "tied.safetensors")
    kinds = {
        "bool": torch.tensor([True, False, True]),
        "bfloat16": torch.arange(6).reshape(2, 3).to(torch.bfloat16),
        "float16": torch.tensor([0.1, -0.0, float("inf")], dtype=torch.float16),
        "complex64": torch.tensor([1 + 2j, -3.5j], dtype=torch.complex64),
        "empty": torch.zeros(2, 0),
        "scalar": torch.tensor(2**53 + 1, dtype=torch.int64),
        "float64": torch.tensor([[0.1]], dtype=torch.float64),
        "uint8": torch.tensor([255], dtype=torch.uint8),
    }
    for extra in ("float8_e4m3fn", "float8_e5m2"):
        if hasattr(torch, extra):
            kinds[extra] = torch.tensor([1.0, -0.5, 448.0]).to(getattr(torch, extra))
    save_file(kinds, "kinds.safetensors", metadata={"format": "pt"})
    report = {"tied": bytes(model.embed.weight.detach().numpy().tobytes()).hex(), "kinds": {}}
    for key, value in kinds.items():
        raw = value.contiguous().view(torch.uint8) if value.numel() and value.dim() and value.dtype not in (torch.bool, torch.complex64) else None
        data = value.numpy().tobytes() if raw is None else raw.numpy().tobytes()
        report["kinds"][key] = [list(value.shape), data.hex()]
    print(json.dumps(report))


def hub_write():
    try:
        from huggingface_hub import save_torch_model
    except ImportError:
        print("null")
        return
    import os

    import torch

    os.mkdir("sharded")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(10, 10), torch.nn.Linear(30, 7), torch.nn.Linear(4, 4), torch.nn.Linear(10, 10))
    model[3].weight = model[0].weight
    save_torch_model(model, "sharded", max_shard_size=500)
    print(json.dumps({key: value.numpy().tobytes().hex() for key, value in model.state_dict().items()}))


def torch_read():
    import torch
    from safetensors.torch import load_file

    loaded = load_file("ours.safetensors")
    report = {}
    for key, value in sorted(loaded.items()):
        wide = value.to(torch.complex128) if value.is_complex() else value.to(torch.float64)
        numbers = torch.view_as_real(wide) if value.is_complex() else wide
        report[key] = [str(value.dtype), list(value.shape), [float(x) for x in numbers.flatten()]]
    print(json.dumps(report))


command, *rest = sys.argv[1:]
{
    "headers": headers,
    "sets": sets,
    "check": check,
    "torch-write": torch_write,
    "torch-read": torch_read,
    "hub-write": hub_write,
}[command](*(int(value) for value in rest))
