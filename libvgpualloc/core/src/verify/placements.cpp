// The independent checker. Works from the log's live bookings and the cluster's capacities alone.
#include "vgpualloc/verify/placements.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "vgpualloc/catalog/mig_layouts.hpp"

namespace vgpualloc::verify {

namespace {

struct device_sum {
    std::int64_t memory_mib = 0;
    std::int64_t cores_percent = 0;
    std::int64_t users = 0;
    bool whole = false;
    bool with_compute = false;    ///< a slice that has a share of compute
    bool without_compute = false; ///< a slice that has none
    bool size_unknown = false;    ///< an instance whose size is not among the facts
    std::vector<mig_instance> instances;
    std::vector<std::uint32_t> templates; ///< their indices
};

struct node_sum {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t pods = 0;
    std::vector<device_sum> devices;
};

std::string name_of(owner_id owner) { return (owner.is_claim() ? "claim " : "pod ") + std::to_string(owner.at()); }

/// Which bookings are live, read from the lists of the nodes; a non-empty text names what cannot be.
std::string live_bookings(const ledger& book, std::vector<std::size_t>& live) {
    std::set<std::pair<bool, std::size_t>> owners;
    for (std::size_t n = 0; n < book.nodes().nodes.size(); ++n) {
        for (const std::uint32_t slot : book.live_on(node_index{n})) {
            const booking& entry = book.bookings()[slot];
            const std::string owner = name_of(entry.owner);
            if (!owners.emplace(entry.owner.is_claim(), entry.owner.at()).second) return owner + " is live twice";
            if (entry.where.node != node_index{n}) return owner + " is listed on a node where it is not";
            if (!book.is_live(entry.owner)) return owner + " is listed on a node and not live";
            live.push_back(slot);
        }
    }
    return owners.size() == book.live_count() ? "" : "a live pod or claim is listed on no node";
}

/// The claims by number, and who of the live pods uses them.
std::string judge_claims(const ledger& book, const std::vector<std::size_t>& live) {
    struct claim_facts {
        node_index where;
        std::uint32_t generation = 0;
        std::uint32_t users = 0;
    };
    std::map<std::size_t, claim_facts> claims;
    for (const std::size_t position : live) {
        const booking& entry = book.bookings()[position];
        if (!entry.owner.is_claim()) continue;
        const std::string claim = name_of(entry.owner) + ": ";
        if (entry.cpu != milli_cpu{} || entry.memory != bytes{}) return claim + "a claim has CPU or memory of the host";
        if (!entry.claims.empty()) return claim + "a claim uses a claim";
        claims[entry.owner.at()] = {.where = entry.where.node, .generation = entry.owner.generation()};
    }
    for (const std::size_t position : live) {
        const booking& entry = book.bookings()[position];
        std::set<std::size_t> used;
        for (const claim_id claim : entry.claims) {
            const auto used_claim = claims.find(claim.at());
            if (used_claim == claims.end() || used_claim->second.generation != claim.generation()) {
                return name_of(entry.owner) + ": it uses a claim that is not live";
            }
            if (used_claim->second.where != entry.where.node) {
                return name_of(entry.owner) + ": it uses a claim of another node";
            }
            if (!used.insert(claim.at()).second) return name_of(entry.owner) + ": it uses a claim twice";
            ++used_claim->second.users;
        }
    }
    for (const auto& [number, facts] : claims) {
        if (book.users_of(claim_id{number, facts.generation}) == facts.users) continue;
        return "claim " + std::to_string(number) + ": its users are not the pods that name it";
    }
    return "";
}

/// The instance's kind among all kinds of all groups, and which group that is.
std::pair<const mig_kind*, std::size_t> kind_of(const std::vector<mig_group>& geometry, const mig_instance& part) {
    std::size_t position = part.profile;
    for (std::size_t g = 0; g < geometry.size(); ++g) {
        if (position < geometry[g].kinds.size()) return {&geometry[g].kinds[position], g};
        position -= geometry[g].kinds.size();
    }
    return {nullptr, 0};
}

void add_instance(const mig_instance& part, const device_spec& spec, const device_facts& facts, device_sum& sum) {
    sum.instances.push_back(part);
    if (facts.mig != nullptr && part.profile < facts.mig->profiles.size()) {
        const mig_profile& profile = facts.mig->profiles[part.profile];
        // Where the memory is not known, the share of the memory slices is counted (docs/modes.md).
        const std::int64_t share = spec.memory.count() * profile.size.count() / facts.mig->units.count();
        sum.memory_mib += profile.memory.value_or(mib{share}).count();
        sum.cores_percent += 100 * profile.compute_slices.count() / facts.mig->compute_slices.count();
    } else if (const mig_kind* kind = kind_of(facts.geometry, part).first; kind != nullptr) {
        sum.memory_mib += kind->memory.count() / facts.memory_factor;
        sum.cores_percent += kind->cores.count();
    } else {
        sum.size_unknown = true;
    }
}

std::string add_share(const device_share& share, const device_spec& spec, const device_facts& facts, device_sum& sum) {
    ++sum.users;
    if (const auto* part = std::get_if<slice>(&share.part)) {
        sum.memory_mib += part->memory.count();
        sum.cores_percent += part->cores.count();
        (part->cores.count() > 0 ? sum.with_compute : sum.without_compute) = true;
    } else if (const auto* instance = std::get_if<mig_instance>(&share.part)) {
        add_instance(*instance, spec, facts, sum);
    } else if (const auto* cut = std::get_if<vir_template>(&share.part)) {
        sum.memory_mib += cut->memory.count();
        sum.cores_percent += cut->cores.count();
        sum.templates.push_back(cut->index);
    } else {
        sum.memory_mib += spec.memory.count();
        sum.cores_percent += spec.cores.count();
        sum.whole = true;
    }
    return "";
}

std::string judge_instances(const device_sum& sum, const device_facts& facts) {
    const auto& parts = sum.instances;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const bool same = parts[i].profile == parts[j].profile && parts[i].start == parts[j].start;
            if (same) return "a MIG instance is given out twice";
        }
    }
    if (facts.mig != nullptr) {
        mig_layout layout;
        for (const mig_instance& instance : parts) layout.push_back({instance.profile, mig_units{instance.start}});
        return is_legal(*facts.mig, layout) ? "" : "MIG instances cannot exist together";
    }
    for (const mig_instance& instance : parts) {
        if (facts.geometry.empty()) break;
        const auto [kind, group] = kind_of(facts.geometry, instance);
        if (kind == nullptr || instance.start >= kind->count) return "a MIG instance is in no group";
        if (group != kind_of(facts.geometry, parts.front()).second) return "MIG instances are of several groups";
    }
    return "";
}

