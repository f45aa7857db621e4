// The volcano_vgpu dialect: the registration of a node's cards.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "text.hpp"
#include "volcano_vgpu_parts.hpp"

namespace vgpualloc::dialects::volcano_vgpu {

namespace {

constexpr std::size_t record_fields = 6; // uuid, count, memory, type, health, mode

/// What the kubelet must offer; upstream looks for these names even where the configuration has others.
constexpr const char* number_resource = "volcano.sh/vgpu-number";
constexpr const char* cores_resource = "volcano.sh/vgpu-cores";
constexpr const char* memory_resource = "volcano.sh/vgpu-memory";

/// Reads the cards of one node. A card that is not as it should be is unhealthy and a problem.
class registration_reader {
public:
    registration_reader(const kubernetes::node& node, const options& configured)
        : options_{&configured}, node_{"node " + node.name}, where_{node_ + ": " + register_annotation} {}

    [[nodiscard]] node_reading take() { return std::move(reading_); }

    void problem(error_code code, std::string field, std::string_view value, std::string expected) {
        reading_.problems.push_back(text::bad_or_missing(code, field, value, std::move(expected)).at(where_));
    }

    void add_card(const std::vector<std::string_view>& fields) {
        label_ = "card " + std::to_string(reading_.devices.size());
        device_registration card;
        card.uuid = fields[0];
        card.slots = number(card, "count", fields[1]);
        card.memory = memory(card, fields[2]);
        card.model = fields[3];
        if (fields[3].find(family) != std::string_view::npos) card.family = family;
        const auto health = text::truth(fields[4]);
        if (!health) problem(error_code::malformed, label_ + " health", fields[4], "true or false");
        card.healthy = card.healthy && health.value_or(false);
        set_mode(card, fields[5]);
        check_uuid(card);
        if (!text::is_printable(card.uuid + card.model)) {
            spoil(card, error_code::malformed, "uuid or type", card.uuid + "," + card.model, "no control characters");
        }
        reading_.devices.push_back(std::move(card));
    }

private:
    void spoil(device_registration& card, error_code code, const char* field, std::string_view value,
               std::string expected) {
        problem(code, label_ + " " + field, value, std::move(expected));
        card.healthy = false;
    }

    [[nodiscard]] std::int64_t number(device_registration& card, const char* field, std::string_view written) {
        if (const auto value = text::whole_number(written, amount_max)) return *value;
        spoil(card, error_code::malformed, field, written, "a whole number from 0 to " + std::to_string(amount_max));
        return 0;
    }

    [[nodiscard]] mib memory(device_registration& card, std::string_view written) {
        const std::int64_t value = number(card, "memory", written);
        if (value > 0) return mib{value};
        if (text::whole_number(written, amount_max)) {
            spoil(card, error_code::out_of_range, "memory", written, "more than 0");
        }
        return mib{1}; // the ledger counts shares of it
    }

    void set_mode(device_registration& card, std::string_view written) {
        card.mode = hami_core_mode;
        if (written == mps_mode && !options_->mps_as_hami_core) card.mode = mps_mode;
        const bool is_known = written.empty() || written == "hami-core" || written == mps_mode || written == mig_mode;
        if (!is_known && !options_->unknown_as_hami_core) {
            spoil(card, error_code::unknown_name, "mode", written, "hami-core, mig or mps; the card is not given out");
        }
        if (written != mig_mode) return;
        const geometry* const cut = geometry_of(card.model);
        if (cut == nullptr) {
            // Upstream falls back to hami-core and so tells the device plugin.
            if (!options_->unknown_as_hami_core) cut_by_catalog(card);
            return;
        }
        if (auto groups = usable_groups(card, *cut)) {
            card.mode = mig_mode;
            card.geometry = std::move(*groups);
            card.memory_factor = std::max<std::int64_t>(options_->memory_factor, 1);
        }
    }

    [[nodiscard]] const geometry* geometry_of(const std::string& model) const {
        for (const geometry& entry : options_->geometries) {
            const auto names_model = [&model](const std::string& part) {
                return model.find(part) != std::string::npos;
            };
            if (std::ranges::any_of(entry.models, names_model)) return &entry;
        }
        return nullptr;
    }

    /// The groups whose instances an annotation can name. Of two with one name the first is kept: ids name groups.
    [[nodiscard]] std::optional<std::vector<mig_group>> usable_groups(device_registration& card, const geometry& cut) {
        std::vector<mig_group> groups;
        std::int64_t slots = 0;
        for (const mig_group& group : cut.groups) {
            if (std::ranges::find(groups, group.name, &mig_group::name) != groups.end()) {
                problem(error_code::duplicate, label_ + " geometry", group.name,
                        "one group of this name; the later one is left out");
                continue;
            }
            bool readable = group.name.find_first_of(separators) == std::string::npos;
            for (const mig_kind& kind : group.kinds) {
                readable = readable && kind.memory >= mib{0} && kind.memory.count() <= amount_max && kind.count >= 0 &&
                           kind.count <= mig_slots_max;
                slots += readable ? kind.count : 0;
            }
            if (!readable || slots > mig_slots_max) {
                spoil(card, error_code::out_of_range, "geometry", group.name,
                      "groups of at most " + std::to_string(mig_slots_max) + " slots in all, no separators in names");
                return std::nullopt;
            }
            groups.push_back(group);
        }
        return groups;
    }

