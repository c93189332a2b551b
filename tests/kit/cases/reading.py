"""Files of lint that are read together."""

from gpuyard.cli.commands.linting.files import read_all
from gpuyard.lint.items import LintInput
from gpuyard.lint.read import read


def reading(files):
    """What lint reads of texts, by the names of their files."""
    result = LintInput()
    for name, text in files.items():
        result += read(text.encode(), name)
    return result


def read_in(folder, files, paths=(".",)):
    """What lint reads of a folder that holds these files and no others, its own being the current one."""
    for removed in sorted(folder.rglob("*"), reverse=True):
        removed.unlink() if removed.is_file() else removed.rmdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    result, _ = read_all(paths)
    return result
