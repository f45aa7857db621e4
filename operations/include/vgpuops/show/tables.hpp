// The tables of answers as values: their cells as they are printed, and the amounts that a bar beside a row shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vgpuops/show/overview.hpp"

namespace vgpuops::show {

struct table_column {
    std::string heading{};
    bool is_number = false; ///< to the right
    bool is_amount = false; ///< as wide as the other amounts of the table, so that they can be compared
};

struct table_row {
    std::vector<std::string> cells{};  ///< as many as there are columns
    std::vector<std::int64_t> parts{}; ///< milli-GPU in whole tenths, as the cells have them; empty: no bar
    bool is_sum = false;               ///< of the other rows, or their mean
};

struct printed_table {
    std::string title{}; ///< a line above it; may be empty
    std::vector<table_column> columns{};
    std::vector<table_row> rows{}; ///< empty: there is no table
};

/// The title and the table, aligned.
[[nodiscard]] std::string text_of(const printed_table& table);

/// What overview_text() prints, line by line and table by table.
struct overview_tables {
    std::string usage{};   ///< "36 GPUs on 6 nodes: 20.5 used (57 %), 11.5 free, 4.0 out of service."
    std::string waiting{}; ///< "4 pods wait, none fits now: …"
    three_parts total{};   ///< of the cluster, in tenths of a GPU; milli-GPU
    printed_table first{}; ///< of devices its parts are used, free and out of service; of pods it has no parts
    printed_table hosts{}; ///< of a wide answer: the rows of the first table with memory, compute, hosts and labels
    printed_table idle{};  ///< its parts: of use, scattered, host full, wrong kind, out of service
    printed_table users{}; ///< the namespaces, unless the first table has them
    std::string cost{};    ///< "EUR A DAY …"; empty: without prices
    std::vector<std::string> warnings{};
    std::string not_looked_at{}; ///< "not looked at: …", a sentence
};
[[nodiscard]] overview_tables tables_of(const overview& seen, const table_options& options = {});

/// Every node with GPUs, in tenths that add up to those of the cluster: a row for nodes that are in the same state.
[[nodiscard]] printed_table nodes_table(const overview& seen, const table_options& options = {});

/// "5.0 of 8 used, 3.0 free, 0.0 out of service", for each of overview::nodes_seen; with the same tenths.
[[nodiscard]] std::vector<std::string> words_of_nodes(const overview& seen);

} // namespace vgpuops::show
