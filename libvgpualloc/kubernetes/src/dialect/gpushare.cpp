// The gpushare dialect.
#include "vgpualloc/dialect/gpushare.hpp"
#include "vgpualloc/dialect/config.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "listed_dialect.hpp"
#include "text.hpp"

namespace vgpualloc::dialects::gpushare {

namespace {

constexpr std::int64_t whole_percent = 100;

error out_of_range(const kubernetes::pod& pod, const std::string& name, std::string value) {
    return bad_value(error_code::out_of_range, name, value, "whole numbers from 0, their sum below 2^63")
        .at("pod " + pod.ns + "/" + pod.name);
}

/// The larger of the sum of the containers and of the largest init container.
expected<std::int64_t> amount_of(const kubernetes::pod& pod, const std::string& name) {
    std::int64_t sum = 0;
    std::int64_t largest = 0;
    for (const auto* const list : {&pod.containers, &pod.init_containers}) {
        for (const kubernetes::container& container : *list) {
            const auto limit = container.limits.find(name);
            if (limit == container.limits.end()) continue;
            if (limit->second < 0) return unexpected(out_of_range(pod, name, std::to_string(limit->second)));
            if (list == &pod.init_containers) {
                largest = std::max(largest, limit->second);
            } else if (__builtin_add_overflow(sum, limit->second, &sum)) {
                return unexpected(out_of_range(pod, name, std::to_string(limit->second)));
            }
        }
    }
    return std::max(sum, largest);
}

void mark_unhealthy(const kubernetes::node& node, node_reading& reading) {
    const auto listed = node.annotations.find(unhealthy_annotation);
    if (listed == node.annotations.end()) return;
    for (const std::string& item : text::items(listed->second)) {
        const auto position = text::whole_number(item, cards_max);
        if (position && static_cast<std::size_t>(*position) < reading.devices.size()) {
            reading.devices[static_cast<std::size_t>(*position)].healthy = false;
        } else {
            reading.problems.push_back(
                bad_value(error_code::malformed, unhealthy_annotation, item,
                          "the position of a card, below " + std::to_string(reading.devices.size()))
                    .at("node " + node.name));
        }
    }
}

class gpushare_dialect final : public listed_dialect<list_entry, options> {
public:
    using listed_dialect::listed_dialect;

    [[nodiscard]] std::string_view usual_scheduler() const noexcept override { return "volcano"; }

    [[nodiscard]] std::vector<std::string> resources() const override {
        return {options_.memory_name, options_.number_name};
    }
    [[nodiscard]] std::vector<std::string> resource_prefixes() const override { return {"volcano.sh/"}; }
    [[nodiscard]] bool asks_as_one() const noexcept override { return true; }
    [[nodiscard]] bool reads_init_containers() const noexcept override { return true; }
    [[nodiscard]] request_findings check_pod(const kubernetes::pod& pod) const override {
        request_findings findings;
        const bool by_memory = ways_for(pod).memory;
        for (const kubernetes::container* container : text::all_containers(pod)) {
            text::check_amounts(*container, options_.number_name, options_.memory_name, mib{1}, findings);
            if (!by_memory || !container->limits.contains(options_.number_name)) continue;
            const bool has_both = container->limits.contains(options_.memory_name);
            findings.notes.push_back(has_both
                                         ? text::ignored_words(*container, options_.number_name, options_.memory_name)
                                         : "container " + container->name + ": " + options_.number_name +
                                               " does not count in a pod that asks for " + options_.memory_name);
        }
        return findings;
    }

    [[nodiscard]] bool requests(const kubernetes::pod& pod) const override {
        const ways enabled = ways_for(pod);
        // An amount that cannot be read asks for something too: read_pod() says what is wrong with it.
        const auto asks = [&pod](bool counts, const std::string& name) {
            return counts && amount_of(pod, name).value_or(1) > 0;
        };
        return asks(enabled.memory, options_.memory_name) || asks(enabled.number, options_.number_name);
    }

    [[nodiscard]] expected<pod_request> read_pod(const kubernetes::pod& pod) const override {
        const ways enabled = ways_for(pod);
        if (enabled.memory && enabled.number) {
            return unexpected(
                bad_input(error_code::unsupported, "", "sharing by memory and by number cannot be enabled together")
                    .at("gpushare"));
        }
        pod_request request;
        if (!enabled.memory && !enabled.number) return request;
        const auto amount = amount_of(pod, enabled.memory ? options_.memory_name : options_.number_name);
        if (!amount) return unexpected(amount.error());
        if (*amount == 0) return request;
        device_request entry;
        entry.family = family;
        if (enabled.memory) {
            entry.count = 1;
            entry.memory = mib{*amount};
        } else {
            entry.count = *amount;
            entry.memory_percent = whole_percent;
            entry.cores = whole_compute;
        }
        request.containers.push_back(std::move(entry));
        return request;
    }

