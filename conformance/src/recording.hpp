// Recorded cases as JSON: what goes into the model of Volcano, and what comes out of it in the recording's shape.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "vgpualloc/compat/volcano/scheduler.hpp"

namespace vgpuconformance {

namespace volcano = vgpualloc::compat::volcano;
using nlohmann::json;

// Reading. A member of the wrong type throws json::exception.
[[nodiscard]] volcano::device_config config_from(const json& recorded_case);
/// What the family's recordings were made with; throws std::invalid_argument for an unknown family.
[[nodiscard]] volcano::plugin_options options_from(const json& recorded_case);
[[nodiscard]] volcano::node node_from(const json& recorded);
[[nodiscard]] volcano::npu_node_info npu_info_from(const json& recorded);
[[nodiscard]] volcano::pod pod_from(const json& recorded);
[[nodiscard]] vgpualloc::kubernetes::text_map texts_from(const json& object, const char* key);

/// Checks what reading a case relies on: schema, operations, and that nodes named by number are of the case. Throws
/// std::invalid_argument.
void check_case(const json& recorded_case);

// Writing. `fixed`: with what never changes, as in "loaded".
[[nodiscard]] json state_json(const volcano::ledger_state& state, std::size_t node, bool fixed);
/// The `out` of an attempt just made: answers, choice, allocation and the session's state; the cache's is the caller's.
[[nodiscard]] json attempt_json(const volcano::scheduler& model, const volcano::attempt& decided);

/// Without members that are zero, empty, false or null: the recordings leave these out.
[[nodiscard]] json compact(const json& value);

} // namespace vgpuconformance
