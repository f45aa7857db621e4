// Reading large texts without the parts that nobody looks at.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/stop.hpp"
#include "vgpuformats/document.hpp"

namespace vgpuformats {

/// What a reader of documents has no use for. In JSON it is read for its syntax and its depth and forgotten: it is null
/// in the tree, takes no memory and does not count among the values. In YAML an alias may stand for any part, and all
/// of it is kept.
struct unread_members {
    /// Whether a member of the map at `path` is left out; `path` has the keys that lead to the map, and lists are no
    /// step of it. Null: all are kept.
    bool (*is_unread)(std::span<const std::string> path, std::string_view key) = nullptr;
    std::string_view advice = {}; ///< the end of the errors of size: what can be left out of a text
    /// In JSON: takes what a list "items" of a map at the root holds, each as soon as it is read, so that they are
    /// never all there. `root` is where that map begins. False: the item stays in the tree, as do all after it. What
    /// was taken is void if the text ends in an error.
    std::function<bool(document& item, text_place root)> take_item{};
};

/// parse_documents() but for such members. Of a key that one of them has twice no error tells. Another error: stopped.
[[nodiscard]] vgpualloc::expected<std::vector<document>> parse_documents(std::string_view text, std::string_view name,
                                                                         const unread_members& unread,
                                                                         const vgpualloc::stop_signal& stop = {});
/// parse_json_stream(), likewise.
[[nodiscard]] vgpualloc::expected<std::vector<document>> parse_json_stream(std::string_view text, std::string_view name,
                                                                           const unread_members& unread,
                                                                           const vgpualloc::stop_signal& stop = {});

} // namespace vgpuformats
