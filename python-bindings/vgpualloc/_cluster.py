"""Clusters of Kubernetes objects."""

from __future__ import annotations

import copy
import json
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vgpualloc import _core
from vgpualloc._answers import Answer, node_answer
from vgpualloc._errors import StateError, bad_value, whole_number
from vgpualloc._inputs import Named, listed, named_objects
from vgpualloc._pods import RESOURCES, Key, NewPod, Placement, Pod, Rejection, checked_name, key_of, manifest_bytes, pod_option
from vgpualloc._tables import Table, table_of_rows
from vgpualloc._trials import Scope, Trial, copies_of, set_services, with_service
from vgpualloc._turns import in_turn


@in_turn
class Cluster:
    """A cluster as its Kubernetes objects describe it, and pods that are placed on it.

    Examples
    --------
    >>> import vgpualloc as vg
    >>> cluster = vg.Cluster.read(**vg.example("cluster"))
    >>> placed = cluster.place(vg.Pod(gpus=1, gpu_memory_mib=1024), name="mine")
    >>> placed.pod
    'mine'
    >>> cluster.release("mine")
    """

    __slots__ = ("_lock", "__dict__", "__weakref__")  # one that no other class has: __class__ cannot be set

    def __init__(self) -> None:
        raise TypeError("a Cluster is made by Cluster.read()")

    def __getattr__(self, name: str) -> Any:
        if name == "_lock":
            raise StateError("this Cluster was not made by Cluster.read()", code="state")
        raise AttributeError(f"Cluster has no attribute {name!r}")

    @classmethod
    def read(cls, objects: Any, *, config: Any = (), catalog: Any = (), scheduler_config: Any = None,
             policy: str | None = None) -> Cluster:
        """Reads objects: ``kubectl get nodes,pods,configmaps -A -o json``, a snapshot, manifests.

        Parameters
        ----------
        objects : path, bytes, mapping, or a list of these
        config, catalog : path, bytes or a list of these
            As ``vgpusim explain --config`` and ``--catalog`` take them.
        scheduler_config : path or bytes, optional
            Volcano's configuration.
        policy : str, optional
            Which policy places pods; by default what the command would take.
        """
        cluster = object.__new__(cls)
        cluster._lock = threading.RLock()
        cluster._options = []
        cluster._inputs = []
        contents: dict[str, list[bytes]] = {"config": [], "catalog": [], "scheduler_config": []}
        sources = []
        for key, value in (("cluster", objects), ("config", config), ("catalog", catalog),
                           ("scheduler_config", () if scheduler_config is None else scheduler_config)):
            if isinstance(value, (tuple, list)) and not value:
                continue
            names, inputs = named_objects(key, value)
            cluster._options += [(key, name) for name in names]
            cluster._inputs += inputs
            if key == "cluster":
                sources = [(name, inputs) for name in names]
            else:
                contents[key] = [_core.content(name, inputs) for name in names]
        cluster._begin(policy, {key: b"\n---\n".join(texts) for key, texts in contents.items()})
        for name, inputs in sources:
            for text in _core.documents(name, inputs):
                cluster._add(json.loads(text))
        cluster._is_as_read = True
        cluster._live.learn()
        return cluster

    def _begin(self, policy: str | None, contents: Mapping[str, bytes]) -> None:
        self._policy = policy
        self._live = _core.Live(policy or "", *(contents[key].decode() for key in ("config", "catalog", "scheduler_config")))
        self._objects: dict[Key, Any] = {}  # a document each, or what one is made of
        self._uids: dict[str, str] = {}  # by "<namespace>/<name>"
        self._placed: dict[str, weakref.ref[Placement] | None] = {}  # by uid: what place() has decided
        self._added: set[str] = set()  # uids of pods that only place() knows
        self._undo: list[Callable[[], None]] = []
        self._trials: list[Scope] = []  # open ones, the innermost last
        self._is_deciding = False
        self._services: dict[str, dict[str, str]] = {}  # by node and uuid: what drain() and the like said of devices
        self._templates: dict[Any, Any] = {}
        self._spoken: str | None = None  # the dialect that a Pod is written in, where it was looked for
        self._number = 0
        self._is_as_read = False

    def _add(self, document: dict[str, Any]) -> None:
        """An object as it is now."""
        key = key_of(document)
        before = self._objects.get(key)
        if isinstance(before, NewPod):
            before = before.manifest()
        self._live.upsert(json.dumps(document).encode())
        self._objects[key] = document
        if key[0] == "Node":
            self._spoken = None
            set_services(self._live, key[2], self._services.get(key[2], {}))
        if key[0] == "Pod":
            self._uids[f"{key[1]}/{key[2]}"] = (document.get("metadata") or {}).get("uid") or f"{key[1]}/{key[2]}"
        self._note(lambda: self._add(before) if before is not None else self._drop(key))

    def _drop(self, key: Key) -> None:
        before = self._objects.pop(key)
        kind, namespace, name = key
        services: dict[str, str] = {}
        if kind == "Node":
            self._spoken = None
            services = self._services.pop(name, {})
            self._live.remove_node(name)
        elif kind == "Pod":
            self._live.remove_pod(self._uids.pop(f"{namespace}/{name}"))
        self._note(lambda: (self._services.update({name: services} if services else {}), self._add(before)) and None)

    def _note(self, inverse: Callable[[], None]) -> None:
        """Remembers how a change is undone, where a trial is open."""
        self._is_as_read = False
        if self._trials:
            self._undo.append(inverse)

    def upsert(self, *objects: Any) -> None:
        """Objects as they are now: paths, bytes or mappings; a pod that is bound counts on its node."""
        names, inputs = named_objects("objects", list(objects))
        for name in names:
            for text in _core.documents(name, inputs):
                self._add(json.loads(text))

    def remove_node(self, name: str) -> None:
        """Takes a node away. Its pods go with it."""
        self._node(name)
        for uid in [uid for uid, _, state in self._live.pods() if state == "runs" and self._live.node_of(uid) == name]:
            self._end(uid)
        self._drop(("Node", "", name))

    def add_nodes(self, kind: str | Mapping[str, Any], count: int = 1) -> list[str]:
        """Adds nodes like one of the cluster, or like a Node object. Returns their names."""
        if not isinstance(kind, (str, Mapping)):
            raise TypeError(f"kind: expected the name of a node or a Node object, not {type(kind).__name__}")
        like = self._node(kind) if isinstance(kind, str) else json.loads(manifest_bytes(kind))
        documents = copies_of(like, whole_number("add_nodes()", "count", count, 1, 100_000), self._objects)
        for document in documents:
            self._add(document)
        return [document["metadata"]["name"] for document in documents]

    def _node(self, name: str) -> dict[str, Any]:
        document = self._objects.get(("Node", "", name))
        if document is None:
            raise bad_value("unknown_name", "node", name, "a node of the cluster: " + ", ".join(self._live.nodes()[:20]))
        return document

    # ---- pods

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
        """
        if isinstance(pod, Pod):
            return self._place_new(pod, name, node)
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
        if name is None:
            name = f"pod-{self._number}"
            while f"default/{name}" in self._uids:
                self._number += 1
                name = f"pod-{self._number}"
            self._number += 1
        full_name = f"default/{checked_name(name)}"
        if full_name in self._uids:
            raise bad_value("duplicate", "name", name, "a name that no pod has", "place()")
        dialect = self._dialect()
        template = self._templates.get((pod, dialect))
        if template is None:
            template = _core.PodTemplate(json.dumps(pod.manifest(dialect)).encode())
            self._templates[pod, dialect] = template
        uid = self._live.add_pod(template, name)
        self._uids[full_name] = uid
        outcome: Placement | Rejection | None = None
        try:
            outcome = self._decide(uid, name, node, lambda: self._forget(full_name))
        finally:
            if not outcome:
                self._forget(full_name)
        if outcome:
            self._added.add(uid)
            self._objects[("Pod", "default", name)] = NewPod(pod, dialect, name)
        return outcome

    def _forget(self, full_name: str) -> None:
        uid = self._uids.pop(full_name)
        self._live.remove_pod(uid)
        self._added.discard(uid)
        self._objects.pop(("Pod", *full_name.split("/", 1)), None)

    def _decide(self, uid: str, shown: str, node: str | None, undo: Callable[[], None] | None = None) -> Placement | Rejection:
        self._is_deciding = True
        try:
            decided = self._live.place(uid, node)
        finally:
            self._is_deciding = False
        if decided[0] is None:
            return Rejection(shown, decided[1], decided[2], decided[3])
        placement = Placement(shown, decided[0], decided[1], self._live, uid)
        self._placed[uid] = weakref.ref(placement)
        self._note(lambda: self._take_back(uid, undo))
        return placement

    def _take_back(self, uid: str, then: Callable[[], None] | None) -> None:
        self._settle(uid)
        self._placed.pop(uid, None)
        self._live.release(uid)
        if then is not None:
            then()

    def _settle(self, uid: str) -> None:
        """A placement reads what it has not read yet, before the pod goes."""
        known = self._placed.get(uid)
        if known is not None and (placement := known()) is not None:
            placement._settle()

    def _find(self, pod: Any) -> tuple[str, str]:
        """A pod's full name and uid."""
        if not isinstance(pod, str):
            raise TypeError(f"expected the name of a pod, a Pod or a manifest, not {type(pod).__name__}")
        names = [name for name in (pod, f"default/{pod}") if name in self._uids]
        if not names:
            names = [name for name in self._uids if name.split("/", 1)[1] == pod]
        if len(names) > 1 and pod not in names:
            raise bad_value("unknown_name", "pod", pod, "one pod of that name, with its namespace: " + ", ".join(names[:20]))
        if not names:
            raise bad_value("unknown_name", "pod", pod, "a pod of the cluster")
        return names[0], self._uids[names[0]]

    def release(self, pod: str | Placement) -> None:
        """A pod gives back what it has. One that waited before waits again, others are gone.

        Raises
        ------
        InputError
            A pod that is not there.
        StateError
            One that has nothing, or a placement of a pod that came again, or of another cluster.
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
        key = ("Pod", *shown.split("/", 1))
        if uid not in self._placed:  # bound by its object: it has ended
            self._drop(key)
            return
        self._settle(uid)
        bound = self._bound_document(key) if self._trials else {}
        waits = self._objects[key]
        was_added = uid in self._added
        placement = self._placed.pop(uid)
        self._live.release(uid)
        if was_added:
            self._forget(shown)

        def again() -> None:
            self._live.upsert(json.dumps(bound).encode())
            self._uids[shown] = uid
            self._objects[key] = waits
            self._placed[uid] = placement
            if was_added:
                self._added.add(uid)

        self._note(again)

    def _bound_document(self, key: Key) -> dict[str, Any]:
        """A pod's object as a scheduler and the node leave it."""
        kept = self._objects[key]
        document = kept.manifest() if isinstance(kept, NewPod) else copy.deepcopy(kept)
        uid = self._uids[f"{key[1]}/{key[2]}"]
        if uid not in self._placed:
            return document
        document["spec"]["nodeName"] = self._live.node_of(uid)
        document["metadata"].setdefault("annotations", {}).update(self._live.annotations_of(uid, 0))
        document.setdefault("status", {})["phase"] = "Running"
        return document

    def _dialect(self) -> str:
        if self._spoken is None:
            dialects = self._live.dialects()
            self._spoken = next((dialect for dialect in dialects if dialect in RESOURCES), (*dialects, "hami")[0])
        return self._spoken

    # ---- trials

    def trial(self) -> Trial:
        """A scope at whose end everything is undone, unless ``keep()`` was called. They nest.

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

    def drain(self, target: str) -> None:
        """A node, or ``"node/uuid"``, takes nothing new; what runs there stays."""
        self._serve(target, "draining")

    def fail(self, target: str) -> None:
        """A node or device is broken: it takes nothing new. What runs there counts until it is released."""
        self._serve(target, "failed")

    def restore(self, target: str) -> None:
        """Ends ``drain()`` and ``fail()``."""
        self._serve(target, "in_service")

    def _serve(self, target: str, service: str) -> None:
        node, slash, uuid = str.partition(target, "/")
        document = self._node(node)
        if slash:
            before, said = self._live.service_of(node, uuid), self._services.get(node, {})
            self._live.set_service(node, uuid, service)
            self._services[node] = {**said, uuid: service}
            self._note(lambda: (self._services.update({node: said}), self._live.set_service(node, uuid, before)) and None)
            return
        self._add(with_service(document, service))

    # ---- what there is

    @property
    def nodes(self) -> Table:
        """A row per node: node, cpu_milli, cpu_used_milli, pods, gpus, used_milli."""
        names = ("node", "cpu_milli", "cpu_used_milli", "pods", "gpus", "used_milli")
        return table_of_rows(names, self._live.node_rows())

    @property
    def devices(self) -> Table:
        """A row per device: what it is, whether it is in service, and what of it is used."""
        names = ("node", "device", "uuid", "model", "mode", "dialect", "service", "memory_mib", "memory_used_mib", "cores",
                 "cores_used", "slots", "slots_used", "used_milli")
        return table_of_rows(names, self._live.device_rows())

    @property
    def pods(self) -> Table:
        """A row per pod: pod, state (waiting, reserved, runs), node."""
        rows = [(name, state, self._live.node_of(uid) if state == "runs" else "") for uid, name, state in self._live.pods()]
        return table_of_rows(("pod", "state", "node"), rows)

    @property
    def warnings(self) -> list[str]:
        """What could not be read of the objects, in sentences."""
        return self._live.warnings()

    def snapshot(self, *, anonymise: bool = False) -> bytes:
        """The cluster as one file that every command reads; ``anonymise``: without names."""
        documents = [self._bound_document(key) if key[0] == "Pod" else document for key, document in self._objects.items()]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}).encode()
        return self._live.snapshot(text, anonymise)

    def __repr__(self) -> str:
        states = [state for _, _, state in self._live.pods()]
        return (f"Cluster({len(self._live.nodes())} nodes, {len(self._live.device_rows())} devices, "
                f"{states.count('runs')} pods, {states.count('waiting')} waiting)")

    def _repr_html_(self) -> str:
        return self.nodes._repr_html_()

    def __reduce__(self) -> Any:
        raise TypeError("a Cluster cannot be pickled: pickle its snapshot() and read that")

    # ---- questions

    def _ask(self, command: str, options: Iterable[tuple[str, str]], inputs: list[Named]) -> tuple[str, Any]:
        own, named = self._options, self._inputs
        if not self._is_as_read:
            own = [("cluster", "<snapshot>"), *(option for option in own if option[0] != "cluster")]
            named = [*named, ("<snapshot>", self.snapshot())]
        if command != "explain":
            own = [option for option in own if option[0] != "scheduler_config"]
        text, content = _core.ask(command, [*own, *options], [*named, *inputs])
        return text.decode(errors="replace"), json.loads(content)

    def explain(self, pod: Any, *, policy: str | None = None, node: str | None = None) -> Answer:
        """Why a pod goes where it goes, or nowhere: every node and device, with numbers."""
        options, inputs = pod_option("pod", pod)
        policy = policy if policy is not None else self._policy
        options += [(key, value) for key, value in (("policy", policy), ("node", node)) if value is not None]
        text, content = self._ask("explain", options, inputs)
        answer = content[0] if isinstance(content, list) and len(content) == 1 else content
        return Answer(text, answer, bool(answer.get("choice")))

    def ask_node(self, pod: Any, node: str) -> Answer:
        """What one node says to a pod: whether it fits, its score, or what it lacks."""
        shown, uid = self._find(pod)
        self._node(node)
        return node_answer(shown, node, *self._live.ask_node(uid, node))

    def whatif(self, *, add_nodes: Mapping[str, int] | None = None, node_templates: Any = (), drain: Any = (),
               fail: Any = (), set_mode: Mapping[str, str] | None = None, add_pods: Any = (),
               find_nodes: str | None = None, policy: str | None = None, seed: int = 42) -> Answer:
        """What would become of the cluster; nothing is changed."""
        options = [("add_nodes", f"{kind}={count}") for kind, count in dict(add_nodes or ()).items()]
        options += [("set_mode", f"{node}={mode}") for node, mode in dict(set_mode or ()).items()]
        options += [("drain", name) for name in listed(drain)] + [("fail", name) for name in listed(fail)]
        options.append(("seed", str(seed)))
        policy = policy if policy is not None else self._policy
        options += [(key, value) for key, value in (("policy", policy), ("find_nodes", find_nodes)) if value is not None]
        inputs: list[Named] = []
        for key, value in (("node_template", node_templates), ("add_pods", add_pods)):
            if isinstance(value, (tuple, list)) and not value:
                continue
            names, named = named_objects(key, value)
            options += [(key, name) for name in names]
            inputs += named
        text, content = self._ask("whatif", options, inputs)
        return Answer(text, content, content.get("refused", 0) == 0)

    def plan(self, pod: Any = None, *, add_pod: Any = None, consolidate: str | None = None, moves: int = 3,
             downtime_s: float | None = None) -> Answer:
        """Which pods move so that one fits, or so that devices or nodes become empty; nothing is changed."""
        options = [("moves", str(moves))]
        inputs: list[Named] = []
        if pod is not None:
            options.append(("pod", pod))
        if add_pod is not None:
            more, inputs = pod_option("add_pod", add_pod)
            options += more
        if consolidate is not None:
            options.append(("consolidate", consolidate))
        if downtime_s is not None:
            options.append(("downtime_s", repr(float(downtime_s))))
        text, content = self._ask("plan", options, inputs)
        return Answer(text, content, bool(content.get("found")))
