// From a policy's spelling to a policy: a name of a list, or weighted:a=0.7,b=0.3.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/pair.hpp"

namespace vgpualloc {

/// The policy of whoever names none: the one spelling of it for every command, live clusters, C and Python.
inline constexpr const char* default_policy = "bid_price";

/// Makes the policy that `spelling` names. `known` is the list of entries to look in, in the order in which an error
/// lists them. Weights are finite decimal numbers, not all 0; drawn and nested policies have no place in a weighted
/// sum.
[[nodiscard]] expected<std::unique_ptr<policy>>
parse_policy(std::string_view spelling, std::span<const policy_entry> known, const policy_parameters& parameters);

/// Two policies and who owns them.
struct owned_policies {
    std::unique_ptr<policy> node;
    std::unique_ptr<policy> device; ///< null: as `node`

    [[nodiscard]] policy_pair pair() const noexcept {
        return {.node = node.get(), .device = device ? device.get() : node.get()};
    }
};

/// Makes policies of a caller's own, for decisions on `nodes`, which outlive them and may gain nodes. In the place of
/// one the policies hold that names stand for.
using policies_maker =
    std::function<expected<owned_policies>(const policy_parameters& parameters, const cluster& nodes)>;

/// parse_policy() of both; an empty device spelling is the same policy. Errors are those of parse_policy(), with the
/// field "policy" or "device_policy".
[[nodiscard]] expected<owned_policies> parse_policies(std::string_view node, std::string_view device,
                                                      std::span<const policy_entry> known,
                                                      const policy_parameters& parameters);

} // namespace vgpualloc
