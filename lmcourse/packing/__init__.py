"""From documents to batches: streams, rows, windows, masks, bins and token files."""

from lmcourse.packing.bins import ffd_pack
from lmcourse.packing.masks import document_ids, document_mask, positions_and_loss_mask
from lmcourse.packing.rows import join_documents, pack
from lmcourse.packing.token_file import TokenFile, write_token_file
from lmcourse.packing.windows import sample_windows, split_tail, take_windows

__all__ = [
    "TokenFile",
    "document_ids",
    "document_mask",
    "ffd_pack",
    "join_documents",
    "pack",
    "positions_and_loss_mask",
    "sample_windows",
    "split_tail",
    "take_windows",
    "write_token_file",
]
