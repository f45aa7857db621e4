// Catalog files of MIG models: every value checked against the grid and the whole GPU it belongs to.
#include <algorithm>
#include <set>
#include <string>

#include "vgpualloc/catalog/mig.hpp"

#include "file_checks.hpp"
#include "mig_checks.hpp"
#include "vgpuformats/cursor.hpp"

namespace vgpualloc {

namespace {

using detail::any_count;
using detail::memory_range;
using detail::positive_count;
using vgpuformats::cursor;
using vgpuformats::number_range;

constexpr number_range slices{.least = 1, .most = mig_units_max.count()};
/// nvidia-smi prints two decimals of a GiB, so that MiB made from them are up to 5.12 off, and rounded.
constexpr std::int64_t shown_slack_mib = 6;

template <class Quantity>
std::optional<Quantity> as(const std::optional<std::int64_t>& number) {
    if (!number) return std::nullopt;
    return Quantity{*number};
}

mig_engines read_engines(const cursor& in) {
    mig_engines result;
    for (const auto& [name, field] : mig_engine_fields) result.*field = in.maybe_integer(name, any_count);
    return result;
}

std::vector<mig_units> read_starts(const cursor& in, const mig_model& model, mig_units size) {
    std::vector<mig_units> starts;
    const std::int64_t last = (model.units - size).count();
    for (const auto& item : in.items(1)) {
        const mig_units start{item.integer({.least = 0, .most = mig_units_max.count()})};
        if (start.count() > last) {
            item.fail(error_code::out_of_range, "a start from 0 to " + std::to_string(last) + ": an instance takes " +
                                                    std::to_string(size.count()) + " of the " +
                                                    std::to_string(model.units.count()) + " units");
        }
        if (!starts.empty() && start <= starts.back()) item.fail(error_code::malformed, "starts in ascending order");
        starts.push_back(start);
    }
    return starts;
}

/// Where drivers print two sizes, decisions go by the smaller one: nobody gets less than asked for.
void check_shown_memory(const cursor& in, const mig_profile& profile) {
    if (!profile.memory || !profile.memory_shown) return;
    const centi_gib other = profile.memory_shown_other_driver.value_or(*profile.memory_shown);
    const std::int64_t shown_mib = std::min(*profile.memory_shown, other).count() * 1024 / 100;
    if (std::abs(shown_mib - profile.memory->count()) <= shown_slack_mib) return;
    const std::string field = other < *profile.memory_shown ? "memory_gib_other_drivers" : "memory_gib_shown";
    in.at("memory_mib")
        .fail(error_code::mismatch, "about the " + std::to_string(shown_mib) + " MiB that " + field + " stands for");
}

void check_against_gpu(const cursor& in, const mig_model& model, const mig_profile& profile) {
    const auto starts = std::ssize(profile.starts);
    if (profile.max_instances > starts) {
        in.at("max_instances")
            .fail(error_code::out_of_range, "at most one for each of the " + std::to_string(starts) + " starts");
    }
    for (const auto& [name, field] : mig_engine_fields) {
        const auto& taken = profile.engines.*field;
        const auto& whole = model.engines.*field;
        if (taken && whole && *taken > *whole) {
            in.at(name).fail(error_code::out_of_range, "at most the " + std::to_string(*whole) + " of the whole GPU");
        }
    }
}

/// Units are memory slices: an instance of more of them has no less memory. What is said of a profile whose memory
/// nobody knows (mode/mig.hpp) rests on it.
void check_memory_order(const cursor& in, const std::vector<mig_profile>& before, const mig_profile& profile) {
    for (const mig_profile& other : before) {
        if (!profile.memory || !other.memory) continue;
        const auto said = std::to_string(other.memory->count()) + " of " + other.name;
        if (profile.size > other.size && *profile.memory < *other.memory) {
            in.at("memory_mib")
                .fail(error_code::out_of_range, "no less than the " + said + ", which takes fewer units");
        }
        if (profile.size < other.size && *profile.memory > *other.memory) {
            in.at("memory_mib").fail(error_code::out_of_range, "no more than the " + said + ", which takes more units");
        }
    }
}

mig_profile read_profile(const cursor& item, const mig_model& model) {
    mig_profile result;
    result.name = item.at("name").filled_text();
    const cursor in = item.called("profile '" + result.name + "'");
    in.only({"name", "kind", "profile_id", "compute_slices", "memory_slices", "starts", "size", "max_instances",
             "memory_mib", "memory_gib_shown", "memory_gib_other_drivers", "sm", "copy", "decoder", "encoder", "jpeg",
             "ofa", "provenance"});
    result.kind = static_cast<mig_profile_kind>(in.at("kind").one_of(mig_profile_kind_names));
    result.profile_id = in.at("profile_id").integer(any_count);
    result.compute_slices =
        mig_compute{in.at("compute_slices").integer({.least = 1, .most = model.compute_slices.count()})};
    result.size = mig_units{in.at("size").integer({.least = 1, .most = model.units.count()})};
    // The unit of the grid is the memory slice (nvml.h), so the two are one number that sources list in two places.
    if (const auto memory = in.maybe_integer("memory_slices", slices); memory && *memory != result.size.count()) {
        in.at("memory_slices").fail(error_code::mismatch, "the size, " + std::to_string(result.size.count()));
    }
    result.starts = read_starts(in.at("starts"), model, result.size);
    result.max_instances = in.at("max_instances").integer(positive_count);
    result.memory = as<mib>(in.maybe_integer("memory_mib", memory_range));
    result.memory_shown = as<centi_gib>(in.maybe_hundredths("memory_gib_shown", memory_range));
    result.memory_shown_other_driver = as<centi_gib>(in.maybe_hundredths("memory_gib_other_drivers", memory_range));
    result.sm = in.maybe_integer("sm", positive_count);
    result.engines = read_engines(in);
    result.from = in.maybe_dictionary("provenance");
    detail::check_provenance(in, result.from,
                             {"name", "kind", "profile_id", "compute_slices", "memory_slices", "starts", "size",
                              "max_instances", "memory_mib", "memory_gib_shown", "memory_gib_other_drivers", "sm",
                              "copy", "decoder", "encoder", "jpeg", "ofa"});
    if (!in.failed()) check_shown_memory(in, result);
    if (!in.failed()) check_against_gpu(in, model, result);
    return result;
}

std::vector<mig_profile> read_profiles(const cursor& in, const mig_model& model) {
    std::vector<mig_profile> result;
    for (const auto& item : in.items(1)) {
        mig_profile profile = read_profile(item, model);
        if (in.failed()) break;
        for (const mig_profile& other : result) {
            if (other.name == profile.name) item.at("name").fail(error_code::duplicate, "every name once in a model");
            if (other.profile_id == profile.profile_id) {
                item.called("profile '" + profile.name + "'")
                    .at("profile_id")
                    .fail(error_code::duplicate, "an id of its own, this one is that of " + other.name);
            }
        }
        check_memory_order(item.called("profile '" + profile.name + "'"), result, profile);
        result.push_back(std::move(profile));
    }
    return result;
}

std::vector<std::string> read_pci_ids(const cursor& in) {
    if (!in.has("pci_device_ids")) return {};
    std::vector<std::string> ids = in.maybe_texts("pci_device_ids");
    for (const auto& item : in.at("pci_device_ids").items(0)) {
        constexpr std::string_view digits = "0123456789ABCDEF";
        const std::string text = item.text();
        const bool hex =
            text.size() == 10 && text.starts_with("0x") && text.find_first_not_of(digits, 2) == std::string::npos;
        if (!hex) item.fail(error_code::malformed, "0x and eight digits of 0-9A-F, device before vendor");
    }
    return ids;
}

mig_model read_model(const cursor& item) {
    mig_model result;
    result.name = item.at("key").filled_text();
    const cursor in = item.called("model '" + result.name + "'");
    in.only({"key", "description", "architecture", "memory_gb", "memory_mib", "memory_slices", "compute_slices",
             "card_types", "pci_device_ids", "engines", "provenance", "notes", "profiles"});
    result.description = in.maybe_text("description");
    result.architecture = in.maybe_text("architecture");
    result.memory_gb = in.maybe_integer("memory_gb", positive_count);
    result.memory = as<mib>(in.maybe_integer("memory_mib", memory_range));
    result.units = mig_units{in.at("memory_slices").integer(slices)};
    result.compute_slices = mig_compute{in.at("compute_slices").integer(slices)};
    result.card_types = in.maybe_texts("card_types");
    result.pci_ids = read_pci_ids(in);
    if (in.has("engines")) {
        in.at("engines").only({"copy", "decoder", "encoder", "jpeg", "ofa"});
        result.engines = read_engines(in.at("engines"));
    }
    result.notes = in.maybe_text("notes");
    result.from = in.maybe_dictionary("provenance");
    detail::check_provenance(in, result.from,
                             {"key", "description", "architecture", "memory_gb", "memory_mib", "memory_slices",
                              "compute_slices", "card_types", "pci_device_ids", "engines", "notes"});
    if (!in.failed()) result.profiles = read_profiles(in.at("profiles"), result);
    return result;
}

} // namespace

expected<mig_catalog> read_mig_catalog(const vgpuformats::document& file, std::string_view name) {
    return detail::read_file<mig_catalog>(file, name, [](const cursor& root, mig_catalog& catalog) {
        catalog.left_out = root.maybe_dictionary("left_out");
        for (const auto& item : root.at("mig").items(1)) {
            mig_model model = read_model(item);
            if (item.failed()) break;
            if (const auto clash = detail::clash_of(catalog, model)) {
                item.called("model '" + model.name + "'").at(clash->field).fail(error_code::duplicate, clash->expected);
            }
            catalog.models.push_back(std::move(model));
        }
    });
}

} // namespace vgpualloc
