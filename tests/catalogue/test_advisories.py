"""The table is what the bulletins say; and whatever the script can't read with certainty, it names."""

import json
import sys

import pytest

import refresh_advisories
from gpuyard_core.catalogue.cves import bulletins
from gpuyard_core.catalogue.tables import FOLDER
from kit.levels import upstream


def test_the_table_is_what_the_bulletins_say():
    read = refresh_advisories.Tables(upstream("advisories"))
    lines = (FOLDER / "advisories.csv").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line[:4] in read.bulletins]
    assert kept == read.texts()["advisories.csv"].splitlines()[1:], (
        "scripts/refresh_advisories.py writes the table; read the difference before you commit it"
    )


def test_what_is_in_doubt_is_listed_with_the_reason():
    assert {(row.bulletin, row.component) for row in bulletins() if row.doubt} == {
        ("5328", "dcgm"),
        ("5599", "container-toolkit"),
        ("5857", "dcgm-exporter"),
    }


def bulletin(*statements, number="1", name="DCGM", platform="Linux", **rest):
    """A bulletin in which each statement is (CVE, affected words, fixed words)."""
    products, entries = {}, []
    for cve, affected, fixed in statements:
        for words in [*affected, *fixed]:
            products.setdefault(words, f"id {words}")
        entries.append(
            {
                "cve": cve,
                "product_status": {
                    "known_affected": [products[w] for w in affected],
                    "fixed": [products[w] for w in fixed],
                },
                "scores": [{"cvss_v3": {"baseScore": 7}}, {"cvss_v3": {"baseScore": 8.5}}],
                **rest,
            }
        )
    versions = [
        {"category": "product_version", "name": name, "product": {"name": w, "product_id": i}}
        for w, i in products.items()
    ]
    return {
        "document": {"tracking": {"id": number, "current_release_date": "2026-01-02T00:00:00Z"}},
        "product_tree": {
            "branches": [
                {
                    "category": "vendor",
                    "name": "NVIDIA",
                    "branches": [
                        {"category": "architecture", "name": platform, "branches": versions}
                    ],
                }
            ]
        },
        "vulnerabilities": entries,
    }


