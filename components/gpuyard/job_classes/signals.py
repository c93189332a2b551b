"""Words and programs that indicate a job's class, and the forms of commands."""

import re
from collections.abc import Mapping
from enum import StrEnum


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

MAX_TEXT = 4000
MAX_PIECES = 200


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
