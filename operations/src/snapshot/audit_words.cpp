// An audit in words.
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "vgpualloc/explain/words.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuops/snapshot/audit.hpp"

namespace vgpuops::snapshots {

namespace {

/// "1 node", "2 nodes".
std::string counted(std::int64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string instance_words(const device_use& use) {
    std::string list;
    for (const auto& [name, count] : use.instances) list += printable(fmt::format(", {} x {}", count, name));
    return list;
}

std::string use_words(const device_use& use) {
    return fmt::format("{} used, {} MiB, cores {}, {}{}", counted(use.devices, "device"), use.memory_mib, use.cores,
                       counted(use.containers, "share"), instance_words(use));
}

document use_json(const device_use& use) {
    return document::map({{"devices", use.devices},
                          {"memory_mib", use.memory_mib},
                          {"cores", use.cores},
                          {"containers", use.containers},
                          {"instances", document::map_of(use.instances)}});
}

document error_json(const error& problem) {
    return document::map({{"where", problem.where},
                          {"field", problem.field},
                          {"value", problem.value},
                          {"expected", problem.reason()},
                          {"message", problem.message()}});
}

} // namespace

std::string audit_text(const audit& audited, const kube::snapshot& state) {
    std::string text = fmt::format("{}, {} on them, {} waiting, {} on unknown nodes\n",
                                   counted(std::ssize(state.nodes().nodes), "node"),
                                   counted(std::ssize(state.bound), "pod"), state.pending.size(), state.strays.size());
    for (const dialect_audit& entry : audited.dialects) {
        text += fmt::format("\n{}: {}, {} ({} in service) of {} MiB; {} run, {} waiting\n", entry.dialect,
                            counted(entry.nodes, "node"), counted(entry.devices, "device"), entry.in_service,
                            entry.memory_mib, counted(entry.running, "pod"), entry.waiting);
        text += fmt::format("  ledger       {}\n", use_words(entry.counted));
        text += entry.by_kubelet
                    ? std::string{"  annotations  none: the kubelet chooses the devices, pods count by amount\n"}
                    : fmt::format("  annotations  {}\n", use_words(entry.annotated));
    }
    text += fmt::format("\nwritten back from the ledger: {} read as the same\n", counted(audited.written_back, "pod"));
    if (audited.differences.empty()) return text + "no differences\n";
    text += fmt::format("{}:\n", counted(std::ssize(audited.differences), "difference"));
    for (const std::string& line : explaining::warning_lines(audited.differences)) text += "  " + line + "\n";
    return text;
}

std::string audit_json(const audit& audited, const kube::snapshot& state) {
    document result = document::map({{"nodes", state.nodes().nodes.size()},
                                     {"pods", document::map({{"running", state.bound.size()},
                                                             {"waiting", state.pending.size()},
                                                             {"on_unknown_nodes", state.strays.size()}})},
                                     {"dialects", document::list()},
                                     {"written_back", audited.written_back},
                                     {"differences", document::list()}});
    for (const dialect_audit& entry : audited.dialects) {
        document row = document::map({{"dialect", entry.dialect},
                                      {"nodes", entry.nodes},
                                      {"devices", entry.devices},
                                      {"in_service", entry.in_service},
                                      {"memory_mib", entry.memory_mib},
                                      {"running", entry.running},
                                      {"waiting", entry.waiting},
                                      {"ledger", use_json(entry.counted)},
                                      {"annotations", entry.by_kubelet ? document{} : use_json(entry.annotated)}});
        result["dialects"].push_back(std::move(row));
    }
    for (const auto& problem : audited.differences) result["differences"].push_back(error_json(problem));
    return vgpuformats::print_json(result, 2) + "\n";
}

} // namespace vgpuops::snapshots
