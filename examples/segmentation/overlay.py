"""Paints a label map over its photograph:  python overlay.py PHOTO.png LABELS.png OUT.png"""

from __future__ import annotations

import sys

import numpy as np
from PIL import Image


def main() -> None:
    photo, labels, out = sys.argv[1:4]
    grey = np.asarray(Image.open(photo).convert("L"), dtype=np.float32)
    mask = np.asarray(Image.open(labels))
    if mask.shape != grey.shape:
        sys.exit(f"{labels} is {mask.shape}, {photo} is {grey.shape}")
    colour = np.repeat(grey[..., None], 3, axis=2)
    colour[mask > 0] = 0.55 * colour[mask > 0] + 0.45 * np.array([255, 140, 0], dtype=np.float32)
    Image.fromarray(colour.round().astype(np.uint8)).save(out)
    print(f"wrote {out}: {100 * (mask > 0).mean():.1f} % of the pixels are labelled")


if __name__ == "__main__":
    main()
