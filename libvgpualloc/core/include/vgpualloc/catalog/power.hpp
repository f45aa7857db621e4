// What GPUs and NPUs draw: idle, and with something running on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/catalog/provenance.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/document.hpp"

namespace vgpualloc {

/// A board and its power, in watts. The model of two values is that of the literature on power-aware placement (Lettich
/// et al., "Power- and Fragmentation-aware Online Scheduling for GPU Datacenters", arXiv 2412.17484): what runs on a
/// board draws as much as the board may, which is more than most pods do.
struct device_power {
    std::string name;                    ///< the catalog's own, like A100-40GB
    std::vector<std::string> card_types; ///< texts that name such a board inside what a driver or trace calls it
    std::optional<std::int64_t> idle_w;  ///< nothing runs on it
    std::optional<std::int64_t> busy_w;  ///< anything does: its power limit
    provenance from;

    /// Whether its energy can be counted.
    [[nodiscard]] bool is_known() const noexcept { return idle_w.has_value() && busy_w.has_value(); }

    bool operator==(const device_power&) const = default;
};

struct power_catalog {
    std::vector<device_power> devices;
    source_list sources; ///< what the codes of `from` stand for
};

/// Reads the list "power" of a catalog file (docs/catalog.md). `name` is how errors call the file. The first thing
/// wrong is the error: where names the file and the device. Codes: malformed, missing, out_of_range, duplicate,
/// unknown_name.
[[nodiscard]] expected<power_catalog> read_power_catalog(const vgpuformats::document& file, std::string_view name);

/// The boards that this library knows without a file (data/device-power.json).
[[nodiscard]] const power_catalog& built_in_power_catalog();

/// `base` with the boards of `more`: one of the same name is replaced, others come last. A text that a board of `more`
/// has as its name or card type is no card type of another one any more: the last file that speaks of a board wins.
/// Error duplicate if a card type is the name of another board.
[[nodiscard]] expected<power_catalog> merge(const power_catalog& base, const power_catalog& more);

/// The board that a device of this model is: by name or card type, or by the longest of these texts that stands in
/// `model` as words of its own, as find_model() does for MIG. Null where none is or two are: nobody knows what it
/// draws.
[[nodiscard]] const device_power* find_power(const power_catalog& catalog, std::string_view model);

} // namespace vgpualloc
