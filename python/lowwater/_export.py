"""From an ``nn.Module`` to a ``.pt2`` archive that lowwater plans well."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn


class ExportError(RuntimeError):
    """The model cannot be exported as it is; the message says why and what to do."""


# Modules that behave differently in train mode, and what each would do at test time.
_TRAIN_MODE = (
    (nn.modules.dropout._DropoutNd, "drops values at random"),
    (nn.modules.batchnorm._NormBase, "normalises by the batch instead of the running statistics"),
)


def _refuse_train_mode(model: nn.Module) -> None:
    for name, module in model.named_modules():
        for kind, effect in _TRAIN_MODE:
            if not (isinstance(module, kind) and module.training):
                continue
            if isinstance(module, nn.modules.dropout._DropoutNd) and module.p == 0:
                continue
            if isinstance(module, nn.modules.batchnorm._NormBase) and not module.track_running_stats:
                continue
            raise ExportError(
                f"{name or type(model).__name__} ({type(module).__name__}) is in train mode and {effect}; "
                "call model.eval() before exporting"
            )


def export(
    model: nn.Module,
    args: Sequence[Any],
    path: str | os.PathLike[str],
    kwargs: Mapping[str, Any] | None = None,
    dynamic: Any = None,
) -> str:
    """Exports ``model`` to the archive ``path`` and returns the path.

    Parameters
    ----------
    model: in eval mode; train-mode dropout and batch norm are refused.
    args, kwargs: example inputs; their sizes are the archive's sizes except where
        ``dynamic`` says otherwise.
    dynamic: ``torch.export``'s ``dynamic_shapes``, e.g. ``{"x": {0: torch.export.Dim("n")}}``.
        Give dynamic dimensions an example size of 2 or more: PyTorch makes 1 a constant.

    The archive is functional (``run_decompositions({})``) but not decomposed, so that
    attention and resampling stay single operators. It is written aside and renamed.

    Raises
    ------
    ExportError: train mode, or PyTorch cannot export the model (its reason is quoted).
    """
    _refuse_train_mode(model)
    with torch.no_grad():
        try:
            program = torch.export.export(
                model, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic, strict=False
            ).run_decompositions({})
        except Exception as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ExportError(
                f"PyTorch cannot export {type(model).__name__} as a whole: {reason}"
            ) from error

    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    # The archive's root folder is named after the file, so the name is kept and
    # the file is written inside a folder of its own next to its destination.
    with tempfile.TemporaryDirectory(prefix=".lowwater-", dir=folder) as aside:
        written = os.path.join(aside, os.path.basename(path))
        torch.export.save(program, written)
        os.replace(written, path)
    return path
