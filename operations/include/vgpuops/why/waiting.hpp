// All pods of a cluster that wait, by what they wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpuops/core_names.hpp"
#include "vgpuops/show/overview.hpp"
#include "vgpuops/show/tables.hpp"
#include "vgpuops/show/verdict.hpp"

namespace vgpuops::why {

/// Pods with one verdict that ask for the same with the same rules.
struct waiting_group {
    show::verdict verdict = show::verdict::never;
    std::vector<std::string> names{}; ///< with their namespaces, ascending
    std::int64_t asked_milli = 0;     ///< by all of them
    std::string because{};            ///< of the first by name: "4 gpu on one node; 5 free, at most 3 on one"
    std::string since{};              ///< of the one that waits longest, as its object has it; empty: not said
};

struct waiting_answer {
    std::int64_t pods = 0;
    std::int64_t fitting = 0;                    ///< of them, those that fit now
    std::int64_t unread = 0;                     ///< others, which ask only for resources that nothing here reads
    std::vector<waiting_group> groups{};         ///< who waits longest first
    std::vector<show::held_job> makes_no_pods{}; ///< by name
    std::vector<std::string> not_looked_at{};    ///< of what is there (explain/not_considered.hpp)
    std::vector<error> warnings{};               ///< of the snapshot
};

/// Of one namespace, or of all where it is empty. The verdicts are those of show::overview_of(). Errors: those of
/// make_snapshot(); unknown_name, at "-n", for a namespace without pods; stopped.
[[nodiscard]] expected<waiting_answer> waiting_of(const std::vector<kube::manifest>& objects,
                                                  const vgpualloc::dialect_set& dialects, const std::string& ns = {},
                                                  const stop_signal& stop = {});

/// Both answers about one snapshot.
struct seen_and_waiting {
    show::overview seen{};
    waiting_answer waiting{}; ///< of the pods and owners that `seen` lists
};
/// Errors: those of show::overview_of().
[[nodiscard]] expected<seen_and_waiting> overview_and_waiting(const std::vector<kube::manifest>& objects,
                                                              const vgpualloc::dialect_set& dialects,
                                                              const show::selection& chosen = {},
                                                              const stop_signal& stop = {});

/// "4 pods wait, none fits now. 1 Job makes no pods."
[[nodiscard]] std::string waiting_sentence(const waiting_answer& answered);

struct waiting_options {
    std::size_t rows_max = 10; ///< without the sums
    std::size_t names_max = 1; ///< of pods in a row, folded
};
/// A row for each group, whose amounts add up as they are printed; without rows where nothing waits.
[[nodiscard]] show::printed_table waiting_table(const waiting_answer& answered, const waiting_options& options = {});

/// The sentence and the table; and a document (docs/why.md names the members).
[[nodiscard]] std::string waiting_text(const waiting_answer& answered, bool lists_all = false);
[[nodiscard]] std::string waiting_json(const waiting_answer& answered);

} // namespace vgpuops::why
