"""Pods, and what became of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from vgpualloc import _core
from vgpualloc._errors import bad_value, whole_number
from vgpualloc._html import paragraph, table
from vgpualloc._inputs import Named, manifest_bytes, named_input

Key = tuple[str, str, str]  # kind, namespace and name of an object


class Share(NamedTuple):
    """A part of a device that a container has.

    Attributes
    ----------
    container, device : int
        Positions in the pod and on the node.
    uuid : str
        The device.
    kind : str
        What the part is: ``slice``, ``mig_instance``, ….
    part : str
        The part in words, as the command line says it.
    memory_mib : int
        Device memory, MiB.
    cores : int
        Compute, percent of the device.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> cluster = vg.Cluster.read(**vg.example("cluster"))
    >>> share = cluster.place(vg.Pod(gpus=1, gpu_memory_mib=20480)).shares[0]
    >>> share.container, share.kind, share.memory_mib
    (0, 'slice', 20480)
    """

    container: int
    device: int
    uuid: str
    kind: str
    part: str
    memory_mib: int
    cores: int


class Pod:
    """A pod of one container, as a request. Immutable; amounts are those of each device.

    Parameters
    ----------
    gpus : int
        Devices.
    gpu_memory_mib, gpu_memory_percent : int, optional
        Device memory, in MiB or in percent; neither: all of it.
    gpu_cores : int, optional
        Compute of a device, in percent; without it no limit.
    profile : str
        A MIG profile, ``"1g.10gb"``.
    model : str
        Part of the name of the device's model, ``"A100"``; of NVIDIA's own plugin the whole name that its nodes have.
    mode : {"", "hami_core", "mig", "mps"}
        How the device is shared; empty: in any way.
    cpu_milli, memory_mib : int
        Of the host: thousandths of a processor, and MiB.

    Raises
    ------
    TypeError
        An amount that is no whole number.
    InputError
        One that is out of range, memory in MiB and in percent, or a mode that is not known.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> vg.Pod(gpus=1, gpu_memory_mib=20480, cpu_milli=4000)
    Pod(gpus=1, gpu_memory_mib=20480, cpu_milli=4000)
    """

    __slots__ = ("_amounts", "_new")
    gpus: int
    gpu_memory_mib: int | None
    gpu_memory_percent: int | None
    gpu_cores: int | None
    profile: str
    model: str
    mode: str
    cpu_milli: int
    memory_mib: int
    _amounts: dict[str, Any]
    _new: dict[str, NewPod]  # by dialect
    _FIELDS = ("gpus", "gpu_memory_mib", "gpu_memory_percent", "gpu_cores", "profile", "model", "mode", "cpu_milli", "memory_mib")

    def __init__(self, *, gpus: int = 0, gpu_memory_mib: int | None = None, gpu_memory_percent: int | None = None,
                 gpu_cores: int | None = None, profile: str = "", model: str = "", mode: str = "", cpu_milli: int = 0,
                 memory_mib: int = 0) -> None:
        amounts: dict[str, Any] = {"gpus": gpus, "gpu_memory_mib": gpu_memory_mib, "gpu_memory_percent": gpu_memory_percent,
                   "gpu_cores": gpu_cores, "profile": profile, "model": model, "mode": mode, "cpu_milli": cpu_milli,
                   "memory_mib": memory_mib}
        for field, value in amounts.items():
            if field in ("profile", "model", "mode"):
                if not isinstance(value, str):
                    raise TypeError(f"Pod: {field}: expected a text, not {type(value).__name__}")
            elif value is not None or not field.startswith("gpu_"):
                most = 100 if field in ("gpu_memory_percent", "gpu_cores") else 2**53
                amounts[field] = whole_number("Pod", field, value, most=most)
        if gpu_memory_mib is not None and gpu_memory_percent is not None:
            raise bad_value("mismatch", "gpu_memory_percent", gpu_memory_percent, "none beside gpu_memory_mib", "Pod")
        if mode not in _MODES:
            raise bad_value("unknown_name", "mode", mode, "one of " + ", ".join(filter(None, _MODES)), "Pod")
        if "," in model or not model.isprintable():
            raise bad_value("malformed", "model", ascii(model)[1:-1], "one name, without commas and control characters", "Pod")
        object.__setattr__(self, "_amounts", amounts)
        object.__setattr__(self, "_new", {})

    def __getattr__(self, name: str) -> Any:
        if name in Pod._FIELDS:
            return self._amounts[name]
        raise AttributeError(f"Pod has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Pod never changes")

    def __repr__(self) -> str:
        amounts = ", ".join(f"{key}={value!r}" for key, value in self._amounts.items() if value not in (None, 0, ""))
        return f"Pod({amounts})"

    def __eq__(self, other: object) -> bool:
        return self._amounts == other._amounts if isinstance(other, Pod) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self._amounts.values()))

    def __reduce__(self) -> Any:
        return _pod_of, (self._amounts,)

    def manifest(self, dialect: str, name: str = "pod") -> dict[str, Any]:
        """The pod as an object of Kubernetes, with the resources of a dialect.

        Parameters
        ----------
        dialect : {"hami", "volcano_vgpu", "nvidia"}
            Whose resources name the devices.
        name : str

        Returns
        -------
        dict

        Raises
        ------
        InputError
            The dialect has no resource for what the pod asks for.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> vg.Pod(gpus=1).manifest("hami")["spec"]["containers"][0]["resources"]["limits"]
        {'nvidia.com/gpu': '1'}
        """
        resources = self._resources(dialect)
        if self.cpu_milli:
            resources["cpu"] = f"{self.cpu_milli}m"
        if self.memory_mib:
            resources["memory"] = f"{self.memory_mib}Mi"
        document: dict[str, Any] = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [{"name": "main", "image": "none",
                                     "resources": {"limits": resources, "requests": dict(resources)}}]}}
        if dialect == "nvidia":
            if self.mode:
                raise bad_value("unsupported", "mode", self.mode, f"none in a cluster of dialect {dialect}", "Pod")
            if self.model:
                document["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": self.model}
        elif self.model or self.mode:
            wishes = {"nvidia.com/use-gputype": self.model, _MODE_ANNOTATIONS.get(dialect, ""): _MODES[self.mode]}
            document["metadata"]["annotations"] = {key: value for key, value in wishes.items() if value}
        return document

    def _as_new(self, dialect: str) -> NewPod:
        new = self._new.get(dialect)
        if new is None:
            self._new[dialect] = new = _new_pod(self, dialect)
        return new

    def _resources(self, dialect: str) -> dict[str, str]:
        if not self.gpus:
            return {}
        names = RESOURCES.get(dialect)
        if names is None:
            raise bad_value("unsupported", "pod", dialect, f"devices of {', '.join(RESOURCES)}; for others write a manifest")
        if self.profile:
            if dialect != "nvidia":
                raise bad_value("unsupported", "profile", self.profile, "none where pods ask for memory", "Pod")
            return {f"nvidia.com/mig-{self.profile}": str(self.gpus)}
        resources = {}
        for field, resource in names.items():
            value = self._amounts[field]
            if value is None:
                continue
            if not resource:
                raise bad_value("unsupported", field, value, f"none in a cluster of dialect {dialect}", "Pod")
            resources[resource] = str(value)
        return resources


_new_pods: dict[tuple[Pod, str], NewPod] = {}  # one for all pods that are equal


def _new_pod(pod: Pod, dialect: str) -> NewPod:
    new = _new_pods.get((pod, dialect))
    if new is None:
        new = NewPod(pod, dialect, _core.PodTemplate(json.dumps(pod.manifest(dialect)).encode()))
        if len(_new_pods) >= 1000:
            _new_pods.clear()
        _new_pods[pod, dialect] = new
    return new


_MODES = {"": "", "hami_core": "hami-core", "mig": "mig", "mps": "mps"}
_MODE_ANNOTATIONS = {"hami": "nvidia.com/vgpu-mode", "volcano_vgpu": "volcano.sh/vgpu-mode"}
RESOURCES = {
    "hami": {"gpus": "nvidia.com/gpu", "gpu_memory_mib": "nvidia.com/gpumem",
             "gpu_memory_percent": "nvidia.com/gpumem-percentage", "gpu_cores": "nvidia.com/gpucores"},
    "volcano_vgpu": {"gpus": "volcano.sh/vgpu-number", "gpu_memory_mib": "volcano.sh/vgpu-memory",
                "gpu_memory_percent": "volcano.sh/vgpu-memory-percentage", "gpu_cores": "volcano.sh/vgpu-cores"},
    "nvidia": {"gpus": "nvidia.com/gpu", "gpu_memory_mib": "", "gpu_memory_percent": "", "gpu_cores": ""},
}


def _pod_of(amounts: Mapping[str, Any]) -> Pod:
    return Pod(**amounts)


class NewPod(NamedTuple):
    """What pods are that place() has made: their objects are written when somebody wants them."""

    pod: Pod
    dialect: str
    template: _core.PodTemplate

    def manifest(self, name: str) -> dict[str, Any]:
        return self.pod.manifest(self.dialect, name)


class Placement(_core.Placed):
    """Where a pod runs. It is true, and a value: it stays readable when the pod is gone.

    Attributes
    ----------
    pod, node : str
        Names.
    score : float
        What the policy gave the node.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> cluster = vg.Cluster.read(**vg.example("cluster"))
    >>> if placed := cluster.place(vg.Pod(gpus=1, gpu_memory_mib=20480), name="mine"):
    ...     print(placed.pod, placed.shares[0].memory_mib)
    mine 20480
    """

    __slots__ = ()
    _shares: tuple[Share, ...]  # these two where _live is None
    _annotations: dict[str, str]

    @property
    def shares(self) -> tuple[Share, ...]:
        """The parts of devices that its containers have.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> len(cluster.place(vg.Pod(gpus=1, gpu_memory_mib=1024)).shares)
        1
        """
        self._settle()
        return self._shares

    @property
    def annotations(self) -> dict[str, str]:
        """What the device plugins are told of it, as a copy.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> placed = cluster.place(vg.Pod(gpus=1, gpu_memory_mib=1024))
        >>> placed.node in placed.annotations.values()
        True
        """
        self._settle()
        return dict(self._annotations)

    def _settle(self) -> None:
        """Reads what there is to read, while the pod runs."""
        if self._live is None:
            return
        self._shares = tuple(Share(share.container, share.device, share.uuid, share.kind, share.part, share.memory_mib,
                                   share.cores) for share in self._live.shares_of(self._uid))
        self._annotations = self._live.annotations_of(self._uid, self._unix_ns)
        self._live = None

    def __bool__(self) -> Literal[True]:
        return True

    def _words(self) -> str:
        parts = ", ".join(f"{share.uuid} {share.part}" for share in self.shares)
        return f"'{self.pod}' on '{self.node}'" + (f": {parts}" if parts else "")

    def __repr__(self) -> str:
        return f"Placement({self._words()})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        shares = [(share.container, share.uuid, share.part) for share in self.shares]
        return f"<div>{paragraph(f'{self.pod} on {self.node}')}{table(('container', 'device', 'part'), shares) if shares else ''}</div>"

    def __reduce__(self) -> Any:
        return _placement_of, (self.pod, self.node, self.score, self.shares, self.annotations)


def _placement_of(pod: str, node: str, score: float, shares: tuple[Share, ...], annotations: dict[str, str]) -> Placement:
    return Placement(pod, node, score, tuple(Share(*share) for share in shares), annotations)


class Rejection:
    """Why a pod fits nowhere. It is false.

    Attributes
    ----------
    pod : str
        Its name.
    reason : str
        The reason that most nodes give, a name of ``known("reasons")``.
    reasons : dict of str to int
        How many nodes refuse for each reason.
    message : str
        The sentence that a scheduler would write.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> refused = vg.Cluster.read(**vg.example("cluster")).place(vg.Pod(gpus=64))
    >>> bool(refused), sum(refused.reasons.values())
    (False, 6)
    """

    __slots__ = ("pod", "reason", "reasons", "message", "_closest")
    pod: str
    reason: str
    reasons: dict[str, int]
    message: str

    def __init__(self, pod: str, reason: str, reasons: dict[str, int], message: str, closest: str = "") -> None:
        self.pod = pod
        self.reason = reason
        self.reasons = reasons
        self.message = message
        self._closest = closest  # the node that lacks least, and what it lacks

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return f"Rejection({self.pod!r}: {self.message})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        closest = [f"closest: {self._closest}"] if self._closest else []
        sentences = "".join(map(paragraph, (f"{self.pod}: {self.message}", *closest)))
        return f"<div>{sentences}{table(('reason', 'nodes'), self.reasons.items())}</div>"

    def __reduce__(self) -> Any:
        return Rejection, (self.pod, self.reason, self.reasons, self.message, self._closest)


def key_of(document: Mapping[str, Any]) -> Key:
    kind = document.get("kind", "")
    metadata = document.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise bad_value("malformed", "metadata", metadata, "an object", kind)
    namespace = "" if kind == "Node" else metadata.get("namespace") or "default"
    return kind, namespace, metadata.get("name", "")


def checked_name(name: Any) -> str:
    """The name of a pod that is new."""
    if not isinstance(name, str):
        raise TypeError(f"name: expected a text, not {type(name).__name__}")
    if not name or "/" in name or not name.isprintable():
        raise bad_value("malformed", "name", ascii(name)[1:-1], "a name without slashes and control characters", "place()")
    return name


def pod_key(full_name: str) -> Key:
    """Of a pod by its namespace and name."""
    namespace, name = full_name.split("/", 1)
    return "Pod", namespace, name


def pod_option(key: str, pod: Any) -> tuple[list[tuple[str, str]], list[Named]]:
    """A pod by name, or a manifest."""
    if isinstance(pod, (str, os.PathLike)):
        return [(key, os.fspath(pod))], []
    content = manifest_bytes({**pod, "kind": pod.get("kind") or "Pod"}) if isinstance(pod, Mapping) else pod
    name, inputs = named_input(key, content)
    return [(key, name)], inputs
