"""CheckConfig and Configure: the place where a provider works, and the check of its credentials."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.plugins.cloud import account, faults
from testbed.plugins.cloud.shapes import Place

# Configuration fields of the providers that the fakes know; each is text, or JSON in a text.
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "aws": (
        *("region", "profile", "allowedAccountIds", "forbiddenAccountIds", "defaultTags"),
        *("assumeRoles", "assumeRole", "maxRetries", "skipCredentialsValidation", "version"),
        *("skipMetadataApiCheck", "skipRegionValidation", "accessKey", "secretKey", "token"),
    ),
    "gcp": (
        *("project", "region", "zone", "credentials", "accessToken", "version", "defaultLabels"),
        *("impersonateServiceAccount", "userProjectOverride", "billingProject"),
        *("addPulumiAttributionLabel", "disableGlobalProjectWarning", "scopes"),
    ),
}
SECRET = ("accessKey", "secretKey", "token", "credentials", "accessToken")
_REGION = ("AWS_REGION", "AWS_DEFAULT_REGION")
_PROJECT = ("GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT")
_REFUSED: Mapping[tuple[str, str], str] = {
    ("aws", "missing"): (
        "unable to validate AWS credentials.\nDetails: No valid credential sources found. Please see "
        "https://www.pulumi.com/registry/packages/aws/installation-configuration/ for more information."
    ),
    ("aws", "expired"): (
        "unable to validate AWS credentials.\nDetails: operation error STS: GetCallerIdentity, https "
        "response error StatusCode: 403, ExpiredToken: The security token included in the request is expired"
    ),
    ("gcp", "missing"): (
        "google: could not find default credentials. See "
        "https://cloud.google.com/docs/authentication/external/set-up-adc for more information"
    ),
    ("gcp", "expired"): (
        'oauth2: "invalid_grant" "reauth related error (invalid_rapt)": the credentials have expired'
    ),
}


class BadCredentials(Exception):
    """The cloud does not recognize the caller."""


def failures(cloud: str, inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Unknown fields of the provider, and a missing region."""
    results = [
        (name, f"{name} is no field of the {cloud} provider, as far as its fake knows it")
        for name in inputs
        if name not in _KNOWN[cloud]
    ]
    if cloud == "aws" and not inputs.get("region") and not _from(_REGION):
        results.append(("region", "missing required configuration variable: aws:region"))
    return results


def place(cloud: str, inputs: Mapping[str, Any]) -> Place:
    """The place where the provider works."""
    tags = _json(inputs.get("defaultTags")) or {}
    return Place(
        cloud,
        region=str(
            inputs.get("region") or _from(_REGION if cloud == "aws" else ("GOOGLE_REGION",))
        ),
        project=str(inputs.get("project") or _from(_PROJECT)),
        zone=str(inputs.get("zone") or _from(("GOOGLE_ZONE",))),
        tags=tags.get("tags") or {},
    )


def folder() -> Path:
    """The folder of the account."""
    return Path(
        os.environ.get(account.FOLDER) or Path(os.environ.get("PULUMI_HOME", ".")) / "fake-cloud"
    )


def let_in(cloud: str, where: Path) -> None:
    """Reject credentials that the script marks as bad."""
    ailing = faults.read(where)[0]
    if (cloud, ailing) in _REFUSED:
        raise BadCredentials(_REFUSED[cloud, ailing])


def _from(variables: tuple[str, ...]) -> str:
    return next((os.environ[each] for each in variables if os.environ.get(each)), "")


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value else value
