// Why a pod waits, in one word.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/metrics/idle_split.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/show/pod_use.hpp"

namespace vgpuops::show {

/// In the order in which tables have them. Which one a pod has is decided in another order: verdict_of().
enum class verdict : std::uint8_t {
    scattered,   ///< enough is free in total, not in one place
    all_used,    ///< not enough is free even in total
    host_full,   ///< GPUs would do; CPU, memory or the pod limit will not
    not_allowed, ///< there is room, and other pods keep it away: affinity, anti-affinity, spread
    quota,       ///< a quota keeps it from being made
    queue,       ///< a queue has not admitted it yet
    gate,        ///< it has a scheduling gate
    gang,        ///< it fits, and not as many of its gang as have to start together
    never,       ///< no pod that ends would help: the pod, labels, the layout or nodes must change
    fits_now,    ///< some node would take it as things are
};
inline constexpr std::size_t verdict_count = 10;

/// "scattered", "all used", …, "fits now".
[[nodiscard]] constexpr std::string_view to_string(verdict word) noexcept {
    constexpr std::array<std::string_view, verdict_count> words{
        "scattered", "all used", "host full", "not allowed", "quota", "queue", "gate", "gang", "never", "fits now"};
    return words[static_cast<std::size_t>(word)];
}

/// What there is for pods of one request.
struct room {
    bool is_readable = true;      ///< nobody can place a pod whose request cannot be read
    bool fits_alone = false;      ///< if all other pods were gone
    std::int64_t more = 0;        ///< pods that fit as things are
    std::int64_t more_alone = 0;  ///< pods that would fit without rules about other pods
    std::int64_t asked_milli = 0; ///< by one of them
    vgpualloc::idle_parts idle{}; ///< what is idle, to such pods
    std::int64_t kept_idle = 0;   ///< of it, in `wrong_kind`: of no use because of other pods
    idle_in_sum in_sum{};         ///< of the right kind; only where `more_alone` is 0
};

/// Whether Kueue has not admitted the pod, or a queue of Volcano has not let it in.
[[nodiscard]] bool is_queued(const kube::snapshot_pod& pod);
/// Whether the pod has a gate, of a queue or of somebody else.
[[nodiscard]] bool is_gated(const kube::snapshot_pod& pod);
[[nodiscard]] bool can_never_run(const room& available);
[[nodiscard]] bool fits(const room& available);
/// Whether nothing but other pods keeps it away.
[[nodiscard]] bool is_kept_away(const room& available);
/// Whether only CPU, memory or the number of pods are short.
[[nodiscard]] bool is_host_full(const room& available);
/// Whether enough is free of the right kind, all nodes together.
[[nodiscard]] bool is_scattered(const room& available);

/// The first that holds of: queue, gate, gang (a gang that is short, and the pod would fit), never, fits now, not
/// allowed, host full, scattered, all used.
[[nodiscard]] verdict verdict_of(const kube::snapshot_pod& pod, const room& available, bool gang_is_short);

} // namespace vgpuops::show
