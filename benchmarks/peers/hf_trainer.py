"""The Hugging Face Trainer from its package: a GPT-2 of this size, bf16, its optimizer, its data loader."""

from __future__ import annotations

import tempfile
import time

import torch
from torch.utils.data import IterableDataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

from benchmarks.peers.work import CONTEXT, HEADS, LAYERS, WIDTH, Work


class Windows(IterableDataset):
    """Rows of random windows without end."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __iter__(self):
        while True:
            x, _ = self._work.windows()
            yield from ({"input_ids": row, "labels": row} for row in x)


class Clock(TrainerCallback):
    """Seconds between the ends of steps."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_train_begin(self, *args: object, **named: object) -> None:
        self.ends.append(time.perf_counter())

    def on_step_end(self, *args: object, **named: object) -> None:
        self.ends.append(time.perf_counter())


def main() -> None:
    work = Work()
    torch.manual_seed(work.options.seed)
    config = GPT2Config(
        vocab_size=work.vocab_size,
        n_positions=CONTEXT,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = GPT2LMHeadModel(config)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder,
            max_steps=work.options.steps,
            per_device_train_batch_size=work.options.rows,
            learning_rate=1e-3,
            warmup_steps=100,
            lr_scheduler_type="cosine",
            weight_decay=0.1,
            max_grad_norm=1.0,
            bf16=True,
            torch_compile=work.options.compile,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = Trainer(model=model, args=settings, train_dataset=Windows(work), callbacks=[clock])
        work.timed(trainer.train, clock.ends)
    model.eval()
    parameters = sum(p.numel() for p in model.parameters()) - model.transformer.wpe.weight.numel()
    work.report(parameters, work.loss(lambda x: model(input_ids=x).logits))


if __name__ == "__main__":
    main()
