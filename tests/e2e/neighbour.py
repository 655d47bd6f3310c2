"""Another process on the card: takes all but BYTES of it, then samples what is in
use until its standard input closes, and prints the most that others added.

    python neighbour.py DEVICE_INDEX BYTES_LEFT
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time


class NvmlMemory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Nvml:
    def __init__(self, index: int):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        assert self.library.nvmlInit_v2() == 0
        self.device = ctypes.c_void_p()
        assert self.library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(self.device)) == 0

    def used(self) -> int:
        memory = NvmlMemory()
        assert self.library.nvmlDeviceGetMemoryInfo(self.device, ctypes.byref(memory)) == 0
        return memory.used

    def free(self) -> int:
        memory = NvmlMemory()
        assert self.library.nvmlDeviceGetMemoryInfo(self.device, ctypes.byref(memory)) == 0
        return memory.free


def main() -> None:
    index, left = int(sys.argv[1]), int(sys.argv[2])
    import torch

    torch.cuda.set_device(index)
    held = [torch.empty(2**20, dtype=torch.uint8, device="cuda")]   # the context is ours now
    nvml = Nvml(index)
    for step in (2**30, 2**26, 2**21):
        while nvml.free() - left > step:
            held.append(torch.empty(step, dtype=torch.uint8, device="cuda"))
    base = most = nvml.used()
    print(f"ready {nvml.free()}", flush=True)
    closed = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), closed.set()), daemon=True).start()
    while not closed.is_set():
        most = max(most, nvml.used())
        time.sleep(0.001)
    print(f"most {most - base}", flush=True)


if __name__ == "__main__":
    main()
