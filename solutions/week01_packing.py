# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# You have documents, and a model that reads `T` tokens at a time. This week you build everything that lies
# between the two. It is the part of a training run that fails most quietly: a wrong batch raises no error, the
# loss still falls, and the model is only worse than it could be.
#
# **When you are done you can**
#
# - build inputs and targets from a token stream, and say which windows exist;
# - compare packing with padding in numbers;
# - write the document mask, the positions and the loss mask of a packed row;
# - prove with a test that no document reaches another one;
# - measure what a leak costs, and say when it costs nothing.

# %% [markdown]
# **Conventions of this week.** `B` is rows per batch, `T` tokens per row, `V` the size of the vocabulary.
# Positions, rows and documents are counted from 0. Losses are in nats per token.
#
# `eos` is the token that closes a document, and it belongs to the document that it closes. `doc_id` says for each
# token which document it comes from. In a mask, `True` means *may look at*.

# %% role="setup"
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

# %% role="show"
import lmcourse.figures.packing as pictures
import lmcourse.widgets
from lmcourse.checks import check, predict, quiz
from lmcourse.corpora import RegimeDocs
from lmcourse.figures import show_figure
from lmcourse.model import Transformer, TransformerConfig

# %% [markdown]
# ## From a stream to a batch
#
# A training corpus is one long row of tokens. Take a very short one, and windows of three:
#
# ```
# stream     10 11 12 13 14 15        N = 6
# x          10 11 12                 start 0, T = 3
# y             11 12 13              the same, one place further on
# ```
#
# The last window starts at 2, and its targets are 13 14 15. A window that starts at 3 would need a target behind
# the 15, and there is none. So three starts exist: 0, 1 and 2.

# %% [markdown]
# In general, row $b$ of a batch starts at a random place $s_b$, and for each position $i$ of the window
#
# $$x_{b,i} = t_{s_b + i}, \qquad y_{b,i} = t_{s_b + i + 1}, \qquad s_b \in \{0, \dots, N - T - 1\}.$$
#
# There are $N - T$ starts. One window holds $T$ predictions, not one: the first target is predicted from one
# token, the last from $T$ of them. The next cell prints them for a sentence, with characters as tokens.

# %% role="show"
text = "the cat sat on the mat"
letters = sorted(set(text))
tokens = torch.tensor([letters.index(character) for character in text])  # (N,)
start, T = 4, 6
x, y = tokens[start : start + T], tokens[start + 1 : start + T + 1]  # (T,), (T,)
print("tokens", tuple(tokens.shape), "  x", tuple(x.shape), "  y", tuple(y.shape))
for i in range(T):
    context = "".join(letters[token] for token in x[: i + 1])
    print(f"{context!r:>10} -> {letters[y[i]]!r}")

# %% role="show"
show_figure(*pictures.windows_figure(text, starts=[0, 4, 6], T=6), "Windows overlap; y is x, moved by one.")

# %% [markdown]
# ### Count tokens, not epochs
#
# With random windows there is no moment at which the corpus has been read once. So count tokens. Take 2,000 steps
# of 32 windows of 128 tokens, on a corpus of 801,650 characters: 32 · 128 = 4,096 predictions a step, 8,192,000 in
# all, and 8,192,000 / 801,650 = 10.2 reads of an average character.
#
# The average hides two things, which the next cell measures by drawing those 64,000 windows.

# %% role="show"
N, B, T, steps = 801_650, 32, 128, 2_000
starts = np.random.default_rng(0).integers(0, N - T, size=B * steps)
edges = np.zeros(N, dtype=np.int64)
np.add.at(edges, starts, 1)  # a window begins to be read ...
np.add.at(edges, starts + T, -1)  # ... and ends
reads = edges.cumsum()  # (N,) how often each character was an input
print(f"{B * T:,} predictions a step, {B * T * steps:,} in all: {reads.mean():.2f} reads of a character")
print(f"reads of one character: {reads.min()} to {reads.max()}; never read: {(reads == 0).mean():.4%}")
print(f"starts that were never drawn: {1 - len(np.unique(starts)) / (N - T):.1%}")

# %% [markdown]
# Ten "epochs", and still more than nine windows in ten never came up in exactly that place; some characters were read
# more than twice the average, a few not at all. That is harmless. It is the word *epoch* that promises too much.
#
# A budget in tokens also stays the same when the window changes. A step of 32,768 tokens is 256 windows of 128, or
# 64 windows of 512. Large models see most of their data about once: DeepSeek-V3 was trained on 14.8 trillion tokens
# ([arXiv:2412.19437](https://arxiv.org/abs/2412.19437)).

# %% [markdown] exercise="W1.1" role="why"
# **Why.** Every step of every run in this course begins with this function, so a mistake here is in everything that
# follows. The mistakes are one place wide: a target that is off by one, a last window that never comes, a batch in
# which all rows start at the same place.
#
# $$\text{starts} = N - T, \qquad \text{predictions in a batch} = B \cdot T$$
#
# **Worked number.** With $N = 1000$ and $T = 128$ there are 872 starts, 0 to 871. The window at 871 reads tokens 871
# to 998, and its targets are tokens 872 to 999: the last token of the stream is a target exactly once.

# %% [markdown] exercise="W1.1" role="contract"
# **Contract.** `sample_windows(tokens, B, T, generator) -> (x, y)`
#
# | argument | |
# |---|---|
# | `tokens` | `(N,)` int64, `N > T`; must not be changed |
# | `B`, `T` | rows, tokens per row |
# | `generator` | a `torch.Generator`, the only source of chance |
# | **returns** `x`, `y` | `(B, T)` int64 each, `y[b, i]` is the token after `x[b, i]` |
#
# Each row has its own start, uniform over 0 … N−T−1, both ends included. The same state of the generator gives the
# same batch. The global random state stays untouched.


