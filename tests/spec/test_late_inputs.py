"""Texts that mark the outputs of a program."""

import pytest

from gpuyard.plan.records.late import resolve_outputs, unresolved_output_names
from gpuyard.render.cloud.graph import Joined, PathInProject, late_value_names, resolve_values
from gpuyard.spec.late_inputs import (
    fill_markers,
    first_of,
    input_marker,
    is_late_input,
    is_late_list,
    late_input_field,
    late_inputs,
    marker_findings,
)

KEY, PRIVATE = ("cluster", "key"), ("cluster", "network", "subnets", "private")
KNOWN = {
    "input.cluster.key": "arn:of:key",
    "input.cluster.network.subnets.private": ["a", "b"],
}


def test_a_marker_names_its_field():
    assert input_marker(KEY) == "${input:cluster.key}"
    assert input_marker((*PRIVATE, 1)) == "${input:cluster.network.subnets.private.1}"
    assert input_marker(PRIVATE, is_list=True) == "${inputs:cluster.network.subnets.private}"


@pytest.mark.parametrize("value", ["vpc-1", "${input", "$${INPUT:a}", 4, None])
def test_other_values_are_no_markers(value):
    assert not is_late_input(value)
    assert not is_late_list(value)


def test_the_field_of_an_item_has_no_index():
    assert late_input_field(("storage", "datasets", 3, "bucket")) == "storage.datasets.*.bucket"
    assert late_input_field((*PRIVATE, 0)) == "cluster.network.subnets.private.*"
    assert late_input_field(("pools", 0, "nodes")) is None


def test_a_list_is_a_field_and_so_are_its_items():
    lists = {field for field in late_inputs() if f"{field}.*" in late_inputs()}
    assert lists == {
        "cluster.network.subnets.private",
        "cluster.network.subnets.public",
        "cluster.network.security_groups",
    }


def test_a_marker_within_a_text_is_replaced_there():
    marker = input_marker(KEY)
    assert fill_markers(marker, KNOWN.__getitem__) == "arn:of:key"
    assert fill_markers(f"{marker}/*", KNOWN.__getitem__) == "arn:of:key/*"
    assert resolve_outputs({"key": [f"{marker}/*"]}, KNOWN.__getitem__) == {"key": ["arn:of:key/*"]}
    assert unresolved_output_names([{"key": f"s3://{marker}/*"}]) == {"input.cluster.key"}


def test_a_list_is_spliced_into_the_list_around_it():
    marker = input_marker(PRIVATE, is_list=True)
    value = {"ids": ["first", marker], "policy": Joined("in ", input_marker(KEY))}
    assert [*late_value_names(value)] == [
        "input.cluster.network.subnets.private",
        "input.cluster.key",
    ]
    assert resolve_values(value, KNOWN.__getitem__) == {
        "ids": ["first", "a", "b"],
        "policy": "in arn:of:key",
    }


def test_the_first_value_of_a_list_that_is_late_is_its_first_item():
    assert first_of(("a", "b")) == "a"
    late = first_of((input_marker(PRIVATE, is_list=True),))
    assert late == input_marker((*PRIVATE, 0))


@pytest.mark.parametrize(
    ("late", "path"), [("own", "projects/p/networks/own"), ("projects/q/own", "projects/q/own")]
)
def test_a_name_gets_its_project_and_a_path_keeps_its_own(late, path):
    value = PathInProject(Joined("projects/p/networks/"), input_marker(KEY))
    assert [*late_value_names(value)] == ["input.cluster.key"]
    assert resolve_values(value, lambda _: late) == path


def test_each_marker_that_was_written_by_hand_is_found():
    value = {"cluster": {"admins": ["a", input_marker(KEY)], "key": input_marker(KEY)}, "n": 1}
    assert [each.path for each in marker_findings(value)] == [
        ("cluster", "admins", 1),
        ("cluster", "key"),
    ]
