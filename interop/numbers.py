"""Numbers of every float dtype, and what NumPy and ml_dtypes make of them, as raw little-endian files."""

import hashlib
import json
import warnings

import ml_dtypes
import numpy as np

warnings.simplefilter("ignore")  # overflow and NaN are what this is about
rng = np.random.default_rng(20260101)

SMALL = [
    "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
    "float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn",
]
INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def save(name, array):
    array = np.ascontiguousarray(array)
    array.view(np.uint8 if array.dtype == bool else array.dtype).tofile(name + ".bin")


def codes(name):
    bits = 4 if name == "float4_e2m1fn" else 8 * dtype(name).itemsize
    return np.arange(2**bits, dtype=np.uint16 if bits == 16 else np.uint8)


def even(array):
    """An even number of elements, which fill whole bytes of float4."""
    return array[: array.size // 2 * 2]


def edges(name):
    """Every finite number of a dtype as float64, every middle between neighbours, and what lies past the largest."""
    values = codes(name).view(dtype(name)).astype(np.float64)
    values = np.unique(values[np.isfinite(values)])
    last = values[-1] - values[-2]
    values = np.concatenate([values, [values[-1] + last, values[-1] + 2 * last, values[0] / 2, values[0] - last]])
    values = np.unique(values)
    return np.concatenate([values, (values[:-1] + values[1:]) / 2])


def float32_inputs():
    special = np.array(
        [0, 1, 0x7F800000, 0x7FC00000, 0x7F800001, 0x7FFFFFFF, 0x7F7FFFFF, 0x00800000, 0x007FFFFF, 0x00400000, 0x00600000],
        np.uint32,
    )
    special = np.concatenate([special, special | 0x80000000]).view(np.float32)
    exact = np.concatenate([edges(name) for name in SMALL]).astype(np.float32)
    near = np.concatenate([exact, np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, -np.float32(np.inf))])
    anything = rng.integers(0, 2**32, 600_000, np.uint64).astype(np.uint32).view(np.float32)
    subnormal = (rng.integers(0, 2**23, 50_000) | (rng.integers(0, 2, 50_000) << 31)).astype(np.uint32).view(np.float32)
    usual = (rng.standard_normal(200_000) * np.exp2(rng.integers(-30, 20, 200_000))).astype(np.float32)
    return even(np.concatenate([special, near, -near, anything, subnormal, usual]))


def float64_inputs(singles):
    exact = np.concatenate([edges(name) for name in SMALL])
    with np.errstate(all="ignore"):
        # Just beside a middle, closer than float32 can tell: rounding twice goes wrong here.
        beside = np.concatenate([exact * (1 + 2.0**-40), exact * (1 - 2.0**-40), np.nextafter(exact, np.inf), np.nextafter(exact, -np.inf)])
        middles = rng.integers(0, 2**31 - 2**24, 100_000).astype(np.uint32).view(np.float32).astype(np.float64)
        middles = (middles + np.nextafter(middles.astype(np.float32), np.float32(np.inf)).astype(np.float64)) / 2
    anything = rng.integers(0, 2**64, 300_000, np.uint64).view(np.float64)
    ranged = rng.standard_normal(300_000) * np.exp2(rng.integers(-160, 140, 300_000))
    return even(np.concatenate([singles.astype(np.float64)[:200_000], beside, -beside, middles, np.nextafter(middles, 0), anything, ranged, [1e300, -1e300, 5e-324]]))


def to_odd(x):
    """float64 as the float32 that a later rounding cannot go wrong from: cut towards zero, last bit set when inexact."""
    nearest = x.astype(np.float32)
    bits = nearest.view(np.uint32).copy()
    bits[np.abs(nearest.astype(np.float64)) > np.abs(x)] -= 1
    bits[(nearest.astype(np.float64) != x) & ~np.isnan(x)] |= 1
    return bits.view(np.float32)


for name in SMALL:
    array = codes(name).view(dtype(name))
    save(f"{name}-as-float32", array.astype(np.float32))
    save(f"{name}-as-float64", array.astype(np.float64))

