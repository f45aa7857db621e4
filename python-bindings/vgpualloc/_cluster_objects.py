"""The objects that describe a cluster, as they change."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from vgpualloc import _core
from vgpualloc._cluster_view import ClusterView
from vgpualloc._errors import whole_number
from vgpualloc._inputs import Manifest, manifest_bytes, named_objects
from vgpualloc._pods import Key, NewPod, key_of
from vgpualloc._trials import Scope, copies_of, set_services, with_service
from vgpualloc._turns import in_turn


@in_turn
class ClusterObjects(ClusterView):
    """A base of Cluster. See there."""

    _undo: list[Callable[[], object]]
    _trials: list[Scope]  # open ones, the innermost last
    _due: list[tuple[str, _core.Holding]]  # what pods are to have again when its devices are there again

    def _add(self, document: dict[str, Any]) -> None:
        """An object as it is now."""
        key = key_of(document)
        before = self._objects.get(key)
        if isinstance(before, NewPod):
            before = before.manifest(key[2])
        holding = self._holding(key)
        self._live.upsert(json.dumps(document).encode())
        self._objects[key] = document
        if key[0] == "Node":
            self._live.spoken = None
            set_services(self._live, key[2], self._services.get(key[2], {}))
        if key[0] == "Pod":
            self._uids[f"{key[1]}/{key[2]}"] = (document.get("metadata") or {}).get("uid") or f"{key[1]}/{key[2]}"
        self._note(lambda: self._bring_back(before, {}, holding) if before is not None else self._drop(key))

    def _drop(self, key: Key) -> None:
        before, holding = self._objects.pop(key), self._holding(key)
        kind, namespace, name = key
        services: dict[str, str] = {}
        if kind == "Node":
            self._live.spoken = None
            services = self._services.pop(name, {})
            self._live.remove_node(name)
        elif kind == "Pod":
            self._live.remove_pod(self._uids.pop(f"{namespace}/{name}"))
        self._note(lambda: self._bring_back(before, services, holding))

    def _holding(self, key: Key) -> _core.Holding | None:
        """What a pod has, where it may have to be given to it again: objects need not say it."""
        uid = self._uids.get(f"{key[1]}/{key[2]}") if self._trials and key[0] == "Pod" else None
        return self._live.holding_of(uid) if uid is not None else None

    def _bring_back(self, document: dict[str, Any], services: dict[str, str], holding: _core.Holding | None) -> None:
        if services:
            self._services[document["metadata"]["name"]] = services
        self._add(document)
        if holding is not None:
            self._give_again(self._uids["/".join(key_of(document)[1:])], holding)

    def _give_again(self, uid: str, holding: _core.Holding) -> None:
        if not self._live.give_again(uid, holding):
            self._due.append((uid, holding))

    def _note(self, inverse: Callable[[], object]) -> None:
        """Remembers how a change is undone, where a trial is open."""
        self._live.is_as_read = False
        if self._trials:
            self._undo.append(inverse)

    def upsert(self, *objects: Manifest) -> None:
        """Objects as they are now; a pod that is bound counts on its node.

        Parameters
        ----------
        *objects : path, bytes or mapping
            Objects of Kubernetes. One of the same kind and name is replaced.

        Raises
        ------
        InputError
            Objects that cannot be read.
        OSError
            A file that cannot be read.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.upsert({**vg.Pod(gpus=1).manifest("hami", "late"), "apiVersion": "v1"})
        >>> "default/late" in cluster.pods["pod"]
        True
        """
        names, inputs = named_objects("objects", list(objects))
        for name in names:
            for text in _core.documents(name, inputs):
                self._add(json.loads(text))

    def add_nodes(self, kind: str | Mapping[str, Any], count: int = 1) -> list[str]:
        """Adds nodes of a kind, like one of the cluster, or like a Node object.

        Parameters
        ----------
        kind : str or mapping
            The name of a node; or what ``whatif`` takes, ``"MODEL:MODE:DEVICES"`` with ``":CPU_MILLI:MEMORY_MIB"``; or
            a Node object.
        count : int
            How many.

        Returns
        -------
        list of str
            Their names.

        Raises
        ------
        InputError
            A node that is not there, or an object that cannot be read.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.add_nodes("core-0", 2)
        ['core-0-added-1', 'core-0-added-2']
        """
        if not isinstance(kind, (str, Mapping)):
            raise TypeError(f"kind: expected a kind, the name of a node or a Node object, not {type(kind).__name__}")
        count = whole_number("add_nodes()", "count", count, 1, 100_000)
        if isinstance(kind, str) and ("Node", "", kind) not in self._objects and _core.is_described(kind):
            return self._add_described(kind, count, "-added-", like_cluster=True)
        like = self._node(kind) if isinstance(kind, str) else json.loads(manifest_bytes(kind))
        documents = copies_of(like, count, self._objects)
        for document in documents:
            self._add(document)
        return [document["metadata"]["name"] for document in documents]

    def _add_described(self, kind: str, count: int, suffix: str, *, like_cluster: bool) -> list[str]:
        """`like_cluster`: hosts have the most that one of the cluster has, where the kind does not say it."""
        prefix = self._live.kind_name(kind, like_cluster) + suffix
        names: list[str] = []
        number = 0
        while len(names) < count:
            number += 1
            name = f"{prefix}{number}"
            if ("Node", "", name) not in self._objects:
                names.append(name)
        for texts in self._live.kind_objects(kind, names, like_cluster):
            for text in texts:
                self._add(json.loads(text))
        return names

    # ---- service

    def drain(self, target: str) -> None:
        """A node or device takes nothing new; what runs there stays.

        Parameters
        ----------
        target : str
            ``"node"`` or ``"node/uuid"``.

        Raises
        ------
        InputError
            A node or device that is not there.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.drain("core-0")
        >>> bool(cluster.place(vg.Pod(gpus=1, gpu_memory_mib=20480), node="core-0"))
        False
        """
        self._serve(target, "draining")

    def fail(self, target: str) -> None:
        """A node or device is broken: it takes nothing new. What runs there counts until it is released.

        Parameters
        ----------
        target : str
            ``"node"`` or ``"node/uuid"``.

        Raises
        ------
        InputError
            A node or device that is not there.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.fail("core-0/GPU-a0")
        >>> bool(cluster.place(vg.Pod(gpus=1, gpu_memory_mib=20480), node="core-0"))
        False
        """
        self._serve(target, "failed")

    def restore(self, target: str) -> None:
        """Ends ``drain()`` and ``fail()``.

        Parameters
        ----------
        target : str
            ``"node"`` or ``"node/uuid"``.

        Raises
        ------
        InputError
            A node or device that is not there.

        Examples
        --------
        >>> import vgpualloc as vg
        >>> cluster = vg.Cluster.read(**vg.example("cluster"))
        >>> cluster.drain("core-0")
        >>> cluster.restore("core-0")
        >>> bool(cluster.place(vg.Pod(gpus=1, gpu_memory_mib=20480), node="core-0"))
        True
        """
        self._serve(target, "in_service")

    def _serve(self, target: str, service: str) -> None:
        node, slash, uuid = str.partition(target, "/")
        document = self._node(node)
        if slash:
            before, services = self._live.service_of(node, uuid), self._services.get(node, {})
            self._live.set_service(node, uuid, service)
            self._services[node] = {**services, uuid: service}
            self._note(lambda: (self._services.update({node: services}), self._live.set_service(node, uuid, before)))
            return
        self._add(with_service(document, service))
