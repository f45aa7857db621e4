// Random clusters, requests and operations. The one place that includes rapidcheck: properties use what is here.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rapidcheck.h>

#include <gtest/gtest.h>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/registration.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/verify/placements.hpp"

namespace vgpualloc::property {

/// One of the values.
template <class T>
[[nodiscard]] T one_of(std::vector<T> values) {
    return *rc::gen::elementOf(std::move(values));
}
/// A number in [least, most].
[[nodiscard]] inline std::int64_t number(std::int64_t least, std::int64_t most) {
    return *rc::gen::inRange<std::int64_t>(least, most + 1);
}

/// What the property's steps do; every step reads the parts of it that it needs, modulo what there is.
struct operation {
    std::uint32_t kind = 0;
    std::uint32_t request = 0;
    std::uint32_t salt = 0;
};

/// A cluster, the requests that arrive, and what happens.
struct world {
    cluster owned;
    std::vector<pod_request> requests; ///< at least one
    std::vector<operation> operations;
};
void showValue(const world& what, std::ostream& out);

/// Which worlds a property is about.
struct world_kind {
    bool openb = false;                 ///< devices of 1000 units and the trace's requests, as compat policies assume
    const sharing_mode* mode = nullptr; ///< if set, all devices are shared in this mode
    bool contains_devices_only = false; ///< every container asks for at least one device
    /// Devices have uuids and link groups, nodes labels and taints, and requests name all of these.
    bool names = false;
    int nodes_max = 6;
    int devices_max = 4; ///< of a node
    int requests_max = 6;
    int operations_max = 24;
    bool large = false; ///< as many nodes, requests and operations as that
};

/// How a chip of the built-in catalog is cut.
[[nodiscard]] npu_kind npu_of(std::string_view chip_name);

/// The listed modes and others that are made from a table: MIG of another model, MIG by groups.
struct known_mode {
    std::string name; ///< for people
    const sharing_mode* mode = nullptr;
    verify::device_facts facts; ///< what the independent judge has to know of it
    mib memory_least{};         ///< of a device in this mode
};
[[nodiscard]] const std::vector<known_mode>& known_modes();
/// verify::first_violation with the facts of the cluster's kinds.
[[nodiscard]] std::string violation(const ledger& book);

/// Draws inside a property, or inside another generator.
[[nodiscard]] world draw_world(const world_kind& kind);
[[nodiscard]] device_spec draw_spec(const sharing_mode* mode);
[[nodiscard]] device_request draw_device_request();

/// `world` shrinks by dropping operations and by smaller draws.
[[nodiscard]] rc::Gen<world> worlds(const world_kind& kind);

/// A booking that need not fit: node and devices by `salt`, parts as the modes would cut an empty device. Respects
/// what the ledger leaves to its callers: healthy devices, different ones within a container.
[[nodiscard]] booking some_booking(const cluster& owned, const pod_request& request, owner_id owner,
                                   std::uint32_t salt);

/// The requests of a world as a workload, the first one the most frequent.
[[nodiscard]] workload workload_of(const world& what);

/// One allocator set-up by the spellings of its policies.
struct policy_choice {
    std::string node;
    std::string device; ///< the same object as `node` if the spellings are equal
    bool openb = false;
};
void PrintTo(const policy_choice& choice, std::ostream* out);

/// Every listed policy alone and together with its neighbour in the list, and weighted sums of all that score.
[[nodiscard]] std::vector<policy_choice> all_choices();
[[nodiscard]] std::string test_name(const testing::TestParamInfo<policy_choice>& info);

/// The policies of one choice, made for one world.
class policies_of {
public:
    policies_of(const policy_choice& choice, const world& what);
    [[nodiscard]] policy_pair pair() const noexcept { return {.node = node_.get(), .device = device()}; }
    void note_arrival(const pod_request& request, const ledger& book) {
        node_->note_arrival(request, book);
        if (device_) device_->note_arrival(request, book);
    }

private:
    [[nodiscard]] policy* device() const noexcept { return device_ ? device_.get() : node_.get(); }
    std::unique_ptr<policy> node_;
    std::unique_ptr<policy> device_;
};

/// Host and device use of every node.
struct use_snapshot {
    std::vector<host_use> hosts;
    std::vector<device_state> devices;
    bool operator==(const use_snapshot&) const = default;
};
[[nodiscard]] use_snapshot use_of(const ledger& book);

/// The pods that are live now, ascending.
[[nodiscard]] std::vector<pod_id> live_pods(const ledger& book, std::uint32_t pods);

/// rc::check as a googletest expectation, once per property.
template <class Property>
void hold(const char* sentence, Property&& property) {
    EXPECT_TRUE(rc::check(sentence, std::forward<Property>(property)));
}

} // namespace vgpualloc::property
