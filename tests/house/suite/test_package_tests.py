"""The table of the tests of each package names what exists."""

import pytest

import package_tests
from installations import required
from sizes import ROOT


@pytest.mark.parametrize("name", sorted(package_tests.PACKAGES))
def test_paths_exist_and_requirements_are_installed(name):
    table = package_tests.PACKAGES[name]
    paths = [*table["tests"], *table.get("others", ())]
    assert not [path for path in paths if not (ROOT / path).exists()]
    for each in (name, *package_tests.TOOLS, *table.get("tools", ())):
        assert required(each)


def test_an_unknown_package_is_an_error(monkeypatch):
    monkeypatch.setattr("sys.argv", ["package_tests", "gpuyard-lints"])
    with pytest.raises(SystemExit, match="allowed: gpuyard-core, gpuyard-lint"):
        package_tests.main()
