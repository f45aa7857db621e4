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
    make_policy_entry<policies::best_fit>(), make_policy_entry<policies::binpack>(),
    make_policy_entry<policies::fgd>(),      make_policy_entry<policies::random>(),
    make_policy_entry<policies::spread>(),   make_policy_entry<policies::worst_fit>(),
};

} // namespace vgpualloc
