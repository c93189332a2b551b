"""`gpuyard why`: the page about a finding or a rule, in the terminal."""

import re

import pytest

import sizes
from gpuyard.cli.commands.why import complete_ids
from gpuyard.cli.shipped import distribution_folder
from gpuyard_core.findings import Severity, error
from gpuyard_core.terminal.pages import shipped_folder
from gpuyard_lint import rules_folder
from gpuyard_lint.rules import RULES


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_page_is_shown_as_text_with_its_example_indented(gpuyard):
    ended = gpuyard("why", "mig.placement")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "mig.placement"
    assert "What to do" in lines
    assert "    error   pools[1].sharing.mig: this layout does not fit on one A100-40: 10" in lines
    assert "The layout does not fit on one GPU. Severity error: there is no plan" in words(
        ended.out
    )


@pytest.mark.parametrize("mark", ["```", "**", "](", "# ", "This page is made from"])
def test_no_mark_of_the_page_and_nothing_about_its_making_is_left(gpuyard, mark):
    for each in ("mig.placement", "GPU-TEN-02", "policies.expired"):
        out = gpuyard("why", each).out
        outside = "\n".join(line for line in out.splitlines() if not line.startswith("    "))
        assert mark not in outside, each


def test_a_rule_has_all_about_it_and_its_id_is_read_in_small_letters(gpuyard):
    ended = gpuyard("why", "gpu-cap-02")
    assert ended.code == 0
    rule = next(rule for rule in RULES if rule.id == "GPU-CAP-02")
    said = words(ended.out)
    for part in (rule.title.rstrip("."), rule.why, rule.fix, *rule.sources, *rule.parameters):
        assert words(part).replace("**", "") in said


def test_without_an_id_every_page_is_listed_with_its_title(gpuyard):
    out = gpuyard("why").out
    listed = {line.split()[0] for line in out.splitlines() if not line.startswith(" ")}
    assert {"mig.placement", "GPU-TEN-02"} <= listed
    assert "index" not in listed
    assert re.search(r"^mig\.placement +The layout does not fit on one GPU$", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("mig.placment", "Did you mean mig.placement?"),
        ("GPU-TEN-2", "Did you mean GPU-TEN-02?"),
        ("slices", "Known: slices.flavor, slices.no_profile, slices.nothing."),
        ("gpu-met", "Known: GPU-MET-01, GPU-MET-02, GPU-MET-03, GPU-MET-04, GPU-MET-05."),
        ("", "`gpuyard why` lists all."),
        ("?", "`gpuyard why` lists all."),
    ],
)
def test_an_id_that_there_is_not_is_refused_with_the_one_that_is_meant(gpuyard, given, hint):
    ended = gpuyard("why", given)
    assert (ended.code, ended.out) == (2, "")
    assert words(ended.err) == f"gpuyard: no finding and no rule '{given}'. {hint}"


def test_what_a_finding_and_a_rule_name_is_a_command_that_shows_their_page(gpuyard):
    finding = error("mig.placement", (), "x")
    assert finding.severity is Severity.ERROR
    for more in (finding.docs_url, f"gpuyard why {RULES[0].id}"):
        assert gpuyard(*more.split()[1:]).code == 0


def test_a_shell_completes_ids():
    assert complete_ids("mig.pl") == ["mig.placement"]
    assert complete_ids("gpu-ten-02") == ["GPU-TEN-02"]


def test_every_rule_has_a_page_that_is_shown():
    pages = {page.stem for page in rules_folder().glob("*.md")}
    assert {rule.id for rule in RULES} <= pages


def test_folders_are_beside_the_modules_in_an_installation_and_in_their_place_in_a_checkout(
    tmp_path,
):
    package = tmp_path / "components" / "gpuyard"
    assert (
        shipped_folder(str(package / "__init__.py"), "rules", "docs/rules")
        == tmp_path / "docs" / "rules"
    )
    (package / "shipped" / "rules").mkdir(parents=True)
    assert (
        shipped_folder(str(package / "__init__.py"), "rules", "docs/rules")
        == package / "shipped" / "rules"
    )
    assert distribution_folder("policies") == sizes.ROOT / "policies"
