"""Programs in YAML, TypeScript and Go: the examples, deployed on a real API server."""

import os
import re
import shutil

import pytest
import yaml
from labs import KUEUE
from testbed.plugins.kubernetes.settings import load_kubeconfig

from gpuyard.resources.hosting import COMPONENTS
from kit.levels import require_level
from stacks import PROJECT, ROOT

COMPONENT_FOLDER = ROOT / "components"
HOSTS = {
    "yaml": ["pulumi-language-yaml"],
    "typescript": ["node", "npm"],
    "go": ["go"],
}
UNREACHABLE = re.compile("ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|dial tcp|GOPROXY")

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def write(stack, engine):
    """Copy an example into the stack's folder, and install its dependencies."""

    def copy(language):
        generator = ["pulumi-generate-sdk"] if engine.needs_our_plugins else []
        path = os.pathsep.join((str(engine.path.parent), stack.env["PATH"]))
        for tool in [*HOSTS[language], *(generator if language != "yaml" else [])]:
            found = shutil.which(tool, path=path)
            require_level("engine", found, f"no {tool}; `scripts/tools sdk-generator yaml`")
        example = ROOT / "examples" / "languages" / language
        shutil.copytree(example, stack.folder, dirs_exist_ok=True)
        project = yaml.safe_load((example / "Pulumi.yaml").read_text())
        given = example / project["packages"]["gpuyard"]
        assert given.resolve() == COMPONENT_FOLDER
        project |= {"name": PROJECT, "packages": {"gpuyard": str(COMPONENT_FOLDER)}}
        (stack.folder / "Pulumi.yaml").write_text(yaml.safe_dump(project))
        if language != "yaml":
            install(stack)

    # Go compiles with the settings of the test bed, to use what the engine's build has compiled.
    stack.env |= {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-trimpath -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "npm_config_cache": str(ROOT / ".testbed" / "npm"),
        "npm_config_prefer_offline": "true",
    }
    return copy


def install(stack):
    """Generate the SDK and install the dependencies, which come from package registries."""
    try:
        stack.run("install")
    except AssertionError as failed:
        found = UNREACHABLE.search(str(failed)) is None
        require_level("engine", found, f"no package registry can be reached: {failed}")
        raise


@pytest.fixture
def cluster(stack, kubeconfig, kueue):
    """Make the context `lab` of the examples the cluster of the tests, which has Kueue's definitions."""
    config = load_kubeconfig(str(kubeconfig))
    config["contexts"] = [{**config["contexts"][0], "name": "lab"}]
    config["current-context"] = ""
    file = stack.folder.parent / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    stack.env["KUBECONFIG"] = str(file)


def queues(api, team):
    """The LocalQueues of a team."""
    return api.cluster.list(KUEUE, "LocalQueue", team)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    "language", [pytest.param("yaml", marks=pytest.mark.always), "typescript", "go"]
)
def test_an_example_is_deployed_and_destroyed(stack, api, write, language):
    write(language)
    previewed = stack.preview().output
    created = stack.up().counts["created"]
    assert f"+ {created} to create" in previewed
    assert [len(queues(api, team)) for team in ("vision", "speech")] == [1, 1]
    assert "vision" in stack.run("stack", "output", "queues").output
    stack.unchanged()
    stack.destroy()
    assert queues(api, "vision") == []


@pytest.mark.always
def test_a_rejected_platform_names_the_field_as_the_program_does(stack, write):
    write("yaml")
    file = stack.folder / "Pulumi.yaml"
    project = yaml.safe_load(file.read_text())
    platform = project["resources"]["platform"]["properties"]["platform"]
    platform["teams"][0]["guarantee"] = {"train": 999}
    file.write_text(yaml.safe_dump(project))
    said = stack.preview(fails=True).output
    assert (
        "property teams[0].guarantee.train has a problem:"
        " train has 32 nvidia.com/gpu with all 4 nodes (8 a node)\n"
        "      given: 999 nvidia.com/gpu\n"
        "      allowed: 32 nvidia.com/gpu\n"
        "      fix: guarantee 32, or let train have 125 nodes\n"
    ) in said


@pytest.mark.always
def test_the_schema_has_every_component(pulumi):
    code, said = pulumi("package", "get-schema", str(COMPONENT_FOLDER))
    assert code == 0, said
    schema = yaml.safe_load(said)
    assert set(schema["resources"]) == {f"gpuyard:index:{each.__name__}" for each in COMPONENTS}


@pytest.mark.parametrize(
    ("language", "file", "text"),
    [
        ("nodejs", "nodejs/types/input.ts", "export interface PlatformSpec"),
        ("go", "go/gpuyard/pulumiTypes.go", "type PlatformSpec struct"),
        ("python", "python/pulumi_gpuyard/_inputs.py", "class PlatformSpec"),
    ],
)
def test_an_sdk_is_generated(pulumi, tmp_path, language, file, text):
    out = str(tmp_path / "sdk")
    code, said = pulumi(
        "package", "gen-sdk", str(COMPONENT_FOLDER), "--language", language, "--out", out
    )
    assert code == 0, said
    assert text in (tmp_path / "sdk" / file).read_text()
