#include "machine.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "nvml_abi.hpp"
#include "rules.hpp"

namespace fake_nvml {

namespace {

using nlohmann::json;

/// A field that may be missing or null.
template <class T>
[[nodiscard]] T value_or(const json& object, const char* field, T otherwise) {
    const auto entry = object.find(field);
    return entry == object.end() || entry->is_null() ? otherwise : entry->get<T>();
}

template <class T>
[[nodiscard]] std::optional<T> optional_of(const json& object, const char* field) {
    const auto entry = object.find(field);
    return entry == object.end() || entry->is_null() ? std::nullopt : std::optional<T>{entry->get<T>()};
}

/// The entries of a list; none where it is missing or null.
[[nodiscard]] json list_of(const json& object, const char* field) {
    const auto entry = object.find(field);
    if (entry == object.end() || entry->is_null()) return json::array();
    if (!entry->is_array()) throw std::runtime_error{std::string{field} + " is no list"};
    return *entry;
}

[[nodiscard]] process read_process(const json& object) {
    return {.pid = object.at("pid").get<std::uint32_t>(),
            .gi = optional_of<std::uint32_t>(object, "gi"),
            .memory_bytes = value_or(object, "memory_bytes", std::uint64_t{0})};
}

[[nodiscard]] gpu read_gpu(const json& object) {
    gpu card{.uuid = object.at("uuid").get<std::string>(),
             .name = value_or(object, "name", std::string{}),
             .memory_bytes = value_or(object, "memory_bytes", std::uint64_t{0}),
             .minor = value_or(object, "minor", std::int64_t{0}),
             .compute_capability = value_or(object, "compute_capability", std::string{}),
             .pci_bus = value_or(object, "pci_bus", std::string{}),
             .mig_capable = value_or(object, "mig_capable", false),
             .mig_enabled = value_or(object, "mig_enabled", false),
             .mig_needs_reset = value_or(object, "mig_needs_reset", false),
             .mig_pending = optional_of<bool>(object, "mig_pending"),
             .lost = value_or(object, "lost", false),
             .used_bytes = value_or(object, "used_bytes", std::uint64_t{0}),
             .sm_percent = value_or(object, "sm_percent", std::uint32_t{0})};
    for (const json& entry : list_of(object, "processes")) card.processes.push_back(read_process(entry));
    const std::string table = value_or(object, "mig_table", std::string{});
    if (card.mig_capable) card.table = table_of(table, card.name);
    if (card.mig_capable && card.table == nullptr && !table.empty() && table != "none") {
        throw std::runtime_error{"mig_table \"" + table + "\" is neither a recorded table nor a model of the catalog"};
    }
    return card;
}

[[nodiscard]] instance read_instance(const json& object, const machine& host) {
    instance made{.gpu = value_or(object, "gpu", std::size_t{0}),
                  .gi = value_or(object, "gi", std::uint32_t{0}),
                  .profile_id = value_or(object, "profile_id", std::uint32_t{0}),
                  .start = value_or(object, "start", std::uint32_t{0}),
                  .size = object.at("size").get<std::uint32_t>(),
                  .busy = value_or(object, "busy", false)};
    if (made.gpu >= host.gpus.size())
        throw std::runtime_error{"gpu " + std::to_string(made.gpu) + " is not among gpus"};
    if (const auto compute = object.find("compute"); compute == object.end() || compute->is_null()) {
        const std::uint32_t whole = compute_profile_of(compute_slices_of(host, made));
        made.compute.push_back({0, whole == abi::compute_profile_count ? 0 : whole});
    }
    for (const json& entry : list_of(object, "compute")) {
        made.compute.push_back({value_or(entry, "ci", std::uint32_t{0}), value_or(entry, "profile", std::uint32_t{0})});
    }
    return made;
}

[[nodiscard]] event read_event(const json& object) {
    const std::string type = value_or(object, "type", std::string{"xid"});
    event reported{.gpu = value_or(object, "gpu", std::int64_t{0}), .xid = value_or(object, "xid", std::uint64_t{0})};
    if (type == "xid") {
        reported.type = abi::event_xid;
    } else if (type == "ecc_double") {
        reported.type = abi::event_ecc_double;
    } else if (type == "ecc_single") {
        reported.type = abi::event_ecc_single;
    } else {
        throw std::runtime_error{"type \"" + type + "\", expected xid, ecc_double or ecc_single"};
    }
    return reported;
}

[[nodiscard]] fault read_fault(const json& object) {
    const std::string kill = value_or(object, "kill", std::string{});
    fault planned{.call = object.at("call").get<std::string>(),
                  .gpu_uuid = value_or(object, "gpu_uuid", std::string{}),
                  .code = value_or(object, "nvml_return", 0),
                  .after_calls = value_or(object, "after_calls", std::int64_t{0}),
                  .times = value_or(object, "times", std::int64_t{0}),
                  .delay_ms = value_or(object, "delay_ms", std::int64_t{0}),
                  .good_calls = value_or(object, "good_calls", std::int64_t{0}),
                  .met = value_or(object, "met", std::int64_t{0})};
    if (kill == "before") {
        planned.kill = kill_point::before;
    } else if (kill == "after") {
        planned.kill = kill_point::after;
    } else if (!kill.empty()) {
        throw std::runtime_error{"kill \"" + kill + "\", expected before or after"};
    }
    return planned;
}

/// Reads each entry of a list; an error says which.
template <class Read>
void read_each(const json& document, const char* field, const Read& read) {
    std::size_t position = 0;
    for (const json& entry : list_of(document, field)) {
        try {
            read(entry);
        } catch (const std::exception& failure) {
            throw std::runtime_error{std::string{field} + '[' + std::to_string(position) + "]: " + failure.what()};
        }
        ++position;
    }
}

[[nodiscard]] json written(const instance& made) {
    json compute = json::array();
    for (const compute_instance& part : made.compute) compute.push_back({{"ci", part.id}, {"profile", part.profile}});
    json object{{"gpu", made.gpu},
                {"gi", made.gi},
                {"profile_id", made.profile_id},
                {"start", made.start},
                {"size", made.size}};
    object["compute"] = std::move(compute);
    if (made.busy) object["busy"] = true;
    return object;
}

} // namespace

std::size_t machine::index_of(std::string_view uuid) const noexcept {
    return static_cast<std::size_t>(std::ranges::find(gpus, uuid, &gpu::uuid) - gpus.begin());
}

const instance* machine::find(std::size_t gpu_index, std::uint32_t gi) const noexcept {
    for (const instance& made : instances) {
        if (made.gpu == gpu_index && made.gi == gi) return &made;
    }
    return nullptr;
}

instance* machine::find(std::size_t gpu_index, std::uint32_t gi) noexcept {
    for (instance& made : instances) {
        if (made.gpu == gpu_index && made.gi == gi) return &made;
    }
    return nullptr;
}

bool hits(const fault& planned, std::string_view call, std::string_view uuid) noexcept {
    if (!planned.gpu_uuid.empty() && planned.gpu_uuid != uuid) return false;
    if (planned.call == call) return true;
    return planned.call == "nvmlDeviceCreateGpuInstance" && call == "nvmlDeviceCreateGpuInstanceWithPlacement";
}

std::size_t next_fault(const machine& host, std::string_view call, std::string_view uuid) noexcept {
    const auto next = std::ranges::find_if(host.faults, [&](const fault& planned) {
        const bool over = planned.times > 0 && planned.met >= planned.times;
        return planned.good_calls >= planned.after_calls && !over && hits(planned, call, uuid);
    });
    return static_cast<std::size_t>(next - host.faults.begin());
}

vgpualloc::expected<machine, std::string> read_machine(const json& document) {
    try {
        machine host;
        read_each(document, "gpus", [&](const json& entry) { host.gpus.push_back(read_gpu(entry)); });
        read_each(document, "mig_instances",
                  [&](const json& entry) { host.instances.push_back(read_instance(entry, host)); });
        read_each(document, "xid_events", [&](const json& entry) { host.events.push_back(read_event(entry)); });
        read_each(document, "nvml_faults", [&](const json& entry) { host.faults.push_back(read_fault(entry)); });
        read_each(document, "mig_uuids", [&](const json& entry) {
            host.mig_uuids.push_back({entry.at("gpu_uuid").get<std::string>(), value_or(entry, "gi", std::uint32_t{0}),
                                      value_or(entry, "ci", std::uint32_t{0}),
                                      value_or(entry, "profile_id", std::uint32_t{0}),
                                      entry.at("uuid").get<std::string>()});
        });
        host.reverse_index_order = value_or(document, "mig_index_order", std::string{}) == "reverse";
        host.replay_events = value_or(document, "replay_events", false);
        return host;
    } catch (const std::exception& failure) {
        return vgpualloc::unexpected(std::string{failure.what()});
    }
}

void write_changes(const machine& changed, json& document) {
    json instances = json::array();
    for (const instance& made : changed.instances) instances.push_back(written(made));
    document["mig_instances"] = std::move(instances);
    for (std::size_t index = 0; index < changed.gpus.size(); ++index) {
        json& object = document["gpus"][index];
        const gpu& card = changed.gpus[index];
        object["mig_enabled"] = card.mig_enabled;
        object.erase("mig_pending");
        if (card.mig_pending) object["mig_pending"] = *card.mig_pending;
    }
    for (std::size_t position = 0; position < changed.faults.size(); ++position) {
        json& object = document["nvml_faults"][position];
        const fault& planned = changed.faults[position];
        if (planned.good_calls > 0) object["good_calls"] = planned.good_calls;
        if (planned.met > 0) object["met"] = planned.met;
    }
}

} // namespace fake_nvml