# %% exercise="W1.1" role="answer"
def sample_windows(tokens: Tensor, B: int, T: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """B random windows of T tokens, and their targets one place further on: (B, T) int64 each."""
    ### BEGIN SOLUTION
    # The N - T valid starts are 0 .. N-T-1; randint leaves its upper end out, so it draws each of them.
    starts = torch.randint(len(tokens) - T, (B,), generator=generator)  # (B,)
    # T+1 positions for each start: the first T are the inputs, the last T the targets.
    windows = tokens[starts[:, None] + torch.arange(T + 1)]  # (B, T+1)
    return windows[:, :-1], windows[:, 1:]
    ### END SOLUTION


# %% exercise="W1.1" role="predict"
predict("W1.1", "A stream of 10 tokens, windows of 4: how many different starts are there?", answer=None)

# %% [markdown] exercise="W1.1" role="hint"
# Draw `B` starts first, then build the rows from them. What is the largest start for which the last target still
# exists? Try it on paper with six tokens and windows of three.

# %% [markdown] exercise="W1.1" role="hint"
# `torch.randint(high, (B,), generator=generator)` draws from 0 to `high - 1`: the upper end is left out. Indexing a
# tensor with a `(B, T)` tensor of positions gives a `(B, T)` tensor of tokens.

# %% [markdown] exercise="W1.1" role="hint"
# Positions of all rows at once: a column of starts plus a row of offsets,
# `starts[:, None] + torch.arange(T + 1)`, shape `(B, T+1)`. Take these tokens. All columns but the last are `x`, all
# columns but the first are `y`.

# %% [markdown] exercise="W1.1" role="after"
# **What this breaks in real training.** On a large corpus an unreachable last window costs nothing you can measure.
# The same slip one place further on reads past the end: a slice then silently returns a short row, an index raises.
# And a target that is shifted twice trains a model to skip a token, with a loss that falls as it should.
#
# **It happened.** In minGPT the length of the data set was off by one; its author had noticed the mistake in a
# proposal, and then copied it anyway ([karpathy/minGPT#31](https://github.com/karpathy/minGPT/issues/31)). Years later
# someone reported the *correct* bound in another teaching repository as a bug, and proposed the wrong one as the fix
# ([karpathy/ng-video-lecture#56](https://github.com/karpathy/ng-video-lecture/issues/56)). The test that settles it takes
# one line: a stream of `T + 1` tokens has exactly one window.

# %% [markdown]
# > **Popular answer.** A tutorial draws its starts with `randint(len(d) - block - 1)`. Looks
# > careful: one off for the target, one for the end. The cell below counts which starts come up in a stream of eight
# > tokens with windows of four. The last one never does.

# %% role="show"
N, T = 8, 4
generator = torch.Generator().manual_seed(0)
for name, high in [("randint(N - T - 1)", N - T - 1), ("randint(N - T)", N - T)]:
    starts = torch.randint(high, (10_000,), generator=generator)
    counts = torch.bincount(starts, minlength=N - T).tolist()
    print(f"{name:18}", {start: count for start, count in enumerate(counts)})

# %% [markdown]
# ## Validation is a tail
#
# Two windows of four tokens, one place apart, share three tokens of four:
#
# ```
# start 1       1 2 3 4
# start 2         2 3 4 5
# ```
#
# Windows of $T$ tokens that start $k$ places apart share $\max(0, T - k) / T$ of their tokens. So if you set aside
# *random* windows for validation, each of them has near twins in the training set. How bad is that? The next cell
# defines a "model" that only remembers what followed each run of eight tokens in training; the one after it lets the
# memory loose on pure noise, where nothing at all can be learned.


# %% role="show"
def known(noise, train_starts, validation_starts, T=32, run=8):
    """Share of the next tokens in validation windows that a memory of the training windows knows."""
    memory, hits = {}, []
    for s in train_starts:
        for i in range(s, s + T - run):
            memory[noise[i : i + run].tobytes()] = noise[i + run]
    for s in validation_starts:
        for i in range(s, s + T - run):
            hits.append(memory.get(noise[i : i + run].tobytes()) == noise[i + run])
    return np.mean(hits)


# %% role="show"
noise = np.random.default_rng(0).integers(0, 16, size=4_000)
starts = np.arange(len(noise) - 32)
shuffled = np.random.default_rng(1).permutation(starts)
print(f"random validation windows: {known(noise, shuffled[400:], shuffled[:400]):.1%} of next tokens known")
print(f"contiguous tail:           {known(noise, starts[:-432], starts[-400:]):.1%}")

# %% [markdown]
# The memory has learned nothing, since there is nothing to learn, and the random split gives it full marks. The tail
# tells the truth. So the order is: cut the stream first, draw windows from each part afterwards.

# %% [markdown] exercise="W1.2" role="why"
# **Why.** A validation loss is worth something only if the validation text was not trained on. With windows, the
# only simple way is to cut off one contiguous piece of the stream, before any window is drawn.
#
# $$N_\text{validation} = \lfloor N \cdot \text{fraction} \rfloor, \qquad N_\text{train} = N - N_\text{validation}$$
#
# **Worked number.** A stream of 1,003 tokens with `fraction=0.1` has a tail of $\lfloor 100.3 \rfloor = 100$ tokens;
# training keeps the first 903.

# %% [markdown] exercise="W1.2" role="contract"
# **Contract.** `split_tail(tokens, fraction) -> (train, validation)` and the number `overlap_share`
#
# | argument | |
# |---|---|
# | `tokens` | `(N,)` int64; must not be changed |
# | `fraction` | share of the tail, `0 <= fraction < 1` |
# | **returns** | `train`, then `validation`: the last `int(N * fraction)` tokens; both in their old order |
#
# Together the parts are the whole stream, and no token is in both. Views are fine, no copy is needed. Example: ten
# tokens with `fraction=0.2` are cut into the first eight and the last two.
#
# `overlap_share` is the share of tokens that the windows of length 128 starting at 1000 and at 1001 have in common.
# Any kind of number will do: a fraction of two integers, a float.


# %% exercise="W1.2" role="answer"
def split_tail(tokens: Tensor, fraction: float) -> tuple[Tensor, Tensor]:
    """Training head and validation tail; the tail is the last `int(N * fraction)` tokens."""
    ### BEGIN SOLUTION
    cut = len(tokens) - int(len(tokens) * fraction)  # where the tail begins; an empty tail begins at the end
    return tokens[:cut], tokens[cut:]  # slices are views: nothing is copied
    ### END SOLUTION


overlap_share = None
### BEGIN SOLUTION
overlap_share = 127 / 128  # both windows hold the tokens 1001 .. 1127
### END SOLUTION

# %% exercise="W1.2" role="predict"
predict("W1.2", "What does tokens[-n:] return when n is 0: nothing, or everything?", answer=None)

# %% [markdown] exercise="W1.2" role="hint"
# Compute the place where the tail begins, counted from the front. Then two slices do it.

# %% [markdown] exercise="W1.2" role="hint"
# Counting from the back has a trap: for an empty tail, `tokens[-0:]` is the whole stream, since `-0` is `0`.
#
# For the number: list which tokens the window at 1000 reads, and which the one at 1001.

# %% [markdown] exercise="W1.2" role="hint"
# `n = int(len(tokens) * fraction)`, and the tail begins at `len(tokens) - n`. The window at 1000 reads 1000 … 1127,
# the one at 1001 reads 1001 … 1128: count what is in both, and divide by 128.

# %% [markdown] exercise="W1.2" role="after"
# **What this breaks in real training.** A validation loss that is too good hides over-fitting: the curve goes on
# falling with the training loss, and early stopping never stops.
#
# **It happened.** In LogBERT's preparation of log data, overlapping windows (80 % in one data set) are cut first, then
# shuffled and split, so that test sequences were also trained on
# ([HelenGuohx/logbert#57](https://github.com/HelenGuohx/logbert/issues/57)). In a classifier of brain signals with the
# same order of steps, the author agreed when it was pointed out; without the overlap the accuracy fell to 72 %
# ([tongdaxu/EEG_Emotion_Classifier_DEAP#1](https://github.com/tongdaxu/EEG_Emotion_Classifier_DEAP/issues/1)).

# %% [markdown]
# ## Documents: pad or pack?
#
# Real corpora are documents of different lengths. Take three of them, with `eos` = 0, and a model that reads rows of
# six. *Padding* gives each document a row of its own; the dots are slots that cost time and teach nothing.
#
# ```
# A:  5 6 7 0 . .
# B:  8 9 0 . . .             13 tokens in 18 slots, 5 slots are padding
# C:  4 4 4 3 2 0
# ```
#
# *Packing* writes all documents behind one another, each with its `eos`, and cuts the stream into rows:
#
# ```
# row 0:  5 6 7 0 8 9         documents  A A A A B B
# row 1:  0 4 4 4 3 2         documents  B C C C C C
#         0                   the last eos fills no row, and is dropped
# ```

# %% [markdown]
# With document lengths $\ell_k$ (without `eos`), $R$ padded rows and $S$ slots in each, the wasted share is
#
# $$\text{waste} = 1 - \frac{\sum_k (\ell_k + 1)}{R \, S}.$$
#
# Padded: $1 - 13/18 = 28\,\%$. Packed: no slot is wasted. Packing is not free, though. Document B is cut in two, a
# remainder at the end of the stream is lost, and rows now hold strangers: C sits behind B. Move the sliders and
# watch how the two kinds of damage trade places.

# %% role="show"
lmcourse.widgets.waste()

# %% [markdown] exercise="W1.3" role="why"
# **Why.** The packer is the only place that still knows where documents begin. If it does not write that down, no
# later step can build a mask, reset a position or leave out a target. So it returns the ids together with the tokens.
#
# $$R = \left\lfloor \frac{\sum_k (\ell_k + 1)}{T + 1} \right\rfloor$$
#
# **Worked number.** Lengths 3, 2, 5 with $T = 5$: the stream has 4 + 3 + 6 = 13 tokens, rows have $T + 1 = 6$, so
# $R = 2$ and one token is left over. Rows have one token more than the model reads, because `row[:-1]` are the inputs
# and `row[1:]` the targets.

# %% [markdown] exercise="W1.3" role="contract"
# **Contract.** `pack(docs, T, eos) -> (tokens, doc_id)`
#
# | argument | |
# |---|---|
# | `docs` | list of lists of token ids, without `eos`; a list may be empty; must not be changed |
# | `T` | tokens per row that the model reads, `T >= 1` |
# | `eos` | id of the token that closes a document |
# | **returns** `tokens`, `doc_id` | `(R, T+1)` int64 each |
#
# The stream is every document in order, each followed by `eos`; an empty document is a lone `eos`. Rows follow one
# another without overlap. A remainder that does not fill a row is dropped; with fewer than `T + 1` tokens, `R` is 0.
# `doc_id` is the index of the document in `docs`; the `eos` has the id of the document that it closes. A document
# that goes on in the next row keeps its id. The rows above are the example: `[5, 6, 7]`, `[8, 9]`, `[4, 4, 4, 3, 2]`,
# `T = 5`, `eos = 0`.


# %% exercise="W1.3" role="answer"
def pack(docs: list[list[int]], T: int, eos: int) -> tuple[Tensor, Tensor]:
    """Documents end to end, cut into rows of T+1: tokens and document ids, (R, T+1) int64 each."""
    ### BEGIN SOLUTION
    stream, owner = [], []  # for each token of the stream: what it is, and whose it is
    for index, doc in enumerate(docs):
        stream += [*doc, eos]  # the eos belongs to the document that it closes
        owner += [index] * (len(doc) + 1)
    R = len(stream) // (T + 1)  # whole rows only
    kept = R * (T + 1)  # the remainder is dropped
    tokens = torch.tensor(stream[:kept], dtype=torch.int64).reshape(R, T + 1)
    doc_id = torch.tensor(owner[:kept], dtype=torch.int64).reshape(R, T + 1)
    return tokens, doc_id
    ### END SOLUTION


# %% exercise="W1.3" role="predict"
predict("W1.3", "docs = [[], [], [7]], T = 1, eos = 0: what are the rows of tokens?", answer=None)

# %% [markdown] exercise="W1.3" role="hint"
# Build two lists of the same length: the stream of tokens, and for each token the index of its document. Cut both
# in the same way.

# %% [markdown] exercise="W1.3" role="hint"
# A document of length $\ell$ adds $\ell + 1$ entries to *both* lists. Whole rows are `len(stream) // (T + 1)`; keep
# that many times `T + 1` entries and drop the rest before you reshape.

# %% [markdown] exercise="W1.3" role="hint"
# `torch.tensor(stream[: R * (T + 1)], dtype=torch.int64).reshape(R, T + 1)`, and the same for the ids. Name the dtype
# (an empty list would become floats) and both sizes (with `R = 0`, a `-1` could be anything).

# %% [markdown] exercise="W1.3" role="after"
# **What this breaks in real training.** An `eos` that is missing, or that opens the next document instead of closing
# its own, teaches the model never to stop, or to begin with a stop. A packer that silently drops or cuts text changes
# the data set: long documents lose their ends, and nobody sees it in a loss.
#
# **It happened.** A user of TRL asked what its packer does to texts that do not fit. The answer, found by reading the
# code: texts are cut wherever a row ends, and the remainder of a buffer is discarded
# ([huggingface/trl#1850](https://github.com/huggingface/trl/issues/1850)). nanochat measured a loader that crops documents
# to rows of 2,048: 39.4 % of all tokens were thrown away
# ([dev log](https://github.com/karpathy/nanochat/blob/master/dev/LOG.md), 2026-01-13). Both are choices one can defend,
# once they are written down.

# %% [markdown]
# ## Who may look at whom
#
# In row 0 above, the first word of B stands right behind the `eos` of A, and ordinary causal attention lets it read
# all of A. The document mask forbids that. For a row with documents A A B B B:
#
# ```
#              key
#              A A B B B
# query   A    1 . . . .
#         A    1 1 . . .
#         B    . . 1 . .
#         B    . . 1 1 .
#         B    . . 1 1 1
# ```
#
# The causal triangle alone has 15 ones. The mask keeps 3 + 6 = 9 of them and takes away the 2 · 3 = 6 pairs in which
# a B looks at an A.

# %% [markdown]
# With $d_{b,i}$ for the document of token $i$ in row $b$, the mask is the product of two conditions:
#
# $$M_{b,i,j} = [\,j \le i\,] \cdot [\,d_{b,i} = d_{b,j}\,].$$
#
# The diagonal is always 1, so no query is left with nothing to look at. Try it: type your own documents, pick a token
# and read which ones it sees. Then set the layout to *pack*, without the mask, and look for the crossed cells.

# %% role="show"
lmcourse.widgets.packing(eos=True, window=33)

# %% [markdown]
# ### What `eos` does not do
#
# "There is an `eos` in between, the model can see that a new text begins." It can, and it may even learn to use it.
# But `eos` is a token like any other: it closes no door. And what about counting positions from 0 again in each
# document? The next two cells measure both. One row holds four documents; we change one token in the first, and look
# at the logits of the other three. The model is the course's own, with random weights; given the ids, it makes the
# mask.

# %% role="show"
model = Transformer(TransformerConfig(vocab_size=32, context=128, layers=3, heads=2, width=64), seed=0).eval()
lengths = torch.tensor([40, 3, 50, 35])
doc_id = torch.repeat_interleave(torch.arange(4), lengths)[None]  # (1, 128)
restart = torch.cat([torch.arange(int(n)) for n in lengths])[None]  # (1, 128): from 0 in each document
row = torch.randint(1, 32, (1, 128), generator=torch.Generator().manual_seed(0))
row[0, lengths.cumsum(0) - 1] = 0  # each document ends in eos
changed = row.clone()
changed[0, 5] = 1 + row[0, 5] % 31  # another token, inside the first document

# %% role="show"
variants = {
    "neither": {},
    "positions restart": {"positions": restart},
    "mask": {"doc_id": doc_id},
    "mask and restart": {"doc_id": doc_id, "positions": restart},
}
print(f"{'':20} leak into later documents   difference to each document alone")
with torch.no_grad():
    alone = torch.cat([model(part) for part in row.split(lengths.tolist(), dim=1)], dim=1)  # (1, 128, 32)
    for name, settings in variants.items():
        logits = model(row, **settings)  # (1, 128, 32)
        moved = (model(changed, **settings) - logits)[:, 40:].abs().max()
        print(f"{name:20} {moved:25.1e}   {(logits - alone).abs().max():34.1e}")

# %% [markdown]
# With an `eos` between them and no mask, the change travels. Restarting the positions does not stop it. With the mask
# the leak is not small, it is *exactly* zero: the forbidden weights are zero, and zero times anything adds nothing.
#
# One more line is worth a second look. With the mask, restarting the positions changes almost nothing: rotary
# positions act only through differences, and inside a document these are the same. So no test on *logits* can tell you
# whether positions restart in this model. You have to look at the positions themselves.

# %% [markdown]
# > **Popular answer.** "A row of the mask that is all `False` gives NaN." True for a softmax written by hand, and for
# > an average over no targets. In the torch you have installed, the fused attention function answers zeros. The cell
# > shows all three; do not build a test on any of them.

# %% role="show"
print("softmax of nothing:       ", torch.full((4,), float("-inf")).softmax(0))
q = torch.ones(1, 1, 4, 8)
nothing = torch.zeros(4, 4, dtype=torch.bool)
print("fused attention of nothing:", F.scaled_dot_product_attention(q, q, q, attn_mask=nothing)[0, 0, 0, :3])
print("mean loss over no target:  ", F.cross_entropy(torch.zeros(3, 5), torch.full((3,), -100)))
print("torch", torch.__version__)

# %% [markdown] exercise="W1.4" role="why"
# **Why.** This one boolean tensor is all that keeps the documents of a row apart; every attention layer uses it, so
# one wrong entry leaks in every layer. It has two conditions, and each one forgotten gives a model that still trains.
# Counting its entries is a quick test: with documents of $\ell_k$ tokens in the row,
#
# $$\text{allowed pairs} = \sum_k \frac{\ell_k (\ell_k + 1)}{2} \quad \text{of} \quad \frac{T (T + 1)}{2} \text{ causal ones.}$$
#
# **Worked number.** A row of 8 tokens with documents of 3, 2 and 3 has 6 + 3 + 6 = 15 allowed pairs of the 36 causal
# ones; 21 pairs, more than half, cross a boundary.

# %% [markdown] exercise="W1.4" role="contract"
# **Contract.** `document_mask(doc_id) -> mask`
#
# | argument | |
# |---|---|
# | `doc_id` | `(B, T)` int64, any values, equal inside a document; must not be changed |
# | **returns** `mask` | `(B, T, T)` bool, `mask[b, i, j]` is `True` where query `i` may look at key `j` |
#
# That is: `j <= i`, and the same id. Rows of a batch are independent. Ids need not be sorted nor start at 0; two
# tokens with the same id belong to one document, wherever they stand in the row.


# %% exercise="W1.4" role="answer"
def document_mask(doc_id: Tensor) -> Tensor:
    """(B, T) ids to a (B, T, T) boolean mask: True where query i (dim 1) may look at key j (dim 2)."""
    ### BEGIN SOLUTION
    T = doc_id.shape[1]
    same = doc_id[:, :, None] == doc_id[:, None, :]  # (B, T, T): a column of queries against a row of keys
    causal = torch.ones(T, T, dtype=torch.bool).tril()  # (T, T): only backwards, the diagonal included
    return same & causal
    ### END SOLUTION


# %% exercise="W1.4" role="predict"
predict("W1.4", "Eight tokens in four documents of two: how many True entries has the mask?", answer=None)

# %% [markdown] exercise="W1.4" role="hint"
# Write the two conditions as two tensors, and combine them. The causal one does not depend on the batch.

# %% [markdown] exercise="W1.4" role="hint"
# Comparing a `(B, T, 1)` tensor with a `(B, 1, T)` tensor gives `(B, T, T)`. The first of the two long dimensions is
# the query, the second the key.

# %% [markdown] exercise="W1.4" role="hint"
# `same = doc_id[:, :, None] == doc_id[:, None, :]`, and the lower triangle with its diagonal is
# `torch.ones(T, T, dtype=torch.bool).tril()`. Both must hold.

# %% [markdown] exercise="W1.4" role="after"
# **What this breaks in real training.** Without causality the model reads its answers and the loss falls through the
# floor. Without the document condition the model trains well, and answers a little from the wrong text. With `j < i`
# the first token of each document has nothing to look at.
#
# **It happened.** In TRL, packed training examples could see each other for years. Asked about it, a maintainer first
# thought the `eos` signal enough ([huggingface/trl#805](https://github.com/huggingface/trl/issues/805)); later it was
# a known issue ([#1230](https://github.com/huggingface/trl/issues/1230),
# [#3067](https://github.com/huggingface/trl/issues/3067)), mended for one attention kernel in 2025
# ([#3526](https://github.com/huggingface/trl/issues/3526)).
#
# In transformers the mask *was* there, and a harmless-looking padding mask of all ones switched it off. The loss still
# fell, so nothing looked wrong
# ([huggingface/transformers#46634](https://github.com/huggingface/transformers/issues/46634), 2026).

# %% [markdown]
# ## Positions, and predictions that do not count
#
# The mask keeps documents apart while the model reads. Two seams are left. Take documents of 3, 2 and 1 tokens, the
# last token of each of the first two being `eos`:
#
# ```
# document        A A A  B B  C
# input is eos    . . 1  . 1  .
# position        0 1 2  0 1  0
# keep            1 1 .  1 .  1
# ```
#
# Positions start again with each document. And at an input `eos`, the next token is the first word of a stranger:
# asking for it teaches nothing but noise, so that prediction is left out of the loss.

# %% [markdown]
# With $f_i$ for the place where the document of token $i$ starts in this row, and $e_i = 1$ where the input is `eos`:
#
# $$\text{pos}_i = i - f_i, \qquad \text{keep}_i = [\,e_i = 0\,] \cdot [\,d_{i+1} = d_i\,]$$
#
# In the last column there is no $d_{i+1}$ to compare with, and only the first condition is asked. Note what is
# *not* left out: predicting the `eos` itself. That is how a model learns to stop.

# %% [markdown] exercise="W1.5" role="why"
# **Why.** Each `eos` that is read costs one prediction. Lose one more, and the model never learns to stop; lose one
# less, and it is trained to guess the next document out of nothing. The count of kept predictions is also what the
# loss is divided by, the subject of next week. In rows as `pack` makes them,
#
# $$\text{kept} = B \, T - \text{number of inputs that are } \texttt{eos}.$$
#
# **Worked number.** In the table above, 4 of 6 predictions are kept: six, less one for each `eos` that is an input.

# %% [markdown] exercise="W1.5" role="contract"
# **Contract.** `positions_and_loss_mask(doc_id, eos_positions) -> (pos, keep)`
#
# | argument | |
# |---|---|
# | `doc_id` | `(B, T)` int64, the ids of the *inputs*; must not be changed |
# | `eos_positions` | `(B, T)` bool, `True` where the input token is `eos`; must not be changed |
# | **returns** `pos` | `(B, T)` int64, counts from 0 at the start of the row and at each change of `doc_id` |
# | **returns** `keep` | `(B, T)` bool, whether the prediction made at `i`, of token `i + 1`, counts in the loss |
#
# `keep` is `False` where the input is `eos`, in the last column too, and where `doc_id[b, i + 1] != doc_id[b, i]`.
# The prediction *of* the `eos` is kept. A document that goes on from the row before counts its positions from 0 here.
#
# Example: ids `0 0 0 1 1 1` with the `eos` at place 2 give `pos` `0 1 2 0 1 2`, and all but the prediction at place 2
# are kept.


# %% exercise="W1.5" role="answer"
def positions_and_loss_mask(doc_id: Tensor, eos_positions: Tensor) -> tuple[Tensor, Tensor]:
    """Positions within each document (B, T) int64, and which predictions count in the loss (B, T) bool."""
    ### BEGIN SOLUTION
    index = torch.arange(doc_id.shape[1]).expand_as(doc_id)  # (B, T): 0 1 2 ... in each row
    first = torch.ones_like(eos_positions)  # (B, T): where a document begins in this row
    first[:, 1:] = doc_id[:, 1:] != doc_id[:, :-1]
    begin = (
        torch.where(first, index, 0).cummax(dim=1).values
    )  # (B, T): where the document of this token began
    keep = ~eos_positions  # behind an eos stands another document's first token
    keep[:, :-1] &= ~first[:, 1:]  # the same seam, told by the ids
    return index - begin, keep
    ### END SOLUTION


# %% exercise="W1.5" role="predict"
predict("W1.5", "A row of T inputs holds three eos. How many predictions count in the loss?", answer=None)

# %% [markdown] exercise="W1.5" role="hint"
# Find first where documents begin: position 0, and wherever the id differs from the one before it. Both results follow
# from that.

# %% [markdown] exercise="W1.5" role="hint"
# The position is the index minus the index of the last beginning so far. A running maximum (`torch.cummax`) carries
# that index forward. For `keep`, the seam between `i` and `i + 1` belongs to `i`.

# %% [markdown] exercise="W1.5" role="hint"
# `begin = torch.where(first, index, 0).cummax(dim=1).values` and `pos = index - begin`. Then `keep = ~eos_positions`,
# and `keep[:, :-1]` is also `False` wherever `first[:, 1:]` is `True`.

# %% [markdown] exercise="W1.5" role="after"
# **What this breaks in real training.** You saw above that logits cannot show a missing restart with rotary positions.
# With learned positions, or beyond the longest position of training, the model meets documents at places where it will
# never meet them in use. That is why the check looks at `pos` itself.
#
# **It happened.** torchtitan wrapped positions with a modulo of the row length, which restarted them in the middle of
# documents ([pytorch/torchtitan#2849](https://github.com/pytorch/torchtitan/issues/2849)). It also trained the last
# token of each document to predict the first of the next: harmless there, where every document begins with the same
# token, and mended all the same ([pytorch/torchtitan#4075](https://github.com/pytorch/torchtitan/issues/4075)).
#
# In nanoVLM someone set out to restart the positions of packed samples, and found that this separates nothing: a probe
# moved by 0.462139 without the restart and by 0.462456 with it
# ([huggingface/nanoVLM#204](https://github.com/huggingface/nanoVLM/issues/204)).

# %% [markdown]
# ## Whole documents: bins instead of cuts
#
# Sometimes a cut is worse than a little padding, for instance with question and answer pairs. Then each document goes
# whole into some row. Which row? Take lengths 1, 2, 5, 3, 6, 7 and rows of 8.
#
# In order of arrival, each into the first row with room: {1, 2, 5}, {3}, {6}, {7}. Four rows, 24 of 32 slots, 75 %.
# Longest first: {7, 1}, {6, 2}, {5, 3}. Three rows, 100 %. Large pieces are placed while there is still a choice, and
# small ones fill the gaps. The rule is called *first-fit decreasing*.

# %% role="show"
lengths = [1, 2, 5, 3, 6, 7]
in_order = [[0, 1, 2], [3], [4], [5]]
longest_first = [[5, 0], [4, 1], [2, 3]]
both = {"in order of arrival": in_order, "longest first": longest_first}
show_figure(*pictures.bins_figure(both, lengths, T=8))

# %% [markdown] exercise="W1.6" role="why"
# **Why.** Finding the fewest rows is NP-hard, and this rule of ten lines is close to it: it never needs more than
# 11/9 of the best possible number of bins, plus 6/9 of a bin (Dósa 2007, who made Johnson's bound of 1973 exact).
#
# $$\text{fill rate} = \frac{\sum_{k \text{ placed}} \ell_k}{T \cdot \text{bins}}$$
#
# **Worked number.** For 1, 2, 5, 3, 6, 7 and $T = 8$: 24 / (8 · 4) = 75 % in order of arrival, 24 / (8 · 3) = 100 %
# with the longest first.

# %% [markdown] exercise="W1.6" role="contract"
# **Contract.** `ffd_pack(lengths, T) -> bins`
#
# | argument | |
# |---|---|
# | `lengths` | list of document lengths in tokens, each at least 1; must not be changed |
# | `T` | capacity of a bin in tokens |
# | **returns** `bins` | list of lists of indices into `lengths` |
#
# Take the documents by decreasing length; among equal lengths the smaller index comes first. Put each into the first
# bin, in order of opening, that has room for it; open a new bin if none has. Documents longer than `T` are left out.
# Bins come in order of opening, indices in order of placement. A document of exactly `T` tokens fills a bin.
#
# Example: `ffd_pack([3, 6, 2, 7, 4], 10)` is `[[3, 0], [1, 4], [2]]`, that is 7 + 3, 6 + 4 and 2 tokens.


# %% exercise="W1.6" role="answer"
def ffd_pack(lengths: list[int], T: int) -> list[list[int]]:
    """First-fit decreasing: the indices of `lengths`, by bin of capacity T."""
    ### BEGIN SOLUTION
    bins, room = [], []  # for each open bin: the indices in it, and the tokens still free
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):  # stable: ties keep their order
        if lengths[index] > T:
            continue  # no bin could ever hold it
        for b in range(len(bins)):
            if lengths[index] <= room[b]:
                break  # the first bin with room
        else:  # none has room: open one
            b = len(bins)
            bins.append([])
            room.append(T)
        bins[b].append(index)
        room[b] -= lengths[index]
    return bins
    ### END SOLUTION


