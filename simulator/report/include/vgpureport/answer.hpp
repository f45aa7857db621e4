// The page of an answer about a cluster: a sentence, tables with bars, and every GPU. It is a file of its own that
// needs no script and no network.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vgpureport {

/// What becomes of a part of a GPU. Each has a colour, a pattern and a word.
enum class area : std::uint8_t { used, free, of_use, scattered, host_full, wrong_kind, out };
inline constexpr std::size_t area_count = 7;

[[nodiscard]] constexpr std::string_view to_string(area what) noexcept {
    constexpr std::array<std::string_view, area_count> words{"used",      "free",       "of use",        "scattered",
                                                             "host full", "wrong kind", "out of service"};
    return words[static_cast<std::size_t>(what)];
}

struct page_column {
    std::string heading{};
    bool is_number = false; ///< to the right
};

struct page_row {
    std::vector<std::string> cells{}; ///< as many as there are columns; the first is the head of the row
    std::vector<std::int64_t>
        parts{}; ///< by page_table::areas, in milli-GPU, of which tenths are printed; empty: no bar
    bool is_sum = false;
};

/// Where the bars of a table are.
enum class bars : std::uint8_t {
    none,
    in_rows, ///< as long as each other, in a column after the first
    above,   ///< in a list above the table, as wide as the page
};

struct page_table {
    std::string caption{};
    std::vector<page_column> columns{};
    std::vector<page_row> rows{};
    std::vector<area> areas{}; ///< of the parts of each row
    bars where = bars::none;
    std::string summary{}; ///< the table is folded behind these words; empty: it is open
};

/// A GPU, or the mean of some: what is used of it, and what nobody can have. Milli-GPU.
struct strip_cell {
    std::int64_t used = 0;
    std::int64_t out = 0;
};

struct node_strip {
    std::string name{};
    std::string words{}; ///< "5.0 of 8 used, 3.0 free"
    std::string state{}; ///< "cordoned"; empty: in service
    std::vector<strip_cell> cells{};
};

struct strip_group {
    std::string name{};
    std::vector<node_strip> nodes{};
};

struct page_section {
    std::string heading{};
    std::vector<std::string> notes{}; ///< paragraphs below the heading
    std::vector<strip_group> groups{};
    std::vector<page_table> tables{};
};

struct answer_page {
    std::string kicker{};                               ///< "vgpusim show"
    std::string title{};                                ///< the verdict
    std::string subtitle{};                             ///< may be empty
    std::vector<std::pair<area, std::int64_t>> total{}; ///< of the bar below the title, in milli-GPU; empty: none
    std::vector<page_section> sections{};
    std::string command{}; ///< the command line with the same answer
};

/// Up to so many nodes are drawn one by one with their names, and above the other number neighbours are merged.
inline constexpr std::size_t named_strips_max = 200;
inline constexpr std::size_t strips_max = 2000;

/// The page as HTML. Names may have any bytes: what steers a reader's eyes or a parser is written as an escape. Above
/// strips_max nodes those of a group are ranked by use, and neighbours share a strip, which shows their mean.
[[nodiscard]] std::string render_answer(const answer_page& page);

} // namespace vgpureport
