// What of a Kubernetes pod and node the dialects read: names, labels, annotations, resource amounts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vgpualloc::kubernetes {

using text_map = std::map<std::string, std::string>;
/// Resource name -> amount. A quantity that is no whole number is kept apart by the reader, which says what it means.
using amount_map = std::map<std::string, std::int64_t>;

struct container {
    std::string name;
    amount_map limits;
    amount_map requests;

    bool operator==(const container&) const = default;
};

struct pod {
    std::string name;
    std::string ns; ///< namespace
    std::string uid;
    text_map labels;
    text_map annotations;
    std::vector<container> containers;
    std::vector<container> init_containers;

    bool operator==(const pod&) const = default;
};

struct node {
    std::string name;
    text_map labels;
    text_map annotations;
    text_map allocatable; ///< resource name -> quantity as written
    text_map capacity;

    bool operator==(const node&) const = default;
};

/// The value of a map's key, or an empty text.
[[nodiscard]] inline const std::string& value_of(const text_map& map, const std::string& key) {
    static const std::string none;
    const auto entry = map.find(key);
    return entry == map.end() ? none : entry->second;
}

} // namespace vgpualloc::kubernetes
