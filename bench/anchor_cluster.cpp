// Making the half-full cluster of the recorded times.
#include "anchor_cluster.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/mode/hami_core.hpp"
#include "vgpualloc/mode/mig_groups.hpp"

namespace vgpubench {

using namespace vgpualloc;

namespace {

constexpr std::int64_t gpus_per_node = 8;
constexpr std::int64_t gpus_per_link_group = 4;
constexpr mib gpu_memory{40960};
constexpr std::uint32_t instances = 7;      // of 1g.5gb, the first profile in the groups and in the catalog
constexpr std::uint32_t instances_used = 3; // on every GPU

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "bench: %s\n", why.c_str());
    std::exit(2);
}

/// As an administrator configures an A100-40GB: the order is the order of preference.
std::vector<mig_group> groups_of_a100() {
    const mig_kind small{.name = "1g.5gb", .memory = mib{5120}, .count = 7};
    mig_kind one_small = small;
    one_small.count = 1;
    return {{.name = "group1", .kinds = {small}},
            {.name = "group2", .kinds = {{.name = "2g.10gb", .memory = mib{10240}, .count = 3}, one_small}},
            {.name = "group3", .kinds = {{.name = "3g.20gb", .memory = mib{20480}, .count = 2}}},
            {.name = "group4", .kinds = {{.name = "7g.40gb", .memory = mib{40960}, .count = 1}}}};
}

const sharing_mode& mode_of(sharing kind) {
    static const modes::hami_core slices;
    static const modes::mig_groups grouped{groups_of_a100()};
    switch (kind) {
    case sharing::hami_core:
        return slices;
    case sharing::mig_groups:
        return grouped;
    case sharing::mig:
        break;
    }
    return **find_mode("mig");
}

} // namespace

std::string name_of(sharing kind) {
    constexpr std::array names{"hami_core", "mig_groups", "mig"};
    return names[static_cast<std::size_t>(kind)];
}

std::string name_of(naming kind) {
    constexpr std::array names{"nothing", "denied_uuids", "allowed_uuids", "avoided_tag", "one_link_group"};
    return names[static_cast<std::size_t>(kind)];
}

anchor_cluster::anchor_cluster(const anchor_options& options)
    : options_{options}, draw_{rng{options.seed}.fork("anchor cluster")}, nodes_{make_nodes()}, book{nodes_} {
    fill();
    const std::size_t distinct = distinct_nodes();
    if (distinct < nodes_.nodes.size()) {
        give_up("only " + std::to_string(distinct) + " of " + std::to_string(nodes_.nodes.size()) +
                " nodes are in a state of their own: take another seed");
    }
}

