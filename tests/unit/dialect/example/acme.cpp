// The acme dialect.
#include "acme.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc::dialects::acme {

namespace {

constexpr const char* memory_resource = "acme.com/memory";
constexpr const char* cards_annotation = "acme.com/cards";
constexpr const char* assigned_annotation = "acme.com/assigned";
constexpr std::int64_t memory_mib_max = std::numeric_limits<std::int32_t>::max();

struct entry {
    std::string uuid;
    mib memory;
};

/// "<uuid>=<MiB>", joined by ','. An entry that cannot be read is a problem and left out.
std::vector<entry> read_entries(std::string_view list, const std::string& where, std::vector<error>& problems) {
    std::vector<entry> entries;
    while (!list.empty()) {
        const std::string_view item = list.substr(0, list.find(','));
        list.remove_prefix(std::min(item.size() + 1, list.size()));
        const std::size_t equals = std::min(item.find('='), item.size());
        const std::string_view digits = item.substr(std::min(equals + 1, item.size()));
        std::int64_t memory = 0;
        const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), memory);
        const bool whole = failure == std::errc{} && end == digits.data() + digits.size();
        if (equals == 0 || !whole || memory < 1 || memory > memory_mib_max) {
            problems.push_back({.code = error_code::malformed,
                                .where = where,
                                .field = "",
                                .value = std::string{item},
                                .expected = "<uuid>=<MiB>"});
            continue;
        }
        entries.push_back({.uuid = std::string{item.substr(0, equals)}, .memory = mib{memory}});
    }
    return entries;
}

class acme_dialect final : public dialect {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return list_entry.name; }
    [[nodiscard]] std::vector<std::string> resources() const override { return {memory_resource}; }
    [[nodiscard]] std::vector<std::string> resource_prefixes() const override { return {"acme.com/"}; }

    [[nodiscard]] bool requests(const kubernetes::pod& pod) const override {
        const auto asks = [](const auto& container) { return container.limits.contains(memory_resource); };
        return std::ranges::any_of(pod.containers, asks);
    }

    [[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& pod) const override {
        pod_request request;
        for (const kubernetes::container& container : pod.containers) {
            const auto limit = container.limits.find(memory_resource);
            if (limit == container.limits.end()) continue;
            if (limit->second < 1 || limit->second > memory_mib_max) {
                return unexpected(error{.code = error_code::out_of_range,
                                        .where = "pod " + pod.ns + "/" + pod.name + ", container " + container.name,
                                        .field = memory_resource,
                                        .value = std::to_string(limit->second),
                                        .expected = "1 to " + std::to_string(memory_mib_max) + " MiB"});
            }
            device_request device;
            device.count = 1;
            device.memory = mib{limit->second};
            device.family = "Acme";
            request.containers.push_back(std::move(device));
        }
        return request;
    }

    [[nodiscard]] node_reading read_node(const node_source& node) const override {
        node_reading reading;
        const std::string where = "node " + node.object.name + ", annotation " + cards_annotation;
        const std::string& written = kubernetes::value_of(node.object.annotations, cards_annotation);
        for (entry& card : read_entries(written, where, reading.problems)) {
            device_registration registered;
            registered.uuid = std::move(card.uuid);
            registered.family = "Acme";
            registered.mode = "hami_core";
            registered.memory = card.memory;
            registered.slots = card.memory.count(); // only memory limits how many share a card
            reading.devices.push_back(std::move(registered));
        }
        return reading;
    }

    void write_node(std::span<const device_registration> devices, kubernetes::node& node,
                    kubernetes::text_map& /*config_map*/) const override {
        std::string& written = node.annotations[cards_annotation];
        for (const device_registration& card : devices) {
            if (card.family != "Acme") continue;
            written += (written.empty() ? "" : ",") + card.uuid + "=" + std::to_string(card.memory.count());
        }
    }

    [[nodiscard]] assignment_reading read_assignment(const kubernetes::pod& pod,
                                                     std::span<const device_registration> devices) const override {
        assignment_reading reading;
        const std::string where = "pod " + pod.ns + "/" + pod.name + ", annotation " + assigned_annotation;
        const std::string& written = kubernetes::value_of(pod.annotations, assigned_annotation);
        std::uint32_t container = 0;
        for (const entry& part : read_entries(written, where, reading.problems)) {
            const auto card = std::ranges::find(devices, part.uuid, &device_registration::uuid);
            if (card != devices.end()) {
                reading.shares.push_back({.container = container,
                                          .device = device_index{static_cast<std::size_t>(card - devices.begin())},
                                          .part = slice{.memory = part.memory, .cores = core_percent{0}}});
            } else {
                reading.problems.push_back({.code = error_code::unknown_name,
                                            .where = where,
                                            .field = "card",
                                            .value = part.uuid,
                                            .expected = "a card that its node registers"});
            }
            ++container;
        }
        return reading;
    }

    [[nodiscard]] kubernetes::text_map write_assignment(const kubernetes::pod& /*pod*/,
                                                        std::span<const device_registration> devices,
                                                        const decision& decided) const override {
        std::string written;
        for (const device_share& share : decided.shares) {
            const auto* part = std::get_if<slice>(&share.part);
            VGA_ASSERT(part != nullptr, "a card in mode hami_core is cut into slices");
            written += (written.empty() ? "" : ",") + devices[share.device.at()].uuid + "=" +
                       std::to_string(part->memory.count());
        }
        return {{assigned_annotation, written}};
    }
};

} // namespace

std::shared_ptr<const dialect> make(const dialect_config& /*config*/) { return std::make_shared<const acme_dialect>(); }

} // namespace vgpualloc::dialects::acme
