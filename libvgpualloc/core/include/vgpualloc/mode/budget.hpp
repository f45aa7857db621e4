// What several modes do alike: checks of slots, memory and compute of a device against what one more container wants,
// and the forms of modes that cut slices, or that can serve a request in one way only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <variant>
#include <vector>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc::modes {

/// `slots`: as many containers as may share the device.
[[nodiscard]] inline rejection_detail why_no_slot(std::int64_t slots, const device_state& state) {
    if (state.slots < slots) return {};
    return {.code = rejection_code::insufficient_device_slots, .wanted = 1, .available = slots - state.slots};
}
[[nodiscard]] inline rejection_detail why_no_slot(const device_spec& device, const device_state& state) {
    return why_no_slot(device.slots, state);
}

/// The state with one more user of so much, or one less.
[[nodiscard]] inline device_state with_slice(const device_state& state, const slice& part) {
    return {.memory = state.memory + part.memory,
            .cores = state.cores + part.cores,
            .slots = state.slots + 1,
            .layout = state.layout};
}
[[nodiscard]] inline device_state without_slice(const device_state& state, const slice& part) {
    return {.memory = state.memory - part.memory,
            .cores = state.cores - part.cores,
            .slots = state.slots - 1,
            .layout = state.layout};
}

[[nodiscard]] inline rejection_detail why_no_memory(const device_spec& device, const device_state& state, mib memory) {
    const mib left = device.memory - state.memory;
    if (memory <= left) return {};
    return {.code = rejection_code::insufficient_device_memory, .wanted = memory.count(), .available = left.count()};
}

[[nodiscard]] inline rejection_detail why_no_cores(const device_spec& device, const device_state& state,
                                                   core_percent cores) {
    const core_percent left = device.cores - state.cores;
    if (cores <= left) return {};
    return {.code = rejection_code::insufficient_device_cores, .wanted = cores.count(), .available = left.count()};
}

/// HAMi's and Volcano's two rules about full compute: a container that asks for all of it joins nobody, and one that
/// asks for no share does not join a device whose compute is all given out.
[[nodiscard]] inline rejection_detail why_not_join(const device_spec& device, const device_state& state,
                                                   core_percent cores) {
    if (cores == device.cores && state.slots > 0) {
        return {.code = rejection_code::device_in_use, .wanted = 0, .available = state.slots};
    }
    if (cores == core_percent{0} && state.cores == device.cores) {
        return {.code = rejection_code::device_taken_whole, .wanted = 1, .available = 0};
    }
    return {};
}

/// The first of the answers that is a refusal.
[[nodiscard]] inline rejection_detail first_refusal(std::initializer_list<rejection_detail> answers) {
    for (const rejection_detail& answer : answers) {
        if (answer.code != rejection_code::none) return answer;
    }
    return {};
}

/// Whether `part` is a slice and stays within the device; `slots` as above.
[[nodiscard]] inline rejection_detail why_no_slice(const device_spec& device, std::int64_t slots,
                                                   const device_state& state, const partition& part) {
    const auto* cut = std::get_if<slice>(&part);
    if (cut == nullptr || cut->memory < mib{0} || cut->cores < core_percent{0}) {
        return {.code = rejection_code::mode_not_offered};
    }
    return first_refusal({why_no_slot(slots, state), why_no_memory(device, state, cut->memory),
                          why_no_cores(device, state, cut->cores)});
}

/// Why a container that asks for so many units of a device in all gets none. Where another system reads the pod, as
/// HAMi does that registers other nodes, the units are a count of devices.
[[nodiscard]] inline rejection_detail why_too_many_units(const unit_rules& rules, const device_request& request) {
    const std::int64_t units = std::max(request.units, request.count);
    if (!rules.one_per_container || units <= 1) return {};
    return {.code = rejection_code::request_not_valid, .wanted = units, .available = 1};
}

/// The share of the slots that is given out. Of adopted parts there can be more than it has.
[[nodiscard]] inline milli_gpu share_of_slots(const device_spec& device, const device_state& state) {
    const std::int64_t share = (whole_gpu.count() * state.slots + device.slots - 1) / device.slots;
    return std::min(whole_gpu, milli_gpu{share});
}

/// Memory share or compute share of the device, whichever is larger. Of adopted parts there can be more than it has.
[[nodiscard]] inline milli_gpu larger_share(const device_spec& device, const device_state& state) {
    return std::min(whole_gpu, std::max(share_of(state.memory, device.memory), share_of(state.cores, device.cores)));
}

/// A mode whose parts are all slices of memory and compute.
class slice_mode : public sharing_mode {
public:
    [[nodiscard]] static slice part_for(const device_spec& device, const device_request& request) {
        return {.memory = memory_wanted(device, request), .cores = request.cores};
    }

    [[nodiscard]] device_state with(const device_spec&, const device_state& state, const partition& part) const final {
        return with_slice(state, std::get<slice>(part));
    }
    [[nodiscard]] device_state without(const device_spec&, const device_state& state,
                                       const partition& part) const final {
        return without_slice(state, std::get<slice>(part));
    }
};

/// The same of GPUs that a device plugin may offer as replicas, each the same share of the GPU: its slots.
template <class Mode>
class replica_mode : public slice_mode {
public:
    /// The rules of the registration: each one has an object of its own, and the scheduler's choice the one of all.
    [[nodiscard]] static expected<std::shared_ptr<const sharing_mode>> make(const device_registration& device,
                                                                            const mig_catalog& /*catalog*/) {
        static const Mode chosen_by_scheduler{unit_rules{}};
        if (device.units == unit_rules{})
            return std::shared_ptr<const sharing_mode>{std::shared_ptr<void>{}, &chosen_by_scheduler};
        return std::make_shared<const Mode>(device.units);
    }
    [[nodiscard]] static bool key(const device_registration& a, const device_registration& b) {
        return a.units == b.units;
    }
    explicit replica_mode(unit_rules rules) noexcept : rules_{rules} {}

    [[nodiscard]] unit_rules units() const noexcept final { return rules_; }
    [[nodiscard]] amount_unit unit_of(rejection_code code, const device_request& request) const final {
        const bool counts_replicas = code == rejection_code::request_not_valid;
        return counts_replicas ? amount_unit::replicas : sharing_mode::unit_of(code, request);
    }

private:
    unit_rules rules_;
};

/// A mode that can serve a request with one part only, Mode::part_for(device, request).
template <class Mode, class Base = sharing_mode>
class one_part_mode : public Base {
public:
    using Base::Base;

    void candidates(const device_spec& device, const device_state& state, const device_request& request,
                    std::vector<partition>& out) const final {
        const auto& mode = static_cast<const Mode&>(*this);
        if (mode.why_not(device, state, request).code != rejection_code::none) return;
        out.emplace_back(mode.part_for(device, request));
    }
};

} // namespace vgpualloc::modes
