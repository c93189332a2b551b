"""Words and programs that indicate a job's class, and the tokenisation of text.

Text is compared by whole words: `trainee`, `constraint` and `services-team` do not indicate training or
serving. Adjacent words are also compared joined (`fine-tune`, `real-time`).
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise


class JobClass(StrEnum):
    """A workload class. The order decides between equal evidence."""

    TRAINING = "training"
    HPC = "hpc"
    BATCH = "batch"
    INFERENCE = "inference"
    REAL_TIME = "real-time-inference"
    NOTEBOOK = "notebook"
    OTHER = "other"


def _table(rows: Mapping[JobClass, str]) -> dict[str, JobClass]:
    return {word: job_class for job_class, words in rows.items() for word in words.split()}


WORDS: Mapping[str, JobClass] = _table({
    JobClass.TRAINING: "train training trainer pretrain pretraining retrain retraining finetune"
    " finetuning finetuner sft dpo grpo rlhf lora qlora distill distillation horovod",
    JobClass.HPC: "hpc mpi cfd simulation gromacs lammps namd openfoam vasp relion nwchem cp2k hpl hpcg",
    JobClass.BATCH: "batch etl preprocess preprocessing postprocess convert export transcode"
    " transcoding render rendering offline nightly backfill evaluate evaluation eval benchmark"
    " extract extraction",
    JobClass.INFERENCE: "inference infer serve serving predict predictor prediction vllm sglang triton"
    " tritonserver tgi ollama trtllm torchserve llamacpp kserve embedder reranker",
    JobClass.NOTEBOOK: "jupyter jupyterlab notebook notebooks rstudio codeserver vscode marimo",
})  # fmt: skip
"""Words in names, labels and script names."""

PROGRAMS: Mapping[str, JobClass] = _table({
    JobClass.TRAINING: "torchrun deepspeed accelerate horovodrun axolotl torchtune llamafactory-cli"
    " composer torch.distributed.run torch.distributed.launch torch.distributed.elastic",
    JobClass.HPC: "gmx gmx_mpi lmp namd2 namd3 simpleFoam pimpleFoam vasp_std vasp_gpu xhpl hpcg pmemd.cuda"
    " relion_refine_mpi all_reduce_perf nwchem cp2k.psmp pw.x",
    JobClass.BATCH: "papermill nbconvert ffmpeg blender spark-submit dask-worker snakemake nextflow",
    JobClass.INFERENCE: "vllm sglang tritonserver text-generation-launcher text-embeddings-router"
    " trtllm-serve ollama llama-server torchserve lmdeploy bentoml uvicorn gunicorn",
    JobClass.NOTEBOOK: "jupyter jupyter-lab jupyter-notebook jupyterhub-singleuser start-notebook.sh"
    " start-notebook.py start-singleuser.sh rstudio-server rserver code-server marimo",
})  # fmt: skip
"""Programs that do one kind of work."""

MPI_LAUNCHERS = frozenset({"mpirun", "mpiexec", "srun", "orterun"})
"""They start training as well as simulations, so they have a small weight."""

IMAGES: Mapping[str, JobClass] = _table({
    JobClass.HPC: "gromacs lammps namd openfoam relion vasp",
    JobClass.INFERENCE: "vllm sglang tritonserver tgi ollama torchserve llamacpp lmdeploy",
    JobClass.NOTEBOOK: "jupyter jupyterlab notebook rstudio codeserver",
})  # fmt: skip
"""Words in image names that indicate the purpose of the image."""

LATENCY_SENSITIVE_WORDS = frozenset({
    "realtime", "online", "latency", "lowlatency", "streaming", "interactive", "chat", "chatbot", "voice",
})  # fmt: skip
"""Words that indicate interactive requests."""
NOT_WAITING = frozenset(
    {"offline", "async", "asynchronous", "batch", "worker", "consumer", "queue"}
)

_WORD = re.compile(r"[A-Za-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
MAX_TEXT = 4000
MAX_PIECES = 200


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


OPTION = re.compile(r"-[a-z]*o")
"""A shell's flag that has a value: `-o pipefail`, `-eo pipefail`."""
SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
WRAPPERS = frozenset({
    "exec", "sudo", "time", "nohup", "numactl", "nice", "env", "tini", "dumb-init", "stdbuf", "timeout",
    "nsys", "uv", "poetry", "conda", "run",
})  # fmt: skip
"""Programs that only start another program."""
PYTHON = re.compile(r"(python|pypy)[0-9.]*|ipython")
IDLE = frozenset({
    "pip", "pip3", "apt", "apt-get", "apk", "yum", "dnf", "mamba", "git", "echo", "printf", "cd", "mkdir",
    "export",
    "set", "source", "sleep", "wget", "curl", "ls", "cat", "cp", "mv", "rm", "chmod", "chown", "ln",
    "tar", "unzip",
    "test", "true", "false", "nvidia-smi", "aws", "gsutil", "gcloud",
})  # fmt: skip
"""Preparation programs, whose arguments are no evidence."""
SCRIPT = re.compile(r"[^-].*\.(py|sh|jl|R|ipynb|pl)")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
SEPARATORS = frozenset(
    {";", "&&", "||", "|", "&", "\n", "(", ")", "then", "do", "else", "fi", "done"}
)


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
