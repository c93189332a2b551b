"""Files of lint that are read together."""

from gpuyard_lint.cli.files import read_all
from gpuyard_lint.items import LintInput
from gpuyard_lint.read import read


def reading(files):
    """Lint's reading of texts, by the names of their files."""
    result = LintInput()
    for name, text in files.items():
        result += read(text.encode(), name)
    return result


def read_in(folder, files, paths=(".",)):
    """Lint's reading of a folder with only these files, as the current folder."""
    for removed in sorted(folder.rglob("*"), reverse=True):
        removed.unlink() if removed.is_file() else removed.rmdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    result, _ = read_all(paths)
    return result
