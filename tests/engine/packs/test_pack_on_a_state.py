"""The pack on the real engine, over an exported state: no program, no login, no cluster."""

import json

import pytest

pytestmark = pytest.mark.always

QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus"}}
QUOTA |= {"spec": {"hard": {"limits.nvidia.com/gpu": 8}}}
RESOURCES = {
    "kubernetes:core/v1:ResourceQuota": QUOTA,
    "aws:eks/cluster:Cluster": {"enabledClusterLogTypes": ["api"]},
}


PLATFORM = "gpuyard:index:Platform"


def state(policies: dict[str, object] | None = None) -> str:
    platform = {"inputs": {"platform": {"policies": policies}}} if policies else {}
    made = [
        {"urn": "urn:pulumi:dev::x::pulumi:pulumi:Stack::x-dev", "type": "pulumi:pulumi:Stack"},
        {"urn": f"urn:pulumi:dev::x::{PLATFORM}::yard", "type": PLATFORM, **platform},
        *(
            {
                "urn": f"urn:pulumi:dev::x::{token}::gpus",
                "type": token,
                "custom": True,
                "id": "i",
                "inputs": inputs,
                "outputs": inputs,
            }
            for token, inputs in RESOURCES.items()
        ),
    ]
    manifest = {"time": "2026-11-21T00:00:00Z", "magic": "", "version": ""}
    return json.dumps({"version": 3, "deployment": {"manifest": manifest, "resources": made}})


@pytest.fixture
def analyze(pulumi, tmp_path, pack):
    """Holds the state against the pack."""
    assert pack.parent == tmp_path
    (tmp_path / "state.json").write_text(state(), encoding="utf-8")

    def run(**settings: object) -> tuple[int, str]:
        (tmp_path / "config.json").write_text(json.dumps(settings), encoding="utf-8")
        given = ["--policy-pack-config", "config.json"] if settings else []
        command = ("policy", "analyze", "--file", "state.json", "--policy-pack", "pack")
        return pulumi(*command, *given)

    return run


def test_a_state_is_held_against_every_rule(analyze):
    code, said = analyze()
    assert code != 0
    assert "[mandatory]  gpuyard  (kubernetes:core/v1:ResourceQuota: gpus)" in said
    assert "GPU-TEN-02 spec.hard.limits.nvidia.com/gpu: " in said
    assert "gpuyard-remedies" not in said


def test_settings_remedies_and_what_has_expired_come_through_the_engine(analyze):
    over = {"rule": "GPU-AWS-03", "resource": "gpus", "reason": "r", "expires": "2026-01-01"}
    off = dict.fromkeys(("GPU-AWS-01", "GPU-STA-01"), "off")
    _, said = analyze(
        **{
            "gpuyard": {"levels": {**off, "GPU-TEN-02": "advisory"}, "exceptions": [over]},
            "gpuyard-remedies": {"enforcementLevel": "remediate"},
        }
    )
    assert "[advisory]  gpuyard-advice  (kubernetes:core/v1:ResourceQuota: gpus)" in said
    assert "GPU-AWS-01" not in said
    assert "gpuyard-remedies  (aws:eks:Cluster: gpus) [diff: ~enabledClusterLogTypes]" in said
    assert "the exception to GPU-AWS-03 for gpus expired on 2026-01-01" in said


def test_a_slip_in_the_settings_stops(analyze):
    code, said = analyze(gpuyard={"levels": {"GPU-TEN-2": "off"}})
    assert code != 0
    assert "levels.GPU-TEN-2: no rule 'GPU-TEN-2'; did you mean GPU-TEN-02?" in said


def test_what_is_not_of_the_form_is_refused_by_the_engine_itself(analyze):
    code, said = analyze(gpuyard={"levels": {"GPU-TEN-02": "strict"}})
    assert code != 0
    assert "levels" in said
    assert "Traceback" not in said


def test_the_policies_of_the_platform_in_a_state_hold_for_it(analyze, tmp_path):
    over = {"rule": "GPU-AWS-03", "resource": "gpus", "reason": "r", "expires": "2026-01-01"}
    policies = {"levels": {"GPU-TEN-02": "advisory", "GPU-AWS-01": "off"}, "exceptions": [over]}
    (tmp_path / "state.json").write_text(state(policies), encoding="utf-8")
    _, said = analyze()
    assert "[advisory]  gpuyard-advice  (kubernetes:core/v1:ResourceQuota: gpus)" in said
    assert "GPU-AWS-01" not in said
    assert "the exception to GPU-AWS-03 for gpus expired on 2026-01-01" in said
    _, said = analyze(gpuyard={"levels": {"GPU-TEN-02": "mandatory"}})
    assert "[mandatory]  gpuyard  (kubernetes:core/v1:ResourceQuota: gpus)" in said
