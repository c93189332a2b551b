"""Levels and exceptions of a stack file hold in a preview of its stack: the engine tells them to the pack.

The program makes resources that no provider has to know, and no platform: what is judged before a platform
is made is held as strictly as what comes after.
"""

import sys

import pytest

from kit.cluster import vault

PROGRAM = """
import pulumi
spec = {"spec": {"hard": {"limits.nvidia.com/gpu": 8}}}
for name in ("early", "late"):
    pulumi.ComponentResource("kubernetes:core/v1:ResourceQuota", name, {"metadata": {"name": name}, **spec})
"""
EXCEPTION = "{rule: GPU-TEN-02, resource: early, reason: moves out, expires: EXPIRES}"


@pytest.fixture
def preview(pulumi, tmp_path, pack):
    """A preview with the pack, of a stack file with these policies: exit code and output."""
    project = f"name: other\nruntime:\n  name: python\n  options:\n    virtualenv: {sys.prefix}\n"
    (tmp_path / "Pulumi.yaml").write_text(project, encoding="utf-8")
    (tmp_path / "__main__.py").write_text(PROGRAM, encoding="utf-8")
    code, said = pulumi("stack", "init", "--stack", "dev", "--secrets-provider", vault.PROVIDER)
    assert code == 0, said

    def run(policies: str, *more: str) -> tuple[int, str]:
        text = f"config:\n  gpuyard:platform:\n    name: lab\n    policies: {policies}\n"
        text += f"secretsprovider: {vault.PROVIDER}\n"
        (tmp_path / "Pulumi.dev.yaml").write_text(text, encoding="utf-8")
        return pulumi("preview", "--stack", "dev", "--policy-pack", str(pack), *more)

    return run


def test_levels_and_exceptions_hold_from_the_first_resource_on(preview, tmp_path):
    code, said = preview("{}")
    assert code != 0
    assert said.count("GPU-TEN-02 spec.hard.limits.nvidia.com/gpu: ") == 2
    code, said = preview("{levels: {GPU-TEN-02: off}}")
    assert (code, said.count("GPU-TEN-02")) == (0, 0), said
    code, said = preview("{levels: {GPU-TEN-02: advisory}}")
    assert (code, said.count("[advisory]")) == (0, 2), said
    code, said = preview(f"{{exceptions: [{EXCEPTION.replace('EXPIRES', '2027-03-31')}]}}")
    assert code != 0
    assert said.count("GPU-TEN-02 spec.hard.limits.nvidia.com/gpu: ") == 1
    assert "(kubernetes:core/v1:ResourceQuota: late)" in said


@pytest.mark.always
def test_an_exception_that_is_over_excuses_nothing_and_is_said(preview):
    code, said = preview(f"{{exceptions: [{EXCEPTION.replace('EXPIRES', '2026-10-14')}]}}")
    assert code != 0
    assert "exception expired on 2026-10-14: moves out" in said
    over = "the exception to GPU-TEN-02 for early expired on 2026-10-14: the rule applies again"
    assert said.count(over) == 1


@pytest.mark.always
def test_a_slip_stops_and_what_is_set_for_the_pack_counts_before(preview, tmp_path):
    code, said = preview("{levels: {GPU-TEN-2: off}}")
    assert code != 0
    slip = "levels.GPU-TEN-2: no rule 'GPU-TEN-2'; did you mean GPU-TEN-02?"
    assert f"policies of the stack file: {slip}" in said
    (tmp_path / "c.json").write_text('{"gpuyard": {"levels": {"GPU-TEN-02": "advisory"}}}')
    given = ("--policy-pack-config", "c.json")
    code, said = preview("{levels: {GPU-TEN-02: off}}", *given)
    assert (code, said.count("[advisory]")) == (0, 2), said