# %% exercise="W1.6" role="predict"
predict("W1.6", "lengths = [4, 4, 4, 3, 3, 3], T = 10: how many bins does the rule need?", answer=None)

# %% [markdown] exercise="W1.6" role="hint"
# Sort the *indices*, not the lengths: the result speaks of indices. Keep, beside the bins, how much room each has left.

# %% [markdown] exercise="W1.6" role="hint"
# Python's `sorted` is stable: elements with equal keys stay in their old order. With the key `-lengths[i]` that gives
# decreasing lengths and, among equals, the smaller index first. (`reverse=True` keeps ties in order, too.)

# %% [markdown] exercise="W1.6" role="hint"
# For each index in sorted order: skip it if it is longer than `T`; go through the bins in order and take the first with
# `lengths[index] <= room[b]`; if the loop ends without one (`for … else`), append `[]` to the bins and `T` to the room.
# Then place the index and subtract.

# %% [markdown] exercise="W1.6" role="after"
# **What this breaks in real training.** Two things hide behind a fill rate of 99 %. Documents longer than a row are
# gone. And rows full of whole documents still need the mask: TRL added this very packer in 2025, and its review notes
# that attention between the packed samples was still to be dealt with
# ([huggingface/trl#3521](https://github.com/huggingface/trl/issues/3521)).
#
# **It happened.** nanochat compared packers on web text with rows of 2,048
# ([dev log](https://github.com/karpathy/nanochat/blob/master/dev/LOG.md), 2026-01-13): first-fit decreasing
# filled 99.7 % of the slots, and still 23.0 % of the tokens were lost to documents too long for a row. It chose another
# rule, without any padding, that throws away 34.6 %. Where web text is plentiful, that is affordable; with 2,000
# hand-written answers it would not be. Fill rate alone does not decide.

