"""The stores of a plan."""

from gpuyard.plan.records import PlatformPlan, StorePlan
from gpuyard_core.terminal.console import Cell, Column, Console, table
from gpuyard_core.terminal.text import usd


def show_stores(plan: PlatformPlan, console: Console) -> None:
    """Show the stores; the bill does not include them."""
    stores = plan.storage.stores
    if not stores:
        return
    guarded = "protected" if plan.storage.protect else "not protected: a destroy deletes it"
    console.title("Storage", f"{guarded}; not in the bill")
    columns = [
        Column("store", name=True),
        Column("kind", wraps=True),
        Column("size", "right"),
        Column("zone"),
        Column("kept"),
        Column("$/month", "right"),
    ]
    console.show(table(columns, [_row(store) for store in stores]))
    for basis in dict.fromkeys(each.basis for each in stores):
        whose = ", ".join(each.name for each in stores if each.basis == basis)
        console.print_wrapped(f"{whose}: {basis}", style="dim", indent=2)


def _row(store: StorePlan) -> tuple[Cell, ...]:
    return (
        store.name,
        store.kind,
        "as needed" if store.size_gib is None else f"{store.size_gib:,} GiB",
        store.zone or "-",
        store.retention,
        "unpriced" if store.usd_per_month is None else usd(store.usd_per_month),
    )
