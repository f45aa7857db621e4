"""What a cluster is and what it answers: the part of it that changes nothing."""

from __future__ import annotations

import copy
import json
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vgpualloc import _core, _html
from vgpualloc._answers import Answer, node_answer
from vgpualloc._errors import bad_value
from vgpualloc._inputs import Manifest, Manifests, Named, listed, named_objects
from vgpualloc._policies import Policies, Policy, checked_pair, in_run, label_of
from vgpualloc._pods import Key, NewPod, Placement, pod_option
from vgpualloc._tables import Table, table_of_rows
from vgpualloc._trials import with_health
from vgpualloc._turns import in_turn


@in_turn
class ClusterView:
    """The base of Cluster. See there."""

    if TYPE_CHECKING:
        _lock: threading.RLock  # a slot of Cluster
    _policies: Policies
    _is_deciding: bool
    _live: _core.Live
    _options: list[tuple[str, str]]
    _inputs: list[Named]
    _objects: dict[Key, Any]  # a document each, or what one is made of
    _uids: dict[str, str]  # by "<namespace>/<name>"
    _services: dict[str, dict[str, str]]  # by node and uuid: what drain() and the like said of devices
    _placed: dict[str, weakref.ref[Placement] | None]  # by uid: what place() has decided

    def _node(self, name: str) -> dict[str, Any]:
        document: dict[str, Any] | None = self._objects.get(("Node", "", name))
        if document is None:
            raise bad_value("unknown_name", "node", name, "a node of the cluster: " + ", ".join(self._live.nodes()[:20]))
        return document

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

    def _bound_document(self, key: Key) -> dict[str, Any]:
        """A pod's object as a scheduler and the node leave it."""
        kept = self._objects[key]
        document: dict[str, Any] = kept.manifest(key[2]) if isinstance(kept, NewPod) else copy.deepcopy(kept)
        uid = self._uids[f"{key[1]}/{key[2]}"]
        if uid not in self._placed:
            return document
        document["spec"]["nodeName"] = self._live.node_of(uid)
        document["metadata"].setdefault("annotations", {}).update(self._live.annotations_of(uid, 0))
        document.setdefault("status", {})["phase"] = "Running"
        return document

    def _document_now(self, key: Key) -> dict[str, Any]:
        if key[0] == "Pod":
            return self._bound_document(key)
        document: dict[str, Any] = self._objects[key]
        services = self._services.get(key[2]) if key[0] == "Node" else None
        return with_health(document, services) if services else document

    # ---- what there is

    @property
    def nodes(self) -> Table:
        """A row per node, as it is now: node, cpu_milli, cpu_used_milli, pods, gpus, used_milli (of its devices).

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.nodes.shape
        (6, 6)
        """
        names = ("node", "cpu_milli", "cpu_used_milli", "pods", "gpus", "used_milli")
        return table_of_rows(names, self._live.node_rows())

    @property
    def devices(self) -> Table:
        """A row per device, as it is now: what it is, whether it is in service, and what of it is used.

        ``cores`` are percent of a device, ``used_milli`` thousandths.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> sorted(set(cluster.devices["mode"]))
        ['ascend_vir', 'hami_core', 'mig', 'mindcluster_310p']
        """
        names = ("node", "device", "uuid", "model", "mode", "dialect", "service", "memory_mib", "memory_used_mib", "cores",
                 "cores_used", "slots", "slots_used", "used_milli")
        return table_of_rows(names, self._live.device_rows())

    @property
    def pods(self) -> Table:
        """A row per pod, as it is now: pod, state (waiting, reserved, runs), node.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.pods["state"].tolist().count("waiting")
        3
        """
        rows = [(name, state, self._live.node_of(uid) if state == "runs" else "") for uid, name, state in self._live.pods()]
        return table_of_rows(("pod", "state", "node"), rows)

    @property
    def warnings(self) -> list[str]:
        """What could not be read of the objects, in sentences.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> all(isinstance(sentence, str) for sentence in cluster.warnings)
        True
        """
        return self._live.warnings()

    @property
    def differences(self) -> Table:
        """A row for each thing that cannot be true, or where annotations say something else than is counted.

        Columns where, field, value, expected, message, as ``vgpusim snapshot`` finds them.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.differences.columns, len(cluster.differences)
        (['where', 'field', 'value', 'expected', 'message'], 0)
        """
        names = ("where", "field", "value", "expected", "message")
        differences = json.loads(self._live.audit(self._objects_now()))["differences"]
        return table_of_rows(names, [tuple(str(row.get(name) or "") for name in names) for row in differences])

    def _objects_now(self) -> bytes:
        documents = [self._document_now(key) for key in self._objects]
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}).encode()

    def snapshot(self, *, anonymise: bool = False) -> bytes:
        """The cluster as one file that every command reads, with what was placed.

        Parameters
        ----------
        anonymise : bool
            Without the names of nodes, pods and namespaces.

        Returns
        -------
        bytes
            JSON.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> len(vg.Cluster.read(cluster.snapshot(), config=vg.example("cluster")["config"]).nodes)
        6
        >>> b"core-0" in cluster.snapshot(anonymise=True)
        False
        """
        return self._live.snapshot(self._objects_now(), anonymise)

    def __repr__(self) -> str:
        states = [state for _, _, state in self._live.pods()]
        return (f"Cluster({len(self._live.nodes())} nodes, {len(self._live.device_rows())} devices, "
                f"{states.count('runs')} pods, {states.count('waiting')} waiting)")

    def _repr_html_(self) -> str:
        return _html.of_cluster(self)

    def __reduce__(self) -> Any:
        raise TypeError("a Cluster cannot be pickled: pickle its snapshot() and read that")

    # ---- questions

    @contextmanager
    def _asking(self, policies: Policies) -> Iterator[None]:
        """While it is open policies decide. One that is in another run raises StateError, and one that calls the cluster."""
        with in_run(*policies):
            self._is_deciding = True
            try:
                yield
            finally:
                self._is_deciding = False

    def _policies_of(self, policy: str | Policy | None, device_policy: str | Policy | None) -> Policies:
        """Those of a question; by default the cluster's."""
        own = self._policies if policy is None else (policy, None)
        return checked_pair(own[0], device_policy if device_policy is not None else own[1])

    def _ask(self, command: str, options: Iterable[tuple[str, str]], inputs: list[Named],
             policies: Policies = (None, None)) -> tuple[str, Any]:
        own, named = self._options, self._inputs
        if not self._live.is_as_read:
            own = [("cluster", "<snapshot>"), *(option for option in own if option[0] != "cluster")]
            named = [*named, ("<snapshot>", self.snapshot())]
        if command != "explain":
            own = [option for option in own if option[0] != "scheduler_config"]
        names = [(key, label_of(value)) for key, value in zip(("policy", "device_policy"), policies) if value is not None]
        with self._asking(policies):
            text, content = _core.ask(command, [*own, *options, *names], [*named, *inputs], *policies)
        return text.decode(errors="replace"), json.loads(content)

    def explain(self, pod: Manifest, *, policy: str | Policy | None = None, device_policy: str | Policy | None = None,
                node: str | None = None) -> Answer:
        """Why a pod goes where it goes, or nowhere: every node and device, with numbers.

        Parameters
        ----------
        pod : str, path, bytes or mapping
            The name of one that waits, or a manifest.
        policy, device_policy : str or Policy, optional
            By default the cluster's.
        node : str, optional
            The only node to look at.

        Returns
        -------
        Answer
            ``ok``: a node takes it. ``choice`` has the message, ``nodes`` a row per node.

        Raises
        ------
        InputError
            A pod that is not there or cannot be read, or a policy or node that is not known.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> why = cluster.explain("team/waits")
        >>> why.ok, why["choice"]["message"][:26]
        (False, '0/6 nodes are available: 2')
        """
        options, inputs = pod_option("pod", pod)
        if node is not None:
            options.append(("node", node))
        text, content = self._ask("explain", options, inputs, self._policies_of(policy, device_policy))
        answer = content[0] if isinstance(content, list) and len(content) == 1 else content
        return Answer(text, answer, answer["choice"]["node"] is not None)

    def ask_node(self, pod: str, node: str) -> Answer:
        """What one node says to a pod: whether it fits, its score, or what it lacks.

        Parameters
        ----------
        pod : str
            The name of one that waits.
        node : str

        Returns
        -------
        Answer
            ``ok``: it fits. ``reason`` has the amounts that are wanted and available, with their unit.

        Raises
        ------
        InputError
            A pod or node that is not there.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> no = cluster.ask_node("team/waits", "core-1")
        >>> no.ok, no["reason"]["code"]
        (False, 'insufficient_device_memory')
        """
        shown, uid = self._find(pod)
        self._node(node)
        with self._asking(self._policies):
            answer = self._live.ask_node(uid, node)
        return node_answer(shown, node, *answer)

    def whatif(self, *, add_nodes: Mapping[str, int] | None = None, node_templates: Manifests = (),
               drain: str | Iterable[str] = (), fail: str | Iterable[str] = (), set_mode: Mapping[str, str] | None = None,
               add_pods: Manifests = (), find_nodes: str | None = None, policy: str | Policy | None = None,
               device_policy: str | Policy | None = None, seed: int = 42) -> Answer:
        """What would become of the cluster; nothing is changed.

        Parameters
        ----------
        add_nodes : mapping of str to int, optional
            How many nodes of each kind: the name of a node, or ``"A100-40GB:mig:8"``.
        node_templates : path, bytes or mapping, or a list of these
            Node objects that ``add_nodes`` may name.
        drain : str or iterable of str
            Nodes that are cordoned: their pods move, and those that no controller makes again stop.
        fail : str or iterable of str
            Nodes that are gone, or devices ``"node/uuid"`` that are broken: their pods likewise.
        set_mode : mapping of str to str, optional
            Another mode for nodes.
        add_pods : path, bytes or mapping, or a list of these
            Pods that come.
        find_nodes : str, optional
            A kind, of which the smallest number is looked for that is enough.
        policy, device_policy : str or Policy, optional
            By default the cluster's.
        seed : int
            Of policies that draw.

        Returns
        -------
        Answer
            ``ok``: all pods run. ``before`` and ``after`` have figures, ``pods`` a row per pod that moves or waits.

        Raises
        ------
        InputError
            A name that is not known, an object that cannot be read, or a mode that a node cannot have.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.whatif(drain="core-1", add_nodes={"A100-40GB:mig:8": 2})["after"]["nodes"]
        8
        """
        options = [("add_nodes", f"{kind}={count}") for kind, count in dict(add_nodes or ()).items()]
        options += [("set_mode", f"{node}={mode}") for node, mode in dict(set_mode or ()).items()]
        options += [("drain", name) for name in listed(drain)] + [("fail", name) for name in listed(fail)]
        options.append(("seed", str(seed)))
        if find_nodes is not None:
            options.append(("find_nodes", find_nodes))
        inputs: list[Named] = []
        for key, value in (("node_template", node_templates), ("add_pods", add_pods)):
            if isinstance(value, (tuple, list)) and not value:
                continue
            names, named = named_objects(key, value)
            options += [(key, name) for name in names]
            inputs += named
        text, content = self._ask("whatif", options, inputs, self._policies_of(policy, device_policy))
        return Answer(text, content, content.get("refused", 0) == 0)

    def plan(self, pod: str | None = None, *, add_pod: Manifest | None = None, consolidate: str | None = None,
             moves: int = 3, downtime_s: float | None = None, move_s: float | None = None, copy_s_per_gib: float | None = None,
             steps: int | None = None, keep_namespace: str | Iterable[str] = (), movable_label: Mapping[str, str] | None = None,
             move_bare_pods: bool = False) -> Answer:
        """Which pods move so that one fits, or so that devices or nodes become empty; nothing is changed.

        Parameters
        ----------
        pod : str, optional
            The name of one that waits.
        add_pod : path, bytes or mapping, optional
            One that comes.
        consolidate : {"devices", "nodes"}, optional
            What is to become empty.
        moves : int
            How many pods move, at most.
        downtime_s, move_s, copy_s_per_gib : float, optional
            Seconds that a move takes a pod out; else those of a move by itself and for each GiB of device memory.
        steps : int, optional
            How many steps the search takes, at most.
        keep_namespace : str or iterable of str
            Namespaces whose pods stay.
        movable_label : mapping of str to str, optional
            Only pods with all of these labels move.
        move_bare_pods : bool
            Pods that no controller makes again when they are deleted move too.

        Returns
        -------
        Answer
            ``ok``: a plan was found. ``moves`` has a row per move.

        Raises
        ------
        InputError
            A pod that is not there or cannot be read, or neither a pod nor ``consolidate``.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.plan("team/waits", moves=3).ok
        False
        """
        options = [("moves", str(moves))]
        inputs: list[Named] = []
        if pod is not None:
            options.append(("pod", pod))
        if add_pod is not None:
            more, inputs = pod_option("add_pod", add_pod)
            options += more
        if consolidate is not None:
            options.append(("consolidate", consolidate))
        for key, number in (("downtime_s", downtime_s), ("move_s", move_s), ("copy_s_per_gib", copy_s_per_gib)):
            if number is not None:
                options.append((key, repr(float(number))))
        if steps is not None:
            options.append(("steps", str(steps)))
        options += [("keep_namespace", name) for name in listed(keep_namespace)]
        options += [("movable_label", f"{key}={value}") for key, value in dict(movable_label or ()).items()]
        if move_bare_pods:
            options.append(("move_bare_pods", "true"))
        text, content = self._ask("plan", options, inputs)
        return Answer(text, content, bool(content.get("found")))
