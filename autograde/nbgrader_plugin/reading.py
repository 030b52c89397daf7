"""Read what students hand in as generously as `autograde grade` does."""

from __future__ import annotations

from pathlib import Path

from nbconvert.exporters import NotebookExporter

from lmcourse.handin.read import read_notebook


class GenerousExporter(NotebookExporter):
    """nbgrader's exporter, except that other encodings, formats and missing cell ids are read, too.

    Raises:
        CourseError: the file is no notebook at all; nbgrader then goes on with the next submission.
    """

    def from_file(self, file_stream, resources=None, **kw):
        notebook = read_notebook(file_stream.buffer.read(), Path(file_stream.name).name)
        return self.from_notebook_node(notebook, resources=resources, **kw)