# %% [markdown]
# ## A test that finds a leak
#
# You have built the mask. Would you notice if someone broke it? The loss would not tell you. A test can, and it needs
# no knowledge of how the model works inside:
#
# 1. run the model on a row with several documents;
# 2. change one token in document A, and run it again;
# 3. no logit of any other document may move.
#
# In the table above, "may not move" meant zero to the last bit. Other right models may add up numbers in another order
# from one call to the next, and differ by rounding, up to about 1e-5. Leaks worth the name are a hundred times larger.

# %% [markdown]
# The hard part is what the test does *not* look at. A leak may exist only backwards, only in the last row, only from
# the third document on, only in `eval` mode, only through the second layer. And a probe can be blind: change the `eos`
# and nothing else, and a model that treats `eos` specially looks clean.
#
# So a good test of this kind does three more things. It changes *each* token in turn, in several rows with several
# documents, in both modes. It asks for causality too. And it proves that the probe works: the changed document itself
# must move, or the test has looked at nothing.

# %% [markdown] exercise="W1.7" role="why"
# **Why.** You will change this model many times, and each change can open the door again. A test that runs in a second
# is the only guard that does not get tired. Here it is your test that is examined: it must accept every right model,
# however it is built, and reject the broken ones.
#
# $$\max_{(b,i)\,:\, d_{b,i} \ne d_{\text{changed}} \text{ or } i < i_{\text{changed}}} \left| f(t')_{b,i} - f(t)_{b,i} \right| = 0$$
#
# **Worked number.** The cell on what `eos` does not do measured a leak of 4e-2 without the mask and 0 with it. Allow for
# rounding, 1e-5, and every limit between 1e-5 and the smallest leak does; 1e-4 is a good choice.

