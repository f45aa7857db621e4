// Parts that lie at places of a device, as MIG instances do: where one may start, and what is free and of no use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vgpualloc {

struct device_state;

/// A kind of part that lies at places of a device: a MIG profile.
struct slot_profile {
    std::string name;
    std::int64_t units = 0;  ///< of the device that one takes
    std::int64_t starts = 0; ///< of an empty device
    bool plain = true;       ///< one that requests by memory get; the others must be named
};

/// A device as places for parts. Units are memory slices.
struct slot_shape {
    std::vector<slot_profile> profiles;
    std::int64_t units = 0;
};

/// What a state of such a device leaves free.
struct free_slots {
    std::vector<std::int64_t> free_starts; ///< by profile: the starts at which one more could be made now
    std::int64_t free_units = 0;
};

/// How the parts of one kind of device lie on it. A mode that has such parts offers this (sharing_mode::placed()).
class placed_parts {
public:
    virtual ~placed_parts() = default;

    /// The kinds of parts, and how large the device is in the units that they take.
    [[nodiscard]] virtual slot_shape slots() const = 0;
    /// What a state leaves of these: `free_starts` gets an entry for each of slots().profiles.
    virtual void list_free_slots(const device_state& state, free_slots& out) const = 0;

    /// Names of the profiles whose stranded slices are counted.
    [[nodiscard]] virtual std::vector<std::string> placed_profiles() const = 0;
    /// Of a position in placed_profiles(): the memory slices of the further instances that what is free would be enough
    /// for, wherever it lay, and that no place is left for.
    [[nodiscard]] virtual std::int64_t stranded_slices(const device_state& state, std::size_t profile) const = 0;
};

} // namespace vgpualloc
