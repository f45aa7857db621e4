// The volcano_vgpu dialect: the devices of a bound pod, in annotations.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "text.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/device.hpp"
#include "volcano_vgpu_parts.hpp"

namespace vgpualloc::dialects::volcano_vgpu {

namespace {

constexpr std::size_t entry_fields = 4; // id, family, memory, cores
constexpr std::int64_t uint32_max = std::numeric_limits<std::uint32_t>::max();

/// `uuid` or `uuid[group-position]`.
struct card_id {
    std::string_view uuid;
    bool is_instance = false;
    std::string_view group;
    std::string_view position; ///< digits
};

std::optional<card_id> parse_id(std::string_view id) {
    const auto open = id.find('[');
    if (open == std::string_view::npos) return card_id{.uuid = id, .group = {}, .position = {}};
    if (!id.ends_with(']')) return std::nullopt;
    const std::string_view inside = id.substr(open + 1, id.size() - open - 2);
    const auto dash = inside.rfind('-'); // a group's name may have dashes too
    if (dash == std::string_view::npos) return std::nullopt;
    return card_id{.uuid = id.substr(0, open),
                   .is_instance = true,
                   .group = inside.substr(0, dash),
                   .position = inside.substr(dash + 1)};
}

/// The instance at a position of a group; positions run through the kinds in their configured order.
std::optional<mig_instance> instance_at(const device_registration& card, std::string_view group,
                                        std::int64_t position) {
    std::uint32_t profile = 0;
    for (const mig_group& candidate : card.geometry) {
        for (const mig_kind& kind : candidate.kinds) {
            if (candidate.name == group && position < kind.count) {
                return mig_instance{.profile = profile, .start = static_cast<std::uint32_t>(position)};
            }
            if (candidate.name == group) position -= kind.count;
            ++profile;
        }
        if (candidate.name == group) return std::nullopt;
    }
    return std::nullopt;
}

/// The model by which a card without groups is cut; none if the catalog does not know it.
const mig_model* model_without_groups(const device_registration& card, const mig_catalog& catalog) {
    if (!card.geometry.empty()) return nullptr;
    const auto model = find_model(catalog, card.model);
    return model ? *model : nullptr;
}

/// The instance of a profile at a start, which stand for group and position where there are no groups.
std::optional<mig_instance> instance_at(const mig_model& model, std::string_view profile, std::int64_t start) {
    const auto known = std::ranges::find(model.profiles, profile, &mig_profile::name);
    if (known == model.profiles.end()) return std::nullopt;
    const auto starts_there = [start](mig_units unit) { return unit.count() == start; };
    if (std::ranges::none_of(known->starts, starts_there)) return std::nullopt;
    return mig_instance{.profile = static_cast<std::uint32_t>(known - model.profiles.begin()),
                        .start = static_cast<std::uint32_t>(start)};
}

std::string id_of(const device_registration& card, const mig_instance& instance, const mig_catalog& catalog) {
    if (const mig_model* const model = model_without_groups(card, catalog)) {
        return card.uuid + "[" + model->profiles[instance.profile].name + "-" + std::to_string(instance.start) + "]";
    }
    std::uint32_t profile = 0;
    for (const mig_group& group : card.geometry) {
        std::int64_t position = instance.start;
        for (const mig_kind& kind : group.kinds) {
            if (profile++ == instance.profile) {
                return card.uuid + "[" + group.name + "-" + std::to_string(position) + "]";
            }
            position += kind.count;
        }
    }
    VGA_ASSERT(false, "a share's MIG instance is one of its device's geometry");
}

/// Reads the parts of one pod's assignment.
class assignment_reader {
public:
    assignment_reader(const kubernetes::pod& pod, std::span<const device_registration> devices,
                      const mig_catalog& catalog)
        : devices_{devices}, catalog_{&catalog},
          where_{"pod " + pod.ns + "/" + pod.name + ": " + assignment_annotation} {}

    [[nodiscard]] assignment_reading take() { return std::move(reading_); }

    void problem(error_code code, std::string field, std::string_view value, std::string expected) {
        reading_.problems.push_back(bad_value(code, field, value, std::move(expected)).at(where_));
    }

    void add_part(std::string_view part, std::uint32_t container, const std::string& label) {
        const std::size_t first = reading_.shares.size();
        for (const auto entry : text::split_closed(part, ':')) {
            const auto share = read_entry(entry, container, label);
            if (!share) continue;
            const auto same_card = [&](const device_share& other) { return other.device == share->device; };
            if (std::any_of(reading_.shares.begin() + static_cast<std::ptrdiff_t>(first), reading_.shares.end(),
                            same_card)) {
                problem(error_code::duplicate, label, entry,
                        "every card once in a container"); // it is used all the same
            }
            reading_.shares.push_back(*share);
        }
    }

private:
    [[nodiscard]] std::optional<device_share> read_entry(std::string_view entry, std::uint32_t container,
                                                         const std::string& label) {
        const auto fields = text::split(entry, ',');
        if (fields.size() < entry_fields) {
            problem(error_code::malformed, label, entry, "id,NVIDIA,memory,cores");
            return std::nullopt;
        }
        const auto memory = text::whole_number(fields[2], uint32_max);
        const auto cores = text::whole_number(fields[3], uint32_max);
        if (!memory || !cores) {
            problem(error_code::malformed, label, entry, "memory and cores as unsigned 32-bit numbers");
            return std::nullopt;
        }
        const auto id = parse_id(fields[0]);
        if (!id) {
            problem(error_code::malformed, label, fields[0], "uuid or uuid[group-position]");
            return std::nullopt;
        }
        const auto card = std::ranges::find(devices_, id->uuid, &device_registration::uuid);
        if (card == devices_.end()) {
            problem(error_code::unknown_name, label, fields[0], "a card that its node registers");
            return std::nullopt;
        }
        const auto part = part_of(*card, *id, slice{mib{*memory}, core_percent{*cores}}, label);
        if (!part) return std::nullopt;
        return device_share{.container = container,
                            .device = device_index{static_cast<std::size_t>(card - devices_.begin())},
                            .part = *part};
    }

