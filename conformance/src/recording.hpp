// Recorded cases: what a file says, read once and checked, and the model's answers in the shape of the recordings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/compat/volcano/scheduler.hpp"
#include "vgpuformats/cursor.hpp"

namespace vgpuconformance {

namespace volcano = vgpualloc::compat::volcano;
using vgpuformats::document;

enum class event_kind : std::uint8_t { add, restore, remove, node_update };
/// How recordings spell the kinds, in their order.
inline constexpr std::array<std::string_view, 4> event_words{"add", "restore", "delete", "node_update"};

/// What an event led to, as far as native is compared with it.
struct event_result {
    std::vector<bool> fits;   ///< per node; empty for events that decide nothing
    std::int64_t chosen = -1; ///< node, or the one that the event is about; -1 = none
    std::optional<volcano::allocate_answer> allocated;
    /// Ascend in HAMi mode, of every card allocated: its template; empty for a whole card and for a software slice.
    std::vector<std::string> templates;
    std::optional<volcano::ledger_state> session; ///< of the chosen node; only what is booked is read
    std::optional<volcano::ledger_state> cache;
};

struct recorded_event {
    event_kind kind = event_kind::add;
    bool new_session = false;                         ///< of an add
    bool roll_back = false;                           ///< of an add: what it takes is given back
    volcano::pod pod;                                 ///< of an add and a restore
    vgpualloc::kubernetes::text_map bind_annotations; ///< of an add: what the device plugin adds to the pod
    std::size_t node = 0;                             ///< of a restore and a node_update
    std::string pod_uid;                              ///< of a delete
    event_result result;                              ///< as recorded
    const document* out = nullptr;                    ///< the same as it stands in the file

    /// Whether this ended with a pod bound to the chosen node.
    [[nodiscard]] bool bound_a_pod() const {
        return kind == event_kind::add && !roll_back && result.chosen >= 0 && result.allocated && result.allocated->ok;
    }
    /// That pod, with the annotations it got.
    [[nodiscard]] volcano::pod bound_pod() const;
};

struct recorded_node {
    volcano::node node;
    volcano::npu_node_info npu;
    const document* loaded = nullptr; ///< what the first session found, as it stands in the file; null: not recorded
};

struct recorded_case {
    std::string id;
    std::string family;
    volcano::device_config config;
    volcano::plugin_options options; ///< what the family's recordings were made with
    std::vector<recorded_node> nodes;
    std::vector<recorded_event> events;
};

/// What of a case is read: what it asks only, or also what was decided then.
enum class recorded_parts : std::uint8_t { questions, decisions };

/// The document must outlive the case. Nodes that events name by number are of the case.
[[nodiscard]] vgpualloc::expected<recorded_case> read_case(const document& line, std::string_view path,
                                                           recorded_parts parts);

/// The templates that an allocation's annotation names, card by card; malformed if the annotation is no list.
[[nodiscard]] vgpualloc::expected<std::vector<std::string>> templates_of(const volcano::allocate_answer& allocated);

/// `fixed`: with what never changes, as in "loaded".
[[nodiscard]] document state_document(const volcano::ledger_state& state, std::size_t node, bool fixed);
/// The `out` of an attempt that the model has just made: answers, choice, allocation and the session's state; the
/// cache's is the caller's.
[[nodiscard]] document attempt_document(const volcano::scheduler& model, const volcano::attempt& attempt);

/// Whether a value is zero, empty, false or null, or a map of such values only: recordings leave these members out.
[[nodiscard]] bool says_nothing(const document& value);
/// Without members that say nothing.
[[nodiscard]] document compact(const document& value);
/// With the members of every map in the order of their keys.
void sort_members(document& value);

} // namespace vgpuconformance
