// Strict access to a document: types, ranges and keys are checked, and what is wrong becomes an error with its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/document.hpp"

namespace vgpuformats {

struct number_range {
    std::int64_t least = 0;
    std::int64_t most = 0;
};

/// How errors say where a value is: by the name of the text, or by its name and the value's line.
enum class place_style : std::uint8_t { name, line };

/// Points at one value of a document, which must outlive it, or at nothing where a key is absent. Errors name the place
/// and, as their field, the path to the value: "pods.classes[2].weight".
///
/// The first failure of all cursors that share `failure` wins; after it every cursor answers with harmless defaults, so
/// that one may read to the end and ask once.
class cursor {
public:
    cursor(const document& root, std::string_view name, std::optional<vgpualloc::error>& failure,
           place_style style = place_style::name)
        : base_{&root}, value_{&root}, failure_{&failure}, name_{name}, style_{style} {}

    /// Fails unless this is a map with no other keys than these.
    void only(std::initializer_list<std::string_view> keys) const;
    /// Whether the key is there; null counts as absent, because a null says that the value is unknown.
    [[nodiscard]] bool has(std::string_view key) const;
    /// The member of a map; fails if the key is absent.
    [[nodiscard]] cursor at(std::string_view key) const;
    /// The entries of a list; fails if there are fewer than `least` or more than `most`.
    [[nodiscard]] std::vector<cursor> items(std::size_t least,
                                            std::size_t most = std::numeric_limits<std::size_t>::max()) const;
    /// The entries of a map by key.
    [[nodiscard]] std::vector<std::pair<std::string, cursor>> entries() const;

    [[nodiscard]] std::int64_t integer(number_range range) const;
    [[nodiscard]] std::uint64_t unsigned_integer() const;
    [[nodiscard]] double real(double least, double most) const;
    /// A number with at most two decimals, times 100. `range` is of the number itself, from 0 or more.
    [[nodiscard]] std::int64_t hundredths(number_range range) const;
    [[nodiscard]] bool flag() const;
    [[nodiscard]] std::string text() const;        ///< without control characters: it may reach a terminal
    [[nodiscard]] std::string filled_text() const; ///< the same, and fails if it is empty
    [[nodiscard]] std::string any_text() const;    ///< with control characters too
    /// The position of a text in `words`; fails, naming them, if it is none of them.
    template <class Words>
    [[nodiscard]] std::size_t one_of(const Words& words) const {
        const std::string word = text();
        std::string known;
        std::size_t position = 0;
        for (const std::string_view candidate : words) {
            if (candidate == word) return position;
            known += (known.empty() ? "" : ", ") + std::string{candidate};
            ++position;
        }
        fail(vgpualloc::error_code::unknown_name, "one of " + known);
        return 0;
    }

    // Of a map's key that may be absent or null.
    [[nodiscard]] std::optional<std::int64_t> maybe_integer(std::string_view key, number_range range) const;
    [[nodiscard]] std::optional<std::int64_t> maybe_hundredths(std::string_view key, number_range range) const;
    [[nodiscard]] std::string maybe_text(std::string_view key) const;
    /// Texts that are not empty, every one once.
    [[nodiscard]] std::vector<std::string> maybe_texts(std::string_view key) const;
    [[nodiscard]] std::map<std::string, std::string, std::less<>> maybe_dictionary(std::string_view key) const;

    /// The same value; errors in it add `label` to the place and have paths from here on.
    [[nodiscard]] cursor called(const std::string& label) const;

    /// What would be said of this value.
    [[nodiscard]] vgpualloc::error problem(vgpualloc::error_code code, std::string expected) const;
    /// Records that this value is wrong, unless something before it was.
    void fail(vgpualloc::error_code code, const std::string& expected) const;
    /// The same for a key of this map, for which there may be no value to point at.
    void fail_key(vgpualloc::error_code code, std::string_view key, const std::string& expected) const;
    [[nodiscard]] bool failed() const { return failure_->has_value(); }
    /// Null where there is no value.
    [[nodiscard]] const document* value() const { return value_; }

private:
    [[nodiscard]] cursor inner(const document* value) const;
    [[nodiscard]] bool expect(bool right_kind, const std::string& expected) const;
    [[nodiscard]] std::string place(const document& value) const;
    [[nodiscard]] std::string path_to(const document& value) const;
    void fail_field(vgpualloc::error failure, const document& map, std::string_view key) const;

    const document* base_;  ///< where paths begin
    const document* value_; ///< in base_, or null
    std::optional<vgpualloc::error>* failure_;
    std::string name_;
    place_style style_;
};

} // namespace vgpuformats
