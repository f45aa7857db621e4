// Which pods of a cluster may be moved by whoever rearranges it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"

namespace vgpualloc::kube {

/// Which pods may move: those that run, that somebody makes again elsewhere when they are deleted (a controller that is
/// no DaemonSet and no kubelet), whose request can be read, and that are not being deleted.
struct mobility {
    std::vector<std::string> namespaces_kept{};                ///< whose pods stay
    std::vector<std::pair<std::string, std::string>> labels{}; ///< that a pod has to have, all of them
    bool without_controller = false;                           ///< pods that nobody makes again move as well
};

/// Whether a pod of a snapshot may move; `object` is its object.
[[nodiscard]] bool may_move(const bound_pod& bound, const manifest& object, const mobility& rules);

/// The bound pods, ascending, that stay for the one reason that no controller makes them again: on nodes that take
/// pods, and free to move by all other rules. `objects` are those of the snapshot.
[[nodiscard]] std::vector<pod_id> kept_without_controller(const snapshot& state, std::span<const manifest> objects,
                                                          const mobility& rules);

/// Whether a pod is of a DaemonSet, or a static one, which its kubelet runs: no other node can take it.
[[nodiscard]] bool belongs_to_its_node(const manifest& pod) noexcept;

/// The scheduling gates of a pod as an error that names them, or the queue that has not let it in; none without any.
[[nodiscard]] std::optional<error> why_held_back(const snapshot_pod& pod);

/// A pod whose devices the kubelet chooses names no mode, so units of any GPU would do for it. After this, every bound
/// pod asks for the mode that it has: it does not lose a whole GPU for a replica or an instance by a move that nobody
/// but a plan asks for.
void keep_modes(snapshot& state);

} // namespace vgpualloc::kube
