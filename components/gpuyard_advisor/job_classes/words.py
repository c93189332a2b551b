"""Words, programs and scripts in names, images and commands.

Text is compared by whole words: `trainee`, `constraint` and `services-team` do not indicate training or
serving. Adjacent words are also compared joined (`fine-tune`, `real-time`).
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpuyard.job_classes.signals import (
    ASSIGNMENT,
    COMMENT,
    IDLE,
    MAX_PIECES,
    MAX_TEXT,
    MPI_LAUNCHERS,
    OPTION,
    PYTHON,
    SCRIPT,
    SEPARATORS,
    SHELLS,
    WRAPPERS,
)

_WORD = re.compile(r"[A-Za-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, then each two adjacent words joined."""
    words = [w.lower() for w in _WORD.findall(_CAMEL.sub(" ", text[:MAX_TEXT]))]
    return (*words, *(a + b for a, b in pairwise(words)))


def image_words(image: str) -> tuple[str, ...]:
    """The words of an image's path, without registry, tag and digest."""
    path = image.partition("@")[0]
    first, slash, rest = path.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        path = rest
    return words_of(path.rpartition(":")[0] or path)


def executed_commands(command: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The simple commands of a container: shell scripts are split, preparation programs left out."""
    results: list[tuple[str, ...]] = []
    for words in _simple_commands(list(command)[:MAX_PIECES]):
        unwrapped = _unwrapped(words)
        if unwrapped and _base(unwrapped[0]) not in IDLE:
            results.append(unwrapped)
    return tuple(results)


def _simple_commands(command: list[str]) -> Iterator[list[str]]:
    script = _shell_script(command)
    if script is None:
        yield command
        return
    simple: list[str] = []
    for word in _shell_words(script):
        if word in SEPARATORS:
            yield simple
            simple = []
        else:
            simple.append(word)
    yield simple


def _shell_script(command: list[str]) -> str | None:
    """The script after `sh -c`, `bash -lc` or `bash -euxc`; None without a shell script."""
    for index, word in enumerate(command[:-1]):
        if _base(word) not in SHELLS:
            continue
        for before, flag, text in zip(
            command[index:], command[index + 1 :], command[index + 2 :], strict=False
        ):
            if not flag.startswith("-") and not OPTION.fullmatch(before):
                break
            if re.fullmatch(r"-[a-z]*c", flag):
                return text
    return None


def _shell_words(script: str) -> list[str]:
    code = COMMENT.sub("", script[:MAX_TEXT])
    lines = code.replace("\\\n", " ").replace("\n", " ; ")
    lexer = shlex.shlex(lines, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an unclosed quote: the words are still useful
        return lines.split()


def _unwrapped(words: list[str]) -> tuple[str, ...]:
    """The command after assignments, flags and wrapper programs."""
    rest = list(words)
    while rest and (
        ASSIGNMENT.fullmatch(rest[0]) or rest[0].startswith("-") or _base(rest[0]) in WRAPPERS
    ):
        rest.pop(0)
    return tuple(rest)


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def programs_in(command: tuple[str, ...]) -> tuple[str, ...]:
    """Base names of possible programs, up to the first script, whose arguments follow.

    Values of long flags are skipped, except after an MPI launcher, whose flags often have no value.
    """
    results: list[str] = []
    launched = _base(command[0]) in MPI_LAUNCHERS
    for before, word in zip(("", *command), command, strict=False):
        takes_value = before.startswith("--") and "=" not in before and not launched
        if word and not word.startswith("-") and not takes_value:
            results.append(_base(word))
        if SCRIPT.fullmatch(word):
            break
    return tuple(results)


def subjects(command: tuple[str, ...]) -> tuple[str, ...]:
    """The relevant words of a command: its program, its script or module, and the word after these.

    Values of flags are skipped: `--data train.csv` and `--model trainee` are no evidence.
    """
    program = _base(command[0])
    after = next((i for i, w in enumerate(command) if i and _runs(command[i - 1], w)), None)
    places = [1] if after is None else [1, after, after + 1]
    words = [command[i] for i in dict.fromkeys(places) if i < len(command)]
    results = [_base(word) for word in words if not word.startswith("-")]
    return tuple(results) if PYTHON.fullmatch(program) else (program, *results)


def _runs(before: str, word: str) -> bool:
    """Whether a word is a module or script that is run."""
    return before == "-m" or SCRIPT.fullmatch(word) is not None
