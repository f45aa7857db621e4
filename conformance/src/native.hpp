// Native decisions on recorded cases: the dialects read nodes, pods and annotations, the allocator decides.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "outcome.hpp"
#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"
#include "vgpualloc/dialect/reading.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/ledger.hpp"

namespace vgpusim::conformance {

/// What a family of recordings needs of a dialect, and the ranking that its configuration names.
class native_dialect {
public:
    virtual ~native_dialect() = default;

    [[nodiscard]] virtual vgpualloc::dialect::node_reading
    read_node(std::size_t node, std::span<const vgpualloc::kubernetes::pod* const> on_node) const = 0;
    [[nodiscard]] virtual bool requests(const vgpualloc::kubernetes::pod& pod) const = 0;
    /// What the pod asks for. Several where nodes differ in how they read it: at most one of them fits a node.
    [[nodiscard]] virtual std::vector<vgpualloc::pod_request> read_pod(const vgpualloc::kubernetes::pod& pod) const = 0;
    /// Extended resources that Kubernetes counts per node beside the devices; 0 = none. Booked as the host's memory,
    /// which the recordings do not use.
    [[nodiscard]] virtual std::int64_t extended_of_node(std::size_t /*node*/) const { return 0; }
    [[nodiscard]] virtual std::int64_t extended_booked(const vgpualloc::kubernetes::pod& /*pod*/) const { return 0; }
    [[nodiscard]] virtual vgpualloc::dialect::assignment_reading
    read_assignment(const vgpualloc::kubernetes::pod& pod,
                    std::span<const vgpualloc::device_registration> devices) const = 0;
    /// Of a bound pod that has so much.
    [[nodiscard]] virtual std::vector<std::string> tags_of(const vgpualloc::kubernetes::pod& /*pod*/,
                                                           std::span<const vgpualloc::device_share> /*has*/) const {
        return {};
    }
    [[nodiscard]] virtual std::unique_ptr<vgpualloc::policy> make_policy() const = 0;

    // In the words of the recordings:
    /// Whether these have the cache's devices beside the session's.
    [[nodiscard]] virtual bool has_cache() const { return true; }
    [[nodiscard]] virtual std::int64_t number_of(std::size_t device, const vgpualloc::device_registration&) const {
        return static_cast<std::int64_t>(device);
    }
    [[nodiscard]] virtual taken_part part_of(const vgpualloc::device_share& share,
                                             const vgpualloc::device_registration& on,
                                             const vgpualloc::device_request& wanted) const = 0;
    [[nodiscard]] virtual booked_use use_of(const vgpualloc::device_spec& spec, const vgpualloc::device_state& state,
                                            const vgpualloc::device_registration& on) const = 0;
};

/// The dialect of a case's family. The case must outlive it. Throws what reading a case throws.
[[nodiscard]] std::unique_ptr<native_dialect> make_native_dialect(const json& recorded_case);

/// From what a decision within a session goes out.
enum class footing : std::uint8_t {
    own,      ///< from its own decisions since the session began
    recorded, ///< from what was recorded since then
};

/// Replays one case. Every session starts from what the recording left: the pods bound so far with their recorded
/// annotations, as a restarted scheduler would find them.
class native_side {
public:
    explicit native_side(const json& recorded_case, footing within_sessions = footing::own);
    ~native_side();
    native_side(const native_side&) = delete;
    native_side& operator=(const native_side&) = delete;

    [[nodiscard]] outcome step(const json& event);

private:
    struct bound_pod {
        vgpualloc::kubernetes::pod pod;
        std::size_t node = 0;
    };
    struct decision {
        vgpualloc::pod_request request;
        vgpualloc::placement where;
    };
    struct session; ///< cluster, ledger, policy and allocator

    void open_session();
    [[nodiscard]] outcome add(const json& event);
    [[nodiscard]] std::optional<decision> decide(const vgpualloc::kubernetes::pod& pod, std::vector<bool>& fits);
    [[nodiscard]] std::vector<taken_part> parts_of(const decision& made) const;
    void adopt_bound(session& in, vgpualloc::ledger& book) const;
    [[nodiscard]] booked_devices cache_with(const vgpualloc::placement& placed) const;
    [[nodiscard]] booked_devices booked_in(const vgpualloc::ledger& book, std::size_t node) const;
    void follow(const json& event);

    std::unique_ptr<native_dialect> dialect_;
    footing footing_;
    std::size_t node_count_;
    std::vector<bound_pod> bound_; ///< as recorded, in the order of binding
    std::unique_ptr<session> session_;
};

/// What the recording bound: the pod of an `add` with the annotations it got.
[[nodiscard]] vgpualloc::kubernetes::pod bound_pod_from(const json& event);
/// Whether an `add` ended with the pod bound.
[[nodiscard]] bool was_bound(const json& event);

} // namespace vgpusim::conformance
