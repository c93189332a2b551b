"""Files of lint that are read together."""

from gpuyard.cli.commands.linting.files import read_all
from gpuyard.lint.items import FilesRead
from gpuyard.lint.read import read


def reading(files):
    """What lint reads of texts, by the names of their files."""
    found = FilesRead()
    for name, text in files.items():
        found += read(text.encode(), name)
    return found


def read_in(folder, files, paths=(".",)):
    """What lint reads of a folder that holds these files and no others, its own being the current one."""
    for gone in sorted(folder.rglob("*"), reverse=True):
        gone.unlink() if gone.is_file() else gone.rmdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    found, _ = read_all(paths)
    return found
