// The session init of a node of 310P chips.
#include <algorithm>
#include <utility>

#include "mindcluster_node.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::compat::volcano::mindcluster {

namespace {

constexpr std::string_view vendor_prefix = "huawei.com/";
const std::string list_name = "huawei.com/Ascend310P";
constexpr std::int64_t cpus_per_chip = 7;

using names = std::set<std::string, std::less<>>;

/// The non-empty pieces of a comma list.
std::vector<std::string_view> listed(std::string_view text) {
    auto pieces = split(text, ',');
    std::erase(pieces, std::string_view{});
    return pieces;
}

std::vector<std::int64_t> chip_ids(const auto& chip_names) {
    std::vector<std::int64_t> ids;
    for (std::string_view name : chip_names) {
        if (name.starts_with(chip_kind) && name.substr(chip_kind.size()).starts_with('-')) {
            name.remove_prefix(chip_kind.size() + 1);
        }
        if (const auto id = number(name)) ids.push_back(*id);
    }
    return ids;
}

/// The node's chips by the annotation that Ascend's device plugin writes; vNPUs (names of more parts) are left out.
/// None when the annotation is missing or unreadable.
std::optional<names> annotated_chips(const node& where) {
    const auto annotation = where.annotations.find("baseDeviceInfos");
    if (annotation == where.annotations.end()) return std::nullopt;
    const auto infos = vgpuformats::parse_json(annotation->second, "baseDeviceInfos", vgpuformats::repeated_keys::kept);
    if (!infos || !(infos->is_map() || infos->is_null())) return std::nullopt;
    names chips;
    for (const auto& [name, info] : infos->members) {
        if (split(name, '-').size() <= 2) chips.insert(name);
    }
    return chips;
}

/// The chips of the node that are free to begin with, as upstream maintains the list itself: all less those that pods,
/// ill health or a recovery hold. None: there is no list, and the node is not valid.
std::optional<std::vector<std::int64_t>> free_chips(const node& where, std::span<const pod* const> on_node,
                                                    const npu_node_info& info, bool first, const quirk_set& quirks) {
    const auto reported = info.device_list.find(list_name);
    if (reported == info.device_list.end()) return std::nullopt;
    auto chips = annotated_chips(where);
    if (!chips) {
        // Q26: without the annotation there is no list only until the device info is old news; from then on upstream
        // takes the reported list as it is.
        if (first || !quirks.has(quirk::q26)) return std::nullopt;
        return chip_ids(listed(reported->second));
    }
    const auto leave_out = [&chips](std::string_view list) {
        for (const std::string_view name : listed(list)) {
            if (const auto chip = chips->find(name); chip != chips->end()) chips->erase(chip);
        }
    };
    for (const pod* bound : on_node) leave_out(kubernetes::value_of(bound->annotations, list_name));
    leave_out(kubernetes::value_of(info.device_list, list_name + "-Unhealthy"));
    leave_out(kubernetes::value_of(info.device_list, list_name + "-Recovering"));
    return chip_ids(*chips);
}

/// Kind and size of the chips by the node's labels. False where upstream gives up; what was set by then stays, because
/// a total core count other than 0 makes the filter look at the pod's labels before it finds the node invalid.
bool read_totals(npu_node& opened, const node& where, std::int64_t capacity) {
    const auto accelerator = split(kubernetes::value_of(where.labels, "accelerator"), '-');
    if (accelerator.size() < 2) return false;
    const auto server_type = where.labels.find("servertype");
    if (server_type == where.labels.end()) return false;
    opened.server_type = server_type->second;
    if (!where.labels.contains("node.kubernetes.io/npu.chip.name")) return false;

    opened.total_core = capacity;
    const auto pieces = split(opened.server_type, '-');
    opened.cores_per_chip = pieces.size() < 2 ? 0 : number(pieces[1]).value_or(0);
    const bool known = opened.cores_per_chip == 8 || opened.cores_per_chip == 10;
    if (accelerator[1] != chip_kind || !known || capacity % opened.cores_per_chip != 0) return false;
    opened.total_chips = capacity / opened.cores_per_chip;
    opened.total_cpu = cpus_per_chip * opened.total_chips;
    return true;
}

/// The chip a pod on the node uses, made where the list did not name it; null for an unhealthy one.
npu_chip* used_chip(npu_node& opened, std::int64_t id, const pod& user) {
    if (opened.unhealthy.contains(id)) return nullptr;
    npu_chip& chip = opened.chips.try_emplace(id, id, opened.cores_per_chip, cpus_per_chip).first->second;
    chip.unstable = chip.unstable || kubernetes::value_of(user.annotations, real_name).empty();
    return &chip;
}

/// `real`: what the device plugin calls the vNPU that it made; empty before.
void book_segment(npu_node& opened, const pod& user, std::string_view annotation, std::string_view real) {
    const auto pieces = split(annotation, '-');
    if (pieces.size() != 2) return;
    const auto id = number(pieces[0]);
    if (!id) return;
    npu_chip* const chip = used_chip(opened, *id, user);
    if (chip == nullptr) return;
    if (!real.empty()) chip->ids.emplace_back(real);
    chip->segment = true;
    if (const auto resource = template_resource(pieces[1])) {
        chip->take(*resource);
        chip->note_dvpp(resource->dvpp);
    }
}

void book_whole(npu_node& opened, const pod& user, std::string_view annotation) {
    std::vector<std::int64_t> ids;
    for (const std::string_view piece : split(annotation, ',')) {
        const auto id = number(piece);
        if (!id) return; // one bad id and upstream books none
        ids.push_back(*id);
    }
    for (const std::int64_t id : ids) {
        npu_chip* const chip = used_chip(opened, id, user);
        if (chip == nullptr) continue;
        chip->ids.push_back(std::to_string(id));
        chip->take(opened.whole_chip()); // here, other than in Allocate, the video unit is not touched
    }
}

void book_entry(npu_node& opened, const pod& user, std::string_view annotation, std::string_view real) {
    const auto has_no_template = [](std::string_view piece) { return piece.find('-') == std::string_view::npos; };
    if (std::ranges::any_of(split(annotation, ','), has_no_template)) {
        book_whole(opened, user, annotation);
    } else {
        book_segment(opened, user, annotation, real);
    }
}

void book(npu_node& opened, const pod& user, const quirk_set& quirks) {
    const auto annotation = user.annotations.find(core_name);
    if (annotation == user.annotations.end()) return;
    const std::string& real = kubernetes::value_of(user.annotations, real_name);
    // Q29: upstream writes and reads the chips of one container.
    if (quirks.has(quirk::q29)) return book_entry(opened, user, annotation->second, real);
    const auto entries = split(annotation->second, ';');
    const auto reals = split(real, ';');
    for (std::size_t i = 0; i < entries.size(); ++i) {
        book_entry(opened, user, entries[i], i < reals.size() ? reals[i] : std::string_view{});
    }
}

} // namespace

