"""Commands in shell scripts and Makefiles: what each installs, and with what."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_lint.languages.commands import (
    MOST_BYTES,
    MOST_COMMANDS,
    HelmCommand,
    helm_commands,
    is_script,
)
from gpuyard_lint.languages.hcl_values import UNKNOWN_PART
from gpuyard_lint.languages.helm_sets import parse_set_option, steps_of
from gpuyard_lint.rules.rule import UNKNOWN
from kit.every import every
from kit.searches import examples

OPERATOR = "nvidia/gpu-operator"
INSTALL = f"helm install gpu {OPERATOR}"
SIGN = UNKNOWN_PART


def helm(chart=OPERATOR, version=None, values=(), sets=()):
    return HelmCommand(chart, version, values, sets)


def found(text):
    return helm_commands(text.encode())


@every(
    ("text", "expected"),
    [
        ("INSTALL", helm()),
        ("helm upgrade --install gpu nvidia/gpu-operator --version v24.9.0", helm(version="v24.9.0")),
        ("helm upgrade -i --version=25.3.0 gpu nvidia/gpu-operator", helm(version="25.3.0")),
        ("helm template nvidia/gpu-operator -n gpus", helm()),
        ("helm template gpu nvidia/gpu-operator > out.yaml 2>&1", helm()),
        ("helm -n gpus --kube-context=a install gpu nvidia/gpu-operator", helm()),
        ("helm install --wait --generate-name -n gpus --create-namespace nvidia/gpu-operator", helm()),
        ("helm install -g nvidia/gpu-operator", helm()),
        ("helm install --name gpu nvidia/gpu-operator", helm()),
        ("helm install nvidia/gpu-operator", helm()),
        ("helm install gpu", helm("")),
        ("INSTALL \\", helm()),
        ("INSTALL --set a=1,", helm(sets=({"a": 1},))),
        ("sudo /usr/local/bin/INSTALL", helm()),
        ("run_cmd helm3 install gpu nvidia/gpu-operator; echo done", helm()),
        ("if ! INSTALL; then exit 1; fi", helm()),
        ("INSTALL -f a.yaml --values b.yaml,c.yaml", helm(values=("a.yaml", "b.yaml", "c.yaml"))),
        ("INSTALL -fa.yaml --values=b.yaml", helm(values=("a.yaml", "b.yaml"))),
        ("INSTALL \\\n  --version v25.3.0 \\\n  -f a.yaml  # ours", helm(version="v25.3.0", values=("a.yaml",))),
        ("INSTALL --set driver.enabled=false,mig.strategy=single", helm(sets=({"driver": {"enabled": False}}, {"mig": {"strategy": "single"}}))),  # noqa: E501
        ("INSTALL --set-string driver.enabled=false", helm(sets=({"driver": {"enabled": "false"}},))),
        ("INSTALL --set 'a\\.b/c=1' --set x='{1,y}'", helm(sets=({"a.b/c": 1}, {"x": [1, "y"]}))),
        ("INSTALL --set-file a.b=f.txt --set-json '{\"a\": 1}'", helm(sets=({"a": {"b": UNKNOWN}}, UNKNOWN))),
        ("helm install gpu oci://ghcr.io/nvidia/gpu-operator:v25", helm("oci://ghcr.io/nvidia/gpu-operator:v25")),
        ("helm install gpu --repo https://helm.ngc.nvidia.com/nvidia gpu-operator", helm("gpu-operator")),
        ("helm install <release> nvidia/gpu-operator --version <version>", helm(version=UNKNOWN)),
        ("helm install [NAME] nvidia/gpu-operator", helm()),
        ("INSTALL --version $(cat $(ls V))", helm(version=UNKNOWN)),
        ("INSTALL --version `cat V` --set a=$1", helm(version=UNKNOWN, sets=({"a": UNKNOWN},))),
        ("helm install $FLAGS gpu nvidia/gpu-operator", helm()),
        ("helm install $A $B $C", helm(SIGN)),
        ('INSTALL --version "$V"', helm(version=UNKNOWN)),
        ("helm install gpu $DIR/gpu", helm(f"{SIGN}/gpu")),
        ("x:\n\t@INSTALL --version $(V) -n $$N\n", helm(version=UNKNOWN)),
        ("x:\n\tcd a && \\\n\thelm install gpu ./b\n", helm("./b")),
    ],
)  # fmt: skip
def test_a_command_of_helm_is_read(text, expected):
    assert found(text.replace("INSTALL", INSTALL)) == [expected]


@every(
    "text",
    [
        "",
        "echo helm install gpu nvidia/gpu-operator",
        "# helm install gpu nvidia/gpu-operator",
        "#helm install gpu nvidia/gpu-operator",
        "helm repo add nvidia https://helm.ngc.nvidia.com/nvidia",
        "helm uninstall gpu",
        "helm",
        "brew install helm",
        "echo 'helm install gpu nvidia/gpu-operator'",
        "helm install gpu nvidia/gpu-operator --set 'a",
        'helm install "gpu nvidia/gpu-operator',
        "helm install gpu nvidia/gpu-operator " + "x" * 20_000,
    ],
)
def test_what_installs_nothing_or_never_ends_is_nobodys(text):
    assert found(text) == []


@every(
    ("name", "expected"),
    [
        *((name, True) for name in ("a/x.sh", "b.bash", "Makefile", "x.mk")),
        *((name, False) for name in ("x.yaml", "x.ps1", "Makefile.txt", "README.md", "x.py")),
    ],
)  # fmt: skip
def test_scripts_are_known_by_their_names(name, expected):
    assert is_script(name) is expected


def test_of_a_file_that_no_hand_wrote_nothing_is_read():
    line = b"helm install gpu nvidia/gpu-operator\n"
    assert helm_commands(line * (MOST_BYTES // len(line) + 1)) == []
    assert len(helm_commands(line * 1000)) == MOST_COMMANDS


def test_names_with_more_steps_than_any_chart_has_are_not_followed():
    steps, value = steps_of("a" + ".b" * 5000, 1)
    assert (steps, value) == (("a",), UNKNOWN)
    assert list(parse_set_option(f"{SIGN}=1,a,b={SIGN}")) == [UNKNOWN, UNKNOWN, {"b": UNKNOWN}]
    assert list(parse_set_option("a[0].b=1")) == [{"a": UNKNOWN}]


PIECES = st.lists(
    st.sampled_from(
        [
            *("helm install ", "kubectl apply -f ", "https://github.com/a/b/releases/download/v1/"),
            *(
                "V=",
                "$V",
                "${V:-",
                "$(",
                "&&",
                "<<EOF",
                "EOF",
                "```",
                "f() {",
                "--set ",
                "a.b[0]=",
                "{{",
            ),
            *"`'\"\\\n\t ;|{},<#\x00é",
        ]
    ),
    max_size=60,
)


@settings(max_examples=examples(150), deadline=None)
@given(PIECES)
def test_no_text_is_too_strange(pieces):
    for each in helm_commands("".join(pieces).encode()):
        assert isinstance(each, HelmCommand)


@every(
    "unit",
    [
        "helm install gpu nvidia/gpu-operator --set a.b=c\n",
        'helm install ";a=\\"',
        "helm install '\n",
        "helm <<A\n",
        "helm $($(",
        "helm <a {{",
        "V=$V;helm ${V}\n",
        "```\nhelm '\n",
    ],
)
def test_what_is_twice_as_long_takes_about_twice_as_long(unit):
    def seconds(size):
        data = (unit * (size // len(unit))).encode()
        begun = time.process_time()
        helm_commands(data)
        return time.process_time() - begun

    assert seconds(MOST_BYTES // 2) < 8 * seconds(MOST_BYTES // 8) + 0.5
