// Tables of the hardware catalogs, and the placements of a MIG model drawn as text.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "vgpualloc/catalog/mig_layouts.hpp"
#include "vgpualloc/explain/catalog.hpp"

namespace vgpualloc::explaining {

namespace {

using row = std::vector<std::string>;

constexpr std::string_view unknown = "unknown";

std::string or_unknown(const std::string& text) { return text.empty() ? std::string{unknown} : text; }

std::string shown(const std::optional<std::int64_t>& number) {
    return number ? std::to_string(*number) : std::string{unknown};
}

template <class Tag>
std::string shown(const std::optional<quantity<Tag>>& amount) {
    return amount ? std::to_string(amount->count()) : std::string{unknown};
}

std::string shown_gib(const std::optional<centi_gib>& amount) {
    if (!amount) return std::string{unknown};
    return fmt::format("{}.{:02}", amount->count() / 100, amount->count() % 100);
}

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
    return or_unknown(all);
}

/// Columns as wide as their widest cell: the first `left` ones and the last to the left, the others to the right.
std::string table(const std::vector<row>& rows, std::size_t left = 1) {
    std::vector<std::size_t> widths;
    for (const row& cells : rows) {
        widths.resize(std::max(widths.size(), cells.size()), 0);
        for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
    }
    std::string text;
    for (const row& cells : rows) {
        std::string line;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const bool last = i + 1 == widths.size();
            line += i == 0 ? "" : "  ";
            line += last ? cells[i]
                         : (i < left ? fmt::format("{:<{}}", cells[i], widths[i])
                                     : fmt::format("{:>{}}", cells[i], widths[i]));
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

std::string fields(const std::vector<std::pair<std::string_view, std::string>>& list) {
    std::string text;
    for (const auto& [name, value] : list) text += fmt::format("{:<15} {}\n", name, value);
    return text;
}

/// The value with a star if the catalog derived it.
std::string marked(std::string value, const mig_profile& profile, std::string_view field) {
    const bool derived = value != unknown && provenance_of(profile.from, field).starts_with("D:");
    return derived ? std::move(value) + "*" : value;
}

/// What nvidia-smi prints; of two drivers that differ, both.
std::string shown_sizes(const mig_profile& profile) {
    const std::string size = shown_gib(profile.memory_shown);
    const auto& other = profile.memory_shown_other_driver;
    return other && other != profile.memory_shown ? size + "/" + shown_gib(other) : size;
}

std::string profile_table(const mig_model& model) {
    std::vector<row> rows{
        {"profile", "id", "g", "units", "GiB", "MiB", "SM", "max", "copy", "dec", "enc", "jpeg", "ofa", "kind"}};
    for (const auto& profile : model.profiles) {
        row& cells = rows.emplace_back();
        cells = {profile.name,
                 marked(std::to_string(profile.profile_id), profile, "profile_id"),
                 std::to_string(profile.compute_slices.count()),
                 marked(std::to_string(profile.size.count()), profile, "size"),
                 marked(shown_sizes(profile), profile, "memory_gib_shown"),
                 shown(profile.memory),
                 marked(shown(profile.sm), profile, "sm"),
                 marked(std::to_string(profile.max_instances), profile, "max_instances")};
        for (const auto& [name, field] : mig_engine_fields) {
            cells.push_back(marked(shown(profile.engines.*field), profile, name));
        }
        cells.emplace_back(name_of(profile.kind));
    }
    return table(rows);
}

/// One line for each profile and start: '#' for the units an instance there takes.
std::string placements(const mig_model& model) {
    const auto units = static_cast<std::size_t>(model.units.count());
    std::string ruler;
    for (std::size_t unit = 0; unit < units; ++unit) ruler += static_cast<char>('0' + unit % 10);
    std::vector<row> rows{{"profile", "start", ruler}};
    for (const auto& slot : slots_of(model, mig_profile_set::all)) {
        const auto& profile = model.profiles[slot.profile];
        std::string line(units, '.');
        const auto start = static_cast<std::size_t>(slot.start.count());
        std::fill_n(line.begin() + static_cast<std::ptrdiff_t>(start), profile.size.count(), '#');
        rows.push_back({profile.name, marked(std::to_string(start), profile, "starts"), line});
    }
    return table(rows);
}

std::string layout_counts(const mig_model& model) {
    std::vector<row> rows{{"layouts of", "legal", "maximal", ""}};
    constexpr std::array<std::pair<std::string_view, mig_profile_set>, 3> sets{
        {{"core profiles", mig_profile_set::core},
         {"core and double memory", mig_profile_set::plain},
         {"all profiles", mig_profile_set::all}}};
    for (const auto& [name, set] : sets) {
        const auto layouts = count_layouts(model, {.set = set});
        const std::string more = layouts.complete ? "" : "at least ";
        rows.push_back(
            {std::string{name}, more + std::to_string(layouts.legal), more + std::to_string(layouts.maximal), ""});
    }
    return table(rows);
}

std::string engines_text(const mig_engines& engines) {
    std::string text;
    for (const auto& [name, field] : mig_engine_fields) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, shown(engines.*field));
    }
    return text;
}

std::string_view dvpp_text(const std::optional<dvpp_use>& use) {
    if (!use) return "any";
    constexpr std::array<std::string_view, 3> names{"null", "yes", "no"};
    return names[static_cast<std::size_t>(*use)];
}

std::string_view level_text(const std::optional<vnpu_level>& level) {
    if (!level) return "any";
    return *level == vnpu_level::low ? "low" : "high";
}

std::string cores_text(const mindcluster_selection& rule) {
    if (rule.ai_core) return std::to_string(*rule.ai_core);
    return std::to_string(rule.ai_core_multiple_of.value_or(0)) + " x n";
}

std::string yes_or_no(const std::optional<bool>& flag) {
    if (!flag) return "any";
    return *flag ? "yes" : "no";
}

} // namespace

