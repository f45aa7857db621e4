// An independent judge of a ledger: recounts the live pods and claims with its own arithmetic, sharing no code with the
// modes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc::verify {

/// What the parts of one kind of device stand for, where a part does not say it itself. What is left out is not
/// judged: of MIG instances without facts only that no two are the same, of templates only what they are charged.
struct device_facts {
    const mig_model* mig = nullptr;  ///< mig_instance::profile is a position in its profiles
    std::vector<mig_group> geometry; ///< or a position among all kinds of all groups
    std::int64_t memory_factor = 1;  ///< of the geometry
    npu_kind npu;                    ///< vir_template::index is a position in its templates by ascending memory
    std::vector<dvpp_use> dvpp;      ///< of the templates, by index; empty = not counted
    bool one_isolation = false;      ///< slices with a share of compute and slices without one may not be together
};

/// The first broken rule in words, or empty if everything holds: host CPU, host memory and pod limits; per device the
/// memory, compute and slot budgets; a whole device has one user; MIG instances that can exist together, of one group;
/// the AI cores, AI CPUs and video engines of templates; one isolation on a device where that is a fact; a container's
/// devices are all different; a pod or claim is live at most once; a claim has devices alone, and the claims that a pod
/// uses are live and on its node. `facts` by position in cluster::kinds; kinds after its end
/// have none.
[[nodiscard]] std::string first_violation(const ledger& book, std::span<const device_facts> facts = {});

} // namespace vgpualloc::verify
