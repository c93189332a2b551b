"""The tables match upstream, and no rule, check or condition refers to something they lack."""

import json

import pytest
from testbed.plugins.cloud import facts, gather, limits
from testbed.plugins.cloud.rules import aws, aws_service, gcp, gcp_service

from kit.levels import upstream


@pytest.mark.parametrize("cloud", gather.CLOUDS)
def test_the_tables_are_what_upstream_says_now(cloud):
    read = json.loads((upstream("schema") / f"{cloud}.json").read_text())
    assert facts.FOLDER.joinpath(f"{cloud}.json").read_text() == gather.text(gather.table(read))


def test_gathering_writes_both_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(gather, "INTO", tmp_path)
    gather.main(upstream("schema"))
    for cloud in gather.CLOUDS:
        assert (tmp_path / f"{cloud}.json").read_text() == (
            facts.FOLDER / f"{cloud}.json"
        ).read_text()


def test_each_rule_is_for_a_type_of_the_tables():
    ruled = {*aws.RULES, *aws_service.RULES, *gcp.RULES, *gcp_service.RULES}
    assert ruled <= {*facts.kinds("aws"), *facts.kinds("gcp")}


def test_each_form_and_check_of_the_tables_is_known():
    every = [
        {**about, **about.get("items", {})}
        for cloud in gather.CLOUDS
        for kind in facts.kinds(cloud)
        for about in (facts.resource(kind) or {})["inputs"].values()
    ]
    assert {each["format"] for each in every if "format" in each} <= set(limits.FORMATS)
    assert {each["check"] for each in every if "check" in each} == set(limits.CHECKS)


def test_a_table_carries_no_sentence():
    for cloud in gather.CLOUDS:
        text = (facts.FOLDER / f"{cloud}.json").read_text()
        assert "[tf]" not in text
        assert "terraform" not in text.lower()


def test_what_is_not_in_the_tables_is_nothing():
    assert facts.resource("aws:ec2/instance:Instance") is None
    assert facts.resource("azure:x/y:Z") is None
    assert facts.function("aws:x:y") is None
    assert facts.function("azure:x:y") is None
    assert facts.sdk("aws") == "7.51.1"
