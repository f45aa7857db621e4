// Policies that score many nodes at once hear what a decision will ask, before it asks.
#include <cstdint>
#include <span>

#include "alloc/indexed_allocator.hpp"

namespace vgpualloc {

/// Lets policies that score many nodes at once hear which scores this decision takes, before it takes them.
void indexed_allocator::rehearse(const request_record& request) {
    // Which devices are left for a further step of a pod is known when the step before it has been scored.
    std::int64_t steps = 1;
    for (const device_request& container : request.original->containers) steps += container.count;
    for (std::int64_t step = 0; step < steps; ++step) {
        if (rehearse_once(request) == 0) return;
    }
}

std::size_t indexed_allocator::rehearse_once(const request_record& request) {
    policies_.node->begin_batch();
    if (policies_.device != policies_.node) policies_.device->begin_batch();
    const std::span<const node_group> groups = mirror_.groups();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const request_part& part = request.parts[g];
        if (part.head == nullptr || part.head->changes_read == groups[g].changes) continue;
        const request_class& wanted = requests_.class_of(part);
        if (wanted.named || wanted.scored.by_changes) continue;
        const std::uint64_t read = part.head->changes_read;
        const bool all = read == index_head::never_built || read < groups[g].renumbered;
        const auto ask = [&](std::size_t slot) {
            const node_slot& owner = groups[g].slots[slot];
            if (owner.config == nullptr || known_refusal(wanted, owner) != rejection_code::none) return;
            const node_facts& facts = groups[g].facts[slot];
            static_cast<void>(scorer_.score(wanted.scored, {.node = facts.node,
                                                            .cpu_capacity = facts.cpu_capacity,
                                                            .cpu_left = owner.cpu_left,
                                                            .config = owner.config}));
        };
        const auto slots = static_cast<std::uint32_t>(groups[g].slots.size());
        if (all) {
            for (std::uint32_t slot = 0; slot < slots; ++slot) ask(slot);
        } else {
            for (std::uint32_t slot = groups[g].newest; slot != no_slot && groups[g].slots[slot].changed > read;
                 slot = groups[g].slots[slot].older) {
                ask(slot);
            }
        }
    }
    std::size_t computed = policies_.node->end_batch();
    if (policies_.device != policies_.node) computed += policies_.device->end_batch();
    return computed;
}

} // namespace vgpualloc
