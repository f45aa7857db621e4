// The parts of an answer in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpuops/whatif/answer.hpp"

namespace vgpuops::whatif {

/// Why the pods of an entry find no place, as a scheduler words it; the gang, where that is why.
[[nodiscard]] std::string why_words(const pod_answer& entry);

/// "2 pods start, 7 restart, 0 stop; 2 still wait (1 gate, 1 never)."
[[nodiscard]] std::string count_line(const fate_counts& counts);

/// The nodes and pods to which something happens, each with its mark. Without `lists_all`, those alike are one line,
/// and of each mark ten lines are listed.
void add_changes(const answer& answered, bool lists_all, std::string& text);

/// Parts of GPUs that are free, before and after: whole GPUs of a kind, instances of a profile on all GPUs, or the
/// largest slice or the most replicas that one pod could have.
struct free_part {
    std::string kind{};  ///< empty: instances, of all kinds
    std::string model{}; ///< of the kind
    std::string part{};  ///< as largest_part::part
    std::int64_t before = 0;
    std::int64_t after = 0;
    bool is_touched = false;     ///< what is used, free or out of service of a kind with such parts changes
    std::int64_t memory_mib = 0; ///< of an instance
};
/// Whole GPUs first, then instances, the largest first.
[[nodiscard]] std::vector<free_part> free_parts_of(const answer& answered);

/// What the cluster has before and after, as `show` prints it, and the change of what is printed. Without `lists_all`,
/// kinds of GPUs are left out in which nothing changes.
void add_comparison(const answer& answered, bool lists_all, std::string& text);

/// The table as a document.
[[nodiscard]] document comparison_json(const answer& answered);

} // namespace vgpuops::whatif
