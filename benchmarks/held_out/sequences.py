"""Networks of sequences, sets, graphs and equations, written out small; weights are random."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class WaveNet(nn.Module):
    """Gated causal convolutions, dilated, with skips; samples through a mu-law."""

    def __init__(self, width: int = 16, layers: int = 5) -> None:
        super().__init__()
        self.enter = nn.Embedding(256, width)
        self.gates = nn.ModuleList(
            nn.Conv1d(width, 2 * width, 2, dilation=2**at) for at in range(layers)
        )
        self.mixes = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in range(layers))
        self.leave = nn.Conv1d(width, 256, 1)

    def forward(self, wave: Tensor) -> Tensor:
        """Waves [n, t] between -1 and 1 to logits [n, 256, t]."""
        loud = wave.sign() * torch.log1p(255 * wave.abs()) / torch.log1p(torch.tensor(255.0))
        x = self.enter(((loud + 1) * 127.5 + 0.5).long().clamp(0, 255)).transpose(1, 2)
        skips = torch.zeros_like(x)
        for gate, mix in zip(self.gates, self.mixes, strict=True):
            value, door = gate(F.pad(x, (gate.dilation[0], 0))).chunk(2, 1)
            rest, skip = mix(value.tanh() * door.sigmoid()).chunk(2, 1)
            x, skips = x + rest, skips + skip
        return self.leave(skips.relu())


class ConvLSTM(nn.Module):
    """An LSTM whose gates are convolutions, over the frames of a film."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.width = width
        self.gates = nn.Conv2d(1 + width, 4 * width, 3, padding=1)
        self.peep = nn.Parameter(torch.randn(3, width, 1, 1) / 4)
        self.leave = nn.Conv2d(width, 1, 1)

    def forward(self, film: Tensor) -> Tensor:
        """Frames [n, t, 1, h, w] to as many frames."""
        n, steps, _, h, w = film.shape
        state = cell = film.new_zeros(n, self.width, h, w)
        frames = []
        for step in range(steps):
            i, f, o, g = self.gates(torch.cat([film[:, step], state], 1)).chunk(4, 1)
            cell = torch.sigmoid(f + self.peep[1] * cell) * cell + torch.sigmoid(
                i + self.peep[0] * cell
            ) * torch.tanh(g)
            state = torch.sigmoid(o + self.peep[2] * cell) * torch.tanh(cell)
            frames.append(self.leave(state))
        return torch.stack(frames, 1)


