// The hami dialect: the registration of a node's GPUs.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hami_annotation.hpp"
#include "hami_parts.hpp"
#include "mps_labels.hpp"
#include "text.hpp"
#include "vgpualloc/catalog/mig_offers.hpp"
#include "vgpualloc/dialect/nvidia.hpp"
#include "vgpuformats/cursor.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::dialects::hami {

namespace {

using hami_text::amount_max;
using vgpuformats::cursor;
using vgpuformats::document;

constexpr std::string_view mps_mode = "mps";
constexpr std::string_view registered_trait = "registered";
constexpr const char* cordon_key = "hami.io/device-cordon";
/// HAMi's scheduler writes "Deleted_<time>" into it when the device plugin has not answered for a while. It then
/// forgets the node's GPUs, and takes them up again when the plugin writes something else (CheckHealth in
/// pkg/util/client).
constexpr const char* handshake_key = "hami.io/node-handshake";
constexpr vgpuformats::number_range any_amount{0, amount_max};
constexpr vgpuformats::number_range some_amount{1, amount_max};

struct mode_spelling {
    std::string_view written;
    std::string_view mode;
};
/// The first spelling of a mode is the one to write.
constexpr std::array<mode_spelling, 4> mode_spellings{{{.written = "hami-core", .mode = "hami_core"},
                                                       {.written = "", .mode = "hami_core"},
                                                       {.written = "mig", .mode = "mig"},
                                                       {.written = "mps", .mode = mps_mode}}};

/// A GPU, and where it is among those that the node counts.
struct registered {
    device_registration device;
    std::int64_t index = 0;
};

error bad_field(const std::string& where, const char* field, std::string_view value, std::string expected_text) {
    return bad_value(error_code::malformed, field, value, std::move(expected_text)).at(where);
}

expected<registered> finished(device_registration device, std::int64_t index, const std::string& where,
                              std::string_view mode) {
    const auto spelled = std::ranges::find(mode_spellings, mode, &mode_spelling::written);
    if (spelled == mode_spellings.end()) {
        return unexpected(bad_value(error_code::unknown_name, "mode", mode, "hami-core, mig or mps").at(where));
    }
    if (device.uuid.empty() || device.uuid.find_first_of(hami_text::separators) != std::string::npos) {
        return unexpected(bad_field(where, "id", device.uuid, "an id without separators"));
    }
    device.mode = spelled->mode;
    device.family = family;
    return registered{.device = std::move(device), .index = index};
}

/// Where instances of a profile may start, and their size, which is the same everywhere.
void read_placements(const cursor& list, mig_offer& offer) {
    for (const cursor& placement : list.items(1)) {
        const std::int64_t start = placement.maybe_integer("start", {0, mig_units_max.count() - 1}).value_or(0);
        const std::int64_t size = placement.at("size").integer({1, mig_units_max.count() - start});
        if (offer.starts.empty()) offer.size = size;
        if (size != offer.size) placement.at("size").fail(error_code::mismatch, "the same size in every placement");
        if (std::ranges::find(offer.starts, start) != offer.starts.end()) {
            placement.fail(error_code::duplicate, "a start that no placement before has");
        }
        offer.starts.push_back(start);
    }
    std::ranges::sort(offer.starts);
}

/// What the driver told of the GPU's instances; nothing if the plugin does not say it (before 2.10).
std::vector<mig_offer> read_offers(const cursor& gpu) {
    std::vector<mig_offer> offers;
    if (!gpu.has("migProfiles")) return offers;
    for (const cursor& profile : gpu.at("migProfiles").items(0)) {
        mig_offer offer;
        offer.name = profile.at("name").filled_text();
        offer.memory = mib{profile.at("memoryMB").integer(some_amount)};
        offer.cores = core_percent{profile.maybe_integer("core", any_amount).value_or(0)};
        offer.compute_slices = profile.at("sliceCount").integer({1, mig_units_max.count()});
        read_placements(profile.at("placements"), offer);
        if (std::ranges::find(offers, offer.name, &mig_offer::name) != offers.end() && !profile.failed()) {
            profile.at("name").fail(error_code::duplicate, "a name that no profile before has");
        }
        offers.push_back(std::move(offer));
    }
    return offers;
}

document offers_json(const std::vector<mig_offer>& offers) {
    document list = document::list();
    for (const mig_offer& offer : offers) {
        document placements = document::list();
        for (const std::int64_t start : offer.starts) {
            placements.push_back(document::map({{"start", start}, {"size", offer.size}}));
        }
        list.push_back(document::map({{"name", offer.name},
                                      {"memoryMB", offer.memory.count()},
                                      {"core", offer.cores.count()},
                                      {"sliceCount", offer.compute_slices},
                                      {"placements", std::move(placements)}}));
    }
    return list;
}

/// An entry of the JSON list. Fields are left out where they are 0, false or empty (Go's omitempty); without an index
/// it is the `position` that counts.
expected<registered> read_entry(const document& entry, std::int64_t position, const std::string& where) {
    std::optional<error> failure;
    const cursor gpu{entry, where, failure};
    device_registration device;
    device.uuid = gpu.at("id").filled_text();
    device.slots = gpu.maybe_integer("count", any_amount).value_or(0);
    device.memory = mib{gpu.at("devmem").integer(some_amount)};
    device.cores = core_percent{gpu.at("devcore").integer(some_amount)};
    device.model = gpu.maybe_text("type");
    device.healthy = gpu.has("health") && gpu.at("health").flag();
    constexpr vgpuformats::number_range any_numa{std::numeric_limits<std::int32_t>::min(), amount_max};
    device.numa = static_cast<std::int32_t>(gpu.maybe_integer("numa", any_numa).value_or(0));
    const std::string mode = gpu.maybe_text("mode");
    device.offers = read_offers(gpu);
    for (const mig_offer& offer : device.offers) {
        if (offer.memory <= device.memory) continue;
        gpu.at("migProfiles").fail(error_code::out_of_range, offer.name + ": no more memory than devmem");
    }
    const std::int64_t index = gpu.maybe_integer("index", any_amount).value_or(position);
    if (failure) return unexpected(*std::move(failure));
    return finished(std::move(device), index, where, mode);
}

/// A piece of the older text: uuid,count,memory,cores,type,numa,health[,index,mode].
expected<registered> read_text(std::string_view piece, std::int64_t position, const std::string& where) {
    const auto fields = text::split(piece, ',');
    if (fields.size() < 7) {
        return unexpected(bad_field(where, "", piece, "uuid,count,memory,cores,type,numa,health[,index,mode]"));
    }
    if (!text::is_printable(piece)) return unexpected(bad_field(where, "", piece, "no control characters"));
    const auto count = text::whole_number(fields[1], amount_max);
    if (!count) return unexpected(bad_field(where, "count", fields[1], "a whole number"));
    const auto memory = text::whole_number(fields[2], amount_max);
    if (memory.value_or(0) == 0) return unexpected(bad_field(where, "memory", fields[2], "a whole number above 0"));
    const auto cores = text::whole_number(fields[3], amount_max);
    if (cores.value_or(0) == 0) return unexpected(bad_field(where, "cores", fields[3], "a whole number above 0"));
    const auto health = text::truth(fields[6]);
    if (!health) return unexpected(bad_field(where, "health", fields[6], "true or false"));
    device_registration device;
    device.uuid = fields[0];
    device.slots = *count;
    device.memory = mib{*memory};
    device.cores = core_percent{*cores};
    device.model = fields[4];
    device.numa = static_cast<std::int32_t>(text::whole_number(fields[5], amount_max).value_or(0));
    device.healthy = *health;
    return finished(std::move(device), position, where, fields.size() > 8 ? fields[8] : std::string_view{});
}

/// Gives a GPU that does not say its profiles those of the catalog that the configuration allows.
expected<void> allow_profiles(device_registration& gpu, const options& configured, const std::string& where) {
    if (gpu.mode != mig_mode || !gpu.offers.empty() || configured.mig_allowlist.empty()) return {};
    const auto refuse = [&](error_code code, std::string value, std::string expected_text) {
        return unexpected(bad_value(code, "migProfiles", value, std::move(expected_text)).at(where));
    };
    const auto allowed = std::ranges::find_if(configured.mig_allowlist, [&gpu](const mig_allowed& allowance) {
        return std::ranges::any_of(
            allowance.models, [&gpu](const std::string& model) { return gpu.model.find(model) != std::string::npos; });
    });
    if (allowed == configured.mig_allowlist.end()) {
        return refuse(error_code::missing, gpu.model, "profiles, or an entry of migProfileAllowlist for this model");
    }
    const auto model = find_model(*configured.catalog, gpu.model);
    if (!model) return refuse(model.error().code, gpu.model, "profiles, or a model that the catalog knows");
    auto offers = offers_of(**model, allowed->profiles);
    if (offers.empty()) {
        return refuse(error_code::mismatch, gpu.model, "one of the profiles of " + (*model)->name + " to be allowed");
    }
    gpu.offers = std::move(offers);
    return {};
}

std::vector<expected<registered>> read_list(std::string_view annotation, const std::string& where) {
    std::vector<expected<registered>> list;
    const auto position = [&list] { return static_cast<std::int64_t>(list.size()); };
    const auto place_of = [&where, &list] { return where + "[" + std::to_string(list.size()) + "]"; };
    if (!text::trimmed(annotation).starts_with('[')) {
        for (const std::string_view piece : text::split_closed(annotation, ':')) {
            list.push_back(read_text(piece, position(), place_of()));
        }
        return list;
    }
    const auto parsed = vgpuformats::parse_json(annotation, where);
    if (!parsed) return {unexpected(parsed.error())};
    for (const document& gpu : parsed->items) list.push_back(read_entry(gpu, position(), place_of()));
    return list;
}

/// A GPU in mode mig of which nobody says how it may be cut: once for each model.
void warn_of_catalog(const device_registration& gpu, const mig_catalog& catalog, const std::string& where,
                     std::vector<error>& warnings) {
    if (gpu.mode != mig_mode || !gpu.offers.empty()) return;
    const auto model = find_model(catalog, gpu.model);
    if (!model) return; // its mode cannot be made, which says so
    const std::string field = "geometry of " + gpu.model;
    if (std::ranges::find(warnings, field, &error::field) != warnings.end()) return;
    warnings.push_back(bad_value(error_code::missing, field, mig_mode,
                                 "migProfiles in the registration, or migProfileAllowlist in the device configuration "
                                 "(--config); no geometry configured: placements of the catalog for " +
                                     (*model)->name)
                           .at(where));
}

} // namespace