std::optional<std::int64_t> idle_cores(const node& where, std::span<const pod* const> on_node) {
    const auto offered = where.allocatable.find(core_name);
    if (offered == where.allocatable.end()) return std::nullopt;
    std::int64_t idle = number(offered->second).value_or(0);
    for (const pod* bound : on_node) idle -= occupied_cores(*bound);
    return idle;
}

npu_node open_node(const node& where, std::span<const pod* const> on_node, const npu_node_info& info, bool first,
                   const quirk_set& quirks) {
    npu_node opened;
    const auto of_vendor = [](const auto& resource) { return resource.first.find(vendor_prefix) != std::string::npos; };
    if (std::ranges::none_of(where.capacity, of_vendor)) return opened; // upstream does not look any further
    opened.idle = idle_cores(where, on_node);
    opened.noded_status = info.noded_status;

    const std::int64_t capacity = number(kubernetes::value_of(where.capacity, core_name)).value_or(0);
    if (capacity <= 0 || !read_totals(opened, where, capacity)) return opened;
    for (const std::int64_t id : chip_ids(listed(kubernetes::value_of(info.device_list, list_name + "-Unhealthy")))) {
        opened.unhealthy.insert(id);
    }
    const auto free = free_chips(where, on_node, info, first, quirks);
    if (!free) return opened;
    for (const std::int64_t id : *free) opened.chips.try_emplace(id, id, opened.cores_per_chip, cpus_per_chip);
    for (const pod* bound : on_node) book(opened, *bound, quirks);
    opened.valid = true;
    return opened;
}

} // namespace vgpualloc::compat::volcano::mindcluster
