"""The optional sections: read, printed back, and rejected if they are invalid."""

import datetime as dt

import pytest

from gpuyard.spec.read import read_platform
from gpuyard.spec.sections import MachinePrice
from gpuyard_core.models.values import Range
from kit.stacks import platform, pool, spec_of, team

FULL = platform(
    [
        pool(
            machine={"gpu": "H100", "gpus": 8, "cpu": 192, "memory_gib": "2TB"},
            select={"rack": "a"},
            owners=["vision"],
            keep_warm=[
                {"cron": "0 7 * * 1-5", "hours": 10, "nodes": 2, "time_zone": "Europe/Paris"}
            ],
            fabric={"kind": "infiniband", "hcas": ["mlx5_0", "mlx5_1"], "gbps": 3200},
            image="own",
            numa="restricted",
            disk_gib="500GB",
        ),
        pool("claims", sharing="dra"),
    ],
    [
        team(
            priority="research",
            allowed_images=["registry.example.org/vision"],
            egress_cidrs=["10.0.0.0/8", "2001:db8::/32"],
        )
    ],
    cluster={"existing": "prod", "protect": False},
    software={"kueue": "0.19.2"},
    priorities={"production": 1000, "research": 100},
    prices={
        "discount_percent": 12.5,
        "machines": {"p5.48xlarge": 42.5, "g6.xlarge": {"spot": 0.3}},
        "commitments": [{"machine": "p5.48xlarge", "nodes": 2, "years": 3}],
    },
    targets={
        "utilisation_percent": "65..85",
        "memory_percent": 80,
        "idle_percent": 20,
        "wait_p95_minutes": {"research": 120},
    },
    storage={
        "datasets": [
            {"name": "corpus", "kind": "class", "class_name": "fast", "size_gib": "2TB"},
        ],
        "checkpoints": {"bucket": "ours"},
    },
    observability={"prometheus": "existing"},
    workloads={
        "training": ["torch"],
        "services": [
            {
                "name": "chat",
                "team": "vision",
                "shape": "chat",
                "replicas": "1..8",
                "image": "registry.example.org/ml/vllm:0.11",
            },
        ],
    },
    addons=["argo-cd"],
    admission={"allowed_images": ["registry.example.org"]},
    tags={"cost-centre": "42"},
    mirror={"images": "mirror.example.org:5000/gpu"},
    policies={
        "levels": {"GPU-TEN-02": "advisory"},
        "exceptions": [
            {
                "rule": "GPU-TEN-04",
                "resource": "old",
                "reason": "moves in spring",
                "expires": "2027-03-31",
            }
        ],
    },
    apply="render",
    approved_changes="sha256:0123",
)


def test_every_word_of_the_vocabulary_is_read():
    spec = spec_of(FULL)
    assert set(FULL) <= spec.model_fields_set
    assert spec.prices.machines["p5.48xlarge"] == MachinePrice(on_demand=42.5)
    assert spec.prices.machines["g6.xlarge"] == MachinePrice(spot=0.3)
    assert spec.targets.utilisation_percent == Range(65, 85)
    assert spec.policies.exceptions[0].expires == dt.date(2027, 3, 31)
    assert spec.pools[1].sharing.dra
    assert spec.pools[0].disk_gib == 500


def test_what_was_read_can_be_written_and_read_again():
    spec = spec_of(FULL)
    written = spec.model_dump(mode="json", exclude_unset=True)
    assert written["pools"][1]["sharing"] == {"dra": True}
    assert written["targets"]["utilisation_percent"] == "65..85"
    assert spec_of(written) == spec


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("10.0.0.1/8", "write 10.0.0.0/8"),
        ("10.0.0.1", "write 10.0.0.1/32"),
        ("ten", None),
        (10, None),
    ],
)
def test_a_network_is_written_with_its_prefix_and_without_host_bits(given, fix):
    (finding,) = read_platform(platform(admission={"egress_cidrs": [given]})).findings
    assert (finding.id, finding.where) == ("spec.cidr_form", "admission.egress_cidrs[0]")
    assert (finding.fix.message if finding.fix else None) == fix


@pytest.mark.parametrize(
    "given", ["https://r.example.org", "r.example.org/a:1", "A", "", 5, "x" * 300]
)
def test_images_come_from_a_registry_or_a_path_in_one(given):
    (finding,) = read_platform(platform(admission={"allowed_images": [given]})).findings
    assert (finding.id, finding.where) == ("spec.image_prefix", "admission.allowed_images[0]")
    assert "no tag, no scheme" in finding.allowed


@pytest.mark.parametrize("given", ["x", "85..65", "65..101", 101, -1, True, 7.5])
def test_a_share_in_percent(given):
    (finding,) = read_platform(platform(targets={"utilisation_percent": given})).findings
    assert (finding.id, finding.where) == ("spec.percent_range", "targets.utilisation_percent")


@pytest.mark.parametrize(("given", "read"), [(75, Range(75, 75)), (" 65 .. 85 ", Range(65, 85))])
def test_a_share_in_percent_is_one_number_or_two(given, read):
    spec = spec_of(platform(targets={"utilisation_percent": given}))
    assert spec.targets.utilisation_percent == read


@pytest.mark.parametrize("given", ["0123", 5, "SHA256:0"])
def test_consent_is_the_digest_of_a_plan(given):
    (finding,) = read_platform(platform(approved_changes=given)).findings
    assert (finding.id, finding.where) == ("spec.consent_form", "approved_changes")


@pytest.mark.parametrize("other", [{"mps": 2}, {"time_slicing": 2}, {"mig": {"7g.80gb": 1}}])
def test_claims_are_not_combined_with_the_device_plugin(other):
    (finding,) = read_platform(platform([pool(sharing={"dra": True, **other})])).findings
    assert (finding.id, finding.where) == ("spec.sharing_methods", "pools[0].sharing")
    assert finding.allowed == "dra alone"


def test_a_wrong_price_is_refused_where_it_stands():
    raw = platform(prices={"machines": {"a": 0, "b": {"spot": "x"}, "c": True}})
    found = {f.where for f in read_platform(raw).findings}
    assert found == {
        "prices.machines.a",
        "prices.machines.b.spot",
        "prices.machines.c",
    }