# %% [markdown] exercise="W1.7" role="contract"
# **Contract.** `test_no_leak(model_fn) -> None`
#
# You write the test, the judge brings the models: `model_fn(tokens, doc_id, training=True) -> logits`
#
# | | |
# |---|---|
# | `tokens` | `(B, T)` int64 from 0 to 31, `eos` is 0; you choose `B` and `T`, up to `T = 64` |
# | `doc_id` | `(B, T)` int64 as `pack` makes it: each document ends in its `eos`, and may go on in the next row |
# | `training` | `True` or `False`, the model's mode |
# | **returns** `logits` | `(B, T, 32)` float |
#
# Return quietly if the documents of a row do not see each other and no token sees a later one; raise `AssertionError`
# otherwise. Rows of a batch never see each other in a right model, whatever their ids. Two calls of a right model with
# the same input may differ by rounding, up to 1e-5; leaks are 1e-3 or more. Use no global random state.


# %% exercise="W1.7" role="answer"
def test_no_leak(model_fn) -> None:
    """Accepts a model in which a token moves only later tokens of its own document, in its own row."""
    ### BEGIN SOLUTION
    # Two rows, documents of 1 to 9 tokens, more than three in a row; document 4 goes on in the second row.
    sizes = [(0, 4), (1, 6), (2, 1), (3, 5), (4, 2), (4, 3), (5, 2), (6, 9), (7, 4)]
    flat = torch.tensor([document for document, size in sizes for _ in range(size)])
    doc_id = flat.reshape(2, 18)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, 32, doc_id.shape, generator=generator)
    last = torch.cat([flat[1:] != flat[:-1], torch.tensor([True])])  # each document's last token ...
    tokens[last.reshape(2, 18)] = 0  # ... is its eos
    column = torch.arange(18)
    for training in (True, False):
        before = model_fn(tokens, doc_id, training)  # (2, 18, 32)
        for row, place in (tokens != 0).nonzero().tolist():  # each token but eos, one at a time
            changed = tokens.clone()
            changed[row, place] = 1 + tokens[row, place] % 31  # another token, never eos
            moved = (model_fn(changed, doc_id, training) - before).abs().amax(dim=2) > 1e-4  # (2, 18)
            may_move = torch.zeros_like(moved)
            may_move[row] = (doc_id[row] == doc_id[row, place]) & (column >= place)
            where = (moved & ~may_move).nonzero().tolist()
            assert not where, f"changing row {row}, token {place} moved the logits at {where[:3]}"
            assert moved[row, place], f"changing row {row}, token {place} moved nothing: a blind probe"
    ### END SOLUTION