std::string judge_templates(const device_sum& sum, const device_facts& facts) {
    std::vector<npu_template> known = facts.npu.templates;
    std::stable_sort(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.memory < b.memory; });
    std::int64_t ai_core = 0;
    std::int64_t ai_cpu = 0;
    std::int64_t dvpp_users = 0;
    std::int64_t dvpp_silent = 0;
    for (const std::uint32_t index : sum.templates) {
        if (known.empty()) break;
        if (index > known.size()) return "an NPU has a template that its kind does not have";
        const bool whole = index == known.size();
        ai_core += whole ? facts.npu.ai_core : known[index].ai_core;
        ai_cpu += whole ? facts.npu.ai_cpu : known[index].ai_cpu;
        if (index >= facts.dvpp.size()) continue;
        dvpp_users += facts.dvpp[index] == dvpp_use::yes ? 1 : 0;
        dvpp_silent += facts.dvpp[index] == dvpp_use::unstated ? 1 : 0;
    }
    if (facts.npu.ai_core > 0 && ai_core > facts.npu.ai_core) return "the AI cores of an NPU are overcommitted";
    if (facts.npu.ai_cpu > 0 && ai_cpu > facts.npu.ai_cpu) return "the AI CPUs of an NPU are overcommitted";
    if (dvpp_users > 1 || (dvpp_users > 0 && dvpp_silent > 0)) return "the video engines of an NPU have several users";
    return "";
}

