"""The validator's image: put together as its Dockerfile does it, without Docker, then started."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sizes
from gpuyard_validator.snapshot import snapshot_json
from gpuyard_validator.values import encode
from kit.cases.hardware import altered, expected, machine

FOLDER = sizes.ROOT / "images" / "validator"
PROGRAM = sizes.ROOT / "components" / "gpuyard_validator"
MOST_BYTES, MOST_BYTES_OF_NCCL = 60_000_000, 130_000_000
TMP = "/tmp"  # noqa: S108  of the image
WANTED = f"{TMP}/wanted"
LOCK = (sizes.ROOT / "requirements.lock").read_text(encoding="utf-8")
sys.path.insert(0, str(FOLDER))

import assemble  # noqa: E402
import sbom  # noqa: E402


def dockerfile(name="Dockerfile"):
    """Its instructions, without comments."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def given(instructions, word):
    return [rest for name, rest in instructions if name == word]


def installed(name, folder):
    """As `pip install --no-deps --no-compile --target` leaves a package, by the one installed here."""
    for path in importlib.metadata.distribution(name).files or ():
        if ".." not in path.parts and "__pycache__" not in path.parts:
            to = folder / path
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(Path(path.locate()).read_bytes())


def needed(lock):
    """Names and versions of a lock that are for this Python."""
    new = sys.version_info >= (3, 12)
    for line in (FOLDER / f"{lock}.lock").read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition("==")
        if rest and (">= '3.12'" not in rest if not new else "< '3.12'" not in rest):
            yield name, rest.split()[0]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """What the stage `root` leaves: packages of the lock, the program, a Python below them."""
    packages, program, root = (tmp_path_factory.mktemp(n) for n in ("packages", "program", "root"))
    installed("nvidia-ml-py", packages)
    (program / "gpuyard_validator").symlink_to(PROGRAM)
    done = subprocess.run(
        [sys.executable, FOLDER / "assemble.py", root / "image", packages, program],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert re.match(r"\d+\.\d MB in ", done.stdout)
    return root / "image"


@pytest.fixture
def entered(root):
    """The same, where it may be entered."""
    if os.geteuid():
        pytest.skip("only root may enter another root")
    return root


def started(root, *words):
    """The entry point of the image, as nobody, with nothing of this machine."""
    (entry,) = given(dockerfile(), "ENTRYPOINT")

    def enter():
        os.chroot(root)
        os.chdir("/")
        os.setgid(65534)
        os.setuid(65534)

    return subprocess.run(
        [*json.loads(entry), *words],
        env={"PYTHONPATH": "/opt/validator", "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=enter, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_it_is_small(root):
    assert 5_000_000 < assemble.size(root) <= MOST_BYTES


def test_the_program_runs_in_it_as_nobody_and_needs_nothing_of_its_node(entered):
    done = started(entered, "--schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["title"].startswith("gpuyard.dev/expectations/")
    for name, text in (
        ("wanted", json.dumps(encode(expected("T4")))),
        ("good", snapshot_json(machine("T4"))),
        ("bad", snapshot_json(altered(machine("T4"), inforom_valid=False))),
    ):
        (entered / "tmp" / name).write_text(text)
    for name, code in (("good", 0), ("bad", 1)):
        done = started(entered, "--expect", WANTED, "--snapshot", f"{TMP}/{name}")
        assert done.returncode == code, done.stderr
    # nvidia-ml-py is there, and says itself what is not: the driver, which the node brings
    done = started(entered, "--expect", WANTED)
    assert done.returncode == 3
    assert "not installed" not in done.stderr
    assert "NVML" in done.stderr


def test_what_must_reach_the_api_server_can(entered):
    """Checks that wait for each other, and what opens nodes, speak TLS: in the same image."""
    code = "import ssl, http.client, xml.etree.ElementTree, multiprocessing; ssl.create_default_context()"
    (entry,) = given(dockerfile(), "ENTRYPOINT")
    done = subprocess.run(
        [json.loads(entry)[0], "-c", code],
        preexec_fn=lambda: os.chroot(entered), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.nccl"])
def test_it_runs_as_nobody_and_what_it_copies_is_there(name):
    instructions = dockerfile(name)
    assert given(instructions, "USER") == ["65534:65534"]
    ignored = (sizes.ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for copied in given(instructions, "COPY"):
        *sources, _ = copied.split()
        if sources[0].startswith("--from="):
            continue
        for source in sources:
            assert (sizes.ROOT / source).exists()
            assert any(source.startswith(line[1:]) for line in ignored if line.startswith("!"))


def test_a_base_is_an_argument_and_no_tag_is_taken_for_a_digest():
    for name in ("Dockerfile", "Dockerfile.nccl"):
        instructions = dockerfile(name)
        names = {
            rest.partition("=")[0]: rest.partition("=")[2] for rest in given(instructions, "ARG")
        }
        bases = {rest.split()[0] for rest in given(instructions, "FROM")} - {"scratch"}
        assert bases == {f"${{{each}}}" for each in names}
        assert all("latest" not in value for value in names.values())
    assert names == {"NCCL_BASE": ""}, "nobody's default: it goes with the network of the pool"


def test_packages_are_installed_by_their_hashes():
    for name, locks in (("Dockerfile", ["nvml"]), ("Dockerfile.nccl", ["nvml", "nccl"])):
        (install,) = [rest for rest in given(dockerfile(name), "RUN") if "pip install" in rest]
        assert "--require-hashes" in install
        assert "--no-deps" in install
        assert re.findall(r"-r /build/(\w+)\.lock", install) == locks


def test_its_lock_is_that_of_the_tests():
    (found,) = sbom.packages((FOLDER / "nvml.lock").read_text(encoding="utf-8"))
    (ours,) = [each for each in sbom.packages(LOCK) if each["name"] == found["name"]]
    assert found == ours
    assert importlib.metadata.version(found["name"]) == found["version"]


def test_for_collectives_it_brings_no_nccl_of_its_own():
    names = {each["name"] for each in sbom.packages((FOLDER / "nccl.lock").read_text("utf-8"))}
    assert {"nccl4py", "cuda-core", "cuda-bindings", "numpy"} <= names
    assert not {name for name in names if name.startswith("nvidia-")}, (
        "half a gigabyte of compilers"
    )


def test_what_goes_over_a_base_for_collectives_is_small_and_finds_all_but_the_driver(tmp_path):
    """As Dockerfile.nccl puts it together, without Docker and with no other package in view."""
    found = dict([*needed("nvml"), *needed("nccl")])
    assert {name: importlib.metadata.version(name) for name in found} == found
    for name in found:
        installed(name, tmp_path)
    (tmp_path / "gpuyard_validator").symlink_to(PROGRAM)
    size = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert size < MOST_BYTES_OF_NCCL
    done = subprocess.run(
        [sys.executable, "-S", "-B", "-m", "gpuyard_validator.nccl.rank", "0"],
        env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert 'DynamicLibNotFoundError: \\"cuda\\" is an NVIDIA driver library' in done.stdout


def test_the_list_of_what_is_in_it_names_each_package_and_file(capsys):
    locks = [FOLDER / "nvml.lock", FOLDER / "nccl.lock"]
    assert sbom.main([*map(str, locks), str(PROGRAM)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    libraries = [each for each in found["components"] if each["type"] == "library"]
    text = "".join(lock.read_text(encoding="utf-8") for lock in locks)
    assert len(libraries) == len(re.findall(r"^[a-z0-9-]+==", text, re.MULTILINE))
    assert sum(len(each["hashes"]) for each in libraries) == text.count("--hash=sha256:")
    assert all(each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}" for each in libraries)
    names = {each["name"] for each in found["components"] if each["type"] == "file"}
    files = [*PROGRAM.rglob("*.py"), *PROGRAM.rglob("*.csv")]
    assert names == {path.relative_to(PROGRAM).as_posix() for path in files}
    assert sbom.document(locks, PROGRAM) == found