@pytest.fixture
def tables(tmp_path):
    def read(*bulletins):
        for document in bulletins:
            name = document["document"]["tracking"]["id"]
            (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        return refresh_advisories.Tables(tmp_path)

    return read


@pytest.mark.parametrize(
    ("affected", "fixed", "row"),
    [
        ("All versions prior to 3.1.7", "3.1.7", "*<3.1.7"),
        ("All driver version prior to 3.1.7", "v3.1.7", "*<3.1.7"),
        ("All drivers versions prior to 3.1.7", "3.1.7", "*<3.1.7"),
        ("All versions up to and including v1.2", "1.3", "*<=1.2:1.3"),
        ("0.0  to 4.5.2", "4.5.3", "*<=4.5.2:4.5.3"),
    ],
)
def test_a_range_in_words_is_read(tables, affected, fixed, row):
    found = tables(bulletin(("CVE-2026-1", [affected], [fixed])))
    assert [r.cells for r in found.rows] == [("1", "2026-01-02", "CVE-2026-1", "8.5", "dcgm", row)]
    assert not found.doubts


def test_a_driver_counts_by_branch_and_the_virtual_ones_are_left_out(tables):
    said = ("CVE-2026-1", ["All driver versions prior to 580.1.2"], ["580.1.2"])
    assert " ".join(
        tables(bulletin(said, name="Tesla", platform="Linux(R580)")).rows[0].cells
    ).endswith("driver 580<580.1.2")
    for name, platform in [
        ("Tesla", "Windows(R580)"),
        ("Tesla", "Linux(R580 vGPU 19)"),
        ("GeForce", "Linux"),
    ]:
        assert tables(bulletin(said, name=name, platform=platform)).rows == []


@pytest.mark.parametrize(
    ("affected", "fixed", "said"),
    [
        (["some versions"], ["1.2"], "affected `some versions`, fixed `1.2`"),
        (["All versions prior to 1.2"], ["soon"], "fixed `soon`"),
        (["All versions prior to 1.2"], [], "fixed nothing"),
        ([], ["1.2"], "affected nothing"),
        (["All versions prior to 1.2", "All versions prior to 1.3"], ["1.3"], "`, `"),
    ],
)
def test_what_is_not_one_range_and_one_fix_is_left_out_and_named(tables, affected, fixed, said):
    found = tables(bulletin(("CVE-2026-1", affected, fixed)))
    assert found.rows == []
    (doubt,) = found.doubts
    assert said in doubt.text
    assert doubt.text.endswith("not one range and one fix; left out")


def test_a_range_that_reaches_its_fix_is_named_and_read_strictly(tables):
    found = tables(bulletin(("CVE-2026-1", ["0.0 to 4.8.2"], ["4.8.2"])))
    assert found.rows[0].cells[-2:] == ("dcgm", "*<=4.8.2:4.8.2")
    assert [d.text for d in found.doubts] == [
        "`0.0 to 4.8.2` is affected and 4.8.2 is fixed: 4.8.2 is taken as affected"
    ]


def test_the_layout_of_nvidia_repository_gives_the_same_table(tables, tmp_path):
    ours = bulletin(("CVE-2026-1", ["All versions prior to 1.2"], ["1.2"]))
    flat = tables(ours).texts()
    nested = tmp_path / "clone" / "2026" / "1"
    nested.mkdir(parents=True)
    (tmp_path / "1.json").rename(nested / "1.json")
    (nested / "CVE-2026-1.json").write_text("not a bulletin", encoding="utf-8")
    assert refresh_advisories.Tables(tmp_path / "clone").texts() == flat


def test_a_bulletin_without_a_component_of_ours_is_not_listed(tables):
    said = ("CVE-2026-1", ["All versions prior to 1.2"], ["1.2"])
    found = tables(bulletin(said), bulletin(said, number="2", name="NVIDIA FLARE"))
    assert found.bulletins == ["1"]


def test_a_condition_is_kept_apart(tables):
    words = "All versions up to and including 1.2 (only when CDI is enabled)"
    found = tables(bulletin(("CVE-2026-1", [words], ["1.3"])))
    assert [c.text for c in found.conditions] == ["only when CDI is enabled"]


def test_a_product_that_the_tree_lacks_is_named(tables):
    document = bulletin(("CVE-2026-1", ["All versions prior to 1.2"], ["1.2"]))
    document["vulnerabilities"][0]["product_status"]["fixed"].append("lost")
    (doubt,) = tables(document).doubts
    assert (doubt.component, "product `lost` is not in" in doubt.text) == ("?", True)


def test_a_missing_score_is_a_dash(tables):
    found = tables(bulletin(("CVE-2026-1", ["All versions prior to 1.2"], ["1.2"]), scores=[]))
    assert found.rows[0].score == "-"


def test_the_same_bulletins_give_the_same_bytes_whatever_their_order(tables):
    one = bulletin(("CVE-2026-1", ["All versions prior to 1.2"], ["1.2"]), number="2")
    other = bulletin(("CVE-2026-2", ["All versions prior to 1.4"], ["1.4"]), number="10")
    first = tables(one, other).texts()
    assert first == tables(other, one).texts()
    assert first["bulletins.csv"].splitlines()[1:] == ["2,,,", "10,,,"]


def test_the_program_writes_the_table_and_says_what_is_in_doubt(
    tables, tmp_path, monkeypatch, capsys
):
    tables(bulletin(("CVE-2026-1", ["0.0 to 4.8.2"], ["4.8.2"])))
    monkeypatch.setattr(refresh_advisories, "TABLES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["refresh_advisories.py", str(tmp_path)])
    refresh_advisories.main()
    assert "CVE-2026-1" in (tmp_path / "advisories.csv").read_text(encoding="utf-8")
    assert "in doubt: 1 dcgm: `0.0 to 4.8.2`" in capsys.readouterr().out


def test_a_folder_without_bulletins_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["refresh_advisories.py"])
    monkeypatch.setenv("GPUYARD_UPSTREAM", str(tmp_path))
    with pytest.raises(SystemExit, match="no CSAF files in"):
        refresh_advisories.main()
