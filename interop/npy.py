"""Arrays as NumPy saves them, and Python literals as CPython reads them, for npy.interop.test.ts.

write SEED COUNT   arrays.bin, arrays.json: files of NumPy, and what saving them again must give
check SEED COUNT   reads ours.bin, ours.json with NumPy and compares with the same arrays
literals SEED COUNT   literals.json: headers, valid and mutated, with their values
void               void.bin, void.json: arrays of ml_dtypes
"""

import ast
import io
import itertools
import json
import random
import sys
import warnings

import numpy as np
from numpy.lib import format as npy

warnings.simplefilter("ignore")  # numpy warns of version 2.0, version 3.0 and odd escapes


class Pack:
    """Files one after another in one, with an index."""

    def __init__(self):
        self.data = io.BytesIO()

    def add(self, data):
        start = self.data.tell()
        self.data.write(data)
        return [start, self.data.tell()]

    def save(self, name, index):
        with open(f"{name}.bin", "wb") as file:
            file.write(self.data.getvalue())
        with open(f"{name}.json", "w") as file:
            json.dump(index, file)


# ---------------------------------------------------------------- arrays

NUMBERS = "b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()
UNITS = "Y M W D h m s ms us ns ps fs as 25s 7D".split()
NAMES = ["a", "x", "descr", "it's", 'say "no"', "both ' and \"", "back\\slash", "tab\t", "é", "\xa0", "\xad", "ключ", "値", "😀", "e\u0301", "\u2028", "\U000e0001"]


def scalar_dtype(rng):
    order = rng.choice("<>")
    kind = rng.randrange(8)
    if kind < 4:
        return np.dtype(order + rng.choice(NUMBERS))
    if kind == 4:
        return np.dtype(f"{order}U{rng.randrange(1, 6)}")
    if kind == 5:
        return np.dtype(f"S{rng.randrange(1, 6)}")
    if kind == 6:
        return np.dtype(f"V{rng.randrange(1, 6)}")
    unit = rng.choice(["", f"[{rng.choice(UNITS)}]"])
    return np.dtype(f"{order}{rng.choice('Mm')}8{unit}")


def struct_dtype(rng, depth=0):
    names = rng.sample(NAMES, rng.randrange(1, 6))
    formats = []
    for _ in names:
        inner = struct_dtype(rng, depth + 1) if depth < 2 and rng.random() < 0.2 else scalar_dtype(rng)
        if rng.random() < 0.3:
            inner = np.dtype((inner, tuple(rng.randrange(1, 4) for _ in range(rng.randrange(1, 4)))))
        formats.append(inner)
    style = rng.randrange(3)
    if style == 0:
        titles = [f"title {i}" if rng.random() < 0.5 else None for i in range(len(names))]
        labels = [(title, name) if title else name for title, name in zip(titles, names)]
        return np.dtype(list(zip(labels, formats)))
    if style == 1:
        return np.dtype(list(zip(names, formats)), align=True)
    offsets, end = [], 0
    for inner in formats:
        end += rng.choice([0, 0, 1, 5])
        offsets.append(end)
        end += inner.itemsize
    size = end + rng.choice([0, 3])
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def shapes(rng, plain):
    kind = rng.randrange(10)
    if kind == 0:
        return ()
    if kind == 1:
        shape = [rng.randrange(4) for _ in range(rng.randrange(1, 5))]
        shape[rng.randrange(len(shape))] = 0
        return tuple(shape)
    if kind == 2:  # a long first axis beside a zero
        digits = rng.randrange(1, 17)
        return (min(10 ** (digits - 1) + rng.randrange(9), 2**53 - 1), 0)
    if kind == 3:  # many axes
        axes = rng.randrange(5, 33 if plain else 29)  # NumPy 1 has no more than 32, fields' own included
        shape = [1] * axes
        for _ in range(4):
            shape[rng.randrange(axes)] = rng.randrange(1, 4)
        return tuple(shape)
    if kind == 4:
        return (rng.randrange(1, 80), rng.randrange(1, 80))
    return tuple(rng.randrange(1, 9) for _ in range(rng.randrange(1, 5)))


def fill(array, rng):
    """Random bits; text where there is text."""
    raw = np.frombuffer(rng.randbytes(array.nbytes), np.uint8)
    if array.nbytes:
        flat = np.frombuffer(raw.tobytes(), array.dtype, array.size)
        array = flat.reshape(array.shape).copy()
    return texts(array, rng)


def texts(array, rng):
    dtype = array.dtype
    if dtype.names:
        for name in dtype.names:
            array[name] = texts(array[name], rng)
    elif dtype.kind == "U":
        width = dtype.itemsize // 4
        for index in np.ndindex(array.shape):
            array[index] = "".join(rng.choice("ab é中😀\u0000z") for _ in range(rng.randrange(width + 1)))
    elif dtype.kind == "b":
        array = (np.frombuffer(array.tobytes(), np.uint8) & 1).astype(bool).reshape(array.shape)
    return array


