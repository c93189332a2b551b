"""How text, images and commands are taken apart before anything is weighed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.job_classes.signals import IMAGES, PROGRAMS, WORDS, JobClass
from gpuyard_advisor.job_classes.words import (
    executed_commands,
    image_words,
    programs_in,
    subjects,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("train", ("train",)),
        ("fine-tune", ("fine", "tune", "finetune")),
        ("real_time.chat", ("real", "time", "chat", "realtime", "timechat")),
        ("vLLM", ("v", "llm", "vllm")),
        ("JupyterLab", ("jupyter", "lab", "jupyterlab")),
        ("trainee", ("trainee",)),
        ("train2", ("train2",)),
        ("---", ()),
        ("été-train", ("t", "train", "ttrain")),
    ],
)
def test_words_are_what_stands_between_other_signs(text, words):
    assert words_of(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "trainee",
        "constraint",
        "restrain",
        "strainer",
        "services-team",
        "observer",
        "conserve",
        "batches",
        "notebooking",
        "evaluated",
        "simulations-team",
        "predictable",
        "renderer",
    ],
)
def test_words_inside_words_are_in_no_table(text):
    assert not set(words_of(text)) & set(WORDS)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("nginx", {"nginx"}),
        ("nginx:1.27", {"nginx"}),
        ("vllm/vllm-openai:v0.11", {"vllm", "openai"}),
        ("nvcr.io/nvidia/tritonserver:25.01", {"nvidia", "tritonserver"}),
        ("host:5000/a/b:c@sha256:12", {"a", "b"}),
        ("localhost/ollama", {"ollama"}),
        ("", set()),
        (":", set()),
    ],
)
def test_an_image_is_read_without_registry_tag_and_digest(image, words):
    assert words <= set(image_words(image))
    assert not {"nvcr", "io", "5000", "localhost", "sha256", "25", "host"} & set(image_words(image))


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ([], ()),
        (["python", "a.py"], (("python", "a.py"),)),
        (["pip", "install", "vllm"], ()),
        (["env", "A=1", "python", "a.py"], (("python", "a.py"),)),
        (["bash", "-c", "cd x && python a.py"], (("python", "a.py"),)),
        (["bash", "-c", "a; b | c || d & e"], (("a",), ("b",), ("c",), ("d",), ("e",))),
        (["bash", "-c", "(cd x; python a.py)"], (("python", "a.py"),)),
        (["bash", "-c", "python \\\n a.py"], (("python", "a.py"),)),
        (["bash", "-c", "# serve\npython a.py"], (("python", "a.py"),)),
        (["bash", "-c", "python 'a b.py'"], (("python", "a b.py"),)),
        (["bash", "-o", "pipefail", "-c", "python a.py"], (("python", "a.py"),)),
        (["bash", "-euo", "pipefail", "-c", "python a.py"], (("python", "a.py"),)),
        (["bash", "run.sh", "-c", "python a.py"], (("bash", "run.sh", "-c", "python a.py"),)),
        (["tini", "--", "bash", "-lc", "python a.py"], (("python", "a.py"),)),
    ],
)
def test_a_shell_script_is_its_commands_without_preparations(command, found):
    assert executed_commands(command) == found


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        (("vllm", "serve", "model"), ("vllm", "serve", "model")),
        (("/usr/bin/torchrun", "--standalone", "a.py", "vllm"), ("torchrun",)),
        (("python", "-u", "a.py", "vllm"), ("python", "a.py")),
        (("python", "--engine", "vllm"), ("python",)),
        (("python", "--engine=x", "vllm"), ("python", "vllm")),
        (("mpirun", "--oversubscribe", "lmp"), ("mpirun", "lmp")),
    ],
)
def test_programs_stand_before_the_first_script_and_are_no_values_of_flags(command, programs):
    assert programs_in(command)[: len(programs)] == programs
    assert "vllm" not in programs_in(command) or "vllm" in programs


@pytest.mark.parametrize(
    ("command", "about"),
    [
        (("python", "train.py"), ("train.py",)),
        (("python3.11", "-m", "app.serve", "x"), ("app.serve", "x")),
        (("python", "main.py", "train"), ("main.py", "train")),
        (("python", "main.py", "--mode", "train"), ("main.py",)),
        (("uvicorn", "app:api"), ("uvicorn", "app:api")),
        (("python",), ()),
        (("./run", "-x", "serve"), ("run",)),
    ],
)
def test_a_command_is_about_its_program_its_script_and_the_word_after(command, about):
    assert subjects(command) == about


def test_no_word_is_in_a_table_twice_with_different_classes():
    for word in set(WORDS) & set(IMAGES):
        assert WORDS[word] is IMAGES[word]
    for word in set(WORDS) & set(PROGRAMS):
        assert WORDS[word] is PROGRAMS[word]
    named = {*WORDS.values(), *PROGRAMS.values(), *IMAGES.values()}
    assert named == set(JobClass) - {JobClass.OTHER, JobClass.REAL_TIME}


@given(st.text(max_size=60))
def test_any_text_has_words_and_every_word_can_be_looked_up(text):
    for word in (*words_of(text), *image_words(text)):
        assert word
        assert word == word.lower()
        assert word.isascii()


@given(
    st.lists(
        st.text(max_size=12) | st.sampled_from(["sh", "-c", "python", "a.py", "'", ";"]), max_size=6
    )
)
def test_any_command_is_taken_apart(command):
    for one in executed_commands(command):
        assert one
        programs_in(one)
        subjects(one)
