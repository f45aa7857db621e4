#include "answer_warnings.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "vgpualloc/kube/cluster_objects.hpp"

namespace vgpuops::whatif {

void warn_of_pods_there(const std::vector<kube::manifest>& objects, const std::vector<kube::manifest>& added,
                        std::vector<error>& warnings) {
    const auto is_there = [](const kube::manifest& object) {
        return object.kind == "Pod" && object.pod && !kube::has_ended(object);
    };
    std::set<std::string> names;
    for (const kube::manifest& object : objects) {
        if (is_there(object) && !added.empty()) names.insert(kube::full_name_of(object));
    }
    std::string first;
    std::int64_t pods = 0;
    for (const kube::manifest& object : added) {
        if (!is_there(object) || !names.contains(kube::full_name_of(object))) continue;
        if (pods++ == 0) first = kube::full_name_of(object);
    }
    if (pods == 0) return;
    const std::string others = pods > 1 ? " and " + std::to_string(pods - 1) + " more" : std::string{};
    warnings.push_back(bad_value(error_code::mismatch, "", first + others,
                                 "pods that the cluster does not have yet; these are counted twice")
                           .at("--add-pods"));
}

void warn_of_lost_modes(const changes& wanted, const std::string& found_kind, const kube::snapshot& after,
                        std::vector<error>& warnings) {
    std::set<std::string> kinds{found_kind};
    for (const node_addition& entry : wanted.added_nodes) kinds.insert(entry.kind);
    for (const mode_change& entry : wanted.modes) {
        const auto where = after.book->find_node(entry.node);
        const bool is_there = where.valid() && after.book->is_present(where);
        if (is_there || kinds.contains(entry.node)) continue;
        const std::string layout = entry.layout.empty() ? std::string{} : ":" + entry.layout;
        warnings.push_back(bad_value(error_code::mismatch, "", entry.node + "=" + entry.mode + layout,
                                     "a node that stays: this one fails, and no node is added like it")
                               .at("--set-mode"));
    }
}

} // namespace vgpuops::whatif
