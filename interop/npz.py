"""The Python half of npz.interop.test.ts: `python npz.py write` and `python npz.py check`, in the suite's folder."""
import io
import json
import os
import sys
import zipfile

import numpy as np


def arrays():
    rng = np.random.default_rng(5)
    return {
        "float32": rng.standard_normal((3, 4)).astype("<f4"),
        "float64": rng.standard_normal(7),
        "int64": np.arange(-3, 3, dtype="<i8"),
        "fortran": np.asfortranarray(rng.standard_normal((5, 6))),
        "big_endian": np.arange(10, dtype=">i4"),
        "bool": np.array([True, False]),
        "complex": np.array([1 + 2j], "<c8"),
        "scalar": np.float64(2.5),
        "empty": np.zeros((0, 3), "<f4"),
        "strings": np.array(["a", "größe", "😀"]),
        "zeros": np.zeros(100_000, "<f4"),
        "noise": rng.integers(0, 256, 300_000).astype("u1"),
        "h\u00e9": np.array([1], "<u2"),
        "中文/слой": np.array([2], "<u2"),
        "dotted.name.npy": np.array([3], "<u2"),
    }


class Unseekable(io.RawIOBase):
    def __init__(self, path):
        self.file = open(path, "wb")

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)

    def close(self):
        if not self.closed:
            self.file.close()
        super().close()


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def with_zipfile(target, compression):
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, array in arrays().items():
            archive.writestr(name + ".npy", npy(array))


def write():
    values = arrays()
    np.savez("savez.npz", **values)
    np.savez_compressed("savez_compressed.npz", **values)
    np.savez("none.npz")
    with_zipfile("zipfile.npz", zipfile.ZIP_STORED)
    with_zipfile("zipfile_deflated.npz", zipfile.ZIP_DEFLATED)
    with Unseekable("stream.npz") as target:
        with_zipfile(target, zipfile.ZIP_STORED)
    with Unseekable("stream_deflated.npz") as target:
        with_zipfile(target, zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile("large_fields.npz", "w") as archive:
        for name, array in values.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                member.write(npy(array))
    np.savez_compressed("many.npz", **{f"a{i}": np.uint16(i % 65536) for i in range(70_000)})
    os.makedirs("folder", exist_ok=True)
    plain = {name: array for name, array in values.items() if "/" not in name}
    for name, array in plain.items():
        np.save(os.path.join("folder", name + ".npy"), array)
    index = {}
    for name, array in values.items():
        data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).reshape(np.shape(array))
        kind = "string" if data.dtype.kind == "U" else data.dtype.name
        content = data.tolist() if kind == "string" else data.tobytes().hex()
        index[name] = {"dtype": kind, "shape": list(np.shape(array)), "content": content}
    with open("index.json", "w") as out:
        json.dump(index, out)


def check():
    with open("ours.json") as source:
        expected = json.load(source)
    report = {"numpy": np.__version__, "archives": 0, "members": 0}
    for file, members in expected.items():
        with zipfile.ZipFile(file) as archive:
            assert archive.testzip() is None, file
        with np.load(file) as archive:
            assert archive.files == [name for name, *_ in members], (file, archive.files[:5])
            # NumPy looks a name up by going through the list of all.
            for name, dtype, shape, content in members[:: 1 if len(members) < 1000 else 997]:
                array = archive[name]
                assert list(array.shape) == shape, (file, name, array.shape)
                if dtype == "string":
                    assert array.tolist() == content, (file, name)
                else:
                    assert array.dtype.name == dtype, (file, name, array.dtype)
                    assert array.tobytes().hex() == content, (file, name)
                report["members"] += 1
        report["archives"] += 1
    print(json.dumps(report))


{"write": write, "check": check}[sys.argv[1]]()
