"""A program of another team reads a resource with `.get`: the policy pack judges only what the program registers."""

import pytest

from stacks import STACK

pytestmark = pytest.mark.always
KIND = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
PROGRAM = f"""
import json

import pulumi

allow = {{"Effect": "Allow", "Principal": {{"Service": "ec2.amazonaws.com"}}, "Action": "sts:AssumeRole"}}
TRUST = json.dumps({{"Version": "2012-10-17", "Statement": [allow]}})
policy = {{"role": "gpu-nodes", "policyArn": "arn:aws:iam::aws:policy/AmazonS3FullAccess"}}
role = pulumi.CustomResource("aws:iam/role:Role", "gpu-nodes", {{"name": "gpu-nodes", "assumeRolePolicy": TRUST}})
made = pulumi.CustomResource("{KIND}", "made", policy, pulumi.ResourceOptions(depends_on=[role]))
pulumi.CustomResource("{KIND}", "read", policy, pulumi.ResourceOptions(id=made.id))
"""


def test_the_pack_judges_no_resource_that_the_program_reads(of_clouds, pack):
    of_clouds.env["AWS_REGION"] = "us-east-1"
    (of_clouds.folder / "__main__.py").write_text(PROGRAM)
    of_clouds.run("up", "--stack", STACK, "--yes", "--skip-preview")
    for more in ((), ("--refresh",)):  # with it, the engine shows the pack what the program reads
        command = ("preview", "--stack", STACK, "--policy-pack", str(pack), *more)
        output = of_clouds.run(*command).output
        assert output.count("GPU-AWS-07") == 1, output
        assert "(aws:iam:RolePolicyAttachment: made)" in output
