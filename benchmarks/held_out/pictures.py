"""Networks that make or read pictures and volumes, written out small; weights are random."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class UNet3D(nn.Module):
    """A U-Net of volumes: instance norms, strided and transposed convolutions, skips."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = self.block(1, width)
        self.down = nn.Conv3d(width, 2 * width, 3, stride=2, padding=1)
        self.middle = self.block(2 * width, 2 * width)
        self.up = nn.ConvTranspose3d(2 * width, width, 2, stride=2)
        self.last = self.block(2 * width, width)
        self.head = nn.Conv3d(width, 3, 1)

    @staticmethod
    def block(inner: int, outer: int) -> nn.Module:
        """A convolution with its norm."""
        norm = nn.InstanceNorm3d(outer, affine=True)
        return nn.Sequential(nn.Conv3d(inner, outer, 3, padding=1), norm, nn.LeakyReLU(0.1))

    def forward(self, x: Tensor) -> Tensor:
        """Volumes [n, 1, d, h, w], even sizes, to classes [n, 3, d, h, w]."""
        skip = self.first(x)
        deep = self.up(self.middle(self.down(skip)))
        return self.head(self.last(torch.cat([deep, skip], 1))).softmax(1)


class TimedUNet(nn.Module):
    """The denoiser of a diffusion model: group norms, times as sinusoids, attention of pixels."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.width = width
        self.times = nn.Sequential(
            nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, 2 * width)
        )
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(8, width) for _ in range(3))
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(3))
        self.down = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.qkv = nn.Conv2d(width, 3 * width, 1)
        self.leave = nn.Conv2d(width, 3, 3, padding=1)

    def block(self, at: int, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """A residual block, scaled and shifted by the time."""
        deep = self.norms[at](x) * (1 + scale[:, :, None, None]) + shift[:, :, None, None]
        return x + self.convs[at](F.silu(deep))

    def attended(self, x: Tensor) -> Tensor:
        """Attention of each pixel to all."""
        n, c, h, w = x.shape
        q, k, v = self.qkv(x).reshape(n, 3, 4, c // 4, h * w).transpose(-1, -2).unbind(1)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return x + mixed.transpose(-1, -2).reshape(n, c, h, w)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        """Pictures [n, 3, h, w] with even sizes and times [n] to noise of the pictures' shape."""
        half = self.width // 2
        rates = torch.exp(-math.log(10000) * torch.arange(half, dtype=x.dtype) / half)
        angles = time[:, None] * rates
        scale, shift = self.times(torch.cat([angles.sin(), angles.cos()], 1)).chunk(2, 1)
        x = self.block(0, self.enter(x), scale, shift)
        deep = self.attended(self.block(1, self.down(x), scale, shift))
        x = x + F.interpolate(deep, scale_factor=2.0, mode="nearest")
        return self.leave(self.block(2, x, scale, shift))


class Modulated(nn.Module):
    """StyleGAN's convolutions: each picture has weights of its own, made of its style."""

    def __init__(self, width: int = 16, style: int = 24) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.randn(1, width, 8, 8))
        self.styles = nn.ModuleList(nn.Linear(style, width) for _ in range(3))
        self.weights = nn.ParameterList(
            nn.Parameter(torch.randn(outer, width, 3, 3) / width) for outer in (width, width, 3)
        )
        self.register_buffer("noise", torch.randn(1, 1, 16, 16) * 0.1)

    def conv(self, at: int, x: Tensor, style: Tensor) -> Tensor:
        """Modulated, demodulated, and all pictures as groups of one convolution."""
        n, c, h, w = x.shape
        weight = self.weights[at] * (1 + self.styles[at](style))[:, None, :, None, None]
        weight = weight * weight.square().sum((2, 3, 4), keepdim=True).add(1e-8).rsqrt()
        outer = weight.shape[1]
        x = F.conv2d(x.reshape(1, n * c, h, w), weight.flatten(0, 1), padding=1, groups=n)
        return x.reshape(n, outer, h, w)

    def forward(self, style: Tensor) -> Tensor:
        """Styles [n, 24] to pictures [n, 3, 16, 16]."""
        x = self.start.expand(style.shape[0], -1, -1, -1)
        x = F.leaky_relu(self.conv(0, x, style), 0.2)
        x = F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        x = F.leaky_relu(self.conv(1, x, style) + self.noise, 0.2)
        return self.conv(2, x, style).tanh()


class DenseUpscaler(nn.Module):
    """ESRGAN: a dense block in a residual, and pixels shuffled into a picture twice as large."""

    def __init__(self, width: int = 16, growth: int = 8) -> None:
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.dense = nn.ModuleList(
            nn.Conv2d(width + at * growth, width if at == 4 else growth, 3, padding=1)
            for at in range(5)
        )
        self.grow = nn.Conv2d(width, 4 * width, 3, padding=1)
        self.leave = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """Pictures [n, 3, h, w] to [n, 3, 2h, 2w]."""
        entered = self.enter(x)
        seen = [entered]
        for layer in self.dense[:-1]:
            seen.append(F.leaky_relu(layer(torch.cat(seen, 1)), 0.2))
        entered = entered + 0.2 * self.dense[-1](torch.cat(seen, 1))
        return self.leave(F.leaky_relu(F.pixel_shuffle(self.grow(entered), 2), 0.2))


