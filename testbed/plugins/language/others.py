"""Programs in TypeScript and Go, and the SDKs of packages in every language.

pulumi/pulumi, sdk/nodejs/cmd/pulumi-language-nodejs/main.go and sdk/go/pulumi-language-go/main.go. The
official hosts call the same generators of pkg/codegen as `pulumi-generate-sdk` (testbed/go/sdk-generator).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from google.protobuf import json_format
from pulumi.runtime.proto import language_pb2 as wire

GENERATOR = Path(__file__).resolve().parents[3] / ".testbed" / "bin" / "pulumi-generate-sdk"


class Failed(Exception):
    """A program cannot be started, or an SDK cannot be generated; the message is the tool's."""


def node_command(request: wire.RunRequest, inputs: Mapping[str, str]) -> list[str]:
    """The command for a TypeScript or JavaScript program: the runner of its own SDK."""
    runner = Path(request.info.program_directory, "node_modules/@pulumi/pulumi/cmd/run")
    if not runner.is_dir():
        raise Failed(
            "It looks like the Pulumi SDK has not been installed. Have you run pulumi install?"
        )
    named = [f"--{name.replace('_', '-')}={value}" for name, value in inputs.items()]
    return ["node", str(runner), *named, request.info.entry_point or ".", *request.args]


def go_command(request: wire.RunRequest, folder: str) -> list[str]:
    """The command for a Go program, which is compiled into this folder first."""
    program = f"{folder}/program"
    _call(["go", "build", "-o", program, "."], request.info.program_directory)
    return [program, *request.args]


def go_variables(inputs: Mapping[str, str]) -> dict[str, str]:
    """The inputs as the Go SDK reads them: sdk/go/pulumi/run.go."""
    return {f"PULUMI_{name.upper()}": value for name, value in inputs.items() if name != "pwd"}


def generate(language: str, request: wire.GeneratePackageRequest) -> None:
    """Write the SDK of a package."""
    if not GENERATOR.is_file():
        raise Failed(f"no {GENERATOR}: `scripts/tools sdk-generator` builds it")
    _call([str(GENERATOR), language], ".", json_format.MessageToJson(request))


def install(language: str, folder: Path) -> None:
    """Install the dependencies of a program."""
    if language == "nodejs":
        _call(["npm", "ci" if (folder / "package-lock.json").is_file() else "install"], folder)
    else:
        _call(["go", "mod", "download"], folder)


def link(language: str, request: wire.LinkRequest) -> str:
    """Make local SDKs dependencies of a program; returns how it imports them."""
    folder = Path(request.info.program_directory)
    imports = []
    for each in request.packages:
        sdk = Path(request.info.root_directory, each.path)
        place = f"./{sdk.relative_to(folder)}" if sdk.is_relative_to(folder) else str(sdk)
        if language == "nodejs":
            name = json.loads((sdk / "package.json").read_text())["name"]
            _call(["npm", "pkg", "set", f"dependencies.{name}=file:{place[2:]}"], folder)
            imports.append(f'import * as {each.package.name} from "{name}";')
        else:
            module = (sdk / "go.mod").read_text().split()[1]
            _call(["go", "mod", "edit", f"-replace={module}={place}"], folder)
            imports.append(f'import "{module}"')
    return "\n".join(imports)


def _call(command: list[str], folder: str | Path, text: str = "") -> None:
    """Run a tool; what it prints is the message of its failure."""
    try:
        subprocess.run(
            command,
            cwd=folder,
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
    except FileNotFoundError:
        raise Failed(f"{command[0]} is not on PATH") from None
    except subprocess.CalledProcessError as error:
        raise Failed(f"`{' '.join(command)}` failed: {error.stdout.strip()}") from None