# %% exercise="W1.7" role="predict"
predict("W1.7", "A test changes one token in row 0 only. Name a leak that it cannot see.", answer=None)

# %% [markdown] exercise="W1.7" role="hint"
# Start with two documents in one row, and one changed token. Then think of a broken model that still passes, and widen
# the test until it fails. Five rounds of that, and you have a good test.

# %% [markdown] exercise="W1.7" role="hint"
# What to vary: which row, which document (the first, one in the middle), which token of it (never the `eos` alone),
# `training` on and off. What to look at: *all* logits that must not move, the earlier ones of the same document too.
# Use documents of different lengths, one of them a lone `eos`.

# %% [markdown] exercise="W1.7" role="hint"
# For each row and each token that is not `eos`: clone the tokens, write another id there, and compute
# `moved = (model_fn(changed, doc_id, training) - before).abs().amax(dim=2) > 1e-4`, shape `(B, T)`. Allowed to move is
# only the same row, the same id, and places from the changed one on. Assert that `moved & ~allowed` is empty, and that
# the changed place itself moved.

# %% [markdown] exercise="W1.7" role="after"
# **What this breaks in real training.** The test is cheap, and it is missing almost everywhere. Where it was written,
# it found things: in one packing code it showed logits of a second document moving by 11.34 when the first changed,
# with positions reset and no mask
# ([DeepOpt-com/WrinkleFree-Monorepo#53](https://github.com/DeepOpt-com/WrinkleFree-Monorepo/issues/53)).
#
# **It happened.** A test that passes can also be empty. A project had a test that its validation set shares no text
# with training; the validation set in that test was empty, so the test also passed on a build that did not validate at
# all ([MakazhanAlpamys/Soup#680](https://github.com/MakazhanAlpamys/Soup/issues/680)). One assertion that there *is*
# something to compare turns a decoration into a test. For your test of leaks, that is: the changed document moves.

