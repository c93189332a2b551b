"""`gpuyard mig`: how a GPU can be cut."""

import json

import pytest


def document(ended):
    return json.loads(ended.out)


@pytest.mark.parametrize("spelling", ["A100-40", "a100-40gb", "NVIDIA-A100-SXM4-40GB"])
def test_a_gpu_is_known_by_any_usual_name(gpuyard, spelling):
    ended = gpuyard("mig", spelling)
    assert ended.code == 0
    assert ended.out.startswith("A100-40  7 compute slices on 8 memory units\n")
    assert "3g.20gb               3             4          2  0 4\n" in ended.out


def test_media_variants_are_shown_on_demand(gpuyard):
    assert "+me" not in gpuyard("mig", "A30").out
    assert "--media shows 2 more" in gpuyard("mig", "A30").out
    assert "1g.6gb+me" in gpuyard("mig", "A30", "--media").out


def test_placements_that_nobody_saw_on_hardware_are_said_to_be_so(gpuyard):
    assert "Not verified on hardware" in gpuyard("mig", "H200").out
    assert "Not verified" not in gpuyard("mig", "H100").out


def test_a_legal_layout_is_drawn_in_memory_units(gpuyard):
    ended = gpuyard("mig", "A100-40", "1g.5gb:2,2g.10gb:1,3g.20gb")
    assert ended.code == 0
    assert "3g.20gb      ·  ·  ·  ·  ██ ██ ██ ██\n" in ended.out
    assert "8 of 8 memory units and 7 of 7 compute slices are used." in ended.out


def test_a_layout_copied_from_a_stack_file_is_read(gpuyard):
    ended = gpuyard("mig", "A100-40", "{3g.20gb: 2}", "--format", "json")
    found = document(ended)
    assert found["legal"] is True
    assert found["placement"] == [
        {"profile": "3g.20gb", "start": 0, "units": 4},
        {"profile": "3g.20gb", "start": 4, "units": 4},
    ]


def test_an_impossible_layout_is_refused_with_the_reason_and_the_nearest(gpuyard):
    ended = gpuyard("mig", "A100-40", "1g.10gb:4,1g.5gb:3")
    assert (ended.code, ended.err) == (3, "")
    text = " ".join(ended.out.split())
    assert "11 memory units of 8 (the compute slices, 7 of 7, would fit)" in text
    assert "fix the nearest valid layout: {1g.5gb: 2, 1g.10gb: 3}" in text
    found = document(gpuyard("mig", "A100-40", "1g.10gb:4,1g.5gb:3", "--format", "json"))
    assert found["legal"] is False
    assert found["findings"][0]["fix"]["value"] == {"1g.5gb": 2, "1g.10gb": 3}


def test_a_gpu_that_cannot_be_cut_is_refused(gpuyard):
    for args in (("L4",), ("L4", "1g.5gb:1"), ("L4", "--count")):
        ended = gpuyard("mig", *args)
        assert ended.code == 3
        assert "does not support MIG, or its profiles are not published" in " ".join(
            ended.out.split()
        )


def test_a_gpu_that_only_the_mig_tables_know_can_be_asked_about(gpuyard):
    assert gpuyard("mig", "h100-96").code == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("h100x",), "Did you mean H100?"),
        (("A100",), "Did you mean A100-40, A100-80, A100-PCIe-40 or A100-PCIe-80?"),
        (("A100-40", "what is this"), "Write PROFILE:COUNT"),
        (("A100-40", ""), "Write PROFILE:COUNT"),
        (("A100-40", "1g.5gb=7"), "Write PROFILE:COUNT"),
        (("A100-40", "1g.5gb:1,1g.5gb:2"), "occurs twice"),
        (("A100-40", "1g.5gb:0"), "Remove it"),
        (("A100-40", "1g.5gb:1", "--count"), "Remove the layout"),
        ((), "GPU"),
    ],
)
def test_wrong_usage_is_one_sentence(gpuyard, args, says):
    ended = gpuyard("mig", *args)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert ended.err.startswith("gpuyard: ")


def test_layouts_are_counted(gpuyard):
    found = document(gpuyard("mig", "A100-40", "--count", "--format", "json"))
    counts = {
        k: found[k] for k in ("placements", "multisets", "maximal_multisets", "maximal_placements")
    }
    assert counts["multisets"] <= counts["placements"]
    assert counts["maximal_multisets"] <= counts["multisets"]
    text = gpuyard("mig", "A100-40", "--count").out
    for name, number in counts.items():
        assert f"{name} {number} " in " ".join(text.split()) + " "


def test_media_variants_are_counted_on_demand(gpuyard):
    plain, media = (
        document(gpuyard("mig", "A30", "--count", *extra, "--format", "json"))
        for extra in ((), ("--media",))
    )
    assert plain["placements"] < media["placements"]
    assert media["media"] is True


def test_profiles_as_a_document(gpuyard):
    found = document(gpuyard("mig", "A30", "--format", "json"))
    assert [p["name"] for p in found["profiles"]] == ["1g.6gb", "2g.12gb", "4g.24gb"]
    assert found["profiles"][0]["resource"] == "nvidia.com/mig-1g.6gb"
    assert found["source"]["verified"] is True
