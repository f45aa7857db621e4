// What every device was used for over time: what the report's picture shows as it is moved through the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpualloc/core/units.hpp"

namespace vgpureport {

/// What somebody has of a device. Of a device with slices it is those from `first` on; of one that is shared by amount
/// it is `length` thousandths of the device, and `first` means nothing.
struct device_part {
    std::uint16_t first = 0;
    std::uint16_t length = 0;
    std::uint32_t label = 0; ///< position in occupancy_history::labels

    bool operator==(const device_part&) const = default;
};

enum class history_event_kind : std::uint8_t {
    part_taken,
    part_given_back,
    closed, ///< the device takes nothing new: it has failed, is drained or is cut anew
    opened,
};

/// One change of one device.
struct history_event {
    vgpualloc::ticks time;
    std::uint32_t node = 0; ///< position in report_run::nodes
    std::uint16_t device = 0;
    history_event_kind kind = history_event_kind::part_taken;
    device_part part{}; ///< of the first two kinds
    /// After the event: how much of the device is used, 0 to 1000, as report_node::used counts it.
    std::int32_t used_milli = 0;
    /// After the event: slices that are free, but in no place that an instance of any profile could take. A bit each.
    std::uint64_t stranded = 0;
};

/// All changes in order of time. There may be millions: the report keeps what the cluster was like at a bounded number
/// of moments.
struct occupancy_history {
    std::vector<std::string> labels; ///< what parts are called: profiles, templates, classes of pods
    std::vector<history_event> events;
};

} // namespace vgpureport
