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
DISTRIBUTIONS = [
    path.parent.name.replace("_", "-")
    for path in (sizes.ROOT / "components").glob("gpuyard*/__init__.py")
]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return release.build(sizes.ROOT, "build_sdist", tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """By distribution."""
    built = release.build_wheels(sizes.ROOT, tmp_path_factory.mktemp("wheels"))
    return {path.name.partition("-")[0].replace("_", "-"): path for path in built}


@pytest.fixture(scope="module")
def packages(wheels):
    """The metadata by distribution."""
    return {
        name: Metadata.from_email(release.package_metadata(wheel), validate=True)
        for name, wheel in wheels.items()
    }


def names_in(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return [PurePosixPath(name) for name in archive.namelist()]


def assert_valid(bill):
    """Against the official schema; each package URL must be in its canonical form."""
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))
    assert error is None, error
    urls = [each["purl"] for each in bill["components"]]
    assert urls == [PackageURL.from_string(each).to_string() for each in urls]
    assert len(set(urls)) == len(urls)


def test_two_builds_have_the_same_bytes_one_from_the_sdist(sdist, wheels):
    release.check_reproducible(sdist, list(wheels.values()))


def test_a_difference_is_an_error(sdist, wheels, tmp_path):
    first, *others = wheels.values()
    other = tmp_path / first.name
    other.write_bytes(first.read_bytes() + b"\0")
    with pytest.raises(SystemExit) as ended:
        release.check_reproducible(sdist, [other, *others])
    assert ended.value.code == (f"release: {other.name} is not reproducible: two builds differ")


def test_every_package_is_a_distribution_with_its_modules_only(wheels):
    assert sorted(wheels) == sorted(DISTRIBUTIONS)
    for name, wheel in wheels.items():
        package = name.replace("-", "_")
        names = names_in(wheel)
        assert {name.parts[0] for name in names} == {package, f"{package}-0.1.0.dist-info"}
        assert PurePosixPath(package) / "py.typed" in names
        assert PurePosixPath(f"{package}-0.1.0.dist-info/licenses/LICENSE") in names
        assert not {"pyproject.toml", "LICENSE"} & {each.parts[1] for each in names}
        sources = sizes.below(sizes.tracked(), f"components/{package}/")
        modules = {each.relative_to(sizes.ROOT / "components").as_posix() for each in sources}
        present = {str(n) for n in names if n.suffix == ".py" and "shipped" not in n.parts}
        assert present == modules | ({"gpuyard/typed.py"} if package == "gpuyard" else set())


def test_a_wheel_has_the_data_of_its_packages(wheels):
    data = Counter(
        "/".join(name.parts[:2])
        for wheel in wheels.values()
        for name in names_in(wheel)
        if name.suffix != ".py"
    )
    folders = ("cli", "render", "shipped")
    assert {f"gpuyard/{name}" for name in folders} <= set(data)
    assert {"gpuyard_advisor/readiness", "gpuyard_core/catalogue", "gpuyard_lint/shipped"} <= set(
        data
    )
    names = names_in(wheels["gpuyard"])
    assert len([each for each in names if "templates" in each.parts]) == 7
    assert PurePosixPath("gpuyard/shipped/program/__main__.py") in names


def test_distributions_are_small(sdist, wheels):
    """A file that is added by mistake is larger than the rest of a package."""
    assert sdist.stat().st_size / MIB < 3
    assert sum(wheel.stat().st_size for wheel in wheels.values()) / MIB < 2.75


def test_an_sdist_has_the_sources_of_the_wheel_and_no_pictures(sdist):
    with tarfile.open(sdist) as archive:
        folders = {PurePosixPath(name).parts[1] for name in archive.getnames()}
    assert {"components", "docs", "policies", "scripts", "pyproject.toml"} <= folders
    assert not {"tests", "benchmarks", ".ci"} & folders


def test_the_metadata_name_license_and_extras(packages):
    package = packages["gpuyard"]
    assert (package.name, package.license_expression) == ("gpuyard", "Apache-2.0")
    assert str(package.requires_python) == ">=3.11"
    assert package.description.startswith("# GPU Yard\n")
    extras = {"advisor", "aws", "gcp", "parquet", "policy", "solve", "testing", "validator"}
    assert extras == set(package.provides_extra)
    assert "Typing :: Typed" in package.classifiers
    assert packages["gpuyard-lint"].provides_extra == ["policy"]


def test_all_distributions_have_one_version_and_require_that_of_each_other(packages):
    version = packages["gpuyard"].version
    assert {package.version for package in packages.values()} == {version}
    among = [
        each
        for package in packages.values()
        for each in package.requires_dist or []
        if each.name in packages
    ]
    assert among
    assert {str(each.specifier) for each in among} == {f"=={version}"}


def test_the_bill_of_materials_of_a_wheel_has_its_dependencies(packages):
    bill = release.wheel_bill_of_materials(packages["gpuyard"])
    assert_valid(bill)
    names = {each["name"] for each in bill["components"]}
    assert {"pulumi", "pulumi-kubernetes", "pydantic", "grpcio", "pydantic-core"} <= names
    assert {"gpuyard-core", "gpuyard-lint"} <= names
    assert not {"mypy", "hatchling"} & names
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
