// An entry of the list of modes: what a registered device's mode is called, made from and made by.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/device.hpp"
#include "vgpualloc/model/registration.hpp"

namespace vgpualloc {

using shared_mode = std::shared_ptr<const sharing_mode>;

struct mode_entry {
    std::string_view name;    ///< device_registration::mode
    std::string_view summary; ///< one sentence for lists
    /// The mode of a device that registers so, whose memory, cores and slots are within
    /// model/limits.hpp. Errors with the field of the registration that is wrong.
    expected<shared_mode> (*make)(const device_registration& device, const mig_catalog& catalog);
    /// Whether two registrations agree in everything that the mode is made from, so that one object serves both.
    bool (*key)(const device_registration& a, const device_registration& b);
    /// A device that lists and tests show the mode with.
    device_registration (*example)();
};

namespace modes {

/// A key of some fields: made_from<&device_registration::npu, &device_registration::soft>. Without fields every device
/// in the mode shares one object.
template <auto... Fields>
[[nodiscard]] bool made_from([[maybe_unused]] const device_registration& a,
                             [[maybe_unused]] const device_registration& b) {
    return ((a.*Fields == b.*Fields) && ...);
}

template <class Mode>
[[nodiscard]] device_registration example_of() {
    if constexpr (requires { Mode::example(); }) {
        return Mode::example();
    } else {
        device_registration device;
        device.mode = Mode::id;
        device.memory = mib{40960};
        device.slots = 10;
        return device;
    }
}

/// The entry of a mode class, which is named<>. A mode that is made from fields of the registration has the static
/// members `make` and `key`, and `example` where a GPU of 40 GB with ten slots is none; one that is not has one
/// instance for all devices.
template <class Mode>
[[nodiscard]] constexpr mode_entry make_mode_entry(std::string_view summary) {
    if constexpr (requires { &Mode::make; }) {
        return {
            .name = Mode::id, .summary = summary, .make = &Mode::make, .key = Mode::key, .example = example_of<Mode>};
    } else {
        return {.name = Mode::id,
                .summary = summary,
                .make = [](const device_registration&, const mig_catalog&) -> expected<shared_mode> {
                    static const Mode only{};
                    return shared_mode{shared_mode{}, &only}; // lives as long as the program
                },
                .key = &made_from<>,
                .example = example_of<Mode>};
    }
}

} // namespace modes
} // namespace vgpualloc
