// What is lost of a workload whose pods do not wait: the figures of a loss system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpusim/engine/acceptance.hpp"
#include "vgpusim/engine/simulation.hpp"
#include "vgpusim/workload/workload.hpp"
#include "vgputraces/device_parts.hpp"

namespace vgpusim {

/// Pods that have arrived and those of them that were placed.
struct accepted_pods {
    std::int64_t arrived = 0;
    std::int64_t accepted = 0;

    /// Of those that have arrived; 1 where none has.
    [[nodiscard]] double ratio() const noexcept;
};

/// Of the pods that are measured (measured_arrivals).
struct loss_figures {
    accepted_pods pods;
    vgputraces::device_parts arrived;        ///< asked for by all
    vgputraces::device_parts accepted;       ///< asked for by those that were placed
    std::int64_t filled_of = 0;              ///< the memory of all devices, where no pod leaves; else 0
    std::vector<accepted_pods> of_classes{}; ///< by position in measured_arrivals::classes
    acceptance of_gpus{};                    ///< the same pods by the GPUs that they ask for; nobody waits

    /// Memory accepted of the memory asked for, in devices: of MIG the memory slices. 1 where none was asked for.
    [[nodiscard]] double memory_ratio() const noexcept;
};

/// Adds up pods in the order of arrival.
class loss_counter {
public:
    /// The input has `measured` and must outlive the counter.
    explicit loss_counter(const simulation_input& input);

    void count(std::size_t pod, bool is_accepted);
    [[nodiscard]] loss_figures& figures() noexcept { return figures_; }

private:
    const simulation_input* input_;
    loss_figures figures_;
};

/// Those of a run, of an input with `measured`. A pod is accepted that has started at least once.
[[nodiscard]] loss_figures loss_figures_of(const simulation_result& result, const simulation_input& input);

/// What one device as large as all devices together would accept: a pod is placed if memory and compute suffice, each
/// summed over all devices, wherever they lie. No policy accepts more memory than this in the long run under the same
/// load only where it, too, refuses nothing that fits; it is a reference and does not bound the number of pods, since
/// who accepts large pods has less room for small ones.
[[nodiscard]] loss_figures pool_figures_of(const simulation_input& input);

} // namespace vgpusim