std::string list_models(const mig_catalog& catalog) {
    std::vector<row> rows{{"model", "units", "g", "profiles", "description"}};
    for (const auto& model : catalog.models) {
        rows.push_back({model.name, std::to_string(model.units.count()), std::to_string(model.compute_slices.count()),
                        std::to_string(model.profiles.size()), or_unknown(model.description)});
    }
    return table(rows);
}

std::string list_chips(const ascend_catalog& catalog) {
    std::vector<row> rows{{"chip", "chip name", "MiB", "AI cores", "AI CPUs", "templates"}};
    for (const auto& chip : catalog.chips) {
        std::vector<std::string> names;
        for (const auto& cut : chip.templates) names.push_back(cut.name);
        rows.push_back({chip.name, chip.chip_name, std::to_string(chip.memory_allocatable.count()),
                        std::to_string(chip.ai_core), shown(chip.ai_cpu), names.empty() ? "none" : joined(names)});
    }
    return table(rows, 2);
}

std::string list_power(const power_catalog& catalog) {
    std::vector<row> rows{{"board", "idle W", "busy W", "also called"}};
    for (const auto& device : catalog.devices) {
        rows.push_back({device.name, shown(device.idle_w), shown(device.busy_w),
                        device.card_types.empty() ? "" : joined(device.card_types)});
    }
    return table(rows);
}

std::string describe(const device_power& device) {
    return fields({{"board", device.name},
                   {"also called", device.card_types.empty() ? "" : joined(device.card_types)},
                   {"idle W", shown(device.idle_w)},
                   {"from", std::string{provenance_of(device.from, "idle_w")}},
                   {"busy W", shown(device.busy_w)},
                   {"from", std::string{provenance_of(device.from, "busy_w")}}});
}

std::string describe(const mig_model& model) {
    std::string text = fields(
        {{"model", model.name},
         {"description", or_unknown(model.description)},
         {"architecture", or_unknown(model.architecture)},
         {"memory", fmt::format("{} GB by name, {} MiB without MIG", shown(model.memory_gb), shown(model.memory))},
         {"grid", fmt::format("{} units, {} compute slices", model.units.count(), model.compute_slices.count())},
         {"engines", engines_text(model.engines)},
         {"card types", joined(model.card_types)},
         {"PCI ids", joined(model.pci_ids)}});
    if (!model.notes.empty()) text += fields({{"notes", model.notes}});
    text += "\n" + profile_table(model) + "\n" + placements(model) + "\n" + layout_counts(model);
    return text + "\n* derived, not read from such a board; --json tells the source of every value\n";
}

std::string describe(const ascend_chip& chip) {
    std::string text = fields({{"chip", chip.name},
                               {"chip name", chip.chip_name},
                               {"resources", joined({chip.resource, chip.resource_memory, chip.resource_core})},
                               {"memory", fmt::format("{} MiB allocatable of {} MiB", chip.memory_allocatable.count(),
                                                      chip.memory_capacity.count())},
                               {"AI cores", std::to_string(chip.ai_core)},
                               {"AI CPUs", shown(chip.ai_cpu)},
                               {"super pod", chip.super_pod ? "yes" : "no"},
                               {"device ids", fmt::format("{} a card", device_ids_per_card(chip))},
                               {"built in of", chip.built_in_of.empty() ? "none" : joined(chip.built_in_of)}});
    if (chip.templates.empty()) return text + "\nno templates: whole cards only\n";
    std::vector<row> rows{{"template", "MiB", "AI cores", "AI CPUs", "by memory"}};
    for (const auto& cut : chip.templates) {
        rows.push_back({cut.name, std::to_string(cut.memory.count()), std::to_string(cut.ai_core), shown(cut.ai_cpu),
                        std::to_string(chip.memory_allocatable.count() / cut.memory.count())});
    }
    return text + "\n" + table(rows);
}

std::string describe(const mindcluster_catalog& catalog) {
    std::vector<row> cuts{{"MindCluster chip", "template", "AI cores", "AI CPUs", "dvpp"}};
    for (const auto& chip : catalog.chips) {
        for (const auto& cut : chip.templates) {
            cuts.push_back({chip.kind, cut.name, std::to_string(cut.ai_core), std::to_string(cut.ai_cpu),
                            std::string{dvpp_text(cut.dvpp)}});
        }
    }
    std::vector<row> rules{{"chosen for", "AI cores", "dvpp", "level", "downgrade", "template"}};
    for (const auto& rule : catalog.selection) {
        rules.push_back({rule.chip, cores_text(rule), std::string{dvpp_text(rule.dvpp)},
                         std::string{level_text(rule.level)}, yes_or_no(rule.downgrade),
                         rule.template_name.value_or("whole chips")});
    }
    return table(cuts, 2) + "\n" + table(rules);
}

} // namespace vgpualloc::explaining
