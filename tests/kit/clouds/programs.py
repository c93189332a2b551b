"""Programs of stacks in the engine tests; each reads its platform from `platform.json` beside it."""

GRAPH = """
import json
from pathlib import Path
import pulumi
from gpuyard.plan import plan_or_raise
from gpuyard.resources.clouds import CloudResources
from gpuyard.spec.read import read_platform
plan = plan_or_raise(read_platform(json.loads(Path("platform.json").read_text())).spec)
if plan.cloud.value == "aws":
    from gpuyard.render.aws.graph import aws_graph as graph_of
else:
    from gpuyard.render.gcp.graph import gcp_graph as graph_of
graph, cloud = graph_of(plan), CloudResources("lab")
cloud.ask(None, graph.calls)
cloud.register(None, graph.resources)
"""
"""A cloud's part of a platform alone."""
TELLS = """
for name, value in cloud.resolve(graph.late_values).items():
    pulumi.export(name.replace(".", "-"), value)
"""
"""Behind `GRAPH`: what the rest of a platform is told."""


def of_platform(name: str) -> str:
    """A platform whose component has this name."""
    return f"""
import json
from pathlib import Path
from gpuyard.resources import Platform
Platform("{name}", {{"platform": json.loads(Path("platform.json").read_text())}})
"""
