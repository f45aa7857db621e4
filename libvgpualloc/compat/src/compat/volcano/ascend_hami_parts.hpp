// The steps of Volcano's Ascend HAMi mode: what a node registers, what a pod asks, which cards it gets, and the texts
// that carry the answer. ascend_hami.cpp puts them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/compat/volcano/config.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"

namespace vgpualloc::compat::volcano::ascend {

// What a node registers.

struct network {
    std::optional<std::int64_t> id; ///< none: the key is there, but its value is no number
};

/// AI cores and AI CPUs of a template or of a whole card.
struct ai_units {
    std::int64_t cores = 0;
    std::int64_t cpus = 0;
};

struct card {
    std::int64_t index = 0;
    std::string uuid;
    std::int64_t count = 0; ///< pods it may hold
    std::int64_t memory = 0;
    std::int64_t cores = 0;
    std::string type;
    bool health = false;
    std::optional<network> place;
    std::int64_t used = 0;
    std::int64_t used_memory = 0;
    std::int64_t used_cores = 0;
    ai_units used_units;                                               ///< of the templates on it; Q32 off
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> pods; ///< uid -> memory, cores
    std::map<std::string, ai_units> units;                             ///< by uid; none for soft slices; Q32 off
};

/// The cards of a node's register annotation by index; none where upstream makes no object of it. A null among them,
/// which ends upstream in a panic, makes the whole list unusable.
[[nodiscard]] std::vector<card> parse_register(const std::string& text);

// What a pod asks.

struct trimmed_memory {
    std::int64_t memory = 0;
    std::string_view template_name; ///< empty: the whole card
};
/// The memory of the smallest template that is large enough, else the whole card, else 0 (Q11).
[[nodiscard]] trimmed_memory trim_memory(const vnpu_kind& kind, std::int64_t memory);

/// Those of the template with just that memory, or of the whole card; none of what is neither.
[[nodiscard]] ai_units units_of(const vnpu_kind& kind, std::int64_t memory);

struct record {
    std::int64_t number = 0;
    std::int64_t memory = 0;
    std::int64_t cores = 0;
    bool asks = true;       ///< false: the place of a container without a request (Q4 off)
    bool oversized = false; ///< more memory than a card has (Q11 off)
};
/// Per requesting container, in order. `whole` is the memory that a record without any gets.
[[nodiscard]] std::vector<record> records_of(const kubernetes::pod& pending, const vnpu_kind& kind, std::int64_t whole,
                                             bool core_mode, const quirk_set& quirks);

/// Soft-sliced instead of by templates.
[[nodiscard]] bool asks_core_mode(const kubernetes::pod& pending);

// Which cards it gets.

struct node_view {
    const std::vector<card>& cards;
    const vnpu_kind& kind;
    bool core_capable = false;
    const quirk_set& quirks;
};

struct selection {
    struct part {
        record wish;
        std::vector<std::size_t> cards; ///< positions in node_view::cards
    };
    std::vector<part> parts;
    int code = 0; ///< not 0: no selection, and the texts say why
    std::string error;
    std::string reason;
};

[[nodiscard]] double card_score(const std::string& policy, const card& device);
[[nodiscard]] selection select(const node_view& where, const kubernetes::pod& pending, const std::string& policy);
/// ScoreNode's sum for a selection.
[[nodiscard]] double selection_score(const node_view& where, const selection& chosen, const std::string& policy);

/// The common words whose cards have a topology begin with it.
inline constexpr std::string_view topology_prefix = "Ascend910";

// The texts.

/// `uuid,W,memory,cores:` per card, `;` after each record.
[[nodiscard]] std::string encode_devices(const node_view& where, const selection& chosen);
/// What the device plugin hands to the container runtime: a JSON list over all records.
[[nodiscard]] std::string encode_runtime(const node_view& where, const selection& chosen, bool core_mode);

struct annotated_card {
    std::string_view uuid;
    std::int64_t memory = 0;
    std::int64_t cores = 0;
};
/// encode_devices() read back as upstream does; none where an entry lacks a field.
[[nodiscard]] std::vector<annotated_card> decode_devices(std::string_view text, const quirk_set& quirks);

} // namespace vgpualloc::compat::volcano::ascend