    [[nodiscard]] std::optional<partition> part_of(const device_registration& card, const card_id& id,
                                                   const slice& amounts, const std::string& label) {
        const std::string written =
            std::string{id.uuid} +
            (id.is_instance ? "[" + std::string{id.group} + "-" + std::string{id.position} + "]" : std::string{});
        if (id.is_instance != (card.mode == mig_mode)) {
            problem(error_code::mismatch, label, written,
                    id.is_instance ? "a card, not an instance: it is not in mode mig"
                                   : "an instance of a card in mode mig");
            return std::nullopt;
        }
        if (!id.is_instance) return amounts;
        const auto position = text::whole_number(id.position, mig_slots_max);
        std::optional<mig_instance> instance;
        if (const mig_model* const model = model_without_groups(card, *catalog_); model != nullptr && position) {
            instance = instance_at(*model, id.group, *position);
        } else if (position) {
            instance = instance_at(card, id.group, *position);
        }
        if (!instance) {
            problem(error_code::unknown_name, label, written,
                    card.geometry.empty()
                        ? "an instance of the catalog's placements: no geometry configured, give --config"
                        : "a group of the card's geometry and a position in it");
            return std::nullopt;
        }
        instance->cores = amounts.cores;
        return *instance;
    }

    std::span<const device_registration> devices_;
    const mig_catalog* catalog_;
    std::string where_;
    assignment_reading reading_;
};

std::string entry_of(const device_registration& card, const partition& part, const device_request& request,
                     const mig_catalog& catalog) {
    std::string id = card.uuid;
    mib memory;
    core_percent cores;
    if (const auto* part_slice = std::get_if<slice>(&part)) {
        memory = part_slice->memory;
        cores = part_slice->cores;
    } else {
        const auto* instance = std::get_if<mig_instance>(&part);
        VGA_ASSERT(instance != nullptr, "a share of the volcano_vgpu dialect is a slice or a MIG instance");
        id = id_of(card, *instance, catalog);
        memory = memory_wanted(device_spec{.model = card.model, .memory = card.memory}, request);
        cores = instance->cores;
    }
    return id + "," + std::string{family} + "," + std::to_string(memory.count()) + "," + std::to_string(cores.count()) +
           ":";
}

} // namespace

assignment_reading vgpu_dialect::read_assignment(const kubernetes::pod& pod,
                                                 std::span<const device_registration> devices) const {
    const auto written = pod.annotations.find(assignment_annotation);
    if (written == pod.annotations.end()) return {};
    assignment_reader reader{pod, devices, *options_.catalog};
    const auto parts = text::split(written->second, ';');
    const auto asking = static_cast<std::size_t>(
        std::ranges::count_if(pod.containers, [this](const auto& container) { return asks(container); }));
    const bool by_position = parts.size() == pod.containers.size();
    if (!by_position && parts.size() != asking) {
        reader.problem(error_code::mismatch, "parts", std::to_string(parts.size()),
                       "one part for each of " + std::to_string(pod.containers.size()) + " containers or of the " +
                           std::to_string(asking) + " that ask for cards");
    }
    std::uint32_t rank = 0; // among those that ask
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string label = "part " + std::to_string(i);
        const bool has_rank = !by_position || asks(pod.containers[i]);
        if (!has_rank && !parts[i].empty()) {
            reader.problem(error_code::mismatch, label, parts[i], "nothing: the container asks for no card");
        }
        reader.add_part(parts[i], has_rank ? rank : static_cast<std::uint32_t>(i), label);
        rank += has_rank ? 1 : 0;
    }
    return reader.take();
}

kubernetes::text_map vgpu_dialect::write_assignment(const kubernetes::pod& pod,
                                                    std::span<const device_registration> devices,
                                                    const decision& decided) const {
    const auto request = read_pod(pod);
    VGA_ASSERT(request.has_value(), "a decision is made for a pod that could be read");
    std::vector<std::string> entries(request->containers.size());
    for (const device_share& share : decided.shares) {
        VGA_ASSERT(share.container < entries.size(), "a share's container is one of its request");
        VGA_ASSERT(share.device.at() < devices.size(), "a share's device is one of its node");
        entries[share.container] +=
            entry_of(devices[share.device.at()], share.part, request->containers[share.container], *options_.catalog);
    }
    std::string written;
    std::size_t rank = 0;
    std::size_t parts = 0;
    for (const kubernetes::container& container : pod.containers) {
        const bool asking = asks(container);
        if (!asking && !options_.positions_of_containers) continue;
        if (parts++ > 0) written += ";";
        if (asking) written += entries[rank++];
    }
    return {
        {"volcano.sh/vgpu-node", decided.node},      {"volcano.sh/vgpu-time", decided.time},
        {"volcano.sh/bind-time", decided.time},      {assignment_annotation, written},
        {"volcano.sh/devices-to-allocate", written}, {"volcano.sh/bind-phase", "allocating"},
    };
}

} // namespace vgpualloc::dialects::volcano_vgpu
