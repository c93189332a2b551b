"""Stand-ins of two programs that kubeconfigs run; they print the credentials of a fake account.

`aws` has only `eks get-token` and the commands that find a resource.

    aws eks get-token --cluster-name NAME --region REGION
    aws ec2 describe-tags --filters Name=key,Values=Name Name=value,Values=lab
    gke-gcloud-auth-plugin
"""

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

from testbed.plugins.cloud.account import FOLDER, Account
from testbed.plugins.cloud.inside import entering, looking

USAGE, CREDENTIALS, OTHER = 252, 253, 255  # exit codes of the AWS CLI
# `eks get-token` returns 14 minutes, a token of Google lasts an hour.
_LASTS = {"aws": timedelta(minutes=14), "gke-gcloud-auth-plugin": timedelta(hours=1)}
_OPTIONS = {"--cluster-name", "--region", "--role-arn", "--profile", "--output"}
_HELP = (
    "this is a stand-in of {name} for the fake clouds of the test bed: it knows {knows}, calls no cloud, and"
    " its tokens open only what GPUYARD_FAKE_CLOUD names"
)
_KNOWS = {
    "aws": "`eks get-token --cluster-name NAME` and `ec2 describe-tags` with its sisters",
    "gke-gcloud-auth-plugin": "no option but --version and --help",
}


class Ended(Exception):
    """A program's error message and exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def main() -> NoReturn:
    """Run the program that the first argument names."""
    sys.exit(answered(sys.argv[1], sys.argv[2:]))


def answered(program: str, arguments: Sequence[str]) -> int:
    """Print an ExecCredential, or the reason why there is none."""
    try:
        if set(arguments) & {"--version", "--help", "help"} or program not in _KNOWS:
            about = _HELP.format(name=program, knows=_KNOWS.get(program, "nothing"))
            sys.stdout.write(f"{about}\n")
            return 0
        if program == "aws" and _looks(arguments):
            result = looking.described(_account("aws").all(), arguments)
            sys.stdout.write(json.dumps(result) + "\n")
            return 0
        token = _aws(arguments) if program == "aws" else _gke(arguments)
    except looking.NotHere as error:
        sys.stderr.write(f"aws: {error}; {_here('aws')}\n")
        return USAGE
    except (Ended, entering.NoToken) as error:
        sys.stderr.write(f"{error}\n")
        if isinstance(error, Ended):
            return error.code
        return CREDENTIALS if program == "aws" else 1
    sys.stdout.write(json.dumps(_credential(program, token)) + "\n")
    return 0


def _looks(arguments: Sequence[str]) -> bool:
    service = arguments[0] if arguments else ""
    return service in looking.SERVICES or list(arguments[:2]) == looking.IDENTITIES


def _aws(arguments: Sequence[str]) -> str:
    words: list[str] = []
    inputs: dict[str, str] = {}
    rest = iter(arguments)
    for each in rest:
        name, equals, value = each.partition("=")
        if not name.startswith("-"):
            words.append(name)
        elif name in _OPTIONS:
            inputs[name] = value if equals else next(rest, "")
        else:
            raise Ended(USAGE, f"aws: Unknown options: {name}; {_here('aws')}")
    if words != ["eks", "get-token"]:
        raise Ended(USAGE, f"aws: `aws {' '.join(words)}` is not here: {_here('aws')}")
    if not inputs.get("--cluster-name"):
        raise Ended(USAGE, "aws: the following arguments are required: --cluster-name")
    region = inputs.get("--region") or _first("AWS_REGION", "AWS_DEFAULT_REGION")
    if not region:
        raise Ended(
            CREDENTIALS,
            'You must specify a region. You can also configure your region by running "aws configure".',
        )
    return entering.eks_token(
        _account("aws"), inputs["--cluster-name"], region, inputs.get("--role-arn", "")
    )


def _gke(arguments: Sequence[str]) -> str:
    name = "gke-gcloud-auth-plugin"
    if arguments:
        raise Ended(1, f"{name}: {' '.join(arguments)} is not here: {_here(name)}")
    return entering.gke_token(_account(name))


def _account(program: str) -> Account:
    named = os.environ.get(FOLDER)
    if not named:
        raise Ended(OTHER, f"{program}: {FOLDER} is not set; {_here(program)}")
    return Account(Path(named), "aws" if program == "aws" else "gcp")


def _here(program: str) -> str:
    return _HELP.format(name=program, knows=_KNOWS[program])


def _first(*variables: str) -> str:
    return next((os.environ[each] for each in variables if os.environ.get(each)), "")


def _credential(program: str, token: str) -> dict[str, object]:
    """The credential in the requested version."""
    requested = json.loads(os.environ.get("KUBERNETES_EXEC_INFO") or "{}")
    until = datetime.now(tz=UTC) + _LASTS[program]
    return {
        "kind": "ExecCredential",
        "apiVersion": requested.get("apiVersion", "client.authentication.k8s.io/v1beta1"),
        "spec": {},
        "status": {"expirationTimestamp": until.strftime("%Y-%m-%dT%H:%M:%SZ"), "token": token},
    }
