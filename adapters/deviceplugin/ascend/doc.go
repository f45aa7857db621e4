// Package ascend is the node side of Ascend NPUs in HAMi mode: it registers the chips of its node, and gives containers the chips
// that a scheduler has chosen for them.
//
// It writes and reads what ascend-device-plugin does, in the same order and with the same texts, except:
//
//   - The pod of a call is the one that the node's lock names, if it is of this node, is pending and has its phase at allocating, or
//     at success with containers left. Otherwise, or where the lock is no lock or its pod is gone, it is the first such pod in the
//     API server's order whose next container has as many entries as the kubelet asks for. If there is none, the first such pod
//     with containers left fails. A lock that cannot be read, or whose pod is gone or has nothing left, is removed.
//   - The phase becomes success, and the lock is released, with the last container. Erased entries leave one empty slot each:
//     "X;Y;" becomes ";Y;" and then ";;".
//   - huawei.com/W is read by position: an entry belongs to the device at the same place of the assignment. By uuid it is read only
//     where places do not agree and all entries of the uuid are equal.
//   - A pod fails whose containers would get something else than they were promised: a slice in software on a node that cuts with
//     templates, a template on a node that limits in software, a device without an entry in huawei.com/W, part of a card without a
//     template, two templates in one container, a chip twice in one container, a chip that is not healthy.
//   - A call without containers is an error and touches nothing.
//   - After the start a vNPU is idle, and destroyed, only if no container had it at two looks after each other: the container runtime
//     makes it before the container has it.
//   - Health is read anew for every registration, and a change is passed on without waiting for a reader.
//   - What limits in software (libvnpu.so) is copied only on nodes that do.
//   - Beside hami.io/node-handshake-W, whose time has no zone, hami.io/node-reported-W has it in RFC 3339.
//
// A pod that fails has its phase set to failed and gets an event with the reason.
package ascend
