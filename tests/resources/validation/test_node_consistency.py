"""Driver and firmware over the nodes of a pool, out of last words: bounded, named, only where they differ."""

from hypothesis import given
from hypothesis import strategies as st

from gpuyard.resources.validation.job_results import (
    MOST_NODES,
    MOST_PARTS,
    MOST_VERSIONS,
    inconsistency_warning,
    inconsistent_nodes,
)
from gpuyard.resources.validation.measurements import (
    FIGURES_START,
    MOST_LETTERS,
    parse_measurements,
    recorded_text,
    recorded_values,
)
from gpuyard_validator.report import termination_message as written
from gpuyard_validator.run import validate
from kit.cases.figures import FIGURES, figures_line
from kit.cases.hardware import altered, expected, machine
from kit.every import every

OLD, NEW = "96.00.74.00.01", "96.00.A5.00.03"
HEAD = "passed: node a, pool train: 2 checks ran, 0 failed\n"


def said(parts):
    return HEAD + figures_line({}, parts=parts)


def looked(**of_all):
    """The last words of a node whose GPUs answer so."""
    found = machine("H100")
    for index in range(len(found.gpus)):
        found = altered(found, index, **of_all)
    return written(validate(expected("H100"), found))


def test_the_versions_of_the_golden_message_are_read():
    message = FIGURES.read_text(encoding="utf-8")
    other = message.replace("580.105.08", "580.126.20")
    found = inconsistent_nodes([("a", message), ("b", other)])
    assert found["driver"] == {"580.105.08": ["a"], "580.126.20": ["b"]}
    assert set(found) == {"driver", "gsp_firmware"}


def test_nodes_of_two_versions_are_named_and_no_node_sees_it_alone():
    one, other = looked(vbios=OLD), looked(vbios=NEW)
    for message in (one, other):
        assert message.startswith("passed: ")
        assert "firmware.same" not in message
    found = inconsistent_nodes([("b", one), ("c", other), ("a", one)])
    assert found == {"vbios": {OLD: ["a", "b"], NEW: ["c"]}}
    assert inconsistent_nodes([("a", one), ("b", one)]) == inconsistent_nodes([]) == {}
    assert "gpu.count" in parse_measurements([one]), "figures are read beside it"


def test_a_node_whose_gpus_differ_has_a_version_of_its_own():
    both = written(validate(expected("H100"), altered(machine("H100"), 2, vbios=NEW)))
    (versions,) = inconsistent_nodes([("a", looked(vbios=NEW)), ("b", both)]).values()
    first = machine("H100").gpus[0].vbios
    assert versions == {NEW: ["a"], " and ".join(sorted([first, NEW])): ["b"]}


def test_drivers_are_compared_too_and_who_does_not_say_is_left_out():
    found = inconsistent_nodes([
        ("a", said({"driver": ["580.1"]})), ("b", said({"driver": ["580.2"]})), ("c", HEAD), ("d", said({})),
    ])  # fmt: skip
    assert found == {"driver": {"580.1": ["a"], "580.2": ["b"]}}


def test_the_warning_names_part_version_and_nodes():
    many = [f"node-{n:02}" for n in range(10)]
    found = {"vbios": {OLD: many, NEW: ["x"]}, "else": {"1": ["y"], "2": ["z"]}}
    *lines, fix = inconsistency_warning("train", found).splitlines()
    assert lines == [
        "The nodes of pool train are not identical:",
        f"  VBIOS {OLD}: {', '.join(many[:8])} and 2 more",
        f"  VBIOS {NEW}: x",
        "  else 1: y",
        "  else 2: z",
    ]
    assert fix.startswith("  fix: use one node image and one VBIOS for all: ")
    assert inconsistency_warning("train", {}) == ""


@every(
    "message",
    [
        "",
        HEAD,
        f"{HEAD}{FIGURES_START}\n",
        f"{HEAD}{FIGURES_START}}}\n",
        f"{HEAD}{FIGURES_START}{'[' * 3000}\n",
        said([]),
        said(None),
        said({"driver": 580}),
        said({"driver": [580]}),
        said({"driver": [{"token": "secret"}]}),
    ],
)
def test_what_nobody_can_read_counts_as_not_said(message):
    assert inconsistent_nodes([("a", message), ("b", said({"driver": ["1"]}))]) == {}


def test_nodes_that_say_too_much_are_cut():
    words = [
        (f"{n}-{'n' * 999}", said({f"{p}{'p' * 999}": [f"{n % 20:02}{'v' * 999}"] for p in range(20)}))
        for n in range(2000)
    ]  # fmt: skip
    found = inconsistent_nodes(words)
    assert len(found) == MOST_PARTS
    for part, versions in found.items():
        assert (len(versions), len(part)) == (MOST_VERSIONS, MOST_LETTERS)
        for version, nodes in versions.items():
            assert (len(nodes), len(version)) == (MOST_NODES, MOST_LETTERS)


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_text_breaks_it(before, after):
    assert inconsistent_nodes([("a", f"{before}\n{FIGURES_START}{after}")]) == {}


def test_what_is_kept_is_read_again():
    words = [("a", said({"driver": ["1"]})), ("b", said({"driver": ["2"]}))]
    found = inconsistent_nodes(words)
    assert recorded_values(recorded_text(found)) == found != {}
