// Builds a document from the events of a parser, and keeps the limits while it does.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpuformats/document.hpp"
#include "vgpuformats/json.hpp"
#include "vgpuformats/unread_members.hpp"

namespace vgpuformats::detail {

class tree_builder {
public:
    tree_builder(std::string_view name, std::size_t values_max, repeated_keys repeated, const unread_members& unread,
                 const vgpualloc::stop_signal& stop)
        : name_{name}, values_max_{values_max}, repeated_{repeated}, unread_{unread}, stop_{stop} {}

    // Each is false if a limit or rule is broken or an end is wanted; failure() then says which.
    [[nodiscard]] bool add(value_kind kind, std::string_view text, text_place place);
    /// A list or map, which takes what follows until it is closed.
    [[nodiscard]] bool open(value_kind kind, text_place place);
    [[nodiscard]] bool key(std::string_view key, text_place place);
    void close();
    /// Counts values that are copied into the tree.
    [[nodiscard]] bool count(std::size_t values, text_place place);

    [[nodiscard]] bool finished() const noexcept { return open_.empty(); }
    [[nodiscard]] std::size_t depth() const noexcept { return open_.size() + passed_open_; }
    [[nodiscard]] bool has_open() const noexcept { return !open_.empty(); }
    /// The list or map that takes what comes next; there is one.
    [[nodiscard]] document& innermost() { return *open_.back().value; }
    /// The value added last, in the innermost list or map or as the root.
    [[nodiscard]] document& last();
    [[nodiscard]] document take() {
        keeps_items_ = false;
        return std::exchange(root_, {});
    }

    bool fail(vgpualloc::error_code code, std::string where, std::string field, std::string expected);
    [[nodiscard]] const std::optional<vgpualloc::error>& failure() const noexcept { return failure_; }

private:
    struct open_value {
        document* value;
        std::set<std::string, std::less<>> keys; ///< of a large map
        bool is_step;                            ///< has a key, which is in path_
    };

    [[nodiscard]] bool goes_on();
    void hand_over_item();
    [[nodiscard]] document* append(text_place place);
    [[nodiscard]] static bool occurs(open_value& map, std::string_view key);

    std::string_view name_;
    std::size_t values_max_;
    repeated_keys repeated_;
    unread_members unread_;
    vgpualloc::stop_signal stop_;
    std::size_t values_ = 0;
    document root_;
    std::vector<open_value> open_;  ///< outermost first
    std::vector<std::string> path_; ///< keys that lead to the innermost of these; empty if all members are kept
    bool passing_ = false;          ///< what comes is, or is in, a member that is left out
    std::size_t passed_open_ = 0;   ///< lists and maps of that member that are open
    bool keeps_items_ = false;      ///< an item of this root was not taken
    std::optional<vgpualloc::error> failure_;
};

[[nodiscard]] inline vgpualloc::error too_long(std::string_view name, std::string_view advice) {
    return bad_value(vgpualloc::error_code::out_of_range, "", "", "at most 256 MiB of text" + std::string{advice})
        .at(std::string{name});
}

[[nodiscard]] inline std::string at_line(std::string_view name, text_place place) {
    return std::string{name} + ":" + std::to_string(place.line);
}
[[nodiscard]] inline std::string at_column(std::string_view name, text_place place) {
    return at_line(name, place) + ":" + std::to_string(place.column);
}

} // namespace vgpuformats::detail