cluster anchor_cluster::make_nodes() const {
    cluster result;
    const auto& mode = mode_of(options_.kind);
    const auto kind = result.kind_of(mode.adapted(
        {.model = "NVIDIA A100-SXM4-40GB", .family = "NVIDIA", .memory = gpu_memory, .slots = 10, .mode = &mode}));
    for (std::int64_t n = 0; n < options_.nodes; ++n) {
        node added{.name = "node-" + std::to_string(n),
                   .cpu = milli_cpu{128'000},
                   .memory = to_bytes(mib{std::int64_t{1} << 20}),
                   .pods_max = 1'000};
        for (std::int64_t g = 0; g < gpus_per_node; ++g) {
            added.devices.push_back({.uuid = added.name + "-gpu-" + std::to_string(g),
                                     .kind = kind,
                                     .link_group = static_cast<std::int32_t>(g / gpus_per_link_group)});
        }
        result.nodes.push_back(std::move(added));
    }
    return result;
}

void anchor_cluster::book_one(node_index where, device_index on, const partition& part) {
    const pod_id pod{pods++};
    const bool booked =
        book.reserve({.owner = pod,
                      .cpu = {},
                      .memory = {},
                      .where = {.node = where, .shares = {{.container = 0, .device = on, .part = part}}}})
            .has_value();
    if (!booked) give_up("a pod of the half-full cluster does not fit");
    book.commit(pod);
}

void anchor_cluster::fill_with_slices(node_index where, device_index on) {
    constexpr int pods_per_gpu = 2;
    for (int i = 0; i < pods_per_gpu; ++i) {
        book_one(where, on, slice{.memory = mib{10240}, .cores = core_percent{20}});
    }
    if (draw_.below(4) == 0) return;
    const auto memory = static_cast<std::int64_t>(16 * (1 + draw_.below(64)));
    const auto cores = static_cast<std::int64_t>(1 + draw_.below(5));
    book_one(where, on, slice{.memory = mib{memory}, .cores = core_percent{cores}});
}

void anchor_cluster::fill_with_instances(node_index where, device_index on) {
    std::array<std::uint32_t, instances> starts{0, 1, 2, 3, 4, 5, 6};
    draw_.shuffle(starts);
    for (std::uint32_t i = 0; i < instances_used; ++i) {
        book_one(where, on, mig_instance{.profile = 0, .start = starts[i], .cores = {}});
    }
}

void anchor_cluster::fill() {
    for (std::size_t n = 0; n < nodes_.nodes.size(); ++n) {
        for (std::size_t g = 0; g < nodes_.nodes[n].devices.size(); ++g) {
            if (options_.kind == sharing::hami_core) {
                fill_with_slices(node_index{n}, device_index{g});
            } else {
                fill_with_instances(node_index{n}, device_index{g});
            }
        }
    }
}

std::size_t anchor_cluster::distinct_nodes() const {
    std::set<std::vector<device_state>> seen;
    for (std::size_t n = 0; n < nodes_.nodes.size(); ++n) {
        const auto states = book.devices(node_index{n});
        std::vector<device_state> sorted(states.begin(), states.end());
        std::ranges::sort(sorted);
        seen.insert(std::move(sorted));
    }
    return seen.size();
}

pod_request anchor_cluster::request(std::int64_t count) const {
    device_request container;
    container.count = count;
    container.memory = options_.kind == sharing::hami_core ? mib{4096} : mib{5000};
    if (options_.kind == sharing::hami_core) container.cores = core_percent{10};
    return {.cpu = milli_cpu{0}, .memory = bytes{0}, .containers = {container}};
}

std::vector<pod_request> anchor_cluster::classes(std::int64_t count) const {
    constexpr std::int64_t class_count = 64;
    constexpr std::array<std::int64_t, 4> counts{1, 2, 4, 8};
    std::vector<pod_request> result;
    for (std::int64_t i = 0; i < class_count; ++i) {
        pod_request pod = request(count != 0 ? count : counts[static_cast<std::size_t>(i) % counts.size()]);
        device_request& container = pod.containers.front();
        // 64 amounts; the odd step keeps memory and cores from rising together.
        container.memory = options_.kind == sharing::hami_core ? mib{1024 + 128 * i} : mib{1088 + 64 * i};
        container.cores = core_percent{options_.kind == sharing::hami_core ? 1 + i * 7 % 20 : i * 7 % 10};
        result.push_back(std::move(pod));
    }
    return result;
}

std::vector<std::string> anchor_cluster::uuids_of_nodes(std::size_t first, std::size_t count) const {
    std::vector<std::string> uuids;
    for (std::size_t n = first; n < first + count; ++n) {
        for (const device& gpu : nodes_.nodes[n % nodes_.nodes.size()].devices) uuids.push_back(gpu.uuid);
    }
    return uuids;
}

std::vector<pod_request> anchor_cluster::classes_naming(std::int64_t count, naming kind) const {
    constexpr std::size_t nodes_allowed = 16;
    std::vector<pod_request> requests = classes(count);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        pod_request& request = requests[i];
        device_request& container = request.containers.front();
        switch (kind) {
        case naming::nothing:
            break;
        case naming::denied_uuids:
            container.uuids_denied = uuids_of_nodes(i, 1);
            break;
        case naming::allowed_uuids:
            container.uuids_allowed = uuids_of_nodes(i * nodes_allowed, nodes_allowed);
            break;
        case naming::avoided_tag:
            request.tags = {"batch"};
            request.avoids = {"batch"};
            break;
        case naming::one_link_group:
            request.one_link_group = true;
            break;
        }
    }
    return requests;
}

} // namespace vgpubench