node_reading hami_dialect::read_node(const node_source& source) const {
    const kubernetes::node& node = source.object;
    node_reading result;
    const auto annotation = node.annotations.find(register_annotation);
    if (annotation == node.annotations.end()) return result;
    const std::string where = hami_text::place(node, "annotation", register_annotation);
    const auto cordoned = text::items(kubernetes::value_of(node.annotations, cordon_key));
    const bool is_forgotten =
        kubernetes::value_of(node.annotations, handshake_key).find("Deleted") != std::string::npos;
    std::set<std::string> ids;
    for (auto& gpu : read_list(annotation->second, where)) {
        const auto allowed =
            gpu ? allow_profiles(gpu->device, options_, where + ", " + gpu->device.uuid) : expected<void>{};
        if (!gpu || !allowed) {
            result.problems.push_back(gpu ? allowed.error() : std::move(gpu).error());
        } else if (!ids.insert(gpu->device.uuid).second) {
            result.problems.push_back(
                bad_value(error_code::duplicate, "id", gpu->device.uuid, "an id that no GPU before it has").at(where));
        } else {
            if (std::ranges::find(cordoned, gpu->device.uuid) != cordoned.end()) gpu->device.healthy = false;
            if (is_forgotten) gpu->device.healthy = false;
            result.indices.push_back(gpu->index);
            if (gpu->device.mode == mps_mode) gpu->device.clients_max = mps_clients_of(node);
            warn_of_catalog(gpu->device, *options_.catalog, where, result.warnings);
            result.devices.push_back(std::move(gpu->device));
        }
    }
    return result;
}

