// The checks of a device that do not depend on its state.
#include "vgpualloc/model/device.hpp"

#include <algorithm>
#include <variant>

namespace vgpualloc {

namespace {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool has_part(const std::string& model, const std::vector<std::string>& parts) {
    return std::ranges::any_of(parts, [&](const std::string& part) { return contains_ignoring_case(model, part); });
}

} // namespace

bool contains_ignoring_case(std::string_view text, std::string_view part) noexcept {
    return !std::ranges::search(text, part, {}, lower, lower).empty() || part.empty();
}

part_description sharing_mode::describe(const device_spec& device, const partition& part) const {
    if (const auto* cut = std::get_if<slice>(&part)) {
        return {.name = {}, .group = {}, .memory = cut->memory, .cores = cut->cores};
    }
    return {.name = {}, .group = {}, .memory = device.memory, .cores = device.cores};
}

milli_gpu sharing_mode::used_compute(const device_spec& device, const device_state& state) const {
    const std::int64_t cores = device.cores.count();
    if (cores <= 0) return milli_gpu{};
    return milli_gpu{use(device, state).compute.count() * whole_gpu.count() / cores};
}

requested_share sharing_mode::requested(const device_spec& device, const device_request& request) const {
    constexpr std::int64_t percent = 100;
    requested_share share{.memory = {.part = 1, .whole = 1},
                          .compute = fraction::of(request.cores.count(), device.cores.count())};
    if (request.memory_percent) {
        share.memory = fraction::of(*request.memory_percent, percent);
    } else if (request.memory > mib{0}) {
        share.memory = fraction::of(request.memory.count(), device.memory.count());
    }
    return share;
}

std::int64_t sharing_mode::further(const device_spec& device, const device_state& state, const device_request& request,
                                   std::int64_t most) const {
    std::vector<partition> parts;
    device_state filled = state;
    for (std::int64_t count = 0; count < most; ++count) {
        parts.clear();
        candidates(device, filled, request, parts);
        if (parts.empty()) return count;
        filled = with(device, filled, parts.front());
    }
    return most;
}

rejection_code why_never(const device_spec& device, const device_request& request) {
    const bool other_mode = !request.mode.empty() && request.mode != device.mode->name();
    if (request.count == 0) return other_mode ? rejection_code::mode_not_offered : rejection_code::none;
    if (!request.family.empty() && request.family != device.family) return rejection_code::family_not_offered;
    if (!request.models.empty() && std::ranges::find(request.models, device.model) == request.models.end()) {
        return rejection_code::model_not_accepted;
    }
    if (!request.types_allowed.empty() && !has_part(device.model, request.types_allowed)) {
        return rejection_code::type_not_accepted;
    }
    if (has_part(device.model, request.types_denied)) return rejection_code::type_not_accepted;
    if (other_mode) return rejection_code::mode_not_offered;
    return rejection_code::none;
}

} // namespace vgpualloc
