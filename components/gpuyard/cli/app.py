"""The commands. Each reads its arguments here and does its work in a module of its own.

Those modules are imported by the command that needs them: a command that only answers a question about MIG
does not load the models of the stack file, and none loads Pulumi.
"""

from collections.abc import Sequence
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from gpuyard.advice.offers.scores import OfferPurpose
from gpuyard.catalogue.machines import Capacity
from gpuyard.errors import UsageError
from gpuyard.findings import Severity


class Format(StrEnum):
    """How a result is written."""

    TEXT = "text"
    JSON = "json"


class CatalogueCloud(StrEnum):
    """A cloud with machines in the catalogue."""

    AWS = "aws"
    GCP = "gcp"


class CostFormat(StrEnum):
    """How a bill is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class LintFormat(StrEnum):
    """How what the rules say is written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


def _complete_stacks(incomplete: str) -> list[str]:
    from gpuyard.cli.stacks import stack_names, stacks_folder

    return [name for name in stack_names(stacks_folder(Path.cwd())) if name.startswith(incomplete)]


StackArgument = Annotated[
    str,
    typer.Argument(
        metavar="STACK",
        help="A stack's name in `stacks/`, or the path of a stack file.",
        autocompletion=_complete_stacks,
        show_default=False,
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to write the result.")]
CostFormatOption = Annotated[CostFormat, typer.Option("--format", help="How to write the result.")]

_HELP = """From one typed stack file to a proved GPU platform on Kubernetes.

Exit codes: 0 fine, 1 a fault of ours, 2 wrong usage or a file that can't be read, 3 findings at or above
--fail-on, 4 the environment lacks something, 130 interrupted.
"""


def build_app(args: Sequence[str]) -> typer.Typer:
    """The application; `pack` and `sim` are loaded only when asked for, or when the commands are listed."""
    app = typer.Typer(
        help=_HELP,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    commands = (
        check,
        plan,
        cost,
        offers,
        mig,
        classify,
        explain,
        lint,
        render,
        get,
        schema,
        version,
    )
    for command in commands:
        app.command()(command)
    asked = args[0] if args else "--help"
    if asked in {"pack", "-h", "--help"}:
        from gpuyard.cli.commands import pack

        app.add_typer(pack.app, name="pack")
    if asked in {"sim", "-h", "--help"} and find_spec("gpuyard.cli.commands.sim") is not None:
        from gpuyard.cli.commands import sim

        app.add_typer(sim.app, name="sim")
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        from gpuyard.cli.commands.about import show_version

        show_version(as_document=False)
        raise typer.Exit


def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and end.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


def check(
    stack: StackArgument,
    fail_on: Annotated[
        Severity, typer.Option(help="The least finding that ends with exit code 3.")
    ] = Severity.REFUSE,
    against: Annotated[
        str | None, typer.Option(metavar="STATE.json", help="Not served yet.", show_default=False)
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Prove a stack. Every finding comes with its place, the numbers, what is allowed and the nearest fix."""
    from gpuyard.cli.commands.check import check_stack

    if against is not None:
        raise UsageError(
            "--against is not served yet: nothing of today compares a plan with a state. Leave it out;"
            " `pulumi preview` shows what would be replaced."
        )
    return check_stack(stack, fail_on, as_document=format is Format.JSON)


def plan(
    stack: StackArgument,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also labels, taints and zones.")
    ] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002
) -> int:
    """Show the derived platform. Pools, nodes, teams, queues, shapes, bill."""
    from gpuyard.cli.commands.derive import plan_stack

    return plan_stack(stack, verbose=verbose, as_document=format is Format.JSON)


def cost(
    stack: StackArgument,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="STACK", help="Show what changes from this stack.", show_default=False
        ),
    ] = None,
    format: CostFormatOption = CostFormat.TEXT,  # noqa: A002
) -> int:
    """Show the bill. Floor, expected, worst; by pool, team and unit; or what changes from another stack."""
    from gpuyard.cli.commands.derive import cost_changes, cost_of

    if against is None:
        return cost_of(stack, format.value)
    return cost_changes(against, stack, format.value)


def offers(
    gpu: Annotated[
        str | None,
        typer.Option(
            metavar="GPU",
            help="With this GPU, by any usual name: A100-40GB, H100.",
            show_default=False,
        ),
    ] = None,
    memory_gib: Annotated[
        int | None,
        typer.Option(
            metavar="GIB", min=1, help="With at least so much memory per GPU.", show_default=False
        ),
    ] = None,
    cloud: Annotated[
        CatalogueCloud | None, typer.Option(help="Of this cloud.", show_default=False)
    ] = None,
    capacity: Annotated[
        Capacity | None,
        typer.Option(help="Sold this way, and priced this way.", show_default=False),
    ] = None,
    gpus: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="With at least so many GPUs in a node.", show_default=False
        ),
    ] = None,
    workload: Annotated[
        OfferPurpose, typer.Option(help="What to rank for.")
    ] = OfferPurpose.GENERAL,
    format: FormatOption = Format.TEXT,  # noqa: A002
) -> int:
    """Rank the machines that fit. From the catalogue, by documented scores, each with its parts."""
    from gpuyard.advice.offers.offers import OfferWish
    from gpuyard.cli.commands.offers import show_offers, wanted_gpu

    wish = OfferWish(
        workload=workload,
        gpu=None if gpu is None else wanted_gpu(gpu),
        memory_gib=memory_gib,
        cloud=None if cloud is None else cloud.value,
        capacity=capacity,
        gpus=gpus,
    )
    return show_offers(wish, as_document=format is Format.JSON)


def mig(
    gpu: Annotated[
        str,
        typer.Argument(
            metavar="GPU", help="A GPU by any usual name: A100-40GB, H100.", show_default=False
        ),
    ],
    layout: Annotated[
        str | None,
        typer.Argument(
            metavar="[LAYOUT]",
            help="For example 1g.5gb:2,3g.20gb:1. Without it: the profiles.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[
        bool, typer.Option("--count", help="Count the legal, non-empty layouts.")
    ] = False,
    media: Annotated[
        bool, typer.Option("--media", help="With the media and graphics variants of profiles.")
    ] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002
) -> int:
    """Say how a GPU can be cut. Its profiles; whether a layout is legal, and where each slice sits."""
    from gpuyard.cli.commands import mig as answers

    as_document = format is Format.JSON
    if count and layout is not None:
        raise UsageError("--count counts all layouts of a GPU; leave out the layout, or --count.")
    if count:
        return answers.count(gpu, media=media, as_document=as_document)
    if layout is None:
        return answers.profiles(gpu, media=media, as_document=as_document)
    return answers.judge(gpu, layout, as_document=as_document)


def classify(
    job: Annotated[
        str,
        typer.Argument(
            metavar="JOB",
            help="A file with Kubernetes workloads, or - for standard input.",
            show_default=False,
        ),
    ],
    format: FormatOption = Format.TEXT,  # noqa: A002
) -> int:
    """Say what kind of work a job is. Its class, queue, sharing and priority, and the evidence."""
    from gpuyard.cli.commands.classify import classify_file

    return classify_file(job, as_document=format is Format.JSON)


def explain(
    stack: StackArgument,
    job: Annotated[
        str,
        typer.Argument(
            metavar="JOB",
            help="A file with Kubernetes workloads, or - for standard input.",
            show_default=False,
        ),
    ],
    team: Annotated[
        str | None,
        typer.Option(
            metavar="TEAM",
            help="Whose jobs they are, when they name no namespace.",
            show_default=False,
        ),
    ] = None,
    running: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="What runs already; without it, nothing does. Manifests, lines of your own, or"
            " `kubectl get pods,workloads,nodes -A -o json`.",
            show_default=False,
        ),
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Not served yet.")] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002
) -> int:
    """Say whether a job would start. Where, on what condition, at whose expense; or why never."""
    from gpuyard.cli.commands.explain import explain_file

    if live:
        raise UsageError(
            "--live is not served yet: nothing of today asks a cluster. Give its answer in a file:"
            " kubectl get pods,workloads,nodes -A -o json >now.json, then --running now.json."
        )
    return explain_file(stack, job, team=team, running=running, as_document=format is Format.JSON)


def lint(  # noqa: PLR0913, PLR0917  an option is a parameter
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH…",
            help="Files, folders, patterns, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        Severity, typer.Option(help="The least severity that ends with exit code 3.")
    ] = Severity.REFUSE,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Levels, parameters and exceptions of rules, as YAML."),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="STACK",
            help="Also the levels and exceptions of a stack's `policies`.",
            autocompletion=_complete_stacks,
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What is known already and does not count."),
    ] = None,
    write_baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take down what is open now, for --baseline."),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List every rule instead.")] = False,
    explain: Annotated[
        str | None, typer.Option(metavar="ID", help="Show all about one rule instead.")
    ] = None,
    format: Annotated[LintFormat, typer.Option(help="How to write the result.")] = LintFormat.TEXT,  # noqa: A002
) -> int:
    """Hold files against the GPU rules. Kubernetes YAML, Pulumi previews and states, Terraform plans."""
    if rules or explain is not None:
        from gpuyard.cli.commands.lint_rules import show_rules

        return show_rules(explain, paths or [], format.value)
    from gpuyard.cli.commands.lint import lint as lint_files

    if not paths:
        raise UsageError("nothing to lint. Give files, folders, patterns, or - for standard input.")
    return lint_files(
        paths,
        fail_on,
        baseline,
        config=config,
        stack=stack,
        new_baseline=write_baseline,
        format=format.value,
    )


def render(
    stack: StackArgument,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The folder to write: new, empty, or rendered before.",
            show_default=False,
        ),
    ],
    values: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Late values, as YAML or JSON: `cluster.name: …`.",
            show_default=False,
        ),
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002
) -> int:
    """Write plain Kubernetes manifests. The same bytes for the same stack; no cluster is needed."""
    from gpuyard.cli.commands.derive import render_stack

    return render_stack(stack, out, values, as_document=format is Format.JSON)


def get(
    stack: StackArgument,
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="For example pools.train.nodes or bill.worst_usd.",
            show_default=False,
        ),
    ],
    format: FormatOption = Format.TEXT,  # noqa: A002
) -> int:
    """Print one value of the plan. Bare, for scripts; trees as JSON."""
    from gpuyard.cli.commands.derive import get_value

    return get_value(stack, path, as_document=format is Format.JSON)


def schema() -> int:
    """Print the JSON Schema of stack files."""
    from gpuyard.cli.commands.about import show_schema

    return show_schema()


def version(format: FormatOption = Format.TEXT) -> int:  # noqa: A002
    """Show the version."""
    from gpuyard.cli.commands.about import show_version

    return show_version(as_document=format is Format.JSON)
