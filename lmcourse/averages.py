"""The ways to average the loss of a step; needs no torch, so that a command line can name them."""

AVERAGES = {
    "tokens": "each counted token weighs the same, over micro-batches and ranks",
    "micro-batches": "mean of the micro-batches' own means",
    "ranks": "mean of the ranks' own means",
    "rows": "mean of the rows' own means",
}
