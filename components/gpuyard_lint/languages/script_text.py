"""The lines of scripts, pipelines, Makefiles and Markdown code blocks as a shell would see them.

Nothing is run. A backslash continues a line, here-documents are omitted, and a variable that is assigned
once to a literal in the same file has that value. Other variables are unknown and become a marker.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpuyard_lint.languages.hcl_values import UNKNOWN_PART

MOST_LETTERS = 16 * 1024
"""Longer lines are not commands."""
LONGEST_LINE = 4 * 1024
"""Longer lines are not searched for folder names: each search takes quadratic time."""
_MOST_DEPTH = 20
_TASKS = frozenset(
    f"{a}askfile{b}.{c}" for a in "Tt" for b in ("", ".dist") for c in ("yml", "yaml")
)
_PIPELINES = ("skaffold.yaml", ".gitlab-ci.yml", "buildspec.yml", "buildspec.yaml", "Jenkinsfile")
_PIPELINE = re.compile(r"(^|/)(\.github/workflows/|cloudbuild|azure-pipelines)[^/]*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([\w-]*)")
_SHELLS = frozenset(
    {
        *("", "bash", "sh", "shell", "zsh", "console", "terminal", "text", "plaintext", "txt"),
        *("shell-session", "shellsession", "sh-session", "makefile", "make", "cmd"),
    }
)
_HEREDOC = re.compile(r"(?<!<)<<-?\s*([\"']?)(\w+)\1(?!<)")
_BEGINS = re.compile(r"(?:function\s+[\w:.-]+\s*(?:\(\s*\))?|[\w:.-]+\s*\(\s*\))\s*\{?\s*$")
_RUNS = re.compile(r"\$\([^()]*\)|`[^`]*`")
_PLACEHOLDER = re.compile(r"\$\{\{[^{}]*\}\}|<[A-Za-z][\w. -]*>|\{\{[^{}]*\}\}")
_VARIABLE = re.compile(
    r"\$\{([A-Za-z_]\w*)(?::?[-=]([^{}]*))?\}|\$([A-Za-z_]\w*)|\$\{[^{}]*\}|\$[0-9@*#?$!]"
)
_ASSIGNED = re.compile(
    r"(?:^|[;&|({]|\b(?:then|else|do|export|readonly|local|typeset|declare(?:[ \t]+-\w+)?)\b)[ \t]*"
    r"([A-Za-z_]\w*)(\+?)=((?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s;&|()\"'])*)([\"'(])?"
)
_LOOPED = re.compile(r"\bfor[ \t]+([A-Za-z_]\w*)\b|\bread[ \t]+(?:-\w+[ \t]+)*([A-Za-z_]\w*)")
_OWN = re.compile(r"[ \t]*(?:local|declare|typeset)\b")
_MAKE = re.compile(
    r"(?:export[ \t]+|override[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*(\+|::?|\?)?=[ \t]*([^#]*)"
)
_JUST = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:=[ \t]*[\"']?([^\"']*)[\"']?[ \t]*")
_TASK = re.compile(r"[ \t]+([A-Za-z_]\w*):[ \t]+[\"']?([^\"'#]*)[\"']?[ \t]*")
_REFERENCES: Mapping[str, re.Pattern[str]] = {
    "make": re.compile(r"\$(\$)|\$\(([\w.-]+)\)"),
    "just": re.compile(r"\{\{()\s*([\w-]+)\s*\}\}"),
    "task": re.compile(r"\{\{()\s*\.(\w+)\s*\}\}"),
}
_BEFORE: Mapping[str, re.Pattern[str]] = {
    "make": re.compile(r"[ \t]*[@+-]*[ \t]*"),
    "just": re.compile(r"[ \t]*[@-]*[ \t]*"),
    "task": re.compile(r"[ \t]*(?:-[ \t]+)?(?:cmd:[ \t]*)?(?:[|>][+-]?[ \t]*$)?"),
    "markdown": re.compile(r"[ \t]*(?:[$>%][ \t]+)?"),
    "pipeline": re.compile(
        r"[ \t]*(?:-[ \t]+)?(?:(?:run|script|bash|inlineScript):[ \t]+)?(?:sh[ (]+)?"
    ),
}
"""Text before a command, by language."""
_ELSEWHERE = frozenset({"HOME", "TMPDIR"})
"""Folders outside any repository."""
_QUOTED = re.compile(r"[\"'\\]")
_SPACES = " \t\r\n"
_WORD = re.compile(rf"""[;&|()<>]+|(?:[^{_SPACES};&|()<>"']+|"[^"]*"|'[^']*')+""")
_QUOTES = re.compile(r""""([^"]*)"|'([^']*)'""")
_SPLITS = frozenset(";&|()")
_TURNS = frozenset("<>")


@dataclass(slots=True)
class _Variables:
    """The assignments of a file, by function and name; 0 is no function."""

    raw: dict[tuple[int, str], set[str]] = field(default_factory=dict[tuple[int, str], set[str]])
    shared: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    """By name: the functions that assign it globally."""
    known: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    asked: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def assign(self, scope: int, name: str, value: str, *, own: bool = False) -> None:
        name = _name(name)
        self.raw.setdefault((scope, name), set()).add(value)
        self.shared.setdefault(name, set()).update(() if own else (scope,))

    def expanded(self, text: str, scope: int) -> str:
        """The text with every known variable; with a marker for the others."""
        result, length = list[str](), 0
        at = 0
        for each in _VARIABLE.finditer(text):
            value = self._value(each[1] or each[3] or "", each[2], scope)
            result += [text[at : each.start()], value]
            at = each.end()
            length += len(value)
            if length > MOST_LETTERS:
                return UNKNOWN_PART
        return "".join([*result, text[at:]])

    def _value(self, name: str, default: str | None, scope: int) -> str:
        key = self._key(name, scope)
        if key is None and name in _ELSEWHERE and name not in self.shared:
            return "~"
        if key is None or key in self.asked or len(self.asked) > _MOST_DEPTH:
            # a default applies if nothing else assigns a value, as in V=${V:-v1}
            another = key is None and name in self.shared
            return UNKNOWN_PART if default is None or "$" in default or another else default
        if key not in self.known:
            self.asked.append(key)
            (value,) = self.raw[key]
            self.known[key] = self.expanded(value, key[0])
            self.asked.pop()
        return self.known[key]

    def _key(self, name: str, scope: int) -> tuple[int, str] | None:
        """The value if it is assigned exactly once."""
        where = scope if (scope, name) in self.raw else 0
        result = self.raw.get((where, name), set())
        elsewhere = self.shared.get(name, set()) - {scope, where}
        once = len(result) == 1 and (where or not elsewhere)
        return (where, name) if once else None


@dataclass(slots=True)
class Script:
    """Lines as written, with their function."""

    kind: str
    scoped_lines: list[tuple[int, str]]
    _variables: _Variables | None = None

    def _expanded(self, word: str, scope: int) -> str:
        """A word with the values of variables, which are searched in the whole file when one occurs."""
        if "$" not in word:
            return word
        if self._variables is None:
            self._variables = _Variables()
            for within, line in self.scoped_lines:
                _assign(self._variables, within, line, self.kind)
        return self._variables.expanded(word, scope)

    def commands(self, scope: int, line: str) -> Iterator[list[str]]:
        """The commands of a line, each as its words; none of a line with an open quote."""
        command: list[str] = []
        turned = False
        for word in _line_words(_clean(line, self.kind)):
            if word and set(word) <= _SPLITS:
                yield from [command] if command else []
                command = []
            elif word and word[0] in _TURNS:
                turned = True  # the next word is the file that it reads or writes
                continue
            elif not turned:
                command.append(self._expanded(word, scope))
            turned = False
        yield from [command] if command else []


def read_script(text: str, file: str) -> Script:
    """The type by file name: a Makefile, a justfile, a Taskfile, Markdown, else a shell script."""
    kind = kind_of(file)
    scoped = _scoped(_without_heredocs(_joined(text, kind)), kind)
    return Script(kind, [each for each in scoped if len(each[1]) <= MOST_LETTERS])


def is_documentation(file: str) -> bool:
    """Whether a file is a document, in which commands are examples."""
    return file.endswith((".md", ".markdown")) or posixpath.basename(file) == "README"


def is_pipeline(file: str) -> bool:
    """Whether a file configures a pipeline."""
    return posixpath.basename(file) in _PIPELINES or _PIPELINE.search(file) is not None


def kind_of(file: str) -> str:
    """The language of a file, by its name."""
    name = posixpath.basename(file)
    if is_documentation(name):
        return "markdown"
    if name.lower() in {"makefile", "gnumakefile"} or name.endswith(".mk"):
        return "make"
    if name.lower() in {"justfile", ".justfile"}:
        return "just"
    if is_pipeline(file):
        return "pipeline"
    return "task" if name in _TASKS else "shell"


def _joined(text: str, kind: str) -> Iterator[str]:
    """Lines joined at a backslash."""
    begun: list[str] = []
    fence = ""
    open_ = kind != "markdown"
    for line in text.splitlines():
        if kind == "markdown" and (match := _FENCE.match(line)):
            if not fence:
                fence, open_ = match[1], match[2].lower() in _SHELLS
            elif match[1].startswith(fence):
                fence, open_ = "", False
            begun = []
            continue
        if not open_:
            continue
        bare = line.rstrip()
        if bare.endswith("\\") and not bare.lstrip().startswith("#"):
            begun.append(bare[:-1])
            continue
        yield " ".join([*begun, line]) if begun else line
        begun = []
    if begun:
        yield " ".join(begun)


def _without_heredocs(lines: Iterator[str]) -> Iterator[str]:
    """Text passed to a program is no command; one without an end has none."""
    every = list(lines)
    last = {line.strip(): number for number, line in enumerate(every)}
    ends = ""
    for number, line in enumerate(every):
        if ends:
            ends = "" if line.strip() == ends else ends
            continue
        if "<<" in line and (match := _HEREDOC.search(line)) and last.get(match[2], -1) > number:
            ends = match[2]
        yield line


def _scoped(lines: Iterator[str], kind: str) -> Iterator[tuple[int, str]]:
    """With the number of each line's function."""
    scope, function_count, end = 0, 0, ""
    for line in lines:
        if kind == "shell" and not scope and _BEGINS.match(line):
            function_count += 1
            scope, end = function_count, "}"
        yield scope, line
        if scope and line.startswith(end):
            scope = 0


_NAMED = {"make": _MAKE, "just": _JUST, "task": _TASK}


def _clean(line: str, kind: str) -> str:
    """A line in shell syntax."""
    if kind in _BEFORE and (before := _BEFORE[kind].match(line)):
        line = line[before.end() :]
    if kind in {"task", "pipeline"} and line[:1] in {'"', "'"} and line.rstrip()[-1:] == line[0]:
        line = line.strip()[1:-1]
    return _closed(_referred(line, kind))


def _referred(line: str, kind: str) -> str:
    """References to variables in shell syntax."""
    if kind not in _REFERENCES:
        return line
    return _REFERENCES[kind].sub(lambda m: "$" if m[1] else f"${{{_name(m[2])}}}", line)


def _closed(line: str) -> str:
    """Output of other programs, and placeholders for readers, as unknown."""
    for _ in range(5):
        if "$(" not in line and "`" not in line:
            break
        line = _RUNS.sub(UNKNOWN_PART, line)
    head, goes_on, _ = line.partition("$(")
    line = f"{head}{UNKNOWN_PART}" if goes_on else line
    return _PLACEHOLDER.sub(UNKNOWN_PART, line) if "<" in line or "{{" in line else line


def _name(name: str) -> str:
    return name.replace("-", "_").replace(".", "_")


def _assign(variables: _Variables, scope: int, line: str, kind: str) -> None:
    if kind in _NAMED and (named := _NAMED[kind].match(line)):
        more = kind == "make" and named[2] == "+"
        value = UNKNOWN_PART if more else _closed(_referred(named[named.re.groups].strip(), kind))
        variables.assign(0, named[1], value)
        return
    if "=" in line:
        line = _clean(line, kind)
        own = _OWN.match(line) is not None
        for each in _ASSIGNED.finditer(line):
            value = UNKNOWN_PART if each[2] or each[4] else _unquoted(each[3])
            variables.assign(scope, each[1], value, own=own)
    for each in _LOOPED.finditer(line) if "for" in line or "read" in line else ():
        variables.assign(scope, each[1] or each[2], UNKNOWN_PART)


def _unquoted(word: str) -> str:
    if not _QUOTED.search(word):
        return word  # most lines, because the tokenizer is slow
    if word[0] == word[-1] and len(word) > 1 and not _QUOTED.search(word[1:-1]):
        return word[1:-1]
    result = _line_words(word)
    return "".join(result) if result else UNKNOWN_PART


def _line_words(line: str) -> list[str]:
    for text in (line, re.split(r"(?:^|\s)#", line, maxsplit=1)[0]):
        try:
            result = split_words(text)
        except ValueError:
            continue  # an open quote, perhaps in a comment
        return result[: next((i for i, w in enumerate(result) if w.startswith("#")), len(result))]
    return []


def split_words(line: str) -> list[str]:
    """Words and operators between commands in shell syntax; ValueError for an open quote."""
    if "\\" not in line:  # most lines, because `shlex` reads one character at a time
        result = _WORD.findall(line)
        if _WORD.sub("", line).strip(_SPACES):
            raise ValueError("No closing quotation")
        return [_QUOTES.sub(r"\1\2", word) for word in result]
    reader = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>")
    reader.whitespace_split = True
    reader.commenters = ""
    return list(reader)
