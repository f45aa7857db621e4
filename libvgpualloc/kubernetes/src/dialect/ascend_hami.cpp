// The ascend_hami dialect: nodes and requests.
#include "vgpualloc/dialect/ascend_hami.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ascend_hami_parts.hpp"
#include "hami_annotation.hpp"
#include "text.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "vgpuformats/cursor.hpp"
#include "vgpuformats/json.hpp"

namespace vgpualloc::dialects::ascend_hami {

namespace {

using vgpuformats::cursor;
using vgpuformats::document;

constexpr const char* soft_annotation = "hami-vnpu-core";
constexpr vgpuformats::number_range any_amount{0, hami_text::amount_max};

struct registered {
    std::int64_t index = 0;
    device_registration device;
};

/// One entry of the list. Its fields are left out where they are 0, false or empty (Go's omitempty).
std::optional<registered> read_card(const document& entry, const std::string& where, const kind& npus, error& problem) {
    std::optional<error> failure;
    const cursor fields{entry, where, failure};
    registered card;
    card.device.uuid = fields.at("id").filled_text();
    card.index = fields.maybe_integer("index", any_amount).value_or(0);
    card.device.slots = fields.maybe_integer("count", any_amount).value_or(0);
    card.device.memory = mib{fields.at("devmem").integer({1, hami_text::amount_max})};
    card.device.cores = core_percent{fields.at("devcore").integer({1, hami_text::amount_max})};
    card.device.model = fields.maybe_text("type");
    card.device.healthy = fields.has("health") && fields.at("health").flag();
    if (fields.has("custominfo") && fields.at("custominfo").has("NetworkID")) {
        card.device.link_group = static_cast<std::int32_t>(
            fields.at("custominfo").at("NetworkID").integer({0, std::numeric_limits<std::int32_t>::max()}));
    }
    if (card.device.uuid.find_first_of(hami_text::separators) != std::string::npos) {
        fields.at("id").fail(error_code::malformed, "an id without separators");
    }
    if (failure) {
        problem = *std::move(failure);
        return std::nullopt;
    }
    card.device.family = npus.npu.name;
    card.device.mode = mode_name;
    card.device.npu = npus.npu;
    return card;
}

/// The dies of a module are a link group of their own, and none is given out without the other. All cards of the node
/// say the same NetworkID, so that nothing is lost.
void pair_up(std::vector<registered>& cards) {
    for (registered& card : cards) card.device.link_group = static_cast<std::int32_t>(card.index / 2);
    std::vector<bool> complete;
    complete.reserve(cards.size());
    for (const registered& card : cards) {
        complete.push_back(std::ranges::any_of(cards, [&card](const registered& other) {
            return other.index == (card.index ^ 1) && other.device.healthy;
        }));
    }
    for (std::size_t i = 0; i < cards.size(); ++i) cards[i].device.healthy = cards[i].device.healthy && complete[i];
}

/// The node's own word beats the configuration; any text but "true" is no.
bool soft_node(const kubernetes::node& node, const options& configured) {
    const auto annotation = node.annotations.find(soft_annotation);
    return annotation == node.annotations.end() ? configured.soft_by_default : annotation->second == "true";
}

void read_kind(const kubernetes::node& node, const kind& npus, bool soft, bool soft_only, node_reading& reading) {
    const std::string key = register_key(npus);
    const auto annotation = node.annotations.find(key);
    if (annotation == node.annotations.end()) return;
    const std::string where = hami_text::place(node, "annotation", key);
    const auto list = hami_text::read_list(annotation->second, where, "a JSON list of devices", reading.problems);
    if (!list) return;
    std::vector<registered> cards;
    std::set<std::string> ids;
    for (std::size_t i = 0; i < list->size(); ++i) {
        error problem;
        auto card = read_card(list->items[i], where + "[" + std::to_string(i) + "]", npus, problem);
        if (card && !ids.insert(card->device.uuid).second) {
            problem = bad_value(error_code::duplicate, "id", card->device.uuid, "an id that no device before it has")
                          .at(where + "[" + std::to_string(i) + "]");
            card.reset();
        }
        if (!card) {
            reading.problems.push_back(std::move(problem));
            continue;
        }
        card->device.soft = soft;
        card->device.soft_only = soft_only;
        cards.push_back(*std::move(card));
    }
    std::ranges::stable_sort(cards, {}, &registered::index);
    if (npus.super_pod) pair_up(cards);
    for (registered& card : cards) {
        reading.indices.push_back(card.index);
        reading.devices.push_back(std::move(card.device));
    }
}

} // namespace

node_reading ascend_dialect::read_node(const node_source& source) const {
    const kubernetes::node& node = source.object;
    node_reading result;
    const bool soft = soft_node(node, options_);
    for (const kind& npus : options_.kinds) {
        const auto offered = node.allocatable.find(npus.resource);
        if (offered == node.allocatable.end()) continue;
        const auto amount = text::quantity(offered->second);
        if (!amount) {
            result.problems.push_back(
                bad_value(error_code::malformed, "", offered->second.empty() ? "\"\"" : offered->second, "a quantity")
                    .at(hami_text::place(node, "allocatable", offered->first)));
        } else if (*amount > 0) {
            read_kind(node, npus, soft, soft && options_.slices_by_node, result);
        }
    }
    return result;
}

std::vector<std::string> ascend_dialect::resources_counted(const kubernetes::node& node) const {
    std::vector<std::string> names;
    for (const kind& npus : options_.kinds) {
        if (!node.annotations.contains(register_key(npus)) || !text::offers(node, npus.resource)) continue;
        names.insert(names.end(), {npus.resource_memory, npus.resource_core});
    }
    return names;
}

void ascend_dialect::write_node(std::span<const device_registration> devices, kubernetes::node& node,
                                kubernetes::text_map& /*config_map*/) const {
    for (const kind& npus : options_.kinds) {
        document list = document::list();
        std::int64_t ids = 0;
        bool soft = false;
        std::map<std::int32_t, std::int64_t> dies; // of each module, written so far
        for (const device_registration& device : devices) {
            if (device.family != npus.npu.name || device.mode != mode_name) continue;
            document entry = hami_text::registered_entry(device, list.size());
            entry["health"] = device.healthy;
            if (npus.super_pod) {
                // A die's index says which module it is of (pair_up), also where a module has lost its other die.
                entry["index"] = 2 * std::int64_t{device.link_group} + dies[device.link_group]++;
                entry["custominfo"] =
                    document::map({{"NetworkID", 0}}); // ascend-device-plugin: the same for all of them
            } else if (device.link_group != no_link_group) {
                entry["custominfo"] = document::map({{"NetworkID", device.link_group}});
            }
            list.push_back(std::move(entry));
            ids += device.slots;
            soft = soft || device.soft;
        }
        if (list.size() == 0) continue;
        node.annotations[register_key(npus)] = vgpuformats::print_json(list);
        if (soft != options_.soft_by_default) node.annotations[soft_annotation] = soft ? "true" : "false";
        node.allocatable[npus.resource] = std::to_string(ids);
        node.capacity[npus.resource] = std::to_string(ids);
    }
}

ascend_dialect::ascend_dialect(options configured) : listed_dialect{std::move(configured)} {
    for (kind& npus : options_.kinds) {
        if (npus.resource.empty()) npus.resource = "huawei.com/" + npus.npu.name;
        if (npus.resource_memory.empty()) npus.resource_memory = npus.resource + "-memory";
        if (npus.resource_core.empty()) npus.resource_core = npus.resource + "-core";
    }
}

std::vector<std::string> ascend_dialect::resources() const {
    std::vector<std::string> names;
    for (const kind& npus : options_.kinds) {
        names.insert(names.end(), {npus.resource, npus.resource_memory, npus.resource_core});
    }
    return names;
}

std::string ascend_dialect::binding_node(const kubernetes::pod& pod) const { return hami_text::binding_node(pod); }

bool ascend_dialect::requests(const kubernetes::pod& pod) const {
    return std::ranges::any_of(options_.kinds, [&pod](const kind& npus) {
        const auto asks = [&npus](const kubernetes::container& container) {
            return container.limits.contains(npus.resource) || container.limits.contains(npus.resource_memory);
        };
        return std::ranges::any_of(pod.containers, asks) || std::ranges::any_of(pod.init_containers, asks);
    });
}

bool soft_pod(const kubernetes::pod& pod) {
    return kubernetes::value_of(pod.annotations, "huawei.com/vnpu-mode") == "hami-core";
}

namespace {

/// How many cards a container that names `written` of them gets.
expected<std::int64_t> count_of(const kubernetes::pod& pod, const kubernetes::container& container, const kind& npus,
                                std::int64_t written) {
    if (!npus.super_pod || written % 2 == 0) return written;
    if (written == 1) return 2;
    return unexpected(bad_value(error_code::out_of_range, npus.resource, std::to_string(written),
                                "1, which is 2, or an even number: " + npus.npu.name + " comes in pairs")
                          .at(hami_text::place(pod, "container", container.name)));
}

} // namespace

expected<std::optional<device_request>> read_container(const kubernetes::pod& pod,
                                                       const kubernetes::container& container, const kind& npus,
                                                       const options& configured) {
    const bool counted = container.limits.contains(npus.resource);
    if (!counted && !container.limits.contains(npus.resource_memory)) return std::nullopt;
    const auto count = hami_text::amount(pod, container, npus.resource);
    if (!count) return unexpected(count.error());
    const auto memory = hami_text::amount(pod, container, npus.resource_memory, mib{npus.memory_factor});
    if (!memory) return unexpected(memory.error());
    const auto cores = hami_text::amount(pod, container, npus.resource_core);
    if (!cores) return unexpected(cores.error());
    if (counted && *count == 0) return std::nullopt;
    const auto cards = count_of(pod, container, npus, counted ? **count : 1);
    if (!cards) return unexpected(cards.error());
    device_request entry;
    entry.count = *cards;
    // HAMi looks at the number as it is written, before it makes both dies of a module out of 1.
    entry.pair = *cards == 2 && (!counted || **count == 1);
    entry.memory = mib{memory->value_or(0) * npus.memory_factor};
    entry.cores = core_percent{cores->value_or(0)};
    entry.family = npus.npu.name;
    entry.mode = mode_name;
    entry.soft = soft_pod(pod);
    entry.memory_of_first = entry.soft && configured.memory_of_first;
    if (configured.uuid_lists) {
        const std::string word = npus.npu.name + "-uuid";
        entry.uuids_allowed = text::items(kubernetes::value_of(pod.annotations, "hami.io/use-" + word));
        entry.uuids_denied = text::items(kubernetes::value_of(pod.annotations, "hami.io/no-use-" + word));
    }
    return entry;
}

expected<hami_text::container_entries> read_all_containers(const kubernetes::pod& pod, const kind& npus,
                                                           const options& configured) {
    return hami_text::read_containers(
        pod, [&](const kubernetes::container& container) { return read_container(pod, container, npus, configured); });
}

/// A pod that names memory only is given a count.
std::vector<std::string> ascend_dialect::resources_added(const kubernetes::pod& pod) const {
    std::vector<std::string> names;
    for (const kind& npus : options_.kinds) {
        const auto asks = [&](const kubernetes::container& container) {
            const auto entry = read_container(pod, container, npus, options_);
            return entry && *entry;
        };
        if (std::ranges::any_of(pod.containers, asks)) names.push_back(npus.resource);
    }
    return names;
}

expected<pod_request> ascend_dialect::read_pod(const kubernetes::pod& pod) const {
    pod_request request;
    for (const kind& npus : options_.kinds) {
        auto containers = read_all_containers(pod, npus, options_);
        if (!containers) return unexpected(std::move(containers).error());
        for (device_request& entry : containers->entries) {
            // The chips of a 910 board have fast links within their network only.
            if (npus.super_pod || npus.npu.name.starts_with("Ascend910")) request.one_link_group = true;
            request.containers.push_back(std::move(entry));
        }
    }
    request.containers_apart = options_.containers_apart && !request.containers.empty();
    return request;
}

std::shared_ptr<const dialect> make(options configured) {
    return std::make_shared<const ascend_dialect>(std::move(configured));
}

options options_of(const dialect_config& config) {
    options configured;
    configured.soft_by_default = config.devices.hami_vnpu_core;
    configured.slices_by_node = config.devices.npus_of_hami_2_10;
    for (const volcano::vnpu_config& entry : config.devices.vnpus) {
        configured.kinds.push_back({.npu = entry.kind,
                                    .resource = entry.resource_name,
                                    .resource_memory = entry.resource_memory_name,
                                    .resource_core = entry.resource_core_name,
                                    .memory_factor = entry.memory_factor,
                                    .super_pod = entry.super_pod});
    }
    return configured;
}

} // namespace vgpualloc::dialects::ascend_hami