def in_order(array, order):
    """A copy in `order`; of structs with the bytes between their fields, which NumPy would leave as they were."""
    dtype = array.dtype
    if dtype.names and dtype.itemsize and array.size:
        return np.array(array.view(f"V{dtype.itemsize}"), order=order).view(dtype)
    return np.array(array, order=order)


def arrays(seed, count):
    rng = random.Random(seed)
    every = itertools.cycle([np.dtype(o + n) for n in NUMBERS for o in "<>"])
    for number in range(count):
        kind = number % 3
        dtype = next(every) if kind == 0 else struct_dtype(rng) if kind == 1 and rng.random() < 0.6 else scalar_dtype(rng)
        shape = shapes(rng, dtype.names is None)
        if number % 97 == 5:  # widths of nothing
            array = np.zeros(shape, [("a", rng.choice(["S0", "U0", "V0"]))])["a"]
        else:
            array = np.zeros(shape, dtype)
            if array.size:
                array = fill(array, rng)
        array = in_order(array, rng.choice("CF"))
        yield array, rng.choice([None, None, (1, 0), (2, 0), (3, 0)])


def saved(array, version=None):
    file = io.BytesIO()
    npy.write_array(file, array, version=version, allow_pickle=False)
    return file.getvalue()


def canonical(array):
    """As decoding gives it: in C order, and little-endian, but for fields."""
    array = in_order(array, "C")
    if array.dtype.names is None and array.dtype.byteorder == ">":
        array = array.byteswap().view(array.dtype.newbyteorder("<"))  # astype leaves times without a unit as they are
    return array


def write(seed, count):
    pack, index = Pack(), []
    for array, version in arrays(seed, count):
        try:
            file = saved(array, version)
        except (ValueError, UnicodeEncodeError):
            version = None
            file = saved(array)
        plain = canonical(array)
        index.append(
            {
                "file": pack.add(file),
                "data": pack.add(plain.tobytes()),
                "again": pack.add(saved(plain, version)),
                "version": version and version[0],
                "dtype": str(array.dtype),
                "shape": array.shape,
                "fields": {name: pack.add(canonical(array[name]).tobytes()) for name in array.dtype.names or []},
            }
        )
    pack.save("arrays", index)


def same(a, b):
    """Whether all bits are the same, but for those between fields, which NumPy does not load."""
    if a.dtype.names:
        return all(same(a[name], b[name]) for name in a.dtype.names)
    return a.tobytes() == b.tobytes()


def check(seed, count):
    with open("ours.json") as file:
        index = json.load(file)
    with open("ours.bin", "rb") as file:
        data = file.read()
    checked = 0
    for (start, end), (array, _) in zip(index, arrays(seed, count)):
        loaded = np.load(io.BytesIO(data[start:end]))
        plain = canonical(array)
        assert loaded.shape == plain.shape, (loaded.shape, plain.shape)
        assert loaded.dtype == plain.dtype, (loaded.dtype, plain.dtype)
        assert same(loaded, plain), plain.dtype
        checked += 1
    print(json.dumps({"checked": checked, "numpy": np.__version__}))


def void():
    import ml_dtypes

    pack, index = Pack(), {}
    for name in ["bfloat16", "float8_e4m3fn", "float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz"]:
        array = np.arange(24).reshape(4, 6).astype(getattr(ml_dtypes, name))
        index[name] = {"file": pack.add(saved(array)), "data": pack.add(array.tobytes())}
    pack.save("void", index)


# ---------------------------------------------------------------- literals

DESCRS = ["<f4", ">i8", "|b1", "<U5", "|V4", "<M8[ns]", "float64", "<f8"]
ESCAPES = ["\\x41", "\\u00e9", "\\U0001F600", "\\101", "\\7", "\\q", "\\\n", "\\0", "\\400", "\\x4", "\\ud800", "\\v\\a\\b\\f\\r\\t\\'\\\\"]
NUMERALS = ["0", "1", "3", "10", "1_0", "0x1F", "0b101", "0O17", "+3", "-3", "00", "1234567890123456789012345", "-0", "- 3", "007", "0_0", "0X_f", "9007199254740993"]
REFUSED = ["1.5", "1e3", "2j", "b'a'", "...", "{1, 2}", "{1: 2}", "set()", "-(3)", "1+2j"]
BLANKS = ["", "", " ", "  ", "\n", "\t", " # c\n", "\\\n", "\f", "\r\n", "\r"]
ALPHABET = "{}[]()'\",:# \n\\\t\r\f+-0123456789xXoObBeEjJ_.LuUrRbBfTFN\0\x0b\xa0é\ufeffabc;*=!"


