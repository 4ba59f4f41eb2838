"""Reads what JavaScript wrote, doubles an image, and writes it back."""

import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
with np.load(folder / "from-js.npz") as arrays:
    image, counts, mask = arrays["image"], arrays["counts"], arrays["mask"]
assert image.dtype == np.float32 and counts[1] == 9007199254740993 and mask.dtype == bool
print(f"NumPy {np.__version__} reads image {image.shape}, counts {counts.tolist()}")

for name in ("safetensors.numpy", "safetensors.torch"):
    try:
        load_file = __import__(name, fromlist=["load_file"]).load_file
    except ImportError:
        print(f"{name} is not installed")
        continue
    loaded = load_file(folder / "from-js.safetensors")
    assert (np.asarray(loaded["image"]) == image).all()
    print(f"{name} reads the same")

np.savez(folder / "from-python.npz", doubled=2 * image, counts=counts, mask=mask)