class NeuralODE(nn.Module):
    """A flow integrated by Runge-Kutta 4, with the divergence of each step (a continuous flow)."""

    def __init__(self, size: int = 3, width: int = 24) -> None:
        super().__init__()
        self.field = nn.Sequential(nn.Linear(size + 1, width), nn.Tanh(), nn.Linear(width, size))

    def slope(self, time: float, x: Tensor) -> Tensor:
        """The derivative at a time."""
        return self.field(torch.cat([x, torch.full_like(x[:, :1], time)], 1))

    def divergence(self, time: float, x: Tensor) -> Tensor:
        """The trace of the Jacobian, exact for two linear layers with tanh between."""
        first, last = self.field[0], self.field[2]
        inner = first(torch.cat([x, torch.full_like(x[:, :1], time)], 1)).tanh()
        rates = (first.weight[:, :-1] * last.weight.t()).sum(1)
        return ((1 - inner.square()) * rates).sum(1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Points [n, 3] to points and changes of their logarithmic densities [n]."""
        step, change = 0.25, x.new_zeros(x.shape[0])
        for at in range(4):
            time = at * step
            change = change - step * self.divergence(time, x)
            a = self.slope(time, x)
            b = self.slope(time + step / 2, x + step / 2 * a)
            c = self.slope(time + step / 2, x + step / 2 * b)
            d = self.slope(time + step, x + step * c)
            x = x + step / 6 * (a + 2 * b + 2 * c + d)
        return x, change


class FieldTagger(nn.Module):
    """A conditional random field: the forward algorithm, masked, and the best path."""

    def __init__(self, tags: int = 5) -> None:
        super().__init__()
        self.score = nn.Linear(8, tags)
        self.moves = nn.Parameter(torch.randn(tags, tags))

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Features [n, t, 8], a mask [n, t] to log partition sums [n] and tags [n, t]."""
        scores = self.score(x)
        total = best = scores[:, 0]
        back = []
        for step in range(1, x.shape[1]):
            on = mask[:, step, None]
            following = scores[:, step]
            total = torch.where(
                on, torch.logsumexp(total.unsqueeze(2) + self.moves, 1) + following, total
            )
            values, from_ = (best.unsqueeze(2) + self.moves).max(1)
            best = torch.where(on, values + following, best)
            back.append(torch.where(on, from_, torch.arange(best.shape[1])))
        path = [best.argmax(1)]
        for table in reversed(back):
            path.append(table.gather(1, path[-1].unsqueeze(1)).squeeze(1))
        return total.logsumexp(1), torch.stack(path[::-1], 1)


class SetTransformer(nn.Module):
    """Induced attention over a set with a mask of its members, pooled by a seed."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.enter = nn.Linear(3, width)
        self.points, self.seed = (nn.Parameter(torch.randn(1, count, width)) for count in (5, 1))
        self.into, self.out, self.pool = (
            nn.MultiheadAttention(width, 4, batch_first=True) for _ in range(3)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, members: Tensor, absent: Tensor) -> Tensor:
        """Members [n, m, 3] and which of them are absent [n, m] to codes [n, 16]."""
        x = self.enter(members)
        points = self.points.expand(x.shape[0], -1, -1)
        induced, _ = self.into(points, x, x, key_padding_mask=absent, need_weights=False)
        x = self.norm(x + self.out(x, induced, induced, need_weights=False)[0])
        seed = self.seed.expand(x.shape[0], -1, -1)
        pooled, weights = self.pool(seed, x, x, key_padding_mask=absent)
        return pooled[:, 0] + weights.mean()


class Hyena(nn.Module):
    """Long convolutions by Fourier transforms; the filter is a small network of the position."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.short = nn.Conv1d(3 * width, 3 * width, 3, padding=2, groups=3 * width)
        self.filter = nn.Sequential(nn.Linear(1, 16), nn.GELU(), nn.Linear(16, width))
        self.decay = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Texts [n, t, 16] to as many."""
        t = x.shape[1]
        q, k, v = self.short(self.enter(x).transpose(1, 2))[..., :t].chunk(3, 1)
        place = torch.linspace(0, 1, t, dtype=x.dtype)[:, None]
        taps = (self.filter(place) * torch.exp(-place * self.decay * 4)).t()
        spectrum = torch.fft.rfft(k * v, n=2 * t) * torch.fft.rfft(taps, n=2 * t)
        return self.leave((q * torch.fft.irfft(spectrum, n=2 * t)[..., :t]).transpose(1, 2))


class SplineNetwork(nn.Module):
    """A KAN: B-splines on each edge, by the recursion of Cox and de Boor."""

    def __init__(self, sizes: tuple[int, ...] = (4, 9, 3), grid: int = 6, order: int = 3) -> None:
        super().__init__()
        self.order = order
        knots = (torch.arange(grid + 2 * order + 1) - order) * (2.0 / grid) - 1
        self.register_buffer("knots", knots)
        pairs = list(pairwise(sizes))
        self.base = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairs)
        self.splines = nn.ParameterList(
            nn.Parameter(torch.randn(b, a, grid + order) / 4) for a, b in pairs
        )

    def bases(self, x: Tensor) -> Tensor:
        """The value of each basis at each input."""
        x, knots = x.unsqueeze(-1), self.knots
        found = ((x >= knots[:-1]) & (x < knots[1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            left = (x - knots[: -k - 1]) / (knots[k:-1] - knots[: -k - 1])
            right = (knots[k + 1 :] - x) / (knots[k + 1 :] - knots[1:-k])
            found = left * found[..., :-1] + right * found[..., 1:]
        return found

    def forward(self, x: Tensor) -> Tensor:
        """Rows [n, 4] to rows [n, 3]."""
        for base, spline in zip(self.base, self.splines, strict=True):
            x = base(F.silu(x)) + torch.einsum("nig,oig->no", self.bases(x), spline)
        return x


class Retention(nn.Module):
    """RetNet, in chunks: decay within a chunk, a state from one to the next; group norm, gate."""

    def __init__(self, width: int = 16, heads: int = 4, chunk: int = 4) -> None:
        super().__init__()
        self.heads, self.chunk = heads, chunk
        self.qkvg, self.leave = nn.Linear(width, 4 * width), nn.Linear(width, width)
        self.norm = nn.GroupNorm(heads, width)
        self.register_buffer("decay", torch.log(1 - 2.0 ** (-5 - torch.arange(float(heads)))))

    def forward(self, x: Tensor) -> Tensor:
        """Texts [n, t, 16], t a multiple of 4, to as many."""
        n, t, c = x.shape
        size, heads, each = self.chunk, self.heads, c // self.heads
        q, k, v, gate = self.qkvg(x).chunk(4, -1)
        q, k, v = (y.view(n, t // size, size, heads, each).transpose(2, 3) for y in (q, k, v))
        place = torch.arange(size)
        away = (place[:, None] - place).to(x.dtype)
        inner = torch.exp(self.decay[:, None, None] * away).tril()
        mixed = (q @ k.transpose(-1, -2) / each**0.5 * inner) @ v
        into = torch.exp(self.decay[:, None] * (size - 1 - place))[..., None]
        out = torch.exp(self.decay[:, None] * (place + 1))[..., None]
        state, crossed = x.new_zeros(n, heads, each, each), []
        for at in range(t // size):
            crossed.append((q[:, at] * out) @ state / each**0.5)
            state = state * torch.exp(self.decay * size)[:, None, None]
            state = state + (k[:, at] * into).transpose(-1, -2) @ v[:, at]
        mixed = (mixed + torch.stack(crossed, 1)).transpose(2, 3).reshape(n * t, c)
        return self.leave(self.norm(mixed).view(n, t, c) * F.silu(gate))


class GraphNetwork(nn.Module):
    """Attention over the edges of a graph, by index_add and scatter_reduce; two rounds."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.enter = nn.Linear(7, width)
        self.score, self.message = nn.Linear(2 * width, 1), nn.Linear(2 * width, width)
        self.update = nn.GRUCell(width, width)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Nodes [n, 7] and edges [2, e] to nodes [n, 16]."""
        x, (source, target) = self.enter(nodes), edges
        for _ in range(2):
            pairs = torch.cat([x[source], x[target]], 1)
            score = F.leaky_relu(self.score(pairs).squeeze(1), 0.2)
            top = score.new_full((x.shape[0],), -1e9).scatter_reduce(0, target, score, "amax")
            weight = torch.exp(score - top[target])
            total = torch.zeros_like(top).index_add(0, target, weight)
            sent = self.message(pairs) * (weight / total[target].clamp_min(1e-9)).unsqueeze(1)
            x = self.update(torch.zeros_like(x).index_add(0, target, sent), x)
        return x
