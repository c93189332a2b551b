"""The pages about findings are what their proofs and the program say."""

import pytest

import finding_pages
import proofs

PAGES = finding_pages.pages()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_page_is_what_its_proofs_and_the_program_say(golden, path):
    golden(path, PAGES[path])


def test_every_finding_is_in_the_index_with_its_severity():
    index = PAGES[finding_pages.FOLDER / "index.md"]
    for kind in proofs.ids():
        assert f"\n| [{kind}]({kind}.md) | " in index
