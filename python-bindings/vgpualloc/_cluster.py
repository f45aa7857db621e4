"""Clusters of Kubernetes objects."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from time import time_ns
from typing import TYPE_CHECKING, Any

from vgpualloc import _core
from vgpualloc._cluster_objects import ClusterObjects
from vgpualloc._errors import StateError, bad_value, whole_number
from vgpualloc._inputs import Manifest, Manifests, manifest_bytes, named_input, named_objects
from vgpualloc._policies import Policies, Policy, checked_pair
from vgpualloc._pods import RESOURCES, NewPod, Placement, Pod, Rejection, checked_name, key_of, pod_key
from vgpualloc._trials import Trial
from vgpualloc._turns import by_itself, check_turn, in_turn

if TYPE_CHECKING:
    from vgpualloc.typing import Source


@in_turn
class Cluster(ClusterObjects):
    """A cluster as its Kubernetes objects describe it, and pods that are placed on it.

    Raises
    ------
    TypeError
        It is made by its class and not by ``Cluster.read()``, or pickled.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> cluster = vg.Cluster.read(**vg.example("cluster"))
    >>> placed = cluster.place(vg.Pod(gpus=1, gpu_memory_mib=1024), name="mine")
    >>> placed.pod
    'mine'
    >>> cluster.release("mine")
    """

    __slots__ = ("_lock",)  # one that no other class has: __class__ cannot be set

    def __init__(self) -> None:
        raise TypeError("a Cluster is made by Cluster.read(), Cluster.of() or Cluster.from_table()")

    def __getattr__(self, name: str) -> Any:
        if name in ("_lock", "_live"):
            raise StateError("this Cluster was not made by Cluster.read()", code="state")
        raise AttributeError(f"Cluster has no attribute {name!r}")

    # ---- making

    @classmethod
    def read(cls, objects: Manifests, *, config: Manifests = (), catalog: Manifests = (),
             scheduler_config: Manifest | None = None, policy: str | Policy | None = None,
             device_policy: str | Policy | None = None) -> Cluster:
        """Reads objects: ``kubectl get nodes,pods,configmaps -A -o json``, a snapshot, manifests.

        Parameters
        ----------
        objects : path, bytes, mapping, or a list of these
        config, catalog : path, bytes or a list of these
            As ``vgpusim explain --config`` and ``--catalog`` take them.
        scheduler_config : path or bytes, optional
            Volcano's configuration.
        policy, device_policy : str or Policy, optional
            Which policy places pods, and which picks the devices of a node; by default what the command would take.

        Returns
        -------
        Cluster

        Raises
        ------
        InputError
            Objects that cannot be read, or a policy that is not known.
        OSError
            A file that cannot be read.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster
        Cluster(6 nodes, 7 devices, 2 pods, 3 waiting)
        """
        cluster = cls._empty((policy, device_policy), config=config, catalog=catalog, scheduler_config=scheduler_config)
        names, inputs = named_objects("cluster", objects)
        cluster._options += [("cluster", name) for name in names]
        cluster._inputs += inputs
        contents = dict(inputs)
        for name in names:  # a call each, so it gets what it reads and not the rest
            for text in _core.documents(name, [(name, contents[name])] if name in contents else []):
                cluster._add(json.loads(text))
        cluster._live.is_as_read = True
        with cluster._asking(cluster._policies):
            cluster._live.learn()
        return cluster

    @classmethod
    def of(cls, kinds: Mapping[str, int], *, config: Manifests = (), catalog: Manifests = (),
           policy: str | Policy | None = None, device_policy: str | Policy | None = None) -> Cluster:
        """An empty cluster of nodes that are described.

        Parameters
        ----------
        kinds : mapping of str to int
            How many nodes of each kind: ``"MODEL:MODE:DEVICES"``, with 16 CPUs and 128 GiB of memory for each device, or
            ``"MODEL:MODE:DEVICES:CPU_MILLI:MEMORY_MIB"``, or JSON as in ``nodes.kinds`` of a workload model.
        config, catalog, policy, device_policy
            As in ``read()``.

        Returns
        -------
        Cluster

        Raises
        ------
        InputError
            A kind that is no description, or a model or mode that is not known.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.of({"A100-40GB:mig:8": 2, "H100-80GB:hami_core:4": 1})
        >>> cluster.nodes["node"].tolist()
        ['a100-40gb-mig-8-1', 'a100-40gb-mig-8-2', 'h100-80gb-hami-core-4-1']
        """
        cluster = cls._empty((policy, device_policy), config=config, catalog=catalog)
        for kind, count in dict(kinds).items():
            count = whole_number("of()", str(kind), count, 1, 100_000)
            cluster._add_described(str(kind), count, "-", like_cluster=False)
        return cluster

    @classmethod
    def from_table(cls, nodes: Source, *, mode: str = "hami_core", device_memory_mib: int | Mapping[str, int] | None = None,
                   config: Manifests = (), catalog: Manifests = (), policy: str | Policy | None = None,
                   device_policy: str | Policy | None = None) -> Cluster:
        """An empty cluster of the nodes of a list.

        Parameters
        ----------
        nodes : path, bytes or table
            With the columns sn, cpu_milli, memory_mib, gpu and model of the openb node list.
        mode : str
            Of all devices.
        device_memory_mib : int or mapping of str to int, optional
            Memory of a device, or of each model that the catalog does not know.
        config, catalog, policy, device_policy
            As in ``read()``.

        Returns
        -------
        Cluster

        Raises
        ------
        InputError
            A list that cannot be read, a model without known memory, or a mode that is not known.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> memory = {"G2": 24576, "G3": 32768, "T4": 15360, "V100M16": 16384}
        >>> vg.Cluster.from_table(vg.example("quickstart")["nodes"], device_memory_mib=memory)
        Cluster(64 nodes, 412 devices, 0 pods, 0 waiting)
        """
        name, inputs = named_input("nodes", nodes)
        rows = _core.node_list(name, inputs)
        cluster = cls._empty((policy, device_policy), config=config, catalog=catalog)
        names: dict[str, list[str]] = {}  # of nodes, by kind
        for node, cpu_milli, memory_mib, gpus, model in rows:
            described: dict[str, Any] = {"cpu_milli": cpu_milli, "memory_mib": memory_mib}
            if gpus > 0:
                described |= {"kind": model, "mode": mode, "devices": gpus}
                memory = device_memory_mib.get(model) if isinstance(device_memory_mib, Mapping) else device_memory_mib
                if memory is not None:
                    described["device_memory_mib"] = whole_number("from_table()", "device_memory_mib", memory, 1)
            names.setdefault(json.dumps(described), []).append(node)
        objects = {name: texts for kind, of_kind in names.items()
                   for name, texts in zip(of_kind, cluster._live.kind_objects(kind, of_kind, False))}
        for row in rows:
            for text in objects[row[0]]:
                cluster._add(json.loads(text))
        return cluster

    @classmethod
    def _empty(cls, policies: Policies, **files: Any) -> Cluster:
        """Without objects. `files`: config, catalog and scheduler_config, as read() takes them."""
        cluster = object.__new__(cls)
        cluster._lock = threading.RLock()
        cluster._options = []
        cluster._inputs = []
        contents: dict[str, list[bytes]] = {"config": [], "catalog": [], "scheduler_config": []}
        for key, value in files.items():
            if value is None or isinstance(value, (tuple, list)) and not value:
                continue
            names, inputs = named_objects(key, value)
            cluster._options += [(key, name) for name in names]
            cluster._inputs += inputs
            contents[key] = [_core.content(name, inputs) for name in names]
        cluster._begin(checked_pair(*policies), {key: b"\n---\n".join(texts) for key, texts in contents.items()})
        return cluster

    def _begin(self, policies: Policies, contents: Mapping[str, bytes]) -> None:
        self._policies = policies
        self._is_deciding = False
        self._objects, self._uids, self._placed, self._trials = {}, {}, {}, []
        with self._asking(policies):
            self._live = _core.Live(*policies, *(contents[key].decode() for key in ("config", "catalog", "scheduler_config")))
        self._live.report_to(_core.PythonSide(
            lock=self._lock, trials=self._trials, uids=self._uids, objects=self._objects, placed=self._placed,
            pod_type=Pod, placement_type=Placement, rejection_type=Rejection))
        self._undo = []
        self._due = []
        self._services = {}

    def remove_node(self, name: str) -> None:
        """Takes a node away. Its pods go with it.

        Parameters
        ----------
        name : str

        Raises
        ------
        InputError
            A node that is not there.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.remove_node("core-0")
        >>> len(cluster.nodes)
        5
        """
        self._node(name)
        for uid in [uid for uid, _, state in self._live.pods() if state == "runs" and self._live.node_of(uid) == name]:
            self._end(uid)
        self._drop(("Node", "", name))

    # ---- pods

    @by_itself
    def place(self, pod: str | Pod | Mapping[str, Any], *, name: str | None = None,
              node: str | None = None) -> Placement | Rejection:
        """Places a pod where the policy prefers.

        Parameters
        ----------
        pod : str, Pod or mapping
            One that waits, by ``namespace/name`` or its name; a request; or a manifest.
        name : str, optional
            What a ``Pod`` is called; by default ``pod-0``, ``pod-1``, ….
        node : str, optional
            The only node to consider.

        Returns
        -------
        Placement or Rejection
            A rejection is false.

        Raises
        ------
        InputError
            A pod that is not there, a name that runs already, a request that cannot be read.
        StateError
            A pod that is placed already.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> placed = cluster.place(vg.Pod(gpus=1, gpu_memory_mib=20480), node="core-0")
        >>> placed.pod, placed.node
        ('pod-0', 'core-0')
        """
        outcome = self._live.place_quickly(pod, name, node, time_ns())
        return self._place_in_turn(pod, name, node) if outcome is None else outcome

    def _place_in_turn(self, pod: str | Pod | Mapping[str, Any], name: str | None, node: str | None) -> Placement | Rejection:
        with self._lock:
            if self._is_deciding or self._trials:
                check_turn(self)
            if isinstance(pod, Pod):
                return self._place_new(pod, name, node)
            return self._place_known(pod, name, node)

    def _place_known(self, pod: str | Mapping[str, Any], name: str | None, node: str | None) -> Placement | Rejection:
        if isinstance(pod, Mapping):
            document = json.loads(manifest_bytes(pod))
            if document.setdefault("kind", "Pod") != "Pod":
                raise bad_value("unsupported", "kind", document["kind"], "Pod", "place()")
            if name is not None:
                document.setdefault("metadata", {})["name"] = name
            key = key_of(document)
            shown = f"{key[1]}/{checked_name(key[2])}"
            if shown in self._uids:
                raise bad_value("duplicate", "name", shown, "a name that no pod has", "place()")
            self._add(document)
            try:
                return self._decide(self._uids[shown], shown, node)
            except BaseException:
                self._drop(key)
                raise
        if name is not None:
            raise TypeError("name is for a Pod or a manifest; a pod that waits has one")
        shown, uid = self._find(pod)
        if self._live.state_of(uid) != "waiting":
            raise StateError(f"pod {shown} is placed already", code="state", where="place()", value=shown)
        return self._decide(uid, shown, node)

    def _place_new(self, pod: Pod, name: str | None, node: str | None) -> Placement | Rejection:
        if name is not None:
            checked_name(name)
        with self._asking(self._policies):
            outcome = self._live.place_new(pod._as_new(self._dialect()), name, node, time_ns())
        if type(outcome) is Placement:
            uid = outcome._uid
            self._note(lambda: self._take_back(uid, self._forget))
        return outcome

    def _forget(self, full_name: str) -> None:
        """A pod that only place() knows is gone."""
        self._live.remove_pod(self._uids.pop(full_name))
        del self._objects[pod_key(full_name)]

    def _decide(self, uid: str, shown: str, node: str | None) -> Placement | Rejection:
        with self._asking(self._policies):
            outcome = self._live.place(uid, shown, node, time_ns())
        if type(outcome) is Placement:
            self._note(lambda: self._take_back(uid, None))
        return outcome

    def _take_back(self, uid: str, then: Callable[[str], None] | None) -> None:
        self._settle(uid)
        self._placed.pop(uid, None)
        self._live.release(uid)
        if then is not None:
            then(uid)

    def _settle(self, uid: str) -> None:
        """A placement reads what it has not read yet, before the pod goes."""
        known = self._placed.get(uid)
        if known is not None and (placement := known()) is not None:
            placement._settle()

    def release(self, pod: str | Placement) -> None:
        """A pod gives back what it has. One that waited before waits again, others are gone.

        Parameters
        ----------
        pod : str or Placement
            Its name, or what ``place()`` has returned.

        Raises
        ------
        InputError
            A pod that is not there.
        StateError
            One that has nothing, or a placement of a pod that came again, or of another cluster.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> placed = cluster.place(vg.Pod(gpus=1), name="mine")
        >>> cluster.release(placed)
        >>> "default/mine" in cluster.pods["pod"]
        False
        """
        if isinstance(pod, Placement):
            uid = pod._uid
            known = self._placed.get(uid)
            if known is None or known() is not pod:
                raise StateError(f"pod {pod.pod} is not placed by this placement any more", code="state", value=pod.pod)
            shown = pod.pod
        else:
            shown, uid = self._find(pod)
        if self._live.state_of(uid) not in ("runs", "reserved"):
            raise StateError(f"pod {shown} has nothing to give back", code="state", value=shown)
        self._end(uid)

    def _end(self, uid: str) -> None:
        shown = uid if self._uids.get(uid) == uid else next(name for name, of in self._uids.items() if of == uid)
        key = pod_key(shown)
        if uid not in self._placed:  # bound by its object: it has ended
            self._drop(key)
            return
        self._settle(uid)
        placement, pod = self._placed.pop(uid), self._objects[key]
        holding = self._live.holding_of(uid) if self._trials else None
        self._live.release(uid)
        if isinstance(pod, NewPod):
            self._forget(shown)

        def again() -> None:
            if isinstance(pod, NewPod):
                self._live.add_pod(pod.template, key[2])
                self._uids[shown] = uid
                self._objects[key] = pod
            if holding is not None:
                self._give_again(uid, holding)
            self._placed[uid] = placement

        self._note(again)

    def _dialect(self) -> str:
        if self._live.spoken is None:
            dialects = self._live.dialects()
            self._live.spoken = next((dialect for dialect in dialects if dialect in RESOURCES), (*dialects, "hami")[0])
        return self._live.spoken

    # ---- trials

    def trial(self) -> Trial:
        """A scope at whose end everything is undone, unless ``keep()`` was called. They nest.

        Returns
        -------
        Trial

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> with cluster.trial():
        ...     placed = cluster.place(vg.Pod(gpus=1, gpu_memory_mib=1024), name="tried")
        >>> "default/tried" in cluster.pods["pod"].tolist()
        False
        """
        return Trial(self)
