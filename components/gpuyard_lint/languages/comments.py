"""Comments that state that something is intended: for another scanner, or in plain language.

Such a comment excuses a finding and causes none: the finding is then advisory. A scanner directive
applies to the block that it is in or above; plain language to its own or the next line, and to the
content of that line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpuyard_core.manifests.placeholders import is_no_image

_MOST_BYTES = 512 * 1024
"""Larger files are generated and have no such comments."""
_MOST_LETTERS = 1000
"""Maximum length read of one comment: a search for two words in any order is quadratic."""
_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//)+(.*)$")
_BETWEEN = re.compile(r"\s*(?:---.*)?$")
ANY_RULE = ""
Comments = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class JustifyingComment:
    """One comment, and the finding that it justifies."""

    rule: str
    """ANY_RULE for every finding on the line."""
    about: str
    """Substrings of the message; "" for all messages of the rule."""
    line: int
    """The line that it applies to: its own, or the next that is not a comment."""
    applies_to_file: bool
    """Whether it applies to the whole resource that it is in or above."""

    def justifies(self, rule: str, problem: str, lines: Sequence[int], last: int) -> bool:
        """Whether it does so on the last of these lines, of which the resource has the first, to `last`."""
        if self.rule not in {ANY_RULE, rule} or self.about not in problem or _is_filled_in(problem):
            return False
        if self.rule == ANY_RULE:
            return self.line == lines[-1]
        return lines[0] <= self.line <= last if self.applies_to_file else self.line in lines


def _is_filled_in(problem: str) -> bool:
    """Whether it is for an image with a placeholder as registry: the comment is about the placeholder."""
    image = problem.partition(" ")[0]
    return "/" in image and is_no_image(image)


_DIRECTIVE = re.compile(
    r"(?:tfsec|trivy):ignore:(?P<ids>\S+)|checkov:skip=(?P<checkov>\w+)|nosec\s+(?P<nosec>[\w-]+)"
    r"|(?P<kics>kics-scan\s+ignore)(?:-line|-block)?\b"
)
_SET_ASIDE: Mapping[str, tuple[str, ...]] = {
    "GPU-AWS-01": (
        *("aws-eks-no-public-cluster-access", "aws-eks-no-public-cluster-access-to-cidr"),
        *("aws-0040", "aws-0041", "ckv_aws_38", "ckv_aws_39"),
    ),
    "GPU-AWS-02": ("aws-eks-encrypt-secrets", "aws-0039", "ckv_aws_58"),
    "GPU-AWS-03": ("aws-eks-enable-control-plane-logging", "aws-0038", "ckv_aws_37"),
    "GPU-AWS-04": (
        *("aws-ec2-enforce-http-token-imds", "aws-ec2-enforce-launch-config-http-token-imds"),
        *("aws-0028", "aws-0130", "ckv_aws_79", "ckv_aws_341"),
    ),
    "GPU-NET-01": (
        *("aws-ec2-no-public-ingress-sgr", "aws-vpc-no-public-ingress-sgr", "aws-0107"),
        *(
            "google-compute-no-public-ingress",
            "gcp-0027",
            "ckv_aws_24",
            "ckv_aws_25",
            "ckv_aws_260",
        ),
        *("ckv_aws_277", "ckv_aws_100", "ckv_gcp_2", "ckv_gcp_3", "ckv_gcp_88"),
    ),
    "GPU-GCP-01": (
        *("google-gke-enable-private-cluster", "google-gke-enable-master-networks", "gcp-0061"),
        *("google-gke-no-public-control-plane", "gcp-0053", "gcp-0059"),
        *("ckv_gcp_18", "ckv_gcp_20", "ckv_gcp_25", "ckv_gcp_64"),
    ),
    "GPU-GCP-02": ("google-gke-node-metadata-security", "gcp-0057", "ckv_gcp_69"),
    "GPU-GCP-03": ("google-gke-node-shielding-enabled", "gcp-0055", "ckv_gcp_68", "ckv_gcp_71"),
    "GPU-GCP-06": (
        *(
            "google-gke-enable-auto-repair",
            "gcp-0063",
            "google-gke-enable-auto-upgrade",
            "gcp-0058",
        ),
        *("ckv_gcp_9", "ckv_gcp_10"),
    ),
    "GPU-POD-02": ("ksv-0017", "ksv-0010", "ksv-0008", "ckv_k8s_16", "ckv_k8s_17", "ckv_k8s_18"),
    "GPU-POD-03": ("ksv-0013", "ckv_k8s_14", "ckv_k8s_43"),
}
"""By rule: the ids of the same check in tfsec, Trivy and Checkov."""
_RULE_OF = {each: rule for rule, ids in _SET_ASIDE.items() for each in ids}
_CLOUDS = tuple(rule for rule in _SET_ASIDE if not rule.startswith("GPU-POD"))
"""Checks that KICS skips as a whole, without a common name for one of them."""


@dataclass(frozen=True, slots=True)
class _Words:
    """Words that justify a finding of one rule."""

    rules: tuple[str, ...]
    about: tuple[str, ...]
    said: re.Pattern[str]
    wide: bool = False


_NOT = r"^(?!.*\b(?:prevent|block|den(?:y|ies)|stop|restrict|disallow|never|not|no)\b).*"
_DONE_BY = (
    r"(?:set|replaced?|overrid\w+|substituted|injected|filled in|updated|rewritten|patched|pinned)\s+"
    r"(?:\w+\s+)?(?:by|in|at|during|via|with)\s+(?:the\s+|your\s+|our\s+)?"
    r"(?:ci\b|ci/cd|cd\b|pipeline|deploy|workflow|github actions|build\b|kustomize|argo|flux|image updater|"
    r"script)"
)
_PLAIN = (
    _Words(
        ("GPU-AWS-04", "GPU-AWS-05"),
        ("hop limit",),
        re.compile(_NOT + r"(?:\b(?:pods?|containers?|docker)\b|容器)", re.IGNORECASE),
    ),
    _Words(
        ("GPU-POD-01",),
        ("NVIDIA_VISIBLE_DEVICES gives", "NVIDIA_IMEX_CHANNELS gives"),
        re.compile(
            r"\b(?:re-?)?pin(?:ned|s|ning)?\b.{0,60}\b(?:gpus?|cards?|uuids?)\b", re.IGNORECASE
        ),
    ),
    _Words(
        ("GPU-POD-02",),
        ("every GPU of the node", "past the device plugin", "shared with every pod"),
        re.compile(
            r"\b(?:all|every)\s+(?:of\s+)?(?:the\s+|its\s+)?(?:\d+\s+)?gpus?\s+(?:on|of|in|per)\b",
            re.IGNORECASE,
        ),
        wide=True,
    ),
    _Words(
        ("GPU-POD-03",),
        ("is a moving tag",),
        re.compile(
            rf"\bset image\b|\$imagepolicy\b|placeholder|\bpin (?:me|this)\b|{_DONE_BY}",
            re.IGNORECASE,
        ),
    ),
    _Words(
        ("GPU-POD-05",),
        ("it runs on every node",),
        re.compile(
            r"\b(?:on|to)\s+(?:every|all|each|any)\s+nodes?\b|non-gpu nodes|nodes without (?:a )?gpus?",
            re.IGNORECASE,
        ),
        wide=True,
    ),
    _Words(
        ("GPU-NET-01",),
        ("",),
        re.compile(
            r"\bopen access\b|\bopen to (?:the )?(?:world|internet|everyone|all|public)\b",
            re.IGNORECASE,
        ),
    ),
    _Words(
        ("GPU-AWS-01", "GPU-GCP-01", "GPU-NET-01"),
        ("the whole internet reaches",),
        re.compile(
            r"^(?!.*\b(?:to[d]o|fix[m]e|must|should)\b).*"
            r"\b(?:access(?:ible)?|reachable|open) (?:it )?from (?:anywhere|everywhere|any ip)\b",
            re.IGNORECASE,
        ),
        wide=True,
    ),
    _Words(
        ("GPU-CFG-01", "GPU-SHR-01", "GPU-SHR-03", "GPU-SHR-05", "GPU-TEN-02"),
        ("",),
        re.compile(
            r"\b(?:(?:is |are )?expected to|should|must) (?:fail|be (?:refused|rejected))\b",
            re.IGNORECASE,
        ),
        wide=True,
    ),
    _Words(
        ("GPU-CAP-01",),
        ("no taint keeps other pods off",),
        re.compile(
            r"\b(?:no|without(?: a)?|un)[ -]?taint(?:s|ed)?\b|"
            r"\btaints?\s+(?:(?:is|are)\s+)?(?:not|off|unset)\b",
            re.IGNORECASE,
        ),
        wide=True,
    ),
    _Words(
        ("GPU-CAP-05",),
        ("changes to a new image",),
        re.compile(
            r"latest\b.*\b(?:because|so that|avoids?|instead of|rather than|security|patch)"
            r"|(?:because|instead of|rather than)\b.*latest",
            re.IGNORECASE,
        ),
    ),
    _Words(
        ("GPU-STK-02",),
        ("GPU Operator",),
        re.compile(
            r"^(?=.*\b(?:pin(?:ned|s)?|stays?|keep|held|do(?: not|n't) (?:upgrade|bump))\b).*"
            r"\b(?:drivers?|cuda|kernels?|kubernetes|k8s|talos|flatcar|(?:in)?compatib\w+|break\w*|broke\w*|"
            r"crash\w*|bugs?|regressions?|fails?|because)\b",
            re.IGNORECASE,
        ),
    ),
    _Words(
        ("GPU-STK-03",),
        ("without CDI",),
        re.compile(
            r"\bcdi\b.*\b(?:off|disabl\w+|fails?|breaks?|broken|unsupported|not supported|incompatib\w+)\b"
            r"|\b(?:disabl\w+|without|no)\b.*\bcdi\b.*\b(?:because|since|as)\b",
            re.IGNORECASE,
        ),
    ),
    _Words(
        ("GPU-CFG-02",),
        ("is not a value of the chart",),
        re.compile(
            r"\b(?:inert|no-?op|(?:not|never) read|does nothing|no effect|kept (?:only|here))\b",
            re.IGNORECASE,
        ),
    ),
    _Words(
        (ANY_RULE,),
        ("",),
        re.compile(
            r"\b(?:intentional(?:ly)?|deliberate(?:ly)?|on purpose|by design|accepted risk)\b",
            re.IGNORECASE,
        ),
    ),
)


def parse_comments(data: bytes) -> Comments:
    """The comments of one file, each with the line that it applies to."""
    if len(data) > _MOST_BYTES or not (b"#" in data or b"//" in data):
        return ()
    return tuple(_comments(data))


def justifying_comments(comments: Comments) -> tuple[JustifyingComment, ...]:
    """The findings that comments justify. Called only for files with findings, because it is slow."""
    return tuple(each for line, comment in comments for each in _remarks(line, comment))


def _comments(data: bytes) -> Iterator[tuple[int, str]]:
    """Each comment, adjacent lines as one, with the line that it applies to."""
    waiting: list[str] = []
    for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
        match = _COMMENT.search(line) if "#" in line or "//" in line else None
        if match and not line[: match.start()].strip():
            waiting.append(match[1])
            continue
        if waiting and not _BETWEEN.match(line):
            yield number, " ".join(" ".join(waiting).split())[:_MOST_LETTERS]
            waiting = []
        if match:
            yield number, match[1][:_MOST_LETTERS]


def _remarks(line: int, comment: str) -> Iterator[JustifyingComment]:
    for match in _DIRECTIVE.finditer(comment):
        for rule in _set_aside(match):
            yield JustifyingComment(rule, "", line, applies_to_file=True)
    for each in _PLAIN:
        if each.said.search(comment):
            yield from (
                JustifyingComment(rule, about, line, each.wide)
                for rule in each.rules
                for about in each.about
            )


def _set_aside(match: re.Match[str]) -> Sequence[str]:
    if match["kics"]:
        return _CLOUDS
    ids = (match["ids"] or match["checkov"] or match["nosec"]).lower().split(",")
    rules = (_RULE_OF.get(each.removeprefix("avd-").split("[")[0]) for each in ids)
    return [rule for rule in rules if rule]