singles = float32_inputs()
doubles = float64_inputs(singles)
save("float32", singles)
save("float64", doubles)
save("float32-to-float64", singles.astype(np.float64))
save("float64-to-float32", doubles.astype(np.float32))
for name in SMALL:
    save(f"float32-to-{name}", singles.astype(dtype(name)).view(codes(name).dtype))
    # NumPy rounds float64 to float16 once; ml_dtypes goes through float32, so it is given what rounds the same.
    once = doubles if name == "float16" else to_odd(doubles)
    save(f"float64-to-{name}", once.astype(dtype(name)).view(codes(name).dtype))
    # From one small type to another: every code.
    for other in SMALL:
        array = codes(name).view(dtype(name)).astype(np.float32)
        save(f"{name}-to-{other}", array.astype(dtype(other)).view(codes(other).dtype))
    save(f"{name}-to-bool", codes(name).view(dtype(name)).astype(bool))

for name in INTS:
    info = np.iinfo(name)
    steps = [info.min, info.max, 0, 1]
    steps += [s * 2**e + d for e in range(64) for d in (-1, 0, 1) for s in (1, -1)]
    steps += [2**54 + 2**30 + 1, 2**62 + 2**38 + 1, 2**62 + 2**38, 2**62 + 3 * 2**38, 2**62 + 3 * 2**38 - 1]
    ends = np.array([v for v in steps if info.min <= v <= info.max], dtype=name)
    inputs = np.concatenate([ends, rng.integers(info.min, info.max, 5_000, dtype=name, endpoint=True)])
    save(name, inputs)
    for other in ["float32", "float64", "float16", "complex64", "complex128", "bool"]:
        save(f"{name}-to-{other}", inputs.astype(other))
    for other in INTS:
        limits = np.iinfo(other)
        fits = np.array([limits.min <= int(v) <= limits.max for v in inputs])
        save(f"{name}-fits-{other}", fits)
        save(f"{name}-to-{other}", np.where(fits, inputs, 0).astype(other))
    for source in ["float32", "float64"]:
        whole = (rng.standard_normal(5_000) * np.exp2(rng.integers(-2, info.bits + 2, 5_000))).astype(source)
        whole = np.concatenate([whole, ends.astype(source), (ends.astype(source) + np.array(0.5, source))])
        cut = [int(v) for v in np.trunc(whole)]
        fits = np.array([info.min <= v <= info.max for v in cut])
        save(f"{source}-for-{name}", whole)
        save(f"{source}-for-{name}-fits", fits)
        save(f"{source}-for-{name}-cast", np.where(fits, whole, 0).astype(name))

complexes = (rng.standard_normal(1000) + 1j * rng.standard_normal(1000)).astype(np.complex128)
complexes[:4] = [0, 1j, 1, complex(np.nan, 0)]
save("complex128", complexes)
save("complex128-to-complex64", complexes.astype(np.complex64))
save("complex128-to-bool", complexes.astype(bool))

# What core's own tests, which have no Python, compare with: the float32 bits of every code, NaNs made plain, and the
# codes of every upper half of the float32 bits with lower halves on, beside and between the middles.
LOWER = [0, 1, 0x0FFF, 0x1000, 0x1001, 0x3000, 0x7FFF, 0x8000, 0x8001, 0xFFFF]


def plain_nans(singles):
    bits = singles.view(np.uint32).copy()
    nan = np.isnan(singles)
    bits[nan] = (bits[nan] & 0x80000000) | 0x7FC00000
    return bits


def sha256(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


patterns = ((np.arange(65536, dtype=np.uint32) << 16)[:, None] | np.array(LOWER, np.uint32)).reshape(-1)
hashes = {}
for name in SMALL:
    decoded = plain_nans(codes(name).view(dtype(name)).astype(np.float32))
    encoded = patterns.view(np.float32).astype(dtype(name)).view(codes(name).dtype)
    if name == "float16":  # the payload of a NaN is free
        nan = (encoded & 0x7FFF) > 0x7C00
        encoded[nan] = (encoded[nan] & 0x8000) | 0x7E00
    if name == "float4_e2m1fn":
        encoded = encoded[0::2] | (encoded[1::2] << 4)
    hashes[name] = {"decoded": sha256(decoded), "encoded": sha256(encoded)}

print(json.dumps({"float32": singles.size, "float64": doubles.size, "hashes": hashes}))
