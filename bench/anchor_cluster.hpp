// The cluster on which the decisions of Volcano's own code were timed: 1,000 nodes x 8 A100-40GB, half full. Here every
// node is in a state of its own, so that nothing found out about one node says anything about another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpubench {

/// How the GPUs are shared.
enum class sharing : std::uint8_t {
    hami_core,  ///< split 10; 2 pods of 10240 MiB and 20 cores on every GPU
    mig_groups, ///< ordered geometry groups; 3 of the 7 `1g.5gb` of every GPU in use
    mig,        ///< the catalog's placements; likewise
};
[[nodiscard]] std::string name_of(sharing kind);

/// What requests say of single devices.
enum class naming : std::uint8_t {
    nothing,
    denied_uuids,   ///< the 8 GPUs of one node are not wanted
    allowed_uuids,  ///< one of the 128 GPUs of 16 nodes is wanted
    avoided_tag,    ///< no GPU that a pod like this one has: 500 of the 8,000 have one
    one_link_group, ///< several GPUs of one link group; a node has two of four
};
[[nodiscard]] std::string name_of(naming kind);

struct anchor_options {
    sharing kind = sharing::hami_core;
    std::int64_t nodes = 1'000;
    std::uint64_t seed = 1;
};

/// The cluster with its pods booked. What makes nodes differ: with hami_core, three of four GPUs (drawn) have one
/// more pod of 16 to 1024 MiB and 1 to 5 cores; with MIG, which 3 of the 7 places are in use is drawn for every GPU.
/// Ends the program with a message if two nodes have equal devices.
class anchor_cluster {
public:
    explicit anchor_cluster(const anchor_options& options);

    /// What the recorded times are about: `count` x 4096 MiB and 10 cores, or `count` x 5000 MiB with MIG.
    [[nodiscard]] vgpualloc::pod_request request(std::int64_t count) const;

    /// 64 different requests around it, none of which any node must refuse for good. `count` devices each; 0 = 1, 2, 4
    /// and 8 in turn.
    [[nodiscard]] std::vector<vgpualloc::pod_request> classes(std::int64_t count) const;

    /// The same where each of them names devices.
    [[nodiscard]] std::vector<vgpualloc::pod_request> classes_naming(std::int64_t count, naming kind) const;

    /// Nodes whose devices, as a multiset of states, no other node has.
    [[nodiscard]] std::size_t distinct_nodes() const;

private:
    [[nodiscard]] vgpualloc::cluster make_nodes() const;
    void fill();
    void fill_with_slices(vgpualloc::node_index where, vgpualloc::device_index on);
    void fill_with_instances(vgpualloc::node_index where, vgpualloc::device_index on);
    [[nodiscard]] std::vector<std::string> uuids_of_nodes(std::size_t first, std::size_t count) const;
    void book_one(vgpualloc::node_index where, vgpualloc::device_index on, const vgpualloc::partition& part);

    anchor_options options_;
    vgpualloc::rng draw_;
    vgpualloc::cluster nodes_;

public:
    vgpualloc::ledger book;
    std::size_t pods = 0; ///< booked so far; their ids are below
};

} // namespace vgpubench
