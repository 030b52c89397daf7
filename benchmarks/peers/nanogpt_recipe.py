"""nanoGPT's recipe for Shakespeare on a CPU, written anew from its description.

Learned positions, LayerNorm without bias, one matrix for queries, keys and values, GELU, tied embedding and
head, N(0, 0.02) with the last matrices of a branch scaled down; AdamW 1e-3 to 1e-4 with betas 0.9 and 0.99,
decay 0.1 on matrices, clip 1; float32, as on its CPU path.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.peers.work import CONTEXT, HEADS, LAYERS, WIDTH, Work, cosine


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH, bias=False) for _ in range(2))
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.mixed = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, _ = x.shape
        heads = [
            part.view(B, T, HEADS, -1).transpose(1, 2)
            for part in self.inputs(self.norms[0](x)).split(WIDTH, dim=2)
        ]
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.mixed(y.transpose(1, 2).reshape(B, T, WIDTH))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Model(nn.Module):
    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                last = name.endswith(("mixed.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / (2 * LAYERS) ** 0.5 if last else 0.02)

    def forward(self, x: Tensor) -> Tensor:
        h = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        return F.linear(self.norm(h), self.tokens.weight)  # (B, T, V)


def main() -> None:
    work = Work()
    torch.manual_seed(work.options.seed)
    model = Model(work.vocab_size)
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    gains = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": gains, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
    forward = torch.compile(model) if work.options.compile else model

    def step(number: int) -> None:
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * cosine(number, work.options.steps, 100, 0.1)
        x, y = work.windows()
        loss = F.cross_entropy(forward(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    work.run(step)
    parameters = sum(p.numel() for p in model.parameters()) - model.places.weight.numel()
    work.report(parameters, work.loss(model))


if __name__ == "__main__":
    main()
