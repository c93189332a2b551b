"""The table of fields that clouds compare is in step with what is known of their providers."""

from testbed.plugins.cloud import facts

import cloud_fields
from gpuyard.changes.fields import CONDITIONS
from gpuyard_core.catalogue.cloud_fields import cloud_kind
from gpuyard_core.catalogue.software.providers import PROVIDERS
from gpuyard_core.catalogue.sources import find_source
from kit.generated.changed import changed


def test_the_table_is_made_of_what_is_known(golden):
    golden(cloud_fields.TABLE, cloud_fields.text())
    assert all(facts.sdk(cloud) == PROVIDERS[cloud].version for cloud in cloud_fields.CLOUDS)
    assert all(
        f"pulumi-{cloud} {facts.sdk(cloud)}" in find_source("cloud-fields").title
        for cloud in ("aws", "gcp")
    )


def test_it_has_every_field_that_a_graph_gives():
    for cloud in cloud_fields.CLOUDS:
        for number in range(6):
            plan = changed(cloud, number)[0]
            for each in plan.provider.graph(plan).resources:
                known = cloud_kind(each.kind).nested_fields
                for name, value in each.inputs.items():
                    assert name in known[""], f"{each.kind} {name}"
                    if (
                        isinstance(value, dict)
                        and cloud_kind(each.kind).fields[name].type == "object"
                    ):
                        assert set(value) <= set(known[name]), f"{each.kind} {name}"


def test_each_field_that_replaces_sometimes_says_when():
    table = cloud_fields.table()["kinds"]
    rows = {
        (k, p)
        for k, row in table.items()
        for p, f in row["fields"].items()
        if f.get("replace") == "if"
    }
    assert rows - set(CONDITIONS) == set()
    assert len(rows) > 8
