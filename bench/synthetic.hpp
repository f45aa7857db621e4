// A cluster of N nodes with 8 GPUs each and pods for it: openb's node kinds and request classes, scaled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/policy.hpp"
#include "vgpusim/workload/openb.hpp"

namespace vgpubench {

/// The nodes of traces/models/openb-like.json, each kind with 8 GPUs, scaled to `nodes`; pods of all its request
/// classes that ask for `load` times the GPUs. Ends the program with a message if the model cannot be read.
[[nodiscard]] vgpusim::simulation_input make_input(std::int64_t nodes, double load);

/// Gives the nodes the labels of a managed cluster, a name and a zone among them, and one in ten a taint. Every request
/// chooses zones and tolerates every other taint.
void add_host_rules(vgpusim::simulation_input& input);

[[nodiscard]] std::unique_ptr<vgpualloc::policy> make_policy(std::string_view name,
                                                             const vgpusim::simulation_input& input);

/// A ledger that pods come to and go from. Pod ids are used again, so that it does not grow with the ids.
class filled_cluster {
public:
    explicit filled_cluster(const vgpusim::simulation_input& input) : input_{&input}, book{input.nodes} {}

    /// Places every pod of the input once, through an index that is dropped afterwards.
    void fill(vgpualloc::policy& by);

    /// The next pod to be asked about: the input's pods in order, again and again.
    [[nodiscard]] std::uint32_t next_request() noexcept {
        const std::uint32_t request = input_->pods[cursor_].request;
        cursor_ = cursor_ + 1 == input_->pods.size() ? 0 : cursor_ + 1;
        return request;
    }
    /// An id that is not live.
    [[nodiscard]] vgpualloc::pod_id free_id() const noexcept {
        return vgpualloc::pod_id{free_.empty() ? live_.size() : free_.back()};
    }
    /// free_id() was placed.
    void placed();
    /// Releases a pod, drawn uniformly among the live ones.
    void release_one();

private:
    const vgpusim::simulation_input* input_;
    std::size_t cursor_ = 0;
    std::vector<std::size_t> live_;
    std::vector<std::size_t> free_;
    vgpualloc::rng draw_{1};

public:
    vgpualloc::ledger book;
};

} // namespace vgpubench