    void check_uuid(device_registration& card) {
        if (card.uuid.empty() || card.uuid.find_first_of(separators) != std::string::npos) {
            spoil(card, error_code::malformed, "uuid", card.uuid, "an id without any of " + std::string{separators});
        } else if (std::ranges::find(reading_.devices, card.uuid, &device_registration::uuid) !=
                   reading_.devices.end()) {
            spoil(card, error_code::duplicate, "uuid", card.uuid, "an id that no card before has");
        }
    }

    /// A card that no geometry of the configuration is for: most likely the configuration was forgotten.
    void cut_by_catalog(device_registration& card) {
        card.mode = mig_mode;
        const auto model = find_model(*options_->catalog, card.model);
        if (!model) {
            spoil(
                card, error_code::missing, "geometry", card.model,
                "a model of the catalog, or a geometry in the device configuration: no geometry known, give --config");
            return;
        }
        if (options_->memory_factor > 1) { // the catalog knows memory in MiB only
            spoil(card, error_code::missing, "geometry", card.model,
                  "a geometry in the device configuration, where gpuMemoryFactor is above 1");
            return;
        }
        warn_of_catalog(card.model, **model);
    }

    /// Once for each model of the node.
    void warn_of_catalog(const std::string& written, const mig_model& model) {
        error doubt = bad_value(error_code::missing, "geometry of " + written, mig_mode,
                                "a geometry in the device configuration (--config); no geometry configured: placements "
                                "of the catalog for " +
                                    model.name)
                          .at(node_);
        const auto is_told = [&doubt](const error& known) { return known.field == doubt.field; };
        if (std::ranges::none_of(reading_.warnings, is_told)) reading_.warnings.push_back(std::move(doubt));
    }

    const options* options_;
    std::string node_; ///< for warnings
    std::string where_;
    std::string label_;
    node_reading reading_;
};

const char* mode_word(const device_registration& card) {
    if (card.mode == mig_mode) return "mig";
    if (card.mode == mps_mode) return "mps";
    return "hami-core";
}

} // namespace

node_reading vgpu_dialect::read_node(const node_source& node) const {
    const auto written = node.object.annotations.find(register_annotation);
    if (written == node.object.annotations.end()) return {};
    registration_reader reader{node.object, options_};
    for (const char* const name : {number_resource, cores_resource, memory_resource}) {
        const std::string& offered = kubernetes::value_of(node.object.allocatable, name);
        if (text::quantity(offered).value_or(0) > 0) continue;
        reader.problem(error_code::missing, std::string{"allocatable "} + name, offered,
                       "an amount above 0; without it the node offers no card");
        return reader.take();
    }
    std::vector<std::vector<std::string_view>> records;
    if (written->second.find(':') == std::string::npos) {
        reader.problem(error_code::malformed, "", written->second, "records that end with ':'");
        return reader.take();
    }
    for (const auto record : text::split_closed(written->second, ':')) {
        records.push_back(text::split(record, ','));
        if (records.back().size() >= record_fields) continue;
        reader.problem(error_code::malformed, "record " + std::to_string(records.size() - 1), record,
                       "uuid,count,memory,type,health,mode; no card of the node is used");
        return reader.take();
    }
    for (const auto& fields : records) reader.add_card(fields);
    return reader.take();
}

std::vector<std::string> vgpu_dialect::resources_counted(const kubernetes::node& node) const {
    if (!node.annotations.contains(register_annotation) || !text::offers(node, number_resource)) return {};
    return resources(); // also where the configuration has other names: read_node() has looked at the plugin's own
}

void vgpu_dialect::write_node(std::span<const device_registration> devices, kubernetes::node& node,
                              kubernetes::text_map& /*config_map*/) const {
    std::string written;
    std::int64_t number = 0;
    core_percent cores;
    mib memory;
    for (const device_registration& card : devices) {
        written += card.uuid + "," + std::to_string(card.slots) + "," + std::to_string(card.memory.count()) + "," +
                   card.model + "," + (card.healthy ? "true" : "false") + "," + mode_word(card) + ":";
        number += card.slots;
        cores += card.cores;
        memory += card.memory;
    }
    node.annotations[register_annotation] = written;
    for (auto* const offered : {&node.capacity, &node.allocatable}) {
        (*offered)[number_resource] = std::to_string(number);
        (*offered)[cores_resource] = std::to_string(cores.count());
        (*offered)[memory_resource] = std::to_string(memory.count());
    }
}

} // namespace vgpualloc::dialects::volcano_vgpu
