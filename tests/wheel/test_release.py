"""The distributions of a release: reproducible, complete and described by bills of materials."""

import json
import tarfile
import zipfile
from collections import Counter
from pathlib import PurePosixPath

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.metadata import Metadata

import release
import sizes

MIB = 1024 * 1024
PACKAGES = {"gpuyard", "gpuyard_gate", "gpuyard_idle", "gpuyard_requeue", "gpuyard_validator"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist and the wheel."""
    out = tmp_path_factory.mktemp("dist")
    return [release.build(sizes.ROOT, kind, out) for kind in ("build_sdist", "build_wheel")]


@pytest.fixture(scope="module")
def package(built):
    return Metadata.from_email(release.package_metadata(built[1]), validate=True)


def assert_valid(bill):
    """Against the official schema; each package URL must be in its canonical form."""
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))
    assert error is None, error
    urls = [each["purl"] for each in bill["components"]]
    assert urls == [PackageURL.from_string(each).to_string() for each in urls]
    assert len(set(urls)) == len(urls)


def test_two_builds_have_the_same_bytes_one_from_the_sdist(built):
    release.check_reproducible(*built)


def test_a_difference_is_an_error(built, tmp_path):
    other = tmp_path / built[1].name
    other.write_bytes(built[1].read_bytes() + b"\0")
    with pytest.raises(SystemExit) as ended:
        release.check_reproducible(built[0], other)
    assert ended.value.code == (f"release: {other.name} is not reproducible: two builds differ")


def test_a_wheel_has_the_packages_and_their_data(built):
    with zipfile.ZipFile(built[1]) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]
    assert {name.parts[0] for name in names} == {*PACKAGES, "gpuyard-0.1.0.dist-info"}
    assert not [name for name in names if name.is_relative_to("gpuyard_simulate")]
    assert PurePosixPath("gpuyard/py.typed") in names
    data = Counter(
        name.relative_to("gpuyard").parts[0]
        for name in names
        if name.is_relative_to("gpuyard") and name.suffix != ".py"
    )
    folders = {"catalogue", "cli", "py.typed", "readiness", "render", "shipped"}
    assert set(data) >= folders
    templates = {str(n) for n in names if n.is_relative_to("gpuyard/cli/templates")}
    assert len(templates) == 7
    assert PurePosixPath("gpuyard/shipped/program/__main__.py") in names


def test_distributions_are_small(built):
    """A file that is added by mistake is larger than the rest of a package."""
    sdist, wheel = (path.stat().st_size / MIB for path in built)
    assert sdist < 3
    assert wheel < 2.75


def test_an_sdist_has_the_sources_of_the_wheel_and_no_pictures(built):
    with tarfile.open(built[0]) as archive:
        folders = {PurePosixPath(name).parts[1] for name in archive.getnames()}
    assert {"components", "docs", "policies", "scripts", "pyproject.toml"} <= folders
    assert not {"tests", "benchmarks", ".ci"} & folders


def test_the_metadata_name_license_and_extras(package):
    assert (package.name, package.license_expression) == ("gpuyard", "Apache-2.0")
    assert str(package.requires_python) == ">=3.11"
    assert package.description.startswith("# GPU Yard\n")
    assert {"aws", "gcp", "parquet", "policy", "solve", "validator"} == set(package.provides_extra)
    assert "Typing :: Typed" in package.classifiers


def test_the_bill_of_materials_of_a_wheel_has_its_dependencies(package):
    bill = release.wheel_bill_of_materials(package)
    assert_valid(bill)
    names = {each["name"] for each in bill["components"]}
    assert {"pulumi", "pulumi-kubernetes", "pydantic", "grpcio", "pydantic-core"} <= names
    assert not {"pytest", "mypy", "hatchling"} & names
    graph = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    root = bill["metadata"]["component"]["bom-ref"]
    assert any(each.startswith("pkg:pypi/pulumi@") for each in graph[root])
    assert set(graph) == {root, *(each["bom-ref"] for each in bill["components"])}


def test_checksums_are_those_of_every_file(tmp_path):
    (tmp_path / "b").write_text("b", encoding="utf-8")
    (tmp_path / "a").write_text("", encoding="utf-8")
    release.write_checksums(tmp_path)
    assert (tmp_path / "SHA256SUMS").read_text(encoding="utf-8") == (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n"
        "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n"
    )


def test_uncommitted_changes_stop_a_release(monkeypatch):
    monkeypatch.setattr(release, "_output", lambda *_: "M README.md")
    with pytest.raises(SystemExit) as ended:
        release.main()
    assert ended.value.code == "release: commit these changes first:\nM README.md"
