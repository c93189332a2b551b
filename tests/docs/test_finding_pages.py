"""The pages about findings match their proofs and the program."""

from functools import partial

import pytest

import finding_pages
import proofs
from kit.every import judge

PARTS = 6


@pytest.mark.parametrize("part", range(PARTS))
def test_the_page_is_what_its_proofs_and_the_program_say(golden, part):
    def compare(kind):
        golden(finding_pages.FOLDER / f"{kind}.md", finding_pages.page(proofs.read(kind)))

    judge([(kind, partial(compare, kind)) for kind in proofs.ids()[part::PARTS]])


def test_every_finding_is_in_the_index_with_its_severity(golden):
    index = finding_pages.index()
    golden(finding_pages.FOLDER / "index.md", index)
    for kind in proofs.ids():
        assert f"\n| [{kind}]({kind}.md) | " in index
