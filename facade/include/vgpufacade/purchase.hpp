// Which nodes to buy, so that pods wait no longer than a goal says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpuops/show/prices.hpp"
#include "vgpusim/study/cheapest_nodes.hpp"
#include "vgpusim/study/waiting_goal.hpp"
#include "vgpusim/workload/cluster_files.hpp"
#include "vgpusim/workload/seed.hpp"

namespace vgpufacade {

inline constexpr std::int64_t nodes_of_kind_max = 1000;
inline constexpr std::size_t purchases_tried_max = 200;

/// Names of inputs are those of a source.
struct purchase_question {
    std::vector<std::string> cluster; ///< inputs with the objects
    vgpusim::dialect_files dialects{};
    std::vector<std::string> kinds{}; ///< names of nodes of the cluster, or descriptions as of whatif --add-nodes
    std::int64_t most = 16;           ///< nodes of each kind; at most nodes_of_kind_max
    std::string goal{};               ///< vgpusim::read_goal()
    std::string prices{};             ///< vgpuops::show::read_prices()
    std::string pods{};               ///< the table of arrivals
    std::string classes{};            ///< its classes
    std::string policy{};             ///< empty: the default
    std::string discipline = "gang";  ///< one with a queue
    std::string start_ends{"drawn"};  ///< as the setting of that name
    vgpusim::seed_range seeds{};      ///< a run for each
    std::size_t jobs = 1;             ///< threads
};

/// What came of a purchase under one seed. No measure: a wait without end.
struct purchase_result {
    std::int64_t seed = 0;
    std::optional<vgpualloc::ticks> measure{};
};

struct purchase_answer {
    vgpusim::waiting_goal goal{};
    std::vector<std::string> kinds{};
    std::vector<std::int64_t> gpus{}; ///< of a node, by kind
    std::int64_t most = 0;
    std::string currency{}; ///< prices of the search are millionths of it, for an hour
    vgpusim::purchase_search search{};
    std::vector<std::vector<purchase_result>> results{}; ///< by try, then seed
    std::int64_t arrivals = 0;                           ///< pods that count, of the table and those that wait
    std::int64_t never = 0; ///< pods beside these that do not run even with the most nodes of every kind
    std::vector<error> warnings{};
};

/// Replays the table from the cluster as it is, with nodes more, and finds the cheapest numbers of nodes with which the
/// goal holds under every seed. Errors: those of the inputs and of the run; at --buy those of
/// vgpuops::whatif::with_kinds(), and out_of_range for more than four kinds; missing or out_of_range for a kind without
/// a price, or with none above 0; unsupported for a discipline without a queue; stopped.
[[nodiscard]] expected<purchase_answer>
find_purchase(const purchase_question& question, const vgpuformats::input_source& source, const stop_signal& stop = {});

/// Sentences; a document (docs/forecast.md names the members).
[[nodiscard]] std::string purchase_text(const purchase_answer& answer);
[[nodiscard]] std::string purchase_json(const purchase_answer& answer);

} // namespace vgpufacade
