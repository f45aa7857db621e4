// Host rules in words: which taint, label or requirement keeps a pod off a node.
#pragma once

#include <string>
#include <string_view>

#include "vgpualloc/model/host_rules.hpp"

namespace vgpualloc::explaining {

/// "gpu=shared:NoSchedule" of a taint, "wants zone=a, the node has zone=b" of a label. Empty where `code` is of no host
/// rule. `code` is what why_not_host() answers for the others.
[[nodiscard]] std::string rule_words(rejection_code code, const host_rules& rules, const host_facts& facts,
                                     std::string_view node_name);

} // namespace vgpualloc::explaining
