// Which MIG layouts of nodes run the most of the cluster's pods: GPUs of NVIDIA's own plugin, cut by the GPU operator's
// names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/units.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/whatif/answer.hpp"

namespace vgpuops::whatif {

/// Pods that ask for instances of one profile, instance by instance.
struct mix_part {
    std::string profile; ///< "1g.10gb"
    std::int64_t instances = 0;
};

/// How long pods waited in a replay that began with the nodes cut so. None: a wait without end.
struct layout_waits {
    std::optional<vgpualloc::ticks> median{};
    std::optional<vgpualloc::ticks> p95{};
};

/// What a row has in place of a layout for nodes that are cut in no way that has a name, and stay so.
inline constexpr std::string_view uncut = "as it is";

/// One way to cut the nodes.
struct layout_row {
    std::vector<std::string> layouts{}; ///< by position in layouts_found::nodes
    std::int64_t run = 0;               ///< pods of the mix that run then
    std::int64_t wait = 0;              ///< pods of the mix that do not
    std::int64_t restart = 0;           ///< pods that are on nodes which are cut
    /// Of all GPUs one after the other; none where a GPU is whole before or after, as nothing tells how long that
    /// takes.
    std::optional<vgpualloc::ticks> cut_time = vgpualloc::ticks{};
    std::vector<std::int64_t>
        spare{}; ///< instances that nobody has then on nodes that take pods, by position in layouts_found::mix
    bool is_now = false;
    std::optional<layout_waits> waits{}; ///< none: there was no replay
};

struct layouts_found {
    std::vector<std::string> nodes{};
    std::vector<mix_part> mix{};    ///< ascending by name
    std::int64_t others = 0;        ///< pods of the mix that ask for no instances and run on the nodes of the set
    std::int64_t run = 0;           ///< pods of the mix that run now
    std::int64_t wait = 0;          ///< that do not
    std::vector<layout_row> rows{}; ///< most pods that run first, then fewest restarts, then least time
    std::int64_t possible = 0;      ///< ways to cut the nodes; at most ways_counted_max
    bool is_exhaustive = true;      ///< all of them were tried
    /// Of the pods of the mix, under no way instances are enough for more; none: all ways were tried, or there is no
    /// solver.
    std::optional<std::int64_t> run_most{};
    std::vector<error> warnings{};   ///< of the replays
    std::int64_t replayed = 0;       ///< pods whose waits rows have
    std::int64_t replayed_never = 0; ///< pods beside these that run in none of the rows
};

/// Ways that are tried at most, and that are counted at most.
inline constexpr std::int64_t ways_tried_max = 256;
inline constexpr std::int64_t ways_counted_max = 1'000'000'000;

/// Tries the layouts that no other one replaces, as it has as many instances of every profile of the mix, and those
/// that the nodes have now, on every node of the set.
/// The mix are the pods that ask for MIG instances: those that run, those that wait and those that the question adds;
/// and pods that have other devices of the set's nodes. Nodes that take no pods are left out, and of a set those whose
/// GPUs have no MIG. Where there are more than ways_tried_max ways, one layout for all nodes is tried, each, and with a
/// solver the way with instances for most pods and the fewest of them on nodes that are cut. Unless that one runs as
/// many, nodes then change one after the other, each to its best layout, until none gets better. Changes of the
/// question come first. Errors: those of answer_of() and of dialects::nvidia::gpus_of(), at --find-layout; missing
/// where no pod asks for instances or no node takes pods; unsupported for nodes of MIG strategy single; stopped.
[[nodiscard]] expected<layouts_found> find_layouts(const std::vector<kube::manifest>& objects,
                                                   const vgpualloc::dialect_set& dialects, const question& asked,
                                                   const std::string& set);

/// Rows that the table has unless all are wanted.
inline constexpr std::size_t layouts_shown_max = 10;

/// As a table of the best rows, 10 or all, and as a document: docs/whatif.md names the members.
[[nodiscard]] std::string layouts_text(const layouts_found& found, bool all);
[[nodiscard]] std::string layouts_json(const layouts_found& found);

} // namespace vgpuops::whatif