std::string hami_dialect::trait_of(const kubernetes::node& node) const {
    if (node.annotations.contains(register_annotation)) return std::string{registered_trait};
    const bool in_units =
        options_.count_name == nvidia::gpu_resource && nvidia::offers_gpus_in_units(node, options_.plugin_sharing);
    return in_units ? "units" : "";
}

std::shared_ptr<const dialect> hami_dialect::for_traits(const std::set<std::string>& traits) const {
    if (traits.contains(std::string{registered_trait})) return nullptr;
    options adapted = options_;
    adapted.counted_by_kubernetes = true;
    adapted.counts_units = !traits.empty();
    return make(std::move(adapted));
}

std::vector<std::string> hami_dialect::resources_counted(const kubernetes::node& node) const {
    if (!node.annotations.contains(register_annotation) || !text::offers(node, options_.count_name)) return {};
    auto names = resources();
    std::erase(names, options_.count_name);
    return names;
}

void hami_dialect::write_node(std::span<const device_registration> devices, kubernetes::node& node,
                              kubernetes::text_map& /*config_map*/) const {
    document list = document::list();
    std::int64_t ids = 0;
    for (const device_registration& gpu : devices) {
        const auto spelled = std::ranges::find(mode_spellings, gpu.mode, &mode_spelling::mode);
        if (gpu.family != family || spelled == mode_spellings.end()) continue;
        document entry = hami_text::registered_entry(gpu, list.size());
        if (gpu.numa != 0) entry["numa"] = gpu.numa;
        entry["mode"] = spelled->written;
        entry["health"] = gpu.healthy;
        const bool all_known =
            std::ranges::none_of(gpu.offers, [](const mig_offer& of) { return of.memory == mib{0}; });
        if (!gpu.offers.empty() && all_known) entry["migProfiles"] = offers_json(gpu.offers); // else not of a driver
        list.push_back(std::move(entry));
        ids += gpu.slots;
    }
    if (list.size() == 0) return;
    node.annotations[register_annotation] = vgpuformats::print_json(list);
    node.allocatable[options_.count_name] = std::to_string(ids);
    node.capacity[options_.count_name] = std::to_string(ids);
}

} // namespace vgpualloc::dialects::hami
