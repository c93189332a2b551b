"""An image that nodes pull: by digest if the catalogue has one, otherwise by tag."""

from dataclasses import dataclass

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.mirror import mirrored
from gpuyard_core.catalogue.software.charts import Agent, Chart
from gpuyard_core.catalogue.software.digests import BY_TAG, digest_of
from gpuyard_core.catalogue.software.programs import PYTHON


@dataclass(frozen=True, slots=True, order=True)
class PulledImage:
    """One image, as nodes pull it."""

    repository: str
    tag: str
    """Empty if it is set by a chart version unknown to gpuyard."""
    digest: str = ""
    """Empty if no published digest is known: the owner of the tag may change the image."""
    component: str = ""
    """The component of the platform that pulls it."""
    tag_suffix: str = ""
    """Description of the suffix that each node appends to the tag."""
    upstream: str = ""
    """The repository of its project; for images of the stack file, the repository given there."""

    @property
    def reference(self) -> str:
        """The reference for a registry."""
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}" + (f"@{self.digest}" if self.digest else "")

    @property
    def why_by_tag(self) -> str:
        """The reason why the image has no digest."""
        if self.digest:
            return ""
        if not self.tag:
            return "its chart sets the version, and gpuyard does not know that chart"
        return BY_TAG.get(self.upstream, "no published digest of this version is known")


def chart_image(plan: PlatformPlan, chart: Chart) -> PulledImage:
    """The image that a chart runs."""
    tag = chart.tag.format(plan.software[chart.image_pin or chart.pin])
    return published_image(plan, f"{chart.registry}/{chart.image}", tag, chart.title)


def image_values(plan: PlatformPlan, chart: Chart) -> dict[str, str]:
    """The image as values of its chart: a tag may contain a digest, which is the same in a mirror."""
    image = chart_image(plan, chart)
    tag = f"{image.tag}@{image.digest}" if image.digest else image.tag
    return {"repository": image.repository, "tag": tag}


def published_image(
    plan: PlatformPlan, home: str, tag: str, component: str, suffix: str = ""
) -> PulledImage:
    """With the digest that its project published, wherever it is pulled from."""
    where, digest = mirrored(plan.spec, home), digest_of(home, tag)
    return PulledImage(where, tag, digest, component, suffix, home)


def agent_image(plan: PlatformPlan, agent: Agent) -> PulledImage:
    """The image of an agent on nodes."""
    tag = agent.tag.format(plan.software[agent.pin]) if agent.pin else agent.tag
    return published_image(plan, agent.image, tag, agent.title)


def python_image(plan: PlatformPlan, component: str) -> PulledImage:
    """The image in which the agents of gpuyard run."""
    mirror = plan.spec.mirror
    image = PYTHON.image_reference(mirror.images if mirror else None)
    return named_image(image, component, PYTHON.image_reference(None))


def named_image(image: str, component: str, upstream: str = "") -> PulledImage:
    """An image as pods name it, and as its project does; without a tag, registries use `latest`."""
    repository, tag, digest = _parts(image)
    tag = tag or ("" if digest else "latest")
    return PulledImage(repository, tag, digest, component, upstream=_parts(upstream or image)[0])


def _parts(image: str) -> tuple[str, str, str]:
    name, _, digest = image.partition("@")
    folder, slash, last = name.rpartition("/")
    repository, _, tag = last.partition(":")
    return f"{folder}{slash}{repository}", tag, digest