    [[nodiscard]] node_reading read_node(const node_source& source) const override {
        const kubernetes::node& node = source.object;
        node_reading reading;
        if (!node.capacity.contains(options_.memory_name) && !node.capacity.contains(options_.number_name))
            return reading;
        const auto read = [&](const std::string& name, std::int64_t most) -> std::optional<std::int64_t> {
            const std::string& written = kubernetes::value_of(node.capacity, name);
            const auto amount = text::quantity(written);
            if (amount && *amount <= most) return amount;
            reading.problems.push_back(bad_value(error_code::malformed, "capacity " + name, written,
                                                 "a quantity up to " + std::to_string(most))
                                           .at("node " + node.name));
            return std::nullopt;
        };
        const auto memory = read(options_.memory_name, std::numeric_limits<std::int64_t>::max());
        const auto number = read(options_.number_name, cards_max);
        if (!memory || !number || *number == 0) return reading;
        const mib per_card{*memory / *number};
        const bool too_small = per_card == mib{0};
        if (too_small) {
            reading.problems.push_back(bad_value(error_code::out_of_range, "capacity " + options_.memory_name,
                                                 std::to_string(*memory), "at least 1 for every card")
                                           .at("node " + node.name));
        }
        for (std::int64_t i = 0; i < *number; ++i) {
            reading.devices.push_back({.uuid = node.name + "/" + std::to_string(i),
                                       .model = "",
                                       .family = std::string{family},
                                       .mode = "hami_core",
                                       .memory = too_small ? mib{1} : per_card, // the ledger counts shares of it
                                       .slots = slots,
                                       .healthy = !too_small,
                                       .geometry = {},
                                       .npu = {}});
        }
        mark_unhealthy(node, reading);
        return reading;
    }

    void write_node(std::span<const device_registration> devices, kubernetes::node& node,
                    kubernetes::text_map& /*config_map*/) const override {
        mib per_card;
        std::string unhealthy;
        for (std::size_t i = 0; i < devices.size(); ++i) {
            per_card = i == 0 ? devices[i].memory : std::min(per_card, devices[i].memory);
            if (!devices[i].healthy) unhealthy += (unhealthy.empty() ? "" : ",") + std::to_string(i);
        }
        const auto number = static_cast<std::int64_t>(devices.size());
        for (auto* const offered : {&node.capacity, &node.allocatable}) {
            (*offered)[options_.memory_name] = std::to_string(per_card.count() * number);
            (*offered)[options_.number_name] = std::to_string(number);
        }
        node.annotations.erase(unhealthy_annotation);
        if (!unhealthy.empty()) node.annotations[unhealthy_annotation] = unhealthy;
    }

    [[nodiscard]] assignment_reading read_assignment(const kubernetes::pod& pod,
                                                     std::span<const device_registration> devices) const override {
        assignment_reading reading;
        const auto written = pod.annotations.find(index_annotation);
        if (written == pod.annotations.end()) return reading;
        const auto problem = [&](error_code code, std::string_view value, std::string expected) {
            reading.problems.push_back(
                bad_value(code, index_annotation, value, std::move(expected)).at("pod " + pod.ns + "/" + pod.name));
        };
        const auto request = read_pod(pod);
        if (!request) {
            reading.problems.push_back(request.error());
            return reading;
        }
        if (request->containers.empty()) return reading; // upstream books nothing for a pod that asks for nothing
        const device_request& entry = request->containers.front();
        for (const auto item : text::split(written->second, ',')) {
            const auto position = text::whole_number(text::trimmed(item), cards_max);
            if (!position || static_cast<std::size_t>(*position) >= devices.size()) {
                problem(error_code::malformed, item, "the position of a card, below " + std::to_string(devices.size()));
                continue;
            }
            const device_index card{static_cast<std::size_t>(*position)};
            if (std::ranges::find(reading.shares, card, &device_share::device) != reading.shares.end()) {
                problem(error_code::duplicate, item, "every card once");
                continue;
            }
            const mib memory = ways_for(pod).memory ? entry.memory : devices[card.at()].memory;
            reading.shares.push_back({.device = card, .part = slice{.memory = memory, .cores = entry.cores}});
        }
        if (static_cast<std::int64_t>(reading.shares.size()) != entry.count && reading.problems.empty()) {
            problem(error_code::mismatch, written->second, std::to_string(entry.count) + " cards, as the pod asks for");
        }
        return reading;
    }

    [[nodiscard]] bool times_in_nanoseconds() const noexcept override { return true; }
    [[nodiscard]] kubernetes::text_map write_assignment(const kubernetes::pod& /*pod*/,
                                                        std::span<const device_registration> /*devices*/,
                                                        const decision& decided) const override {
        std::string cards;
        for (const device_share& share : decided.shares) {
            cards += (cards.empty() ? "" : ",") + std::to_string(share.device.value());
        }
        return {{"volcano.sh/predicate-time", decided.time}, {index_annotation, cards}};
    }

    [[nodiscard]] deviceshare_service deviceshare(const kubernetes::pod& pod) const override {
        return {.argument = ways_for(pod).memory ? "GPUSharingEnable" : "GPUNumberEnable"};
    }

private:
    struct ways {
        bool memory = false;
        bool number = false;
    };
    /// The ways in which this pod is read.
    [[nodiscard]] ways ways_for(const kubernetes::pod& pod) const {
        if (!options_.way_by_pod) return {.memory = options_.memory_enabled, .number = options_.number_enabled};
        bool memory = false;
        bool number = false;
        for (const kubernetes::container& container : pod.containers) {
            memory = memory || container.limits.contains(options_.memory_name);
            number = number || container.limits.contains(options_.number_name);
        }
        const bool by_number = number && (options_.number_first || !memory);
        return {.memory = !by_number, .number = by_number};
    }
};

} // namespace

std::shared_ptr<const dialect> make(options configured) {
    return std::make_shared<const gpushare_dialect>(std::move(configured));
}

options options_of(const dialect_config& config) {
    return {.way_by_pod = true, .number_first = config.gpushare_by_number};
}

} // namespace vgpualloc::dialects::gpushare
