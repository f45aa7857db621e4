// A strict reader of catalog files: keeps the first thing that is wrong, with the model and profile it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "vgpualloc/catalog/provenance.hpp"
#include "vgpualloc/core/expected.hpp"

namespace vgpualloc::detail {

struct number_range {
    std::int64_t least = 0;
    std::int64_t most = 0;
};

/// Parses a whole text. Error malformed with line and column in `expected`; error duplicate for a key given twice.
[[nodiscard]] expected<nlohmann::json> parse_json(std::string_view text, std::string_view name);

/// Points at one value of a document, which must outlive it. The first failure of all readers that share `failure`
/// wins; after it every reader answers with harmless defaults, so that one may read to the end and ask once.
class json_reader {
public:
    json_reader(const nlohmann::json& root, std::string_view name, std::optional<error>& failure)
        : value_{&root}, failure_{&failure}, where_{name} {}

    /// Fails unless this is an object with no other keys than these.
    void only(std::initializer_list<std::string_view> keys) const;
    /// Whether the key is there; null counts as absent, because a null says that the value is unknown.
    [[nodiscard]] bool has(std::string_view key) const;
    /// Fails if the key is absent.
    [[nodiscard]] json_reader at(std::string_view key) const;
    /// The entries of a list; fails if there are fewer than `least`.
    [[nodiscard]] std::vector<json_reader> items(std::size_t least) const;
    /// The entries of an object by key.
    [[nodiscard]] std::vector<std::pair<std::string, json_reader>> entries() const;

    [[nodiscard]] std::int64_t integer(number_range range) const;
    /// A number with at most two decimals, times 100.
    [[nodiscard]] std::int64_t hundredths(number_range range) const;
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string filled_text() const; ///< fails if it is empty
    [[nodiscard]] bool flag() const;
    /// The position of a text in `words`; fails, naming them, if it is none of them.
    template <class Words>
    [[nodiscard]] std::size_t one_of(const Words& words) const {
        const std::string given = text();
        std::string all;
        std::size_t position = 0;
        for (const std::string_view word : words) {
            if (word == given) return position;
            all += (all.empty() ? "" : ", ") + std::string{word};
            ++position;
        }
        fail(error_code::unknown_name, "one of " + all);
        return 0;
    }

    // Of an object's key that may be absent or null.
    [[nodiscard]] std::optional<std::int64_t> maybe_integer(std::string_view key, number_range range) const;
    [[nodiscard]] std::optional<std::int64_t> maybe_hundredths(std::string_view key, number_range range) const;
    [[nodiscard]] std::string maybe_text(std::string_view key) const;
    [[nodiscard]] std::vector<std::string> maybe_texts(std::string_view key) const;
    [[nodiscard]] std::map<std::string, std::string, std::less<>> maybe_dictionary(std::string_view key) const;

    /// The same value; errors in it name `label` as the place and their fields from there on.
    [[nodiscard]] json_reader called(const std::string& label) const;

    /// What would be said of this value.
    [[nodiscard]] error problem(error_code code, std::string expected) const;
    /// Records that this value is wrong, unless something before it was.
    void fail(error_code code, const std::string& expected) const;
    [[nodiscard]] bool failed() const { return failure_->has_value(); }

private:
    [[nodiscard]] json_reader inner(const nlohmann::json& value, std::string field) const;
    void fail_field(error_code code, const std::string& field, const std::string& expected) const;
    [[nodiscard]] std::string field_of(std::string_view key) const;

    const nlohmann::json* value_;
    std::optional<error>* failure_;
    std::string where_;
    std::string field_;
};

/// Fails at `reader` unless every key of the provenance is "*" or one of `fields`.
void check_provenance(const json_reader& reader, const provenance& from,
                      std::initializer_list<std::string_view> fields);

/// Fails unless the document has the schema of catalog files and no keys that such files cannot have.
void check_header(const json_reader& root);

} // namespace vgpualloc::detail
