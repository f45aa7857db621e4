// NVIDIA GPUs that can be cut with MIG: profiles, where their instances may start, and what an instance gets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/catalog/provenance.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpuformats/document.hpp"

namespace vgpualloc {

using mig_units = quantity<struct mig_units_tag>;     ///< positions of a GPU's placement grid, which are memory slices
using mig_compute = quantity<struct mig_compute_tag>; ///< compute slices, the number before the g of a profile's name
using centi_gib = quantity<struct centi_gib_tag>;     ///< hundredths of a GiB: what nvidia-smi prints of an instance

/// More units than any GPU has (12 so far), so that a set of them fits in one word.
inline constexpr mig_units mig_units_max{64};

/// What tells a profile from others of its compute size.
enum class mig_profile_kind {
    core,          ///< 1g, 2g, 3g, …: what placements are counted with in the literature
    double_memory, ///< one compute slice with twice the memory, like 1g.10gb of an A100-40GB
    media,         ///< +me: with the video and optical-flow engines of a share
    all_media,     ///< +me.all: with all of them
    no_media,      ///< -me: with none of them
    graphics,      ///< +gfx: graphics APIs work in it
};
inline constexpr std::array<std::string_view, 6> mig_profile_kind_names{"core",      "double_memory", "media",
                                                                        "all_media", "no_media",      "graphics"};
[[nodiscard]] constexpr std::string_view name_of(mig_profile_kind kind) noexcept {
    return mig_profile_kind_names[static_cast<std::size_t>(kind)];
}

/// Engines of a GPU, or those that an instance takes. Empty where nobody could say.
struct mig_engines {
    std::optional<std::int64_t> copy = std::nullopt;
    std::optional<std::int64_t> decoder = std::nullopt;
    std::optional<std::int64_t> encoder = std::nullopt;
    std::optional<std::int64_t> jpeg = std::nullopt;
    std::optional<std::int64_t> ofa = std::nullopt; ///< optical flow

    bool operator==(const mig_engines&) const = default;
};
/// The engines by their names in catalog files, for code that treats them alike.
inline constexpr std::array<std::pair<std::string_view, std::optional<std::int64_t> mig_engines::*>, 5>
    mig_engine_fields{{{"copy", &mig_engines::copy},
                       {"decoder", &mig_engines::decoder},
                       {"encoder", &mig_engines::encoder},
                       {"jpeg", &mig_engines::jpeg},
                       {"ofa", &mig_engines::ofa}}};

/// A GPU instance profile. Names and memory move with the driver, ids do not: match live GPUs by `profile_id`.
struct mig_profile {
    std::string name; ///< like 3g.20gb
    mig_profile_kind kind = mig_profile_kind::core;
    std::int64_t profile_id = 0; ///< GPU instance profile id, as `nvidia-smi mig -lgip` prints it
    mig_compute compute_slices;
    mig_units size;                ///< units that an instance takes
    std::vector<mig_units> starts; ///< where one may start; ascending
    std::int64_t max_instances = 0;
    std::optional<mib> memory;                          ///< usable by a container in an instance
    std::optional<centi_gib> memory_shown;              ///< the same as nvidia-smi prints it
    std::optional<centi_gib> memory_shown_other_driver; ///< what another driver prints, where one is known to differ
    std::optional<std::int64_t> sm; ///< streaming multiprocessors; not proportional to compute slices
    mig_engines engines;
    provenance from;

    bool operator==(const mig_profile&) const = default;
};

/// A GPU model, which is a board with its memory: two boards with the same profiles are one model.
struct mig_model {
    std::string name; ///< the catalog's own, like A100-40GB
    std::string description;
    std::string architecture;
    std::optional<std::int64_t> memory_gb; ///< as in the product's name: 10^9 bytes, or what the vendor takes for it
    std::optional<mib> memory;             ///< of the whole GPU without MIG, as the driver reports it
    mig_units units;                       ///< of the placement grid: 8, 4, 12
    mig_compute compute_slices;
    std::vector<std::string> card_types; ///< texts that name such a board inside what nvidia-smi prints for it
    std::vector<std::string> pci_ids;    ///< device and vendor, like 0x20B010DE
    mig_engines engines;                 ///< of the whole GPU
    std::string notes;                   ///< drivers, conflicting sources
    provenance from;
    std::vector<mig_profile> profiles; ///< as nvidia-smi lists them

    bool operator==(const mig_model&) const = default;
};

/// What an instance is charged on a GPU of so much memory: its own, or where that is not known its share of the units.
[[nodiscard]] inline mib charged_memory(const mig_model& model, const mig_profile& of, mib whole) noexcept {
    return of.memory.value_or(mib{whole.count() * of.size.count() / model.units.count()});
}

struct mig_catalog {
    std::vector<mig_model> models;
    source_list sources;  ///< what the codes of `from` stand for
    source_list left_out; ///< models that are not here, and why
};

/// Reads a catalog file (docs/catalog.md). `name` is how errors call it. The first thing wrong is the error: where
/// names the file, the model and the profile. Codes: malformed, missing, out_of_range, duplicate, unknown_name.
[[nodiscard]] expected<mig_catalog> read_mig_catalog(const vgpuformats::document& file, std::string_view name);

/// The models that this library knows without a file (data/mig-profiles.json).
[[nodiscard]] const mig_catalog& built_in_mig_catalog();

/// `base` with the models of `more`: one of the same name is replaced, others come last. Error duplicate if a card type
/// or PCI id would name two models.
[[nodiscard]] expected<mig_catalog> merge(const mig_catalog& base, const mig_catalog& more);

/// The model of this name, card type or PCI id; or the one whose card type (or name) stands as words of its own in what
/// the driver prints, as A100-SXM4-40GB in "NVIDIA A100-SXM4-40GB". The longest such text wins, so that "H20-3e" is no
/// H20. Letters' case counts; a dash may stand for a space, as in labels of nodes. Error unknown_name lists the names;
/// error mismatch if two models match equally well. The pointer is into `catalog` and never null.
[[nodiscard]] expected<const mig_model*> find_model(const mig_catalog& catalog, std::string_view text);

/// The profile of this name, or error unknown_name with the names. The pointer is into `model` and never null.
[[nodiscard]] expected<const mig_profile*> find_profile(const mig_model& model, std::string_view name);

/// The error that a decision gives which needs a value that the catalog does not have. `profile` may be empty.
[[nodiscard]] error unknown_in_catalog(std::string_view model, std::string_view profile, std::string_view field);

/// `value`, or error missing that names model, profile and field (the name in catalog files).
template <class T>
[[nodiscard]] expected<T> require(const std::optional<T>& value, const mig_model& model, const mig_profile& profile,
                                  std::string_view field) {
    if (value) return *value;
    return unexpected(unknown_in_catalog(model.name, profile.name, field));
}

/// The same for a value of the whole GPU.
template <class T>
[[nodiscard]] expected<T> require(const std::optional<T>& value, const mig_model& model, std::string_view field) {
    if (value) return *value;
    return unexpected(unknown_in_catalog(model.name, {}, field));
}

} // namespace vgpualloc
