// random: any node that fits, any device that fits, each equally likely.
#pragma once

#include "vgpualloc/core/named.hpp"
#include "vgpualloc/policy/drawn_stream.hpp"
#include "vgpualloc/policy/factory.hpp"

namespace vgpualloc::policies {

/// Every candidate scores 0 and ties are drawn from the policy's own stream.
class random final : public named<"random", drawing_policy> {
public:
    explicit random(const policy_parameters& parameters) : named{parameters.seed, "policy/random"} {}
};

} // namespace vgpualloc::policies
