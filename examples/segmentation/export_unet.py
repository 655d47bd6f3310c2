"""Exports a small U-Net that finds the coins on scikit-image's photograph.

There are no weights to download: it learns for a few seconds, on the spot, to
reproduce a threshold-and-fill segmentation of half of the picture. The archive
ends in an argmax, so that its output is a label map.

    python export_unet.py OUT_DIR [--size 1024]     writes OUT_DIR/unet.pt2 and OUT_DIR/coins.png
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import numpy as np
import torch
from PIL import Image
from scipy import ndimage
from skimage import data, filters, transform
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import lowwater  # noqa: E402


def block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    """Background and coin, from a grey picture: logits, or labels if `labels` is set."""

    def __init__(self, widths: tuple[int, ...] = (16, 32, 64, 128)):
        super().__init__()
        self.labels = False
        self.encoder = nn.ModuleList(block(a, b) for a, b in zip((1, *widths), widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
        self.decoder = nn.ModuleList(block(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips: list[torch.Tensor] = []
        for level, stage in enumerate(self.encoder):
            x = stage(F.max_pool2d(x, 2) if level else x)
            skips.append(x)
        for level in reversed(range(len(self.decoder))):
            x = self.decoder[level](torch.cat([skips[level], self.up[level](x)], 1))
        logits = self.head(x)
        return logits.argmax(1) if self.labels else logits


def picture_and_labels() -> tuple[np.ndarray, np.ndarray]:
    """The photograph in [0, 1] and the coins by threshold, filled, specks removed."""
    picture = data.coins().astype(np.float32) / 255
    picture = picture[: picture.shape[0] // 8 * 8, : picture.shape[1] // 8 * 8]
    smooth = filters.gaussian(picture, 2)
    mask = ndimage.binary_fill_holes(smooth > filters.threshold_local(smooth, 151))
    return picture, ndimage.binary_opening(mask, iterations=3)


def train(model: UNet, picture: np.ndarray, labels: np.ndarray, steps: int) -> None:
    x = torch.from_numpy(picture)[None, None]
    y = torch.from_numpy(labels.astype(np.int64))[None]
    half = x.shape[3] // 16 * 8
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        # Crops of the left half, mirrored at random: the right half is never seen.
        top, left = np.random.randint(x.shape[2] - 128), np.random.randint(half - 128)
        crop = (slice(None), slice(None), slice(top, top + 128), slice(left, left + 128))
        flips = [d for d in (2, 3) if np.random.rand() < 0.5]
        inputs, target = x[crop].flip(flips), y[:, crop[2], crop[3]].flip([d - 1 for d in flips])
        loss = F.cross_entropy(model(inputs), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    print(f"trained {steps} steps on the left half, loss {loss.item():.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=1024, help="side of the exported square picture")
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    np.random.seed(0)

    picture, labels = picture_and_labels()
    model = UNet()
    train(model, picture, labels, options.steps)
    model.eval().labels = True

    size = (options.size, options.size)
    big = transform.resize(picture, size, order=1)
    Image.fromarray((big * 255).round().astype(np.uint8)).save(options.out / "coins.png")
    lowwater.export(model, (torch.zeros(1, 1, *size),), options.out / "unet.pt2")
    print(f"wrote {options.out / 'unet.pt2'} and {options.out / 'coins.png'}")


if __name__ == "__main__":
    main()
