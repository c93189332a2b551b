"""Files of lint that are read together."""

from gpuyard.lint.items import FilesRead
from gpuyard.lint.read import read


def reading(files):
    """What lint reads of texts, by the names of their files."""
    found = FilesRead()
    for name, text in files.items():
        found += read(text.encode(), name)
    return found
