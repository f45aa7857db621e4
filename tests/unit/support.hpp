// Small clusters, requests and a driver for the unit tests of the core.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc::test {

[[nodiscard]] inline const sharing_mode& mode(std::string_view name) { return *find_mode(name).value(); }

/// A device of 10,000 MiB and 100 % of compute, so that shares are easy to read.
[[nodiscard]] inline device_spec gpu(std::string model = "A", std::int64_t slots = 10,
                                     std::string_view shared = "hami_core") {
    return {.model = std::move(model),
            .memory = mib{10000},
            .cores = core_percent{100},
            .slots = slots,
            .mode = &mode(shared)};
}

/// Adds a node of 32 CPUs, 64,000 bytes of memory and one device per spec. Gives its index.
inline node_index add_node(cluster& to, const std::vector<device_spec>& devices, milli_cpu cpu = milli_cpu{32000}) {
    node added{.name = "n" + std::to_string(to.nodes.size()), .cpu = cpu, .memory = bytes{64000}, .pods_max = 110};
    for (const device_spec& spec : devices) added.devices.push_back({.uuid = "", .kind = to.kind_of(spec)});
    to.nodes.push_back(std::move(added));
    return node_index{to.nodes.size() - 1};
}

[[nodiscard]] inline std::vector<device_spec> many(std::size_t count, const device_spec& spec = gpu()) {
    return std::vector<device_spec>(count, spec);
}

[[nodiscard]] inline device_request want(std::int64_t count, std::int64_t memory_mib, std::int64_t cores = 0) {
    device_request result;
    result.count = count;
    result.memory = mib{memory_mib};
    result.cores = core_percent{cores};
    return result;
}

[[nodiscard]] inline pod_request pod(std::vector<device_request> containers, std::int64_t cpu = 1000) {
    return {.cpu = milli_cpu{cpu}, .memory = bytes{1000}, .containers = std::move(containers)};
}

[[nodiscard]] inline device_share share_of_device(std::size_t device, partition part, std::uint32_t container = 0) {
    return {.container = container, .device = device_index{device}, .part = part};
}

[[nodiscard]] inline slice part(std::int64_t memory_mib, std::int64_t cores = 0) {
    return {.memory = mib{memory_mib}, .cores = core_percent{cores}};
}

[[nodiscard]] inline booking book_on(std::uint32_t pod, node_index where,
                                     std::initializer_list<device_share> shares = {}, std::int64_t cpu = 1000) {
    return {
        .owner = pod_id{pod}, .cpu = milli_cpu{cpu}, .memory = bytes{1000}, .where = {.node = where, .shares = shares}};
}

[[nodiscard]] inline std::unique_ptr<policy> make(std::string_view spelling, workload target = {},
                                                  std::uint64_t seed = 1,
                                                  std::span<const policy_entry> known = native_policies) {
    policy_parameters parameters;
    parameters.target = std::move(target);
    parameters.seed = seed;
    return parse_policy(spelling, known, parameters).value();
}

/// A ledger and an allocator for one policy.
struct placer {
    placer(const cluster& owned, std::string_view spelling, const workload& target = {}, allocator_options options = {})
        : placer{owned, make(spelling, target), options} {}
    placer(const cluster& owned, std::unique_ptr<policy> ranking, allocator_options options = {})
        : scorer{std::move(ranking)}, book{owned}, decider{book, {scorer.get(), scorer.get()}, options} {}

    [[nodiscard]] expected<placement, rejection> decide(const pod_request& request) {
        return decider.decide(decider.intern(request).value());
    }
    expected<placed_pod, rejection> place(const pod_request& request) {
        return decider.place(book, pod_id{pods++}, decider.intern(request).value());
    }
    [[nodiscard]] std::vector<double> scores(const pod_request& request) {
        std::vector<double> result;
        for (const node_answer& answer : decider.evaluate(decider.intern(request).value())) {
            result.push_back(answer.score);
        }
        return result;
    }

    std::unique_ptr<policy> scorer;
    ledger book;
    allocator decider;
    std::uint32_t pods = 1000;
};

[[nodiscard]] inline std::int64_t nodes_refused(const rejection& reasons, rejection_code code) {
    return reasons.nodes[static_cast<std::size_t>(code)];
}

} // namespace vgpualloc::test
