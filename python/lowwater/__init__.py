"""lowwater: runs a trained PyTorch network inside a memory budget.

    import lowwater
    lowwater.export(model, (x,), "model.pt2")

then, in a shell: ``lowwater run model.pt2 --budget 600MiB --input 'x=*.npy' --output out/``.
"""

from lowwater._export import ExportError, export

__all__ = ["ExportError", "export"]
__version__ = "0.1.0"
