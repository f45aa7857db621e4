// A scheduler's core in one file: GPUs shared by memory and cores, pods that come and go, nodes that change, a restart.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <vgpualloc/vgpualloc.hpp>

namespace {

using namespace vgpualloc;

[[noreturn]] void stop(const error& failure) {
    std::cout << failure.message() << '\n';
    std::exit(1);
}

/// A node whose GPUs HAMi-core cuts: up to ten containers on each, by memory and by percent of compute.
node gpu_node(device_kinds& kinds, const std::string& name, const hardware_catalog& catalog) {
    node described{.name = name, .cpu = milli_cpu{64'000}, .memory = bytes{std::int64_t{256} << 30U}};
    for (const char* number : {"0", "1"}) {
        device_registration gpu;
        gpu.uuid = "GPU-" + name + number;
        gpu.model = "NVIDIA A100-SXM4-40GB";
        gpu.family = "NVIDIA";
        gpu.mode = "hami_core";
        gpu.memory = mib{40'960};
        gpu.slots = 10;
        if (const auto added = add_device(kinds, described, gpu, catalog.mig); !added) stop(added.error());
    }
    return described;
}

/// A pod with one container that asks for one GPU's worth of memory and cores.
pod_request asking_for(mib memory, core_percent cores) {
    return {.cpu = milli_cpu{4'000},
            .memory = bytes{std::int64_t{8} << 30U},
            .containers = {{.count = 1, .memory = memory, .cores = cores}}};
}

/// The ledger and all that follows it. Allocators and policies keep addresses, so it stays where it is.
struct scheduler {
    ledger book;
    policies::binpack policy{};
    allocator alloc{book, {.node = &policy, .device = &policy}};
    pod_registry pods{};

    explicit scheduler(cluster nodes) : book{std::move(nodes)} {}

    void place(const std::string& uid, const pod_request& request) {
        const auto known = alloc.intern(request);
        if (!known) { // bad input
            std::cout << "  " << uid << ": " << known.error().message() << '\n';
            return;
        }
        const auto placed = alloc.place(book, pods.add(uid), *known);
        if (!placed) { // an expected outcome
            pods.remove(uid);
            std::cout << "  " << uid << ": nowhere, mostly because of " << to_string(placed.error().main_code())
                      << '\n';
            return;
        }
        const node& where = book.nodes().nodes[placed->node.at()];
        const device_share& share = placed->shares[0];
        std::cout << "  " << uid << ": " << where.devices[share.device.at()].uuid << ", "
                  << std::get<slice>(share.part).memory.count() << " MiB\n";
    }

    void end(const std::string& uid) {
        if (const auto released = book.release(pods.find(uid)); !released) {
            std::cout << "  " << uid << ": " << to_string(released.error().code) << '\n';
            return;
        }
        pods.remove(uid);
    }

    /// Why one node does not take a pod: what each of its devices answers, with the numbers.
    void ask(const std::string& node_name, const pod_request& request) {
        const node_index where = book.find_node(node_name);
        const node_decision decision = alloc.ask_node(where, request);
        for (std::size_t i = 0; i < decision.containers[0].size(); ++i) {
            const rejection_detail& refusal = decision.containers[0][i].refusal;
            std::cout << "  " << book.nodes().nodes[where.at()].devices[i].uuid << ": "
                      << (refusal.code == rejection_code::none ? "fits" : to_string(refusal.code)) << ", wanted "
                      << refusal.wanted << ", available " << refusal.available << '\n';
        }
    }
};

/// Would `uid` still find a place if a node were drained? Whatever the answer, nothing has happened.
bool has_place_elsewhere(scheduler& core, const std::string& node_name, const std::string& uid,
                         const pod_request& request) {
    const trial attempt{core.book}; // undone at its end; attempt.keep() would keep what was done
    const node_index where = core.book.find_node(node_name);
    for (const device_index gpu : {device_index{0}, device_index{1}}) {
        if (const auto set = core.book.set_service(where, gpu, service_state::draining); !set) stop(set.error());
    }
    if (!core.book.release(core.pods.find(uid))) return false;
    const auto known = core.alloc.intern(request);
    return known && core.alloc.decide(*known);
}

} // namespace

int main() {
    const hardware_catalog catalog = built_in_catalog();
    cluster nodes;
    for (const char* name : {"a", "b"}) nodes.nodes.push_back(gpu_node(nodes, name, catalog));
    scheduler core{nodes};

    std::cout << "Pods:\n";
    const pod_request half = asking_for(mib{20'480}, core_percent{50});
    const pod_request large = asking_for(mib{30'720}, core_percent{60});
    core.place("one", half);
    core.place("two", large);
    core.place("three", asking_for(mib{65'536}, core_percent{10}));
    core.place("four", asking_for(mib{-1}, core_percent{10}));
    core.end("five");

    std::cout << "Why not on a:\n";
    core.ask("a", asking_for(mib{24'576}, core_percent{50}));

    std::cout << "A GPU fails, a node goes and comes back:\n";
    const node_index a = core.book.find_node("a");
    const node_index b = core.book.find_node("b");
    if (const auto set = core.book.set_service(a, device_index{0}, service_state::failed); !set) stop(set.error());
    core.place("six", asking_for(mib{4'096}, core_percent{10}));
    if (const auto removed = core.book.remove_node(a); !removed) stop(removed.error());
    core.place("seven", half);
    node described = gpu_node(core.book.kinds(), "a", catalog);
    if (const auto added = core.book.add_node(described); !added) stop(added.error());
    const auto changed = core.book.update_node(core.book.find_node("a"), described);
    std::cout << "  pods on a: " << core.book.live_on(a).size()
              << ", registered again: " << (changed.value() ? "changed" : "unchanged") << '\n';

    std::cout << "A node that is kept for others:\n";
    node reserved = core.book.nodes().nodes[b.at()];
    reserved.host.taints.push_back({.key = "team", .value = "vision"});
    if (const auto updated = core.book.update_node(b, reserved); !updated) stop(updated.error());
    core.place("eight", half);
    pod_request tolerant = half;
    tolerant.rules.tolerations.push_back({.key = "team", .value = "vision"});
    core.place("nine", tolerant);

    std::cout << "What if a were drained?\n  one has "
              << (has_place_elsewhere(core, "a", "one", tolerant) ? "another" : "no other") << " place\n";

    std::cout << "A long life:\n  events kept: " << core.book.events().size();
    core.book.checkpoint(core.alloc.next_event());
    std::cout << ", after the checkpoint: " << core.book.events().size() << '\n';

    std::cout << "A restart:\n";
    scheduler restarted{core.book.nodes()};
    for (const pod_id pod : core.book.live_pods()) {
        booking running = core.book.booking_of(pod); // what a scheduler reads from the pods' annotations
        running.owner = restarted.pods.add(core.pods.uid_of(pod));
        if (const auto adopted = restarted.book.adopt(running); !adopted) return 1;
    }
    std::cout << "  adopted: " << restarted.book.live_count() << " of " << core.book.live_count() << '\n';
    restarted.place("ten", tolerant);
    return 0;
}