class VectorQuantized(nn.Module):
    """VQ-VAE: the nearest of the code's vectors by squared distances, and what it decodes to."""

    def __init__(self, width: int = 16, codes: int = 37) -> None:
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv2d(3, width, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(width, width, 1)
        )
        self.codes = nn.Embedding(codes, width)
        self.decode = nn.ConvTranspose2d(width, 3, 4, stride=2, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Pictures [n, 3, h, w] to pictures, code numbers [n, h/2, w/2] and the perplexity."""
        deep = self.encode(x).permute(0, 2, 3, 1)
        rows = deep.reshape(-1, deep.shape[-1])
        away = rows.square().sum(1, keepdim=True) + self.codes.weight.square().sum(1)
        chosen = (away - 2 * rows @ self.codes.weight.t()).argmin(1)
        used = F.one_hot(chosen, self.codes.num_embeddings).to(x.dtype).mean(0)
        found = self.codes(chosen).view_as(deep)
        found = deep + (found - deep).detach()
        perplexity = torch.exp(-(used * (used + 1e-10).log()).sum())
        return self.decode(found.permute(0, 3, 1, 2)), chosen.view(deep.shape[:-1]), perplexity


class Capsules(nn.Module):
    """A capsule layer: routing by agreement, three rounds."""

    def __init__(self, kinds: int = 8, size: int = 6, classes: int = 5) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, kinds * 4, 5, stride=2)
        self.weight = nn.Parameter(torch.randn(1, kinds * 36, classes, size, 4) / 2)

    @staticmethod
    def squashed(x: Tensor) -> Tensor:
        """Vectors whose lengths are below one."""
        norm = x.square().sum(-1, keepdim=True)
        return norm / (1 + norm) * x / norm.add(1e-9).sqrt()

    def forward(self, x: Tensor) -> Tensor:
        """Pictures [n, 1, 16, 16] to lengths [n, 5]."""
        low = self.squashed(self.conv(x).view(x.shape[0], -1, 4))
        votes = (self.weight @ low[:, :, None, :, None]).squeeze(-1)
        logits = votes.new_zeros(votes.shape[:3])
        for _ in range(2):
            high = self.squashed((logits.softmax(2).unsqueeze(-1) * votes).sum(1))
            logits = logits + (votes * high.unsqueeze(1)).sum(-1)
        high = self.squashed((logits.softmax(2).unsqueeze(-1) * votes).sum(1))
        return torch.linalg.vector_norm(high, dim=-1)


class RadianceField(nn.Module):
    """NeRF: rays sampled, encoded, coloured, and composed by transmittance."""

    def __init__(self, width: int = 32, samples: int = 12) -> None:
        super().__init__()
        self.samples = samples
        self.register_buffer("powers", 2.0 ** torch.arange(4))
        self.body = nn.Sequential(
            nn.Linear(27, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.density, self.colour = nn.Linear(width, 1), nn.Linear(width + 3, 3)

    def encoded(self, x: Tensor) -> Tensor:
        """Positions beside sines and cosines of their multiples."""
        angles = (x[..., None] * self.powers).flatten(-2)
        return torch.cat([x, angles.sin(), angles.cos()], -1)

    def forward(self, origins: Tensor, ways: Tensor) -> tuple[Tensor, Tensor]:
        """Rays [n, 3] and their directions to colours [n, 3] and depths [n]."""
        ways = F.normalize(ways, dim=-1)
        depths = torch.linspace(1.0, 4.0, self.samples, dtype=origins.dtype)
        deep = self.body(self.encoded(origins[:, None] + ways[:, None] * depths[:, None]))
        thick = F.softplus(self.density(deep)[..., 0]) * (3.0 / self.samples)
        alpha = 1 - torch.exp(-thick)
        through = torch.cumprod(F.pad(1 - alpha[:, :-1] + 1e-10, (1, 0), value=1.0), -1)
        weights = alpha * through
        facing = ways[:, None].expand(-1, self.samples, -1)
        colours = self.colour(torch.cat([deep, facing], -1)).sigmoid()
        return (weights[..., None] * colours).sum(1), (weights * depths).sum(1)


class SoftRaster(nn.Module):
    """A differentiable renderer: soft silhouettes of triangles that a matrix has turned."""

    def __init__(self, size: int = 16) -> None:
        super().__init__()
        axis = torch.linspace(-1, 1, size)
        self.register_buffer("pixels", torch.stack(torch.meshgrid(axis, axis, indexing="xy"), -1))
        self.register_buffer("faces", torch.tensor([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]]))

    def forward(self, points: Tensor, rotation: Tensor) -> Tensor:
        """Points [n, 4, 3] and axis-angles [n, 3] to silhouettes [n, 16, 16]."""
        angle = rotation.norm(dim=-1, keepdim=True).clamp_min(1e-6)
        axis = (rotation / angle)[:, None].expand_as(points)
        sine, cosine = angle.sin()[:, None], angle.cos()[:, None]
        along = (axis * points).sum(-1, keepdim=True)
        turned = points * cosine + torch.linalg.cross(axis, points) * sine
        turned = turned + axis * along * (1 - cosine)
        corners = (turned[..., :2] / (turned[..., 2:] + 4))[:, self.faces] * 3
        following = corners.roll(-1, 2) - corners
        seen = self.pixels[None, :, :, None, None] - corners[:, None, None]
        edge = following[:, None, None]
        area = edge[..., 0] * seen[..., 1] - edge[..., 1] * seen[..., 0]
        inside = torch.maximum(area.amin(-1), (-area).amin(-1))
        return 1 - (1 - torch.sigmoid(inside * 20)).prod(-1)