std::string judge_device(const device_sum& sum, const device_spec& spec, const device_facts& facts) {
    // The sizes of MIG instances are nominal and can add up to a little more than a GPU reports: their places bind.
    const bool measured = sum.instances.empty();
    if (measured && sum.memory_mib > spec.memory.count()) return "device memory is overcommitted";
    if (measured && sum.cores_percent > spec.cores.count()) return "device compute is overcommitted";
    if (sum.users > spec.slots && !sum.whole) return "a device has more users than slots";
    if (sum.whole && sum.users > 1) return "a whole device has several users";
    if (facts.one_isolation && sum.with_compute && sum.without_compute) return "a device has two isolations";
    if (auto broken = judge_instances(sum, facts); !broken.empty()) return broken;
    return judge_templates(sum, facts);
}

std::string judge_count(const device_sum& sum, const device_state& counted) {
    const bool same_size = counted.memory.count() == sum.memory_mib && counted.cores.count() == sum.cores_percent;
    if ((same_size || sum.size_unknown) && counted.slots == sum.users) return "";
    return "the counted use of a device is not the sum of its pods";
}

const device_facts& facts_of(std::span<const device_facts> facts, std::uint32_t kind) {
    static const device_facts none{};
    return kind < facts.size() ? facts[kind] : none;
}

std::string judge_node(const node_sum& sum, const node& owned, const cluster& all, node_index where, const ledger& book,
                       std::span<const device_facts> facts) {
    if (sum.cpu_milli > owned.cpu.count()) return "host CPU is overcommitted";
    if (sum.memory_bytes > owned.memory.count()) return "host memory is overcommitted";
    if (sum.pods > owned.pods_max) return "the pod limit is exceeded";
    for (std::size_t d = 0; d < sum.devices.size(); ++d) {
        const device_spec& spec = all.spec_of(where, device_index{d});
        if (auto broken = judge_device(sum.devices[d], spec, facts_of(facts, owned.devices[d].kind)); !broken.empty())
            return broken;
        if (auto broken = judge_count(sum.devices[d], book.devices(where)[d]); !broken.empty()) return broken;
    }
    const host_use& host = book.host(where);
    if (host.cpu.count() != sum.cpu_milli || host.memory.count() != sum.memory_bytes || host.pods != sum.pods) {
        return "the counted use of a host is not the sum of its pods";
    }
    return "";
}

} // namespace

std::string first_violation(const ledger& book, std::span<const device_facts> facts) {
    const cluster& owned = book.nodes();
    std::vector<node_sum> sums(owned.nodes.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].devices.resize(owned.nodes[i].devices.size());
    std::vector<std::size_t> live;
    if (auto broken = live_bookings(book, live); !broken.empty()) return broken;
    if (auto broken = judge_claims(book, live); !broken.empty()) return broken;
    for (const std::size_t position : live) {
        const booking& entry = book.bookings()[position];
        node_sum& sum = sums[entry.where.node.at()];
        sum.cpu_milli += entry.cpu.count();
        sum.memory_bytes += entry.memory.count();
        sum.pods += entry.owner.is_pod() ? 1 : 0;
        std::set<std::pair<std::uint32_t, std::size_t>> used;
        for (const device_share& share : entry.where.shares) {
            const std::string owner = name_of(entry.owner) + ": ";
            if (share.device.at() >= sum.devices.size()) return owner + "a device that the node does not have";
            if (!used.emplace(share.container, share.device.at()).second)
                return owner + "a container has a device twice";
            const device_spec& spec = owned.spec_of(entry.where.node, share.device);
            const std::uint32_t kind = owned.nodes[entry.where.node.at()].devices[share.device.at()].kind;
            auto broken = add_share(share, spec, facts_of(facts, kind), sum.devices[share.device.at()]);
            if (!broken.empty()) return owner + broken;
        }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        auto broken = judge_node(sums[i], owned.nodes[i], owned, node_index{i}, book, facts);
        if (!broken.empty()) return "node " + owned.nodes[i].name + ": " + broken;
    }
    return "";
}

} // namespace vgpualloc::verify
