#include "pod_requests.hpp"

#include <utility>

#include "device_resources.hpp"
#include "fields.hpp"
#include "vgpualloc/dialect/quantity.hpp"

namespace vgputraces {

namespace {

using vgpualloc::kubernetes::quantity_unit;
using vgpualloc::kubernetes::rounding;

constexpr std::int64_t cpu_milli_of_container_max = 1'000'000'000;
constexpr std::int64_t memory_of_container_max = std::int64_t{1} << 50;

std::int64_t quantity_in(const cursor& value, quantity_unit unit, rounding rest, std::int64_t most) {
    const document* written = value.value();
    if (written == nullptr || written->size() > 0) {
        value.fail(error_code::malformed, "a quantity of Kubernetes as \"500m\" or \"2Gi\"");
        return 0;
    }
    const auto amount = vgpualloc::kubernetes::parse_quantity(written->text, unit, rest);
    if (!amount) {
        value.fail(amount.error().code, amount.error().expected);
    } else if (*amount > most) {
        value.fail(error_code::out_of_range, "at most " + std::to_string(most));
    } else {
        return *amount;
    }
    return 0;
}

void take_amount(const std::string& resource, const cursor& value, accounted_container& container) {
    if (resource == "cpu") {
        container.cpu =
            milli_cpu{quantity_in(value, quantity_unit::thousandth, rounding::up, cpu_milli_of_container_max)};
    } else if (resource == "memory") {
        container.memory =
            vgpualloc::bytes{quantity_in(value, quantity_unit::one, rounding::up, memory_of_container_max)};
    } else if (is_device_resource(resource)) {
        const std::int64_t amount = quantity_in(value, quantity_unit::one, rounding::refuse, job_devices_max);
        if (amount > 0) container.devices.insert_or_assign(resource, amount);
    }
}

} // namespace

std::vector<accounted_container> containers_in(const cursor& pod_spec) {
    std::vector<accounted_container> containers;
    for (const cursor& from : pod_spec.at("containers").items(0)) {
        accounted_container& container = containers.emplace_back();
        if (!from.has("resources")) continue;
        // Requests go before limits, which stand for those that are missing.
        for (const char* key : {"limits", "requests"}) {
            if (!from.at("resources").has(key)) continue;
            for (const auto& [resource, value] : from.at("resources").at(key).entries()) {
                take_amount(resource, value, container);
            }
        }
    }
    return containers;
}

void set_containers(accounted_job& job, std::vector<accounted_container> containers) {
    job.containers = std::move(containers);
    for (const accounted_container& container : job.containers) {
        job.cpu += container.cpu * job.pods;
        job.memory += container.memory * job.pods;
        for (const auto& [resource, amount] : container.devices) {
            if (counts_as_gpus(resource)) job.gpus += amount * job.pods;
        }
    }
}

ticks required_time(const cursor& map, std::string_view key) {
    const cursor value = map.at(key);
    const auto time = parse_iso_time(value.text());
    if (time) return *time;
    value.fail(time.error().code, "a time of ISO 8601 as 2026-11-25T13:00:00Z");
    return {};
}

std::optional<ticks> maybe_time(const cursor& map, std::string_view key) {
    if (!map.has(key)) return std::nullopt;
    return required_time(map, key);
}

std::string table_text(const cursor& value) {
    std::string text = value.filled_text();
    if (!is_table_text(text)) {
        value.fail(error_code::malformed, "a name in UTF-8 without commas, quotes and control characters");
    }
    return text;
}

expected<void> for_each_object(const document& object, const std::string& name,
                               const std::function<expected<void>(const document&)>& read) {
    std::optional<error> failure;
    const cursor from{object, name, failure, vgpuformats::place_style::line};
    if (!from.has("items")) return read(object);
    const std::vector<cursor> items = from.at("items").items(0);
    if (failure) return unexpected(*std::move(failure));
    for (const cursor& item : items) {
        if (auto done = for_each_object(*item.value(), name, read); !done) return done;
    }
    return {};
}

} // namespace vgputraces
