"""From documents to batches: streams, rows, windows, masks, bins and token files."""

from lmcourse.packing.batch import Batch, document_batch, plain_batch
from lmcourse.packing.bins import best_fit_pack, ffd_pack
from lmcourse.packing.masks import document_ids, document_mask, positions_and_loss_mask
from lmcourse.packing.row_index import PADDING, consecutive_rows, document_rows
from lmcourse.packing.row_pages import RowPages
from lmcourse.packing.rows import join_documents, pack
from lmcourse.packing.token_file import TokenFile, TokenStream
from lmcourse.packing.token_writer import TokenFileWriter, write_token_file
from lmcourse.packing.windows import sample_places, sample_windows, split_tail, take_rows

__all__ = [
    "PADDING",
    "Batch",
    "RowPages",
    "TokenFile",
    "TokenFileWriter",
    "TokenStream",
    "best_fit_pack",
    "consecutive_rows",
    "document_batch",
    "document_ids",
    "document_mask",
    "document_rows",
    "ffd_pack",
    "join_documents",
    "pack",
    "plain_batch",
    "positions_and_loss_mask",
    "sample_places",
    "sample_windows",
    "split_tail",
    "take_rows",
    "write_token_file",
]
