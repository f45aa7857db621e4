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
#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/explain/deviceshare.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/ledger.hpp"

namespace vgpuconformance {

/// One family of recordings: the dialect that it is read in, the ranking that its configuration names, and what the
/// recordings say in words of their own.
class native_family {
public:
    native_family(std::shared_ptr<const vgpualloc::dialect> spoken, const recorded_case& recorded);
    virtual ~native_family() = default;

    [[nodiscard]] const vgpualloc::dialect& spoken() const { return *spoken_; }
    /// The devices of a recorded node, with the pods bound there.
    [[nodiscard]] virtual vgpualloc::dialects::node_reading
    read_node(std::size_t position, std::span<const vgpualloc::kubernetes::pod* const> bound) const;
    /// What the pod asks for; none: it cannot be read and fits nowhere. Several where nodes differ in how they read it:
    /// at most one of them fits a node.
    [[nodiscard]] virtual std::vector<vgpualloc::pod_request> read_pod(const vgpualloc::kubernetes::pod& asking) const;
    /// Extended resources that Kubernetes counts per node are booked as the host's memory, which recordings do not use.
    [[nodiscard]] std::int64_t extended_of_node(std::size_t position) const { return ranking_.extended[position]; }
    [[nodiscard]] std::unique_ptr<vgpualloc::policy> make_policy() const;

    /// Whether the recordings have the cache's devices beside the session's.
    [[nodiscard]] virtual bool has_cache() const { return true; }
    [[nodiscard]] virtual taken_part part_of(const vgpualloc::device_share& share,
                                             const vgpualloc::device_registration& registered,
                                             const vgpualloc::device_request& request) const = 0;
    [[nodiscard]] virtual booked_use use_of(const vgpualloc::device_spec& spec, const vgpualloc::device_state& state,
                                            const vgpualloc::device_registration& registered) const = 0;

protected:
    [[nodiscard]] const vgpualloc::kubernetes::node& node(std::size_t position) const { return nodes_[position]; }

private:
    std::shared_ptr<const vgpualloc::dialect> spoken_;
    std::vector<vgpualloc::kubernetes::node> nodes_; ///< as recorded
    vgpualloc::explaining::deviceshare_options ranking_;
};

/// The family of a case.
[[nodiscard]] std::unique_ptr<native_family> make_native_family(const recorded_case& recorded);

/// From what a decision within a session goes out.
enum class footing : std::uint8_t {
    own,      ///< from its own decisions since the session began
    recorded, ///< from what was recorded since then
};

/// Replays one case. Every session starts from what the recording left: the pods bound so far with their recorded
/// annotations, as a restarted scheduler would find them.
class native_side {
public:
    explicit native_side(const recorded_case& recorded, footing within_sessions = footing::own);
    ~native_side();
    native_side(const native_side&) = delete;
    native_side& operator=(const native_side&) = delete;

    [[nodiscard]] outcome step(const recorded_event& event);

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
    [[nodiscard]] outcome add(const recorded_event& event);
    [[nodiscard]] std::optional<decision> decide(const vgpualloc::kubernetes::pod& pod, std::vector<bool>& fits);
    [[nodiscard]] std::vector<taken_part> parts_of(const decision& decided) const;
    void adopt_bound(session& in, vgpualloc::ledger& book) const;
    [[nodiscard]] booked_devices cache_with(const vgpualloc::placement& placed) const;
    [[nodiscard]] booked_devices booked_in(const vgpualloc::ledger& book, std::size_t node) const;
    void follow(const recorded_event& event);

    std::unique_ptr<native_family> family_;
    footing footing_;
    std::size_t node_count_;
    std::vector<bound_pod> bound_; ///< as recorded, in the order of binding
    std::unique_ptr<session> session_;
};

} // namespace vgpuconformance