# %% [markdown]
# ## What does a leak cost?
#
# Now you can tell a leak from no leak. Does it matter? That depends on the data, and here you can measure it exactly,
# because the corpus has a known floor.
#
# In `RegimeDocs` each document is short (3 to 7 tokens of 16 symbols) and follows one of 24 hidden *regimes*, each with
# its own frequencies. A reader of one document can only guess the regime from the tokens so far; Bayes' rule gives
# the best possible guess, hence the exact **floor** of the loss. No model that keeps to its own document gets below it,
# on average. (V is 17 here: the symbols and `eos`.)

# %% role="show"
for run in (12, 1):
    corpus = RegimeDocs(run=run)
    print(f"run={run}: four neighbors")
    for document in corpus.sample_documents(4, np.random.default_rng(0)):
        print("   ", " ".join(f"{token:2}" for token in document))
floor, unigram, uniform = corpus.target_floor, corpus.target_unigram_entropy, np.log(17)
print(f"nats per counted prediction: floor {floor:.3f}, unigram entropy {unigram:.3f}, ln V {uniform:.3f}")

# %% [markdown]
# The two corpora differ in one thing: who stands next to whom. With `run=12`, twelve neighbors in a row share their
# regime, as in a corpus sorted by source, or cut from the same web site. With `run=1`, neighbors are strangers.
#
# Two models are trained on each packed stream, one with the document mask and one without. Each is validated on new
# documents in two orders: *in order*, as the corpus comes, and *shuffled*. Before you run the next cell, write down
# which of the bars you expect below zero.

# %% role="show"
from lmcourse.experiments.leak import leak_experiment, load_recorded_leak

recorded = {run: load_recorded_leak(run=run) for run in (12, 1)}
gaps = {run: result.gaps for run, result in recorded.items()}
bands = {run: result.bands for run, result in recorded.items()}
caption = (
    f"Mean of {recorded[12].seeds} recorded runs, lines from the smallest to the largest; 0 is the exact floor of a "
    f"document by itself. The unigram entropy stands at {unigram - floor:+.2f}, ln V at {uniform - floor:+.2f}."
)
show_figure(*pictures.leak_figure(gaps, bands), caption)

# %% [markdown]
# Read the left half. Without the mask, validation *in order* lies below the floor. Nothing can beat the floor by
# reading its own document better; the model reads the neighbors, who share the regime. It looks like a better model.
#
# *Shuffled*, the same weights are far above the floor: the model still trusts its neighbors, and they are strangers
# now. In use every prompt comes alone, which is the shuffled case. With the mask, both orders give the same number.
#
# In the right half there is nothing to know from neighbors, and the model learns to leave them alone. The leak is
# there, a test finds it, and it costs next to nothing: the lines of the two models overlap. A mask is no guarantee of
# a lower loss.
#
# All bars with the mask stay a little above zero. The floor is what perfect reading of one document would reach; a
# small model after a short training is not there yet.

# %% [markdown]
# > **Popular answer.** "Attention across documents hurts." Or: "nanochat measured it, masks are useless." Both are
# > half the story. nanochat's log has 0.85427 bits per byte without and 0.85407 with the mask, at a context of 2,048
# > on shuffled web text, and the mask was not merged
# > ([dev log](https://github.com/karpathy/nanochat/blob/master/dev/LOG.md), 2026-01-13). The Llama 3 report masks, and
# > finds it of little effect in ordinary pretraining but important for very long contexts
# > ([arXiv:2407.21783](https://arxiv.org/abs/2407.21783)). A study of pretraining on packed sequences finds that it
# > helps ([arXiv:2402.13991](https://arxiv.org/abs/2402.13991)). Your two panels show how all of them can be right.
# >
# > There is one more reason to mask, and it is not about quality: pairs across documents cost time. Two months after
# > nanochat's log entry, masked attention was proposed there again, since it made the whole run 1.8 % faster
# > ([karpathy/nanochat#663](https://github.com/karpathy/nanochat/issues/663)).

# %% [markdown]
# You can train the two models yourself, here for half as many steps as in the recorded runs, in some 15 seconds.
# Change `seed` or `run`, and see whether the picture holds.

# %% role="play"
mine = leak_experiment(seed=1, run=12, steps=500)
for name, gap in mine.gaps.items():
    print(f"{name:18} {gap:+.3f} nats per token against the floor")

# %% [markdown] exercise="W1.8" role="why"
# **Why.** A number that is too good is the hardest bug to see, since nobody looks for reasons to doubt it. With an exact
# floor you can: below it, something is read that should not be read. In ordinary work you have no floor, and must find
# a validation set whose *order* gives the leak away.
#
# $$\text{gap} = \text{loss} - \text{floor}, \qquad \text{gap} < 0 \text{ is impossible for a reader of one document}$$
#
# **Worked number.** A loss of 2.30 nats per token against a floor of 2.45 is a gap of −0.15. A leak, not a record.

