"""What reaches a terminal: width, colour, and text that stays text."""

import io
import sys

import pytest
from rich.text import Text

from gpuyard_core.terminal import console as screen
from gpuyard_core.terminal.console import Column, table
from gpuyard_core.terminal.text import clean, pluralize, wrap
from kit.stacks import cut_pool, platform, pool, shared_pool, team

STACK = platform(
    [pool(zones=["a"]), cut_pool(), shared_pool(labels={"example.com/rack": "r1"})],
    [team(guarantee={"train": 8, "serve/3g.20gb": 2}, borrow={"dev/shared": 4})],
    cloud="aws",
)
REFUSED = platform([pool(machine="p9"), cut_pool(sharing={"mig": {"1g.10gb": 4, "1g.5gb": 3}})])
COMMANDS = {
    "check": ("check", REFUSED),
    "plan": ("plan", STACK),
    "plan -v": ("plan", STACK, "--verbose"),
    "cost": ("cost", STACK),
}


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def shown(monkeypatch, tty=True, **env):
    """A console on a stream of this kind, and the stream."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if tty else io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    return screen.results(), stream


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("command", ["check", "cost", "plan"])
def test_sentences_are_wrapped_at_the_width_there_is(
    gpuyard, write, monkeypatch, tmp_path, command, columns
):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(tmp_path)
    name, raw, *more = COMMANDS[command]
    write(raw)
    text = gpuyard(name, "stack.yaml", *more).out
    # Tables and words that are too long run over the edge rather than being cut off.
    sentences = [
        line for line in text.splitlines() if len(line) > columns and "  " not in line.strip()
    ]
    assert [line for line in sentences if " " in line.strip()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_narrow_terminal_shows_every_word_a_wide_one_shows(gpuyard, write, monkeypatch, command):
    name, raw, *more = COMMANDS[command]
    path = write(raw)
    words = {}
    for columns in ("100", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        words[columns] = "".join(gpuyard(name, path, *more).out.split())
    assert sorted(words["40"]) == sorted(words["100"])


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_ends_in_blanks_and_no_escape_is_in_a_pipe(gpuyard, write, command):
    name, raw, *more = COMMANDS[command]
    text = gpuyard(name, write(raw), *more).out
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        ("0", 40),
        ("39", 40),
        ("41", 41),
        ("100", 100),
        ("101", 100),
        ("99999", 100),
        ("123456", 80),
        ("-5", 80),
        ("٩٩", 80),
        ("8e1", 80),
    ],
)
def test_the_width_of_a_pipe_is_what_columns_says_within_reason(monkeypatch, columns, width):
    assert shown(monkeypatch, tty=False, COLUMNS=columns)[0].width == width


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "unknown"}, False),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "false"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_a_terminal_gets_colour_unless_somebody_says_no(monkeypatch, env, coloured):
    console, stream = shown(monkeypatch, **{"TERM": "xterm-256color", **env})
    console.print(("error", "bold red"), " x")
    assert ("\x1b[" in stream.getvalue()) is coloured
    assert "error" in stream.getvalue()
    assert " x\n" in stream.getvalue()


def test_markup_emoji_and_escapes_in_a_text_are_shown_as_they_are(monkeypatch):
    console, stream = shown(monkeypatch, tty=False)
    console.print("[red]x[/red] :smile: \x1b[31m\u202e https://x.example/")
    assert stream.getvalue() == "[red]x[/red] :smile: \\x1b[31m\\u202e https://x.example/\n"


@pytest.mark.parametrize(
    ("text", "shown_as"),
    [
        ("::error file=a::b", "\\x3a:error file=a::b"),
        ("  ::add-mask::b", "  \\x3a:add-mask::b"),
        ("a ##[add-mask]b", "a #\\x23[add-mask]b"),
        ("a ##vso[task.x]b", "a #\\x23vso[task.x]b"),
        ("::/0 and ::1", "::/0 and ::1"),
        ("a ::error::b", "a ::error::b"),
        ("## Title", "## Title"),
    ],
)
def test_a_command_of_a_pipeline_is_shown_and_not_run(monkeypatch, text, shown_as):
    console, stream = shown(monkeypatch, tty=False)
    console.print(text)
    assert stream.getvalue() == f"{shown_as}\n"


def test_a_cell_is_cleaned_and_may_have_lines(monkeypatch):
    console, stream = shown(monkeypatch, tty=False)
    console.show(table([Column("a"), Column("b", "right")], [(("x\x07", "[b]y"), "1")]))
    assert stream.getvalue() == "  a      b\n  x\\x07  1\n  [b]y\n"


def test_a_long_name_is_folded_and_a_number_never(monkeypatch):
    console, stream = shown(monkeypatch, tty=False, COLUMNS="40")
    name = "a-name-of-twenty-seven-char"
    console.show(table([Column("n", name=True), Column("$", "right")], [(name, "1" * 30)]))
    lines = stream.getvalue().splitlines()
    assert "1" * 30 in lines[1]
    assert "".join(line.split()[0] for line in lines[1:]) == name


def test_a_column_that_wraps_gives_way_first(monkeypatch):
    console, stream = shown(monkeypatch, tty=False, COLUMNS="40")
    note = "many words that have to go on below"
    console.show(table([Column("n"), Column("note", wraps=True)], [("a" * 20, note)]))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines[1:]).split()[1:]) == note


def test_a_told_text_hangs_below_its_first_word(monkeypatch):
    console, stream = shown(monkeypatch, tty=False, COLUMNS="40")
    console.print_wrapped("one two three four five six seven eight", first="warning ", indent=2)
    assert stream.getvalue().splitlines() == [
        "  warning one two three four five six",
        "          seven eight",
    ]


def test_a_console_without_a_reader_is_quiet_from_then_on(monkeypatch):
    class Gone(io.StringIO):
        writes = 0

        def write(self, _: str) -> int:
            self.writes += 1
            raise BrokenPipeError(32, "Broken pipe")

    stream = Gone()
    monkeypatch.setattr(sys, "stdout", stream)
    console = screen.results()
    console.print("first")
    console.print("second")
    console.show(table([Column("a")], [("third",)]))
    assert stream.writes == 1
    assert console.quiet is True


@pytest.mark.parametrize("coloured", [False, True])
def test_a_reader_may_leave_before_a_table(monkeypatch, coloured):
    class Gone(Terminal):
        def write(self, _: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", Gone())
    console = screen.Console(sys.stdout, coloured=coloured)
    console.show(table([Column("a")], [("first",)]))
    assert console.quiet is True
    console.print("second")


@pytest.mark.parametrize(("columns", "width"), [(None, 80), ("50", 50), ("7", 40), ("300", 100)])
def test_a_terminal_is_as_wide_as_it_says_within_reason(monkeypatch, columns, width):
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (_ for _ in ()).throw(OSError))
    assert shown(monkeypatch)[0].width == width


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 80, [""]),
        ("a b", 80, ["a b"]),
        ("x" * 90, 80, ["x" * 90]),
        ("see " + "/long/path" * 5, 30, ["see", "/long/path" * 5]),
        ("well-known words-of-two " * 2, 24, ["well-known words-of-two"] * 2),
        ("twenty is the least there is", 1, ["twenty is the least", "there is"]),
    ],
)
def test_a_word_stays_whole_when_a_text_is_wrapped(text, width, lines):
    assert wrap(text, width) == lines


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain ü 東", "plain ü 東"),
        ("tab\tnew\nline", "tab\\tnew\\nline"),
        ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
        ("a\u2028b\ufeff", "a\\u2028b\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_could_drive_a_terminal_is_shown_as_its_code(text, safe):
    assert clean(text) == safe
    assert Text(clean(text)).plain == safe


def test_one_is_one_and_more_are_many():
    assert [pluralize(n, "pool") for n in (0, 1, 2, 1200)] == [
        "0 pools",
        "1 pool",
        "2 pools",
        "1,200 pools",
    ]
    assert [pluralize(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


def test_no_empty_line_stands_before_the_first_word():
    stream = io.StringIO()
    console = screen.Console(stream)
    console.title("Pools", "all of them")
    console.title("Teams")
    assert stream.getvalue() == "Pools  all of them\n\nTeams\n"


def test_a_table_is_something_to_leave_a_line_after():
    stream = io.StringIO()
    console = screen.Console(stream)
    console.show(table([Column("a")], [("1",)], indent=0))
    console.title("Teams")
    assert stream.getvalue().endswith("1\n\nTeams\n")
