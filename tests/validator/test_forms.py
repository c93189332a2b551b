"""Every way to cut each product is known by what NVML says of its slices; one slice less is noticed."""

from dataclasses import replace

from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.catalogue.mig_layouts import multisets
from gpuyard_validator.expectations import Layout
from gpuyard_validator.results import Code
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import Instance
from kit.cases.hardware import CARDS, SLICES, altered, expected, machine
from kit.every import every

CUTTABLE = [name for name in CARDS if name in MIG_PRODUCTS]
LEFT = (1.0, 0.94)
"""What of its share a slice shows: all, or less what the driver keeps; a 1g.5gb of an A100 has 0.95."""


def slices(name, layout, left):
    """As NVML describes them: where the guide has MiB its own, else by units of memory."""
    product, whole = MIG_PRODUCTS[name], CARDS[name].mib
    for each, count in layout.items():
        profile = product.profile(each)
        share = Instance(
            gpu_slices=profile.slices,
            compute_slices=profile.slices,
            memory_mib=int(whole * profile.units / product.units * left),
        )
        yield from [SLICES.get(each, share) if left < 1 else share] * count


def cut(name, layout, left):
    """A node whose GPUs are all cut like this, and what a plan of it says."""
    made = tuple(slices(name, layout, left))
    node = machine(name, cut=True)
    everywhere = Layout(gpus=tuple(range(CARDS[name].gpus)), counts=layout)
    return (
        expected(name, sharing="mig", layouts=(everywhere,)),
        replace(node, gpus=tuple(replace(gpu, instances=made) for gpu in node.gpus)),
    )


def test_all_products_that_can_be_cut_are_here():
    assert CUTTABLE == ["A100-40", "A100-80", "H100", "H200", "B200", "GB200", "RTX6000"]


@every("name", CUTTABLE)
def test_each_form_of_a_product_passes_and_one_slice_less_is_noticed(name):
    layouts = [dict(layout) for layout in multisets(MIG_PRODUCTS[name])]
    assert layouts
    for layout in layouts:
        for left in LEFT:
            wanted, node = cut(name, layout, left)
            report = validate(wanted, node)
            assert report.code is Code.PASSED, (layout, left, report.blocking_results)
            geometry = [r.evidence for r in report.results if r.check == "mig.geometry"]
            assert [each.value for each in geometry] == [layout] * CARDS[name].gpus

            fewer = altered(node, instances=node.gpus[-1].instances[1:])
            against = {(r.check, r.scope) for r in validate(wanted, fewer).blocking_results}
            assert against == {("mig.geometry", "gpu 1")}, (layout, left)