def string(rng):
    name = rng.choice(NAMES)
    kind = rng.randrange(10)
    if kind == 0:
        return rng.choice(["'", '"', "'''", '"""']).join(["", rng.choice(ESCAPES), ""])
    if kind == 1:
        return "'''" + name.replace("\\", "\\\\").replace("'", "\\'") + "'''"
    if kind == 2:
        return repr(name) + rng.choice(["", " ", "\n", "  \t"]) + repr(rng.choice(NAMES))
    if kind == 3:
        return rng.choice(["r'a\\b'", "R'\\''", "u'a'", "U\"a\"", "f'a'", "ur'a'"])
    return repr(name)


def descr(rng, depth=0):
    kind = rng.randrange(6)
    if kind < 3 or depth > 3:
        return repr(rng.choice(DESCRS))
    if kind == 3:
        return f"({descr(rng, depth + 1)}, {shape_text(rng)})"
    fields = []
    for _ in range(rng.randrange(4)):
        name = string(rng) if rng.random() < 0.7 else f"({string(rng)}, {string(rng)})"
        dims = f", {shape_text(rng)}" if rng.random() < 0.3 else ""
        fields.append(f"({name}, {descr(rng, depth + 1)}{dims})")
    return "[" + ", ".join(fields) + "]"


def numeral(rng):
    return rng.choice(REFUSED if rng.random() < 0.01 else NUMERALS)


def shape_text(rng):
    kind = rng.randrange(8)
    if kind == 0:
        return "()"
    if kind == 1:
        return f"({numeral(rng)})"
    if kind == 2:
        return f"[{numeral(rng)}]"
    return "(" + ", ".join(numeral(rng) for _ in range(rng.randrange(1, 5))) + "," * rng.randrange(2) + ")"


def header(rng):
    blank = lambda: rng.choice(BLANKS)
    items = [("descr", descr(rng)), ("fortran_order", rng.choice(["True", "False", "0", "None"])), ("shape", shape_text(rng))]
    if rng.random() < 0.3:
        rng.shuffle(items)
    if rng.random() < 0.1:
        items.append(rng.choice(items))
    if rng.random() < 0.1:
        items.append(("x", rng.choice(["{}", "{'a': 1}", "[[],[()]]", string(rng), rng.choice(REFUSED)])))
    inner = ",".join(f"{blank()}{key!r}{blank()}:{blank()}{value}{blank()}" for key, value in items)
    end = rng.choice([", ", ",", ""])
    return "{" + inner + end + blank() + "}" + " " * rng.randrange(20) + rng.choice(["\n", "\n", ""])


def mutated(text, rng):
    text = list(text)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            del text[at : at + rng.randrange(1, 4)]
        elif kind == 1:
            text.insert(at, rng.choice(ALPHABET))
        elif kind == 2:
            text[at : at + 1] = rng.choice(ALPHABET)
        elif kind == 3:
            text[at:at] = text[at : at + rng.randrange(1, 6)]
        else:
            text[at : at + 2] = text[at : at + 2][::-1]
    return "".join(text)


def encoded(value):
    if isinstance(value, bool):
        return {"bool": value}
    if value is None:
        return None
    if isinstance(value, int):
        return {"int": hex(value)}
    if isinstance(value, str):
        return {"str": [ord(character) for character in value]}
    if isinstance(value, tuple):
        return {"tuple": [encoded(item) for item in value]}
    if isinstance(value, list):
        return {"list": [encoded(item) for item in value]}
    return {"dict": [[encoded(key), encoded(item)] for key, item in value.items()]}


def difference(text):
    """Which of the listed differences a literal that CPython reads holds, if any."""
    tree = ast.parse(text.lstrip(" \t"), mode="eval").body
    if isinstance(tree, ast.Tuple) and not text.lstrip(" \t\n\f\\").startswith("("):
        return "a tuple without parentheses"
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and not isinstance(node.value, (str, int, bool, type(None))):
            return "a float, a complex number, bytes or an ellipsis"
        if isinstance(node, (ast.Set, ast.Call, ast.BinOp)):
            return "a set or a complex number"
        if isinstance(node, ast.Dict) and not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys):
            return "a key that is no string"
        if isinstance(node, ast.UnaryOp):
            source = ast.get_source_segment(text.lstrip(" \t"), node) or ""
            if "(" in source:
                return "a sign before parentheses"
    return None


def literals(seed, count):
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        text = header(rng)
        if number % 2:
            text = mutated(text, rng)
        row = {"text": text}
        try:
            try:
                value = ast.literal_eval(text)
                row["difference"] = difference(text)
            except IndentationError:
                value = ast.literal_eval(text.strip())
                row["difference"] = difference(text.strip()) or "indentation"
            if row["difference"] in (None, "indentation"):
                row["value"] = encoded(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            row["refused"] = True
        rows.append(row)
    with open("literals.json", "w") as file:
        json.dump(rows, file)


task, *numbers = sys.argv[1:]
{"write": write, "check": check, "literals": literals, "void": void}[task](*map(int, numbers))
