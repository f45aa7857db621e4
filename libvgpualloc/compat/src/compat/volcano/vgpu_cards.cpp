// The registration annotation of a node.
#include "vgpu_cards.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "go_text.hpp"
#include "vgpu_text.hpp"
#include "vgpualloc/catalog/mig_offers.hpp"

namespace vgpualloc::compat::volcano::vgpu {

namespace {

constexpr const char* register_annotation = "volcano.sh/node-vgpu-register";

/// These names are fixed, also where the configuration renames the resources.
bool offers_vgpu(const kubernetes::text_map& allocatable) {
    constexpr std::array<const char*, 3> needed{"volcano.sh/vgpu-number", "volcano.sh/vgpu-cores",
                                                "volcano.sh/vgpu-memory"};
    return std::ranges::all_of(needed, [&](const char* name) {
        return go_text::quantity_value(kubernetes::value_of(allocatable, name)).value_or(0) != 0;
    });
}

/// The first geometry with a model that is part of the type.
const std::vector<mig_group>* groups_of(std::string_view type, const device_config& config) {
    for (const mig_geometry& geometry : config.mig_geometries) {
        const bool known = std::ranges::any_of(
            geometry.models, [type](const std::string& model) { return type.find(model) != std::string_view::npos; });
        if (known) return &geometry.groups;
    }
    return nullptr;
}

std::vector<std::vector<std::int64_t>> compute_of(const std::vector<mig_group>& groups, const std::string& type) {
    std::vector<std::vector<std::int64_t>> compute;
    for (const mig_group& group : groups) {
        auto& shares = compute.emplace_back();
        for (const mig_instance_kind& kind : group.instances) {
            shares.push_back(compute_of_instance(built_in_mig_catalog(), type, kind.name).count());
        }
    }
    return compute;
}

card_spec read_card(std::int64_t index, const std::vector<std::string_view>& fields, const device_config& config) {
    card_spec card{.index = index,
                   .uuid = std::string{fields[0]},
                   .memory = go_text::atoi(fields[2]).value_or(0),
                   .number = go_text::atoi(fields[1]).value_or(0),
                   .type = std::string{fields[3]},
                   .health = parse_bool(fields[4]),
                   .compute = {}};
    card.mps = fields[5] == mps_mode;
    if (fields[5] == mig_mode) {
        card.groups = groups_of(card.type, config);
        card.mig = card.groups != nullptr;
    }
    if (card.mig) card.compute = compute_of(*card.groups, card.type);
    return card;
}

} // namespace

bool is_id_of(const std::string& id, const card_spec& card, const settings& setup) {
    if (setup.has(quirk::q22)) return id.find(card.uuid) != std::string::npos;
    return id.starts_with(card.uuid) && (id.size() == card.uuid.size() || id[card.uuid.size()] == '[');
}

std::optional<node_spec> read_registration(const node& where, const device_config& config) {
    const std::string& text = kubernetes::value_of(where.annotations, register_annotation);
    if (text.find(':') == std::string::npos || !offers_vgpu(where.allocatable)) return std::nullopt;

    node_spec read{.name = where.name, .mig = false, .cards = {}};
    std::int64_t index = 0;
    for (const std::string_view piece : go_text::split(text, ':')) {
        const auto fields = go_text::split(piece, ',');
        if (fields.size() > 1) {
            if (fields.size() < 6) return std::nullopt;
            read.cards.push_back(read_card(index, fields, config));
            // Q6: each card overwrites the mode of those before.
            read.mig = read.cards.back().mig;
        }
        ++index; // Q14: a piece without a card leaves a hole.
    }
    if (read.cards.empty()) return std::nullopt;
    return read;
}

} // namespace vgpualloc::compat::volcano::vgpu
