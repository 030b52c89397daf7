"""litgpt from its package: its model, its chunked loss, Fabric in bf16-mixed; its optimizer defaults."""

from __future__ import annotations

import lightning
import torch
from litgpt.config import Config
from litgpt.model import GPT
from litgpt.utils import chunked_cross_entropy

from benchmarks.peers.work import CONTEXT, HEADS, LAYERS, WIDTH, Work, cosine


def main() -> None:
    work = Work()
    fabric = lightning.Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    fabric.seed_everything(work.options.seed, verbose=False)
    config = Config(
        block_size=CONTEXT,
        vocab_size=work.vocab_size,
        padded_vocab_size=work.vocab_size,
        n_layer=LAYERS,
        n_head=HEADS,
        n_embd=WIDTH,
        rotary_percentage=1.0,
        parallel_residual=False,
        bias=False,
        norm_class_name="RMSNorm",
        mlp_class_name="GptNeoxMLP",
        intermediate_size=4 * WIDTH,
    )
    plain = GPT(config)
    model = fabric.setup(torch.compile(plain) if work.options.compile else plain)
    optimizer = fabric.setup_optimizers(
        torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, betas=(0.9, 0.95), fused=True)
    )

    def step(number: int) -> None:
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * cosine(number, work.options.steps, 100, 0.1)
        x, y = work.windows()
        loss = chunked_cross_entropy(model(x), y)
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()

    work.run(step)
    plain.eval()
    work.report(sum(p.numel() for p in plain.parameters()), work.loss(plain))


if __name__ == "__main__":
    main()
