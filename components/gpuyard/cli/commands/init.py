"""`gpuyard init`: write a project that `gpuyard check` accepts and `pulumi preview` runs."""

import json
import os
import re
import shlex
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gpuyard.cli.commands.about import installed_version
from gpuyard.cli.shipped import distribution_folder
from gpuyard.cli.views.findings import write_document
from gpuyard_core.errors import EnvironmentMissing, UsageError
from gpuyard_core.local_files import write_file
from gpuyard_core.models.values import NAME_LENGTH
from gpuyard_core.terminal.console import diagnostics, results
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption

_NAME = "my-platform"
"""The name of project and platform in the templates."""
_PLACEHOLDERS = ("my-context", "my-project")
_TEMPLATES = Path(__file__).parents[1] / "templates"
_SHORT = 60
"""Maximum length of a collection on one line of the program."""
_SIMULATED = "export KUBECONFIG=...  # of `python -m gpuyard_simulate up` in a checkout of gpuyard"


class ProjectCloud(StrEnum):
    """Where the platform of a new project runs."""

    AWS = "aws"
    GCP = "gcp"
    NONE = "none"
    SIMULATED = "simulated"


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of the project.")
    ] = Path(),
    cloud: Annotated[
        ProjectCloud,
        typer.Option(
            "--cloud",
            help="aws, gcp: a new cluster. none: a cluster that you have. simulated: fake GPU nodes.",
        ),
    ] = ProjectCloud.NONE,
    library: Annotated[
        bool,
        typer.Option(
            "--library",
            help="Write the platform as typed dictionaries in the program, not in a stack file.",
        ),
    ] = False,
    stack: Annotated[
        str, typer.Option("--stack", metavar="NAME", help="Name of the first stack.")
    ] = "dev",
    generate_only: Annotated[
        bool,
        typer.Option("--generate-only", help="Write the files only; do not create the stack."),
    ] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Write a Pulumi project with one stack. Creates the stack if `pulumi` is on PATH."""
    if not re.fullmatch(r"[\w.-]{1,100}", stack):
        raise UsageError(f"--stack {stack}: write letters, digits, `-`, `_` and `.` only.")
    files = project_files(folder.absolute().name, cloud, stack, library=library)
    if environment := _environment_below(folder):
        runtime = f"{{name: python, options: {{toolchain: pip, virtualenv: {environment}}}}}"
        files["Pulumi.yaml"] = files["Pulumi.yaml"].replace("python", runtime)
    _write(folder, files)
    problem = "" if generate_only else _create_stack(folder, stack)
    created = not (generate_only or problem)
    replace = [
        f"replace {word} in {folder / name}"
        for name, text in files.items()
        for word in _PLACEHOLDERS
        if word in text
    ]
    use = [] if environment or _is_on_path() else [f"source {sys.prefix}/bin/activate"]
    use += [f"cd {shlex.quote(str(folder))}"] if folder != Path() else []
    use += [] if library else [f"gpuyard check {stack}"]
    if cloud is ProjectCloud.SIMULATED:
        use.append(_SIMULATED)
    use += [] if created else [f"pulumi stack init {stack}"]
    use += ["pulumi preview"]
    if format is Format.JSON:
        write_document(
            "init",
            files=[str(folder / name) for name in files],
            stack_created=created,
            problem=problem or None,
            replace=replace,
            use=use,
        )
        return OK
    console = results()
    for name in files:
        console.print(str(folder / name))
    if problem:
        diagnostics().print_wrapped(f"stack {stack} was not created: {problem}", first="! ")
    console.print()
    console.print("next")
    for line in (*replace, *use):
        console.print(line, indent=2)
    return OK


def project_files(folder: str, cloud: ProjectCloud, stack: str, *, library: bool) -> dict[str, str]:
    """The files of a new project by path; the folder's name becomes that of project and platform."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.lower()).lstrip("-0123456789")[:NAME_LENGTH]

    def read(path: str) -> str:
        text = (_TEMPLATES / path).read_text(encoding="utf-8")
        return text.replace(_NAME, name.strip("-") or "gpu")

    stack_file = read(f"stacks/{cloud}.yaml")
    program = (distribution_folder("program") / "__main__.py").read_text(encoding="utf-8")
    if library:
        import yaml

        config = yaml.safe_load(stack_file)["config"]
        program = read("library.txt").replace("SPEC", _python(config.pop("gpuyard:platform")))
        stack_file = yaml.safe_dump({"config": config}) if config else "config: {}\n"
    extra = f"[{cloud}]" if cloud in {ProjectCloud.AWS, ProjectCloud.GCP} else ""
    return {
        ".gitignore": read("gitignore"),
        "Pulumi.yaml": read("Pulumi.yaml"),
        "__main__.py": program,
        "requirements.txt": f"gpuyard{extra}=={installed_version()}\n",
        f"stacks/Pulumi.{stack}.yaml": stack_file,
    }


def _python(value: Any, indent: int = 0) -> str:
    """The value as a Python literal, as a formatter of Python would break its lines."""
    match value:
        case dict():
            items = [f"{json.dumps(k)}: {_python(v, indent + 4)}" for k, v in value.items()]
            opening, closing = "{}"
        case list():
            items = [_python(each, indent + 4) for each in value]
            opening, closing = "[]"
        case str():
            return json.dumps(value)
        case _:
            return repr(value)
    line = f"{opening}{', '.join(items)}{closing}"
    if "\n" not in line and len(line) <= _SHORT:
        return line
    pad = " " * indent
    return opening + "".join(f"\n{pad}    {each}," for each in items) + f"\n{pad}{closing}"


def _write(folder: Path, files: dict[str, str]) -> None:
    present = [name for name in files if (folder / name).exists()]
    if present:
        raise UsageError(
            f"{folder}: has {', '.join(present)}, which `gpuyard init` would overwrite."
            " Nothing was written. Give another folder, or move the files away."
        )
    try:
        (folder / "stacks").mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise UsageError(f"{folder}: can't be created: {(e.strerror or str(e)).lower()}") from None
    for name, text in files.items():
        write_file(folder / name, text)


def _create_stack(folder: Path, stack: str) -> str:
    """Create and select the stack, as `pulumi new` does; returns the reason why it was not created."""
    from gpuyard.recovery.stack import PulumiStack

    try:
        code, said = PulumiStack(stack, folder, os.environ).run("stack", "init")
    except EnvironmentMissing:
        return "no `pulumi` on PATH"
    return " ".join(said.split()) if code else ""


def _environment_below(folder: Path) -> str | None:
    """This virtual environment relative to the project, if the project contains it."""
    here, project = Path(sys.prefix), folder.resolve()
    inside = sys.prefix != sys.base_prefix and here.is_relative_to(project)
    return str(here.relative_to(project)) if inside else None


def _is_on_path() -> bool:
    """Whether `python3` of PATH, with which Pulumi runs the program, is that of this environment."""
    found = shutil.which("python3")
    return sys.prefix == sys.base_prefix or Path(found or "").parent == Path(sys.prefix) / "bin"
