"""A word that the plan makes nothing of is said, or refuses where silence would hand out GPUs wrongly."""

from gpuyard.findings import Severity
from kit.stacks import findings, platform, pool, team


def said(raw):
    return [f for f in findings(raw) if f.id.startswith("section.")]


def test_a_section_without_effect_is_noted_with_what_happens_instead():
    (finding,) = said(platform(tags={"a": "b"}))
    assert (finding.id, finding.severity, finding.where) == (
        "section.deferred",
        Severity.NOTE,
        "tags",
    )
    assert finding.problem == (
        "`tags` is understood, but nothing is made of it yet:"
        " no cloud resource is made that could carry tags"
    )


def test_words_of_pools_are_noted_where_they_stand():
    raw = platform([pool(), pool("more", disk_gib=500)], [team(limits={})])
    assert [f.where for f in said(raw)] == ["pools[1].disk_gib"]


def test_what_is_proved_but_not_carried_out_is_told_apart():
    window = {"cron": "0 7 * * *", "hours": 2.0, "nodes": 1}
    (finding,) = said(platform([pool(nodes="0..2", warm=[window])]))
    assert (finding.where, finding.severity) == ("pools[0].warm", Severity.NOTE)
    assert finding.problem == "`warm` is planned, not carried out: nothing keeps the nodes running"


def test_claims_are_planned_and_not_carried_out():
    (finding,) = said(platform([pool(sharing="dra")]))
    assert (finding.where, finding.severity) == ("pools[0].sharing", Severity.NOTE)
    assert finding.problem == (
        "`sharing: dra` is planned, not carried out: the DRA driver is not installed"
    )


def test_a_word_that_was_not_written_is_not_spoken_of():
    assert said(platform()) == []


def test_an_image_is_planned_where_nodes_boot():
    (finding,) = said(platform([pool(image="al2023-nvidia")], cloud="aws"))
    assert finding.problem.startswith("`image` is planned, not carried out: no node is made")


def test_policies_are_carried_out():
    assert said(platform(policies={"levels": {"GPU-TEN-02": "off"}})) == []
