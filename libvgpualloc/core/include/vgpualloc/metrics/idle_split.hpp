// Idle device capacity by why more pods of a kind cannot use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"

namespace vgpualloc {

class id_set;

/// What more pods of one request would find of what is idle. Every part of it counts once, under the first of these
/// that holds, from the last one to the first.
enum class idle_cause : std::uint8_t {
    of_use,         ///< what they would take, placed by best fit
    host_full,      ///< what they would take besides if CPU, memory and the limit of pods were endless
    scattered,      ///< of the right kind, but not enough in one place
    wrong_kind,     ///< rules, families, models, uuids, modes or layouts exclude it
    out_of_service, ///< nobody can have it: the node is cordoned or not ready, or the device is not in service
};
inline constexpr std::size_t idle_cause_count = 5;
[[nodiscard]] constexpr std::string_view to_string(idle_cause cause) noexcept {
    constexpr std::array<std::string_view, idle_cause_count> names{"of_use", "host_full", "scattered", "wrong_kind",
                                                                   "out_of_service"};
    return names[static_cast<std::size_t>(cause)];
}

/// Milli-GPU by cause; they add up to what is idle.
using idle_parts = std::array<std::int64_t, idle_cause_count>;

/// Splits what is idle in a ledger as it is now: milli-GPU of the devices of its nodes that sharing_mode::used leaves.
/// A device that is offered in units (sharing_mode::units) is of the wrong kind but for its free units of the kind that
/// is asked for. Tags are not looked at.
class idle_splitter {
public:
    explicit idle_splitter(const ledger& book);

    [[nodiscard]] std::int64_t idle() const noexcept { return idle_; }

    /// Of one request, which asks for devices.
    [[nodiscard]] idle_parts of(const pod_request& request) const;

    /// The mean over pods, those without devices left out, rounded so that the parts add up to idle() (the largest
    /// remainders up). Zeros, but for what is out of service, if no pod asks for devices; the rest is then `of_use`.
    /// Once an end is wanted, requests are missing.
    [[nodiscard]] idle_parts mean_over(const std::vector<counted_request>& requests,
                                       const stop_signal& stop = {}) const;

private:
    struct device_now {
        std::uint32_t kind = 0;
        device_state state;
        bool open = false;
        std::int64_t idle = 0; ///< follows from kind and state
    };
    /// Where a device_now is, of the nodes that are for all.
    struct device_places {
        std::int64_t count = 0;
        std::vector<std::uint32_t> groups; ///< by position in groups_
    };
    struct host_left {
        std::int64_t pods = 0;
        milli_cpu cpu;
        bytes memory;

        [[nodiscard]] std::int64_t pods_of(const pod_request& request, std::int64_t most) const noexcept;
        bool operator==(const host_left&) const = default;
    };
    /// Nodes that are for all, and of which as much is left.
    struct node_group {
        std::uint32_t devices = 0; ///< position in configs_
        host_left left;
        std::int64_t nodes = 0;
    };
    struct node_now {
        node_index where;
        std::uint32_t devices = 0; ///< position in configs_
        host_left left;
        std::int64_t idle = 0;
        std::int64_t open_idle = 0; ///< of devices that are not out of service
        bool is_for_all = false;    ///< host_facts::is_open()
    };

    [[nodiscard]] const device_spec& spec_of(const device_now& device) const {
        return book_->nodes().kinds[device.kind];
    }
    struct device_answer;
    struct node_answer;
    class device_answers;
    [[nodiscard]] idle_parts of(const pod_request& request, device_answers& answers) const;
    /// The same of a request that names devices by uuid, so that devices in one state differ.
    [[nodiscard]] idle_parts of_named(const pod_request& request) const;
    /// What nodes add that admit the pods, beyond node_answer::parts.
    static void add_taken(const node_group& nodes, const pod_request& request, const node_answer& answer,
                          device_answers& answers, idle_parts& sum);
    void add_to_group(const node_now& node, id_set& known_groups);
    [[nodiscard]] host_left left_on(node_index where) const;

    const ledger* book_;
    std::vector<node_now> nodes_;       ///< with something idle
    std::vector<device_now> devices_;   ///< different ones
    std::vector<device_places> places_; ///< by position in devices_
    std::vector<node_group> groups_;
    std::vector<std::vector<std::uint32_t>> configs_; ///< different ones, by position in devices_
    std::int64_t idle_ = 0;
};

/// `parts` in multiples of `step`, which add up to their sum rounded to one: the largest remainders are rounded up, of
/// equal ones the first.
[[nodiscard]] idle_parts rounded_to(const idle_parts& parts, std::int64_t step);

} // namespace vgpualloc
