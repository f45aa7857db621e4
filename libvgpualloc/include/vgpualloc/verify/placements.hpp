// An independent judge of a ledger: recounts the live pods with its own arithmetic, sharing no code with the modes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "vgpualloc/model/ledger.hpp"

namespace vgpualloc::verify {

/// The first broken rule in words, or empty if everything holds: host CPU, host memory and pod limits; per device the
/// memory, compute and slot budgets; a whole device has one user; a container's devices are all different; a pod is
/// live at most once.
[[nodiscard]] std::string first_violation(const ledger& book);

} // namespace vgpualloc::verify
