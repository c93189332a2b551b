"""What guides get wrong about the operator, sharing, claims and images cannot be in what we render.

One line a row of the list of their errors; the rows as guides have them are in `tests/rules/test_guides.py`,
which shows that its rules see each. Here the same rules look at all that we write, and find nothing.
"""

import re
from functools import lru_cache

import pytest

from gpuyard.render.files import render_files
from gpuyard_lint.read import read
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import evaluate
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool
from render import test_no_old_errors as queues
from render.test_golden import LATE, PLANNED, stack
from rules.test_guides import GUIDES, NO_FILE

ROWS = {
    "002:45-46 X": "nodeStatusExporter",  # values that the operator's chart has
    "002:207-208, 1009-1010 X": "migManager",  # no value picks a layout
    "002:215-232 X": "nvidia.com/mig-3g.20gb",  # names that nodes advertise under our strategy
    "002:241-247 X": "timeSlicing",  # a list of resources
    "002:256-259 X": "mps:",  # a configuration of the plugin, not a switch of its own
    "002:271-287 X": "migStrategy",  # resources, and a strategy that nothing overrules
    "000:128, 001:21 X": "image:",  # tags that exist, with digests
    "000:134-139 X": "mps:",  # the plugin sets limits, no script does
    "000:230 X": "replicas:",  # no memory under time-slicing
    "000:446 X": "env:",  # no variable that nothing reads
    "003:186 X": "nvidia.com/gpu",  # memory as a number, where it is asked for
    "003:237-249 X": "DaemonSet",  # a selector, and no exporter of ours
    "004:48-49 X": "allowPrivilegeEscalation",  # privileges that go together
}
"""By row, what of ours it is about: a word that stands in what we write."""
OTHERS = {
    "002:56-60 X": "of kubelets: tests/render/aws/test_user_data.py",
    "002:161-174, 181 X": "Volcano, which nothing installs",
    "002:348-353 X": "order of groups: tests/render/aws/inside/test_autoscaler.py",
    "002:357-415 X": "Karpenter: tests/render/aws/karpenter",
    "002:420-430 X": "an adapter of metrics, which nothing installs",
    "002:441-448 X": "queries, which nothing installs",
    "002:757 X": "KEDA, which nothing installs",
    "002:837-914 X": "queries, which nothing installs",
    "002:910-914 X": "queries, which nothing installs",
    "001:91-96 X": "an autoscaler of pods, which nothing installs",
    "001:160 X": "affinity of workloads, which are not ours",
    "003:303 X": "alerts, which nothing installs",
}
"""Rows about something else, and where that is looked at."""


@lru_cache
def written():
    """Every file of every stack, and of platforms that share in all ways."""
    mps = pool("mps", machine="p4d.24xlarge", sharing={"mps": 4})
    both = {"mig": {"3g.20gb": 2}, "time_slicing": 4}
    made = [
        platform([pool(), cut_pool(), shared_pool(), mps]),
        platform([pool("both", machine="p4d.24xlarge", sharing=both)]),
        platform([pool(sharing="dra", image="own-driver")]),
        platform([pool()], mirror={"images": "mirror.example/gpu", "prepull": ["a.example/b:1"]}),
    ]
    plans = [*(stack(name) for name in PLANNED), *map(plan_of, made)]
    return {
        f"{number} {plan.name}/{name}": text
        for number, plan in enumerate(plans)
        for name, text in render_files(plan, LATE).items()
    }


@lru_cache
def outcomes():
    """What any rule of these rows says of a file, by rule."""
    ids = frozenset().union(*(GUIDES[row][0] for row in ROWS))
    rules = [rule for rule in RULES if rule.id in ids]
    found: dict[str, list[str]] = {}
    for name, text in written().items():
        resources = [item.resource for item in read(text.encode(), name).items]
        for outcome in evaluate(resources, rules):
            found.setdefault(outcome.rule.id, []).append(f"{name}: {outcome.diagnostic.problem}")
    return found


@pytest.mark.repeats("tests/render/test_golden.py")
@pytest.mark.parametrize("row", ROWS)
def test_the_error_of_a_guide_is_never_in_ours(row):
    ids, _ = GUIDES[row]
    assert any(ROWS[row] in text for text in written().values()), "nothing of ours is about it"
    assert {name: outcomes().get(name, []) for name in ids} == {name: [] for name in ids}


def test_an_error_in_a_file_of_ours_would_be_seen():
    """Memory for a share of time, written into the plugin's configuration as we write it."""
    row = "000:230 X"
    rules = [rule for rule in RULES if rule.id in GUIDES[row][0]]
    text = next(text for text in written().values() if "timeSlicing" in text)
    wrong = re.sub(r"^( *)(replicas: \d+)$", r"\1\2\n\1memoryGB: 8", text, flags=re.MULTILINE)
    assert wrong != text
    for each, seen in ((text, set()), (wrong, GUIDES[row][0])):
        resources = [item.resource for item in read(each.encode(), "ours.yaml").items]
        assert {outcome.rule.id for outcome in evaluate(resources, rules)} == seen


def test_every_row_that_fails_is_looked_at_somewhere():
    known = {*ROWS, *OTHERS, *queues.CHECKS, *NO_FILE}
    assert {row for row in GUIDES if row.endswith("X")} <= known
    assert not set(ROWS) & set(OTHERS)
