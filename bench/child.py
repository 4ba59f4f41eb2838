"""python child.py JOB ARGUMENTS: the counterpart of child.mjs. Each job returns what to run, and what to do after it."""

import gc
import json
import os
import sys
import time
import warnings

import ml_dtypes
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

warnings.simplefilter("ignore")


def remove(path):
    if os.path.exists(path):
        os.remove(path)


def nothing():
    pass


def safetensors_load(path):
    return lambda: load_file(path), nothing


def safetensors_one(path, name):
    def run():
        with safe_open(path, "np") as file:
            return file.get_tensor(name)

    return run, nothing


def safetensors_save(out, count):
    numbers = np.arange(count * 256, dtype=np.float32).reshape(count, 256)
    tensors = {f"layers.{i}.weight": numbers[i].copy() for i in range(count)}
    return lambda: save_file(tensors, out), lambda: remove(out)


def npz_load(path):
    def run():
        with np.load(path) as file:
            return {name: file[name] for name in file.files}

    return run, nothing


def npz_save(path, out, deflate):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    save = np.savez_compressed if deflate else np.savez
    return lambda: save(out, **arrays), lambda: remove(out)


def npy_load(path):
    return lambda: np.load(path), nothing


def npy_save(path, out):
    array = np.load(path)
    return lambda: np.save(out, array), lambda: remove(out)


def contiguous(path):
    array = np.load(path)
    assert array.flags.f_contiguous and not array.flags.c_contiguous
    return lambda: np.ascontiguousarray(array), nothing


def byteswap(path):
    array = np.load(path)
    assert array.dtype == np.dtype(">f4")
    return lambda: array.byteswap().view("<f4"), nothing


def convert(path, source, target, count):
    def dtype(name):
        return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)

    given = np.fromfile(path, np.float32, count).astype(dtype(source))
    made = np.zeros(count, dtype(target))
    return lambda: np.copyto(made, given, casting="unsafe"), nothing


def peak_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def once(run, after):
    gc.collect()
    start = time.perf_counter_ns()
    result = run()
    ms = (time.perf_counter_ns() - start) / 1e6
    del result
    after()
    return {"ms": ms, "peak": peak_memory()}


if __name__ == "__main__":
    job, given = globals()[sys.argv[1]], json.loads(sys.argv[2])
    first = given.pop("first", None)
    if first is not None:
        job(**{**given, "path": first})[0]()
    run, after = job(**given)
    print("{}", flush=True)
    for _ in sys.stdin:
        print(json.dumps(once(run, after)), flush=True)