# %% [markdown] exercise="W1.8" role="contract"
# **Contract.** Two variables, `leak` and `revealing_order`.
#
# `leak` is a dictionary of loss minus floor for `run=12`, in nats per token:
#
# | key | validation | training |
# |---|---|---|
# | `in_order_masked` | in order | with the mask |
# | `in_order_unmasked` | in order | without |
# | `shuffled_masked` | shuffled | with the mask |
# | `shuffled_unmasked` | shuffled | without |
#
# Take the numbers from a run of your own (`leak_experiment`) or from the recorded one (`load_recorded_leak`).
#
# `revealing_order` is `"in_order"` or `"shuffled"`. Suppose you do *not* know the floor, and only compare the validation
# losses of the two models. Under which order does the model without mask look worse, so that the leak is revealed?

# %% exercise="W1.8" role="answer"
leak = None
revealing_order = None
### BEGIN SOLUTION
leak = load_recorded_leak(run=12).gaps
# In order, the model without mask has the lower loss and looks better. Only shuffled does it look as bad as it is.
revealing_order = "shuffled"
### END SOLUTION

# %% exercise="W1.8" role="predict"
predict("W1.8", "run=12, in order: which model has the lower loss, with or without the mask?", answer=None)

# %% [markdown] exercise="W1.8" role="hint"
# `load_recorded_leak(run=12).gaps` is a dictionary with exactly these four keys.

# %% [markdown] exercise="W1.8" role="hint"
# Cover the line of the floor in the figure with a finger, and compare the two bars of each order: which order makes
# you prefer the wrong model?

# %% [markdown] exercise="W1.8" role="hint"
# `leak = result.gaps`, where `result` is your own run or the recorded one. The order that reveals the leak is the one
# under which the model without mask has the *higher* loss.

# %% [markdown] exercise="W1.8" role="question"
# **In words** (10 points, read by a person). Your colleague says that masks are useless, nanochat measured it. Answer
# with two conditions under which you would still use one.
#
# A few sentences are enough. For each condition, say what you would expect to see without the mask, and which
# measurement would show it.

# %% [markdown] exercise="W1.8" role="written"
# nanochat's result holds for its setting: shuffled web text, context 2,048, one metric. I would still mask in these
# two.
#
# *Neighbors are related.* If the corpus is sorted (by site, by user, by conversation) or shuffled only in large blocks,
# the model without mask learns to read the neighbors. In our experiment with `run=12` it ends below the floor on
# validation in the same order and well above the masked model on shuffled validation. I would compare the two
# models on shuffled validation documents, or read one document a row.
#
# *Documents are short against the context.* With supervised examples of 200 tokens in rows of 8,192, or in training for
# very long contexts, nearly all that a token can look at is foreign, and prompts in use come alone. I would measure the
# loss per position for documents that are read alone, and the time per step: pairs across documents are most of the
# attention's work, and a kernel that skips them is faster at the same loss.

# %% [markdown] exercise="W1.8" role="after"
# **What this breaks in real training.** Sorted data is the normal case before you shuffle: one file per source, one
# folder per site. A shuffle with a small buffer leaves neighbors together. The loss on a validation set that was made in
# the same way looks excellent.
#
# **It happened.** A user who had packed many unrelated samples into long contexts found the model "super confused"; the
# tool did not separate them ([unslothai/unsloth#1207](https://github.com/unslothai/unsloth/issues/1207)).
#
# Whoever changes the packing also changes what the loss means:
# nanochat's log warns that its new loader lowers the validation loss, that the gain is partly "fake", and that old and
# new numbers must not be compared ([dev log](https://github.com/karpathy/nanochat/blob/master/dev/LOG.md), 2026-01-13).

# %% [markdown]
# ## Quiz
#
# Six questions, no points. Run a cell to see its question. Then add your letter, as in `quiz("W1", 1, "a")`, and run it
# again: each answer is explained, the right one and the wrong ones.

# %% role="play"
quiz("W1", 1)

# %% role="play"
quiz("W1", 2)

# %% role="play"
quiz("W1", 3)

# %% role="play"
quiz("W1", 4)

# %% role="play"
quiz("W1", 5)

# %% role="play"
quiz("W1", 6)

# %% [markdown]
# ## Mistakes seen in the wild
#
# - The last window never drawn, or one window too many:
#   [karpathy/minGPT#31](https://github.com/karpathy/minGPT/issues/31),
#   [karpathy/ng-video-lecture#56](https://github.com/karpathy/ng-video-lecture/issues/56).
# - Windows cut before the split: [HelenGuohx/logbert#57](https://github.com/HelenGuohx/logbert/issues/57),
#   [tongdaxu/EEG_Emotion_Classifier_DEAP#1](https://github.com/tongdaxu/EEG_Emotion_Classifier_DEAP/issues/1).
# - `eos` taken for a wall: [huggingface/trl#805](https://github.com/huggingface/trl/issues/805).
# - Position reset taken for a wall: [huggingface/nanoVLM#204](https://github.com/huggingface/nanoVLM/issues/204),
#   [DeepOpt-com/WrinkleFree-Monorepo#53](https://github.com/DeepOpt-com/WrinkleFree-Monorepo/issues/53).
# - The mask built, then ignored because another mask came along:
#   [huggingface/transformers#46634](https://github.com/huggingface/transformers/issues/46634).
# - Positions by modulo of the row length: [pytorch/torchtitan#2849](https://github.com/pytorch/torchtitan/issues/2849).
# - The last token of a document trained on the first of the next:
#   [pytorch/torchtitan#4075](https://github.com/pytorch/torchtitan/issues/4075).
# - A fill rate reported without what was thrown away: see
#   [nanochat's dev log](https://github.com/karpathy/nanochat/blob/master/dev/LOG.md) of 2026-01-13 for how to report both.
# - A test whose comparison was empty: [MakazhanAlpamys/Soup#680](https://github.com/MakazhanAlpamys/Soup/issues/680).

# %% [markdown]
# ## Summary
#
# - A stream of $N$ tokens has $N - T$ windows. Count training in tokens.
# - Cut validation off as a tail, before any window is drawn.
# - Packing wastes no slot; it cuts documents and puts strangers side by side. Keep `doc_id` with the tokens.
# - Mask: `j <= i` and the same document. `eos` and position reset do not replace it.
# - Positions restart per document. The prediction from an input `eos` does not count; the prediction of `eos` does.
# - First-fit decreasing keeps documents whole. Report the fill rate and what was left out.
# - Test a leak by changing one token: other documents must not move. Prove that the probe works.
# - Below the floor means a leak. In-order validation rewards it, shuffled validation shows it.
#
# **Next week** starts where `keep` ended: what exactly is the loss divided by, when rows, documents and machines hold
# different numbers of predictions?
