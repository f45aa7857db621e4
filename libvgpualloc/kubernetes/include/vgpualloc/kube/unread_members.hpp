// What of an export of objects nothing reads. It is half of the export and more.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "vgpualloc/core/error.hpp"

namespace vgpualloc::kube {

/// Whether a member of the map to which the keys of `path` lead, from an object or a list of objects, is not looked at:
/// what the API server notes of who wrote which field, and of the status what is no amount, phase, condition or
/// check. For
/// vgpuformats::unread_members.
[[nodiscard]] bool is_unread_member(std::span<const std::string> path, std::string_view key);

/// What errors of size add to what they say of such a text.
inline constexpr std::string_view large_export_advice =
    "; of an export, metadata.managedFields can be left out, as kubectl get does without --show-managed-fields";

/// The error of reading the bytes of an export, with that if they are too many.
[[nodiscard]] error with_export_advice(error failure);

} // namespace vgpualloc::kube
