// The list of native policies, sorted by name. A new policy is one header and one line here.
#pragma once

#include <array>

#include "vgpualloc/policy/best_fit.hpp"
#include "vgpualloc/policy/binpack.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/fgd.hpp"
#include "vgpualloc/policy/random.hpp"
#include "vgpualloc/policy/spread.hpp"
#include "vgpualloc/policy/worst_fit.hpp"

namespace vgpualloc {

inline constexpr std::array native_policies{
    make_policy_entry<policies::best_fit>(
        "node with the least idle device capacity left over, then device with the least left over"),
    make_policy_entry<policies::binpack>("fullest node first, then fullest device: keeps whole nodes free"),
    make_policy_entry<policies::fgd>("node and device where fragmentation grows least (exact score)"),
    make_policy_entry<policies::random>("a node that fits, then a device that fits, drawn uniformly"),
    make_policy_entry<policies::spread>("emptiest node first, then emptiest device: keeps neighbours apart"),
    make_policy_entry<policies::worst_fit>(
        "node with the most idle device capacity left over, then device with the most left over"),
};

} // namespace vgpualloc
