// Every policy a run can name: the native ones and the models of other systems.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc {

/// All entries, native first, each part sorted by name.
[[nodiscard]] const std::vector<policy_entry>& all_policies();

/// parse_policy() over all_policies().
[[nodiscard]] expected<std::unique_ptr<policy>> make_policy(std::string_view spelling,
                                                            const policy_parameters& parameters);
/// parse_policies() over all_policies().
[[nodiscard]] expected<owned_policies> make_policies(std::string_view node, std::string_view device,
                                                     const policy_parameters& parameters);

} // namespace vgpualloc
