// Two pods on one claim: the claim has the GPU, the pods have their part of the host, and the first one ends.
#include <cstdlib>
#include <iostream>
#include <string>

#include <vgpualloc/vgpualloc.hpp>

using namespace vgpualloc;

namespace {

void show(const ledger& book, node_index where, claim_id claim, const std::string& when) {
    std::cout << when << ": " << book.devices(where)[0].memory.count() << " MiB of the GPU given out, "
              << book.host(where).pods << " pods, " << book.users_of(claim) << " of them on the claim\n";
}

} // namespace

int main() {
    cluster nodes;
    node described{.name = "a", .cpu = milli_cpu{64'000}, .memory = bytes{std::int64_t{256} << 30U}};
    device_registration gpu;
    gpu.uuid = "GPU-a0";
    gpu.model = "NVIDIA A100-SXM4-40GB";
    gpu.mode = "hami_core";
    gpu.memory = mib{40'960};
    gpu.slots = 10;
    if (!add_device(nodes, described, gpu, built_in_catalog().mig)) return EXIT_FAILURE;
    nodes.nodes.push_back(described);
    ledger book{std::move(nodes)};
    policies::best_fit policy;
    allocator alloc{book, {.node = &policy, .device = &policy}};

    // The first pod decides where its claim is. The claim has the devices, the pod its CPU and memory.
    const device_request half{.count = 1, .memory = mib{20'480}, .cores = core_percent{50}};
    const pod_request first{.cpu = milli_cpu{4'000}, .memory = {}, .containers = {half}};
    const auto decided = alloc.decide(alloc.intern(first).value());
    if (!decided) return EXIT_FAILURE;
    const node_index where = decided->node;
    const claim_id claim{0};
    const auto use = [&](pod_id pod) {
        return book.reserve(
                   {.owner = pod, .cpu = first.cpu, .where = {.node = where, .shares = {}}, .claims = {claim}}) &&
               book.commit(pod);
    };
    if (!book.reserve({.owner = claim, .where = *decided}) || !book.commit(claim)) return EXIT_FAILURE;
    show(book, where, claim, "the claim alone");
    if (!use(pod_id{0}) || !use(pod_id{1})) return EXIT_FAILURE;
    show(book, where, claim, "two pods use it");
    if (!book.release(pod_id{0})) return EXIT_FAILURE;
    show(book, where, claim, "the first has ended");
    const auto early = book.release(claim);
    std::cout << "the claim cannot be given back: " << to_string(early ? rejection_code::none : early.error().code)
              << '\n';
    if (!book.release(pod_id{1}) || !book.release(claim)) return EXIT_FAILURE;
    show(book, where, claim, "both have ended, and the claim");
    std::cout << "checked: " << (verify::first_violation(book).empty() ? "nothing is wrong" : "wrong") << '\n';
}
