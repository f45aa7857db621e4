#include "vgpuformats/column_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "vgpuformats/sha256.hpp"

namespace vgpuformats {

namespace {

template <class... Visitors>
struct overloaded : Visitors... {
    using Visitors::operator()...;
};
template <class... Visitors>
overloaded(Visitors...) -> overloaded<Visitors...>;

template <class Number>
std::string_view written(Number value, std::string& scratch) {
    std::array<char, 32> digits{};
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    scratch.assign(digits.data(), static_cast<std::size_t>(end - digits.data()));
    return scratch;
}

/// What is wrong with the codes or offsets of a column of texts; empty: nothing.
std::string problem_of(const column_cells& cells) {
    if (const auto* const coded = std::get_if<coded_texts>(&cells)) {
        const auto texts = static_cast<std::int64_t>(coded->dictionary.size());
        const bool fits = std::ranges::all_of(coded->codes, [texts](std::int32_t code) { return code < texts; });
        return fits ? "" : "codes below " + std::to_string(texts) + ", the number of its texts";
    }
    if (const auto* const joined = std::get_if<joined_texts>(&cells)) {
        if (joined->offsets.empty()) return "one offset more than rows";
        const bool fits = joined->offsets.front() >= 0 && std::ranges::is_sorted(joined->offsets) &&
                          joined->offsets.back() <= static_cast<std::int64_t>(joined->bytes.size());
        return fits ? "" : "rising offsets up to " + std::to_string(joined->bytes.size()) + ", the number of its bytes";
    }
    return "";
}

} // namespace

std::size_t column_view::size() const noexcept {
    return std::visit(overloaded{[](const coded_texts& coded) { return coded.codes.size(); },
                                 [](const joined_texts& joined) {
                                     return joined.offsets.empty() ? std::size_t{0} : joined.offsets.size() - 1;
                                 },
                                 [](const auto& numbers) { return numbers.size(); }},
                      cells);
}

bool column_view::is_empty(std::size_t row) const noexcept {
    if (!valid.empty() && valid[row] == 0) return true;
    if (const auto* const real = std::get_if<std::span<const double>>(&cells)) return std::isnan((*real)[row]);
    const auto* const coded = std::get_if<coded_texts>(&cells);
    return coded != nullptr && coded->codes[row] < 0;
}

std::string_view column_view::text(std::size_t row, std::string& scratch) const {
    if (is_empty(row)) return {};
    return std::visit(
        overloaded{
            [&](const coded_texts& coded) { return coded.dictionary[static_cast<std::size_t>(coded.codes[row])]; },
            [&](const joined_texts& joined) {
                const auto begin = static_cast<std::size_t>(joined.offsets[row]);
                return joined.bytes.substr(begin, static_cast<std::size_t>(joined.offsets[row + 1]) - begin);
            },
            [&](std::span<const std::uint8_t> truths) -> std::string_view {
                return truths[row] != 0 ? "true" : "false";
            },
            [&](const auto& numbers) { return written(numbers[row], scratch); }},
        cells);
}

vgpualloc::expected<void> check_table(const column_table& table, const std::string& name) {
    const auto fail = [&name](vgpualloc::error_code code, std::string_view column, std::string expected) {
        return vgpualloc::unexpected(bad_value(code, column, "", std::move(expected)).at(name));
    };
    using vgpualloc::error_code;
    if (table.columns.empty()) return fail(error_code::missing, "", "empty; expected columns");
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const column_view& column = table.columns[i];
        if (column.name.empty()) return fail(error_code::missing, "", "missing; expected a name of every column");
        for (std::size_t before = 0; before < i; ++before) {
            if (table.columns[before].name != column.name) continue;
            return fail(error_code::duplicate, column.name, "column names that occur once");
        }
        if (const std::string problem = problem_of(column.cells); !problem.empty()) {
            return fail(error_code::out_of_range, column.name, "expected " + problem);
        }
        const bool is_even =
            column.size() == table.rows() && (column.valid.empty() || column.valid.size() == table.rows());
        if (is_even) continue;
        return fail(error_code::mismatch, column.name,
                    "expected " + std::to_string(table.rows()) + " rows, as column " +
                        std::string{table.columns.front().name} + " has, found " +
                        std::to_string(column.size() == table.rows() ? column.valid.size() : column.size()));
    }
    return {};
}

std::string sha256_of_table(const column_table& table) {
    std::vector<const column_view*> columns;
    for (const column_view& column : table.columns) columns.push_back(&column);
    std::ranges::sort(columns, {}, &column_view::name);
    std::string sums;
    std::string cells;
    std::string scratch;
    // A length before each text, so that no other texts look the same one after the other.
    const auto add = [&scratch](std::string& to, std::string_view text) {
        to += written(text.size(), scratch);
        to += ':';
        to += text;
    };
    std::string number;
    for (const column_view* const column : columns) {
        cells.clear();
        for (std::size_t row = 0; row < table.rows(); ++row) add(cells, column->text(row, number));
        add(sums, column->name);
        sums += sha256_hex(cells);
    }
    return sha256_hex(sums);
}

} // namespace vgpuformats
