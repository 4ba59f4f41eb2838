"""Answers each line `SOURCE TARGET` with the nanoseconds that NumPy takes to convert, into a ready array."""

import sys
import time
import warnings

import ml_dtypes
import numpy as np

warnings.simplefilter("ignore")
count = int(sys.argv[1])
numbers = np.fromfile(sys.argv[2], np.float32, count)


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


arrays = {}
for line in sys.stdin:
    source, target = line.split()
    if (source, target) not in arrays:
        arrays[source, target] = numbers.astype(dtype(source)), np.zeros(count, dtype(target))
    given, made = arrays[source, target]
    start = time.perf_counter_ns()
    np.copyto(made, given, casting="unsafe")
    print(time.perf_counter_ns() - start, flush=True)
