"""`gpuyard mig` about every GPU of the catalogue: what it lists, accepts, refuses and proposes."""

import json
import re

import pytest

from gpuyard.cli.commands.mig import read_layout
from gpuyard_core.catalogue.gpus import GPUS, MIG_PRODUCTS
from gpuyard_core.catalogue.mig_layouts import place_profiles
from gpuyard_core.errors import UsageError

CUTTABLE = sorted(MIG_PRODUCTS)
WHOLE_ONLY = [name for name, gpu in GPUS.items() if gpu.mig is None]
WITH_VARIANTS = [name for name in CUTTABLE if any(p.variant for p in MIG_PRODUCTS[name].profiles)]


@pytest.fixture
def ask(gpuyard):
    def asked(*args):
        ended = gpuyard("mig", *args, "--format", "json")
        return ended.code, json.loads(ended.out)

    return asked


@pytest.mark.parametrize("gpu", CUTTABLE)
def test_profiles_are_listed_with_the_facts_of_the_catalogue(gpuyard, ask, gpu):
    product = MIG_PRODUCTS[gpu]
    code, found = ask(gpu, "--media")
    assert code == 0
    assert (found["gpu"], found["compute_slices"], found["memory_units"]) == (
        gpu,
        product.slices,
        product.units,
    )
    assert [p["name"] for p in found["profiles"]] == [p.name for p in product.profiles]
    text = gpuyard("mig", gpu, "--media").out
    for profile in product.profiles:
        starts = " ".join(map(str, profile.starts))
        row = f"{profile.name} {profile.slices} {profile.units} {profile.max_count} {starts}"
        assert row in [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.parametrize("gpu", CUTTABLE)
def test_variants_are_hidden_counted_and_shown_on_demand(gpuyard, ask, gpu):
    variants = {p.name for p in MIG_PRODUCTS[gpu].profiles if p.variant}
    plain = {p["name"] for p in ask(gpu)[1]["profiles"]}
    assert not variants & plain
    assert {p["name"] for p in ask(gpu, "--media")[1]["profiles"]} == plain | variants
    assert (f"--media shows {len(variants)} more" in gpuyard("mig", gpu).out) is bool(variants)
    assert "--media shows" not in gpuyard("mig", gpu, "--media").out


@pytest.mark.parametrize("gpu", CUTTABLE)
def test_each_profile_is_legal_up_to_its_maximum_and_one_more_is_refused(ask, gpu):
    for profile in MIG_PRODUCTS[gpu].profiles:
        code, found = ask(gpu, f"{profile.name}:{profile.max_count}")
        assert (code, found["legal"]) == (0, True), profile.name
        assert found["layout"] == {profile.name: profile.max_count}
        assert len(found["placement"]) == profile.max_count
        code, found = ask(gpu, f"{profile.name}:{profile.max_count + 1}")
        assert (code, found["legal"]) == (3, False), profile.name
        assert found["findings"][0]["id"] == "mig.placement"


@pytest.mark.parametrize("gpu", CUTTABLE)
def test_slices_of_a_placement_start_where_they_may_and_do_not_overlap(ask, gpu):
    product = MIG_PRODUCTS[gpu]
    base = [p for p in product.profiles if not p.variant]
    small, half = (
        base[0],
        max((p for p in base if 2 * p.units <= product.units), key=lambda p: p.units),
    )
    _, found = ask(gpu, f"{half.name}:1,{small.name}:1" if half != small else f"{small.name}:2")
    taken = set()
    for piece in found["placement"]:
        profile = product.profile(piece["profile"])
        assert piece["start"] in profile.starts
        assert piece["units"] == profile.units
        units = set(range(piece["start"], piece["start"] + piece["units"]))
        assert not taken & units
        assert max(units) < product.units
        taken |= units


@pytest.mark.parametrize("gpu", CUTTABLE)
def test_what_is_proposed_instead_of_an_impossible_layout_is_possible(ask, gpu):
    product = MIG_PRODUCTS[gpu]
    whole = max(product.profiles, key=lambda p: p.units)
    code, found = ask(gpu, f"{whole.name}:1,{product.profiles[0].name}:1")
    assert code == 3
    (finding,) = found["findings"]
    assert finding["fix"]["at"] == ["layout"]
    assert place_profiles(product, finding["fix"]["value"]) is not None
    assert finding["given"] in (
        f"{{{product.profiles[0].name}: 1, {whole.name}: 1}}",
        f"{{{whole.name}: 1, {product.profiles[0].name}: 1}}",
    )


@pytest.mark.parametrize("gpu", CUTTABLE)
@pytest.mark.parametrize("name", ["9g.999gb", "1g", "whole"])
def test_a_profile_the_gpu_does_not_have_is_refused_by_name(ask, gpu, name):
    code, found = ask(gpu, name)
    assert (code, found["legal"]) == (3, False)
    (finding,) = found["findings"]
    assert name in finding["problem"]
    assert f"`gpuyard mig {gpu}` lists the profiles" in finding["allowed"]
    assert place_profiles(MIG_PRODUCTS[gpu], finding["fix"]["value"]) is not None


@pytest.mark.parametrize("gpu", WITH_VARIANTS)
def test_of_slices_with_all_media_engines_there_is_one(ask, gpu):
    exclusive = [p for p in MIG_PRODUCTS[gpu].profiles if p.media_exclusive]
    assert exclusive
    for profile in exclusive:
        assert ask(gpu, f"{profile.name}:1")[0] == 0
        for other in exclusive:
            both = f"{profile.name}:1,{other.name}:1" if other is not profile else f"{other.name}:2"
            assert ask(gpu, both)[0] == 3, both


@pytest.mark.parametrize("gpu", CUTTABLE)
def test_counts_agree_with_each_other_and_variants_only_add(ask, gpu):
    plain, media = ask(gpu, "--count")[1], ask(gpu, "--count", "--media")[1]
    for found in (plain, media):
        assert 0 < found["maximal_multisets"] <= found["multisets"] <= found["placements"]
        assert found["maximal_placements"] <= found["placements"]
    assert (media["placements"] > plain["placements"]) is (gpu in WITH_VARIANTS)


@pytest.mark.parametrize("gpu", WHOLE_ONLY)
@pytest.mark.parametrize("more", [(), ("1g.5gb:1",), ("--count",)])
def test_a_gpu_that_cannot_be_cut_names_those_that_can(ask, gpu, more):
    code, found = ask(gpu, *more)
    assert (code, found["gpu"], found["legal"]) == (3, gpu, False)
    (finding,) = found["findings"]
    assert finding["id"] == "mig.not_possible"
    assert finding["allowed"].split(", ") == list(MIG_PRODUCTS)
    assert finding["fix"]["message"] == "share it by time-slicing or MPS"


@pytest.mark.parametrize("name", GPUS)
def test_every_spelling_of_a_gpu_gives_the_same_answer(gpuyard, name):
    answers = {
        gpuyard("mig", s) for s in {name, name.lower(), GPUS[name].product, *GPUS[name].aliases}
    }
    assert len(answers) == 1


@pytest.mark.parametrize("gpu", CUTTABLE)
def test_a_drawing_has_a_row_for_each_slice_as_wide_as_the_gpu(gpuyard, gpu):
    product = MIG_PRODUCTS[gpu]
    small = product.profiles[0]
    drawn = gpuyard("mig", gpu, f"{small.name}:2").out
    rows = [line for line in drawn.splitlines() if re.match(rf"{re.escape(small.name)}  ", line)]
    assert [len(row.split()) - 1 for row in rows] == [product.units] * 2
    assert [row.split()[1:].count("██") for row in rows] == [small.units] * 2
    assert f"{2 * small.units} of {product.units} memory units" in drawn


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("1g.5gb", {"1g.5gb": 1}),
        ("1g.5gb:2", {"1g.5gb": 2}),
        (" { 1g.5gb : 2 , 3g.20gb: 1 } ", {"1g.5gb": 2, "3g.20gb": 1}),
        ("1g.5gb+me:1,1g.5gb:6", {"1g.5gb+me": 1, "1g.5gb": 6}),
        ("1g.5gb:007", {"1g.5gb": 7}),
    ],
)
def test_a_layout_is_read_as_people_write_it(text, counts):
    assert read_layout(text) == counts


@pytest.mark.parametrize(
    "text",
    ["1g.5gb:", ":2", "1g.5gb:-1", "1g.5gb:1.5", "1g.5gb:2,", ",", "{}", "1g.5gb 2", "1g.5gb:1000"],
)
def test_what_is_no_layout_is_told_how_to_write_one(text):
    with pytest.raises(UsageError, match=r"is not a slice\. Write PROFILE:COUNT"):
        read_layout(text)


@pytest.mark.parametrize("text", ["1g.5gb:0", "3g.20gb:1,1g.5gb:000"])
def test_none_of_a_slice_is_left_out(text):
    with pytest.raises(UsageError, match=r"1g\.5gb:0 has the count 0\. Remove it"):
        read_layout(text)
