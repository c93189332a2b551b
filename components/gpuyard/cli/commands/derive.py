"""`gpuyard plan`, `cost`, `render` and `get`: the commands that need a plan, and stop when there is none."""

from pathlib import Path

from gpuyard.cli.stacks import Judged, judge
from gpuyard.cli.terminal.console import asides, results, write
from gpuyard.cli.views.documents import as_json, plan_document
from gpuyard.cli.views.findings import count_words, document, show_findings, show_verdict

REFUSED = 3


def plan_stack(stack: str, *, verbose: bool, as_document: bool) -> int:
    """The derived platform on stdout, findings on stderr."""
    judged = judge(stack)
    if as_document:
        plan = None if judged.plan is None else plan_document(judged.plan)
        write(as_json(document("plan", judged, plan=plan)))
        return REFUSED if plan is None else 0
    if judged.plan is None:
        return refuse_stack(judged)
    from gpuyard.cli.views.plan import show_plan

    show_plan(judged.plan, (), results(), verbose=verbose)
    _beside(judged)
    return 0


def cost_of(stack: str, form: str) -> int:
    """The bill of one stack."""
    from gpuyard.cli.views.cost import cost_markdown, show_cost
    from gpuyard.plan.money.unit_costs import cost_document

    judged = judge(stack)
    if form == "json":
        cost = None if judged.plan is None else cost_document(judged.plan)
        write(as_json(document("cost", judged, cost=cost)))
        return REFUSED if cost is None else 0
    if judged.plan is None:
        return refuse_stack(judged)
    if form == "markdown":
        write(cost_markdown(judged.plan))
    else:
        show_cost(judged.plan, results())
    return 0


def cost_changes(before: str, after: str, form: str) -> int:
    """What becomes dearer or cheaper between two stacks."""
    from gpuyard.cli.views.cost_changes import changes_markdown, show_changes
    from gpuyard.plan.money.bill_changes import change_document
    from gpuyard.plan.money.unit_costs import cost_document

    old, new = judge(before), judge(after)
    refused = [judged for judged in (old, new) if judged.plan is None]
    if form == "json":
        both = None if old.plan is None or new.plan is None else change_document(old.plan, new.plan)
        cost = None if new.plan is None else cost_document(new.plan)
        against = document("cost", old)
        write(
            as_json(
                document(
                    "cost",
                    new,
                    cost=cost,
                    against=old.file,
                    against_findings=against["findings"],
                    changes=both,
                )
            )
        )
        return REFUSED if refused else 0
    if old.plan is None or new.plan is None:
        return max(refuse_stack(judged) for judged in refused)
    names = (old.file, new.file)
    if form == "markdown":
        write(changes_markdown(old.plan, new.plan, names))
    else:
        show_changes(old.plan, new.plan, names, results())
    return 0


def render_stack(stack: str, out: Path, values: Path | None, *, as_document: bool) -> int:
    """Manifests into a folder."""
    from gpuyard.cli.folder import write_folder
    from gpuyard.cli.late_values import read_values
    from gpuyard.render.files import render_files

    judged = judge(stack)
    known = read_values(values) if values is not None else {}
    if judged.plan is None:
        if as_document:
            write(as_json(document("render", judged, files=[], removed=[])))
            return REFUSED
        return refuse_stack(judged)
    written = write_folder(out, render_files(judged.plan, known))
    if as_document:
        write(
            as_json(
                document(
                    "render",
                    judged,
                    out=str(out),
                    files=written.files,
                    removed=written.removed,
                    kept=written.kept,
                )
            )
        )
        return 0
    console = results()
    for name in written.files:
        console.say(str(out / name))
    aside = asides()
    for name in written.removed:
        aside.say(f"removed {out / name}: this stack no longer makes it")
    for name in written.kept:
        aside.say(f"kept {out / name}: this stack no longer makes it, but somebody has changed it")
    _beside(judged)
    return 0


def get_value(stack: str, path: str, *, as_document: bool) -> int:
    """One value of the plan, bare."""
    from gpuyard.cli.views.paths import bare, find

    judged = judge(stack)
    if judged.plan is None:
        if as_document:
            write(as_json(document("get", judged, path=path, value=None)))
            return REFUSED
        return refuse_stack(judged)
    value = find(plan_document(judged.plan), path)
    write(
        as_json(document("get", judged, path=path, value=value))
        if as_document
        else f"{bare(value, path)}\n"
    )
    return 0


def refuse_stack(judged: Judged) -> int:
    """There is no plan: say why, beside a result that is not there."""
    console = asides()
    show_findings(judged, console)
    console.say()
    show_verdict("refused", f"{judged.file}: {count_words(judged.findings)}", console)
    return REFUSED


def _beside(judged: Judged) -> None:
    """What is worth knowing about a stack that goes on."""
    if judged.findings:
        console = asides()
        console.say()
        show_findings(judged, console)
