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

/// An amount as its file has it.
struct written_amount {
    std::string text{};
    std::int32_t line = 0; ///< of the file; 0 where it is not known

    /// Where it was read does not count.
    friend bool operator==(const written_amount& left, const written_amount& right) { return left.text == right.text; }
};

/// CPU (mCPU) or memory (bytes) as a container or a pod says it, with the request that the API server makes of a limit.
struct host_resource {
    std::int64_t request = -1; ///< below 0: not said
    std::int64_t limit = -1;

    bool operator==(const host_resource&) const = default;
};

struct container {
    std::string name;
    amount_map limits;
    amount_map requests;
    std::map<std::string, written_amount> written{}; ///< of limits, or else of requests, by resource
    std::vector<std::string> claims{};               ///< resources.claims: names in pod::claims
    bool stays = false;                              ///< an init container that runs as long as the pod (a sidecar)
    bool privileged = false;
    host_resource cpu{};
    host_resource memory{};

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
    bool initialized = false;          ///< its init containers, but for sidecars, have ended
    std::vector<std::string> claims{}; ///< names of spec.resourceClaims (dynamic resource allocation)

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

/// What is asked of a resource as its file has it ("8Gi"), else `amount` in figures.
[[nodiscard]] inline std::string written_of(const container& from, const std::string& resource, std::int64_t amount) {
    const auto entry = from.written.find(resource);
    return entry == from.written.end() ? std::to_string(amount) : entry->second.text;
}

/// The value of a map's key, or an empty text.
[[nodiscard]] inline const std::string& value_of(const text_map& map, const std::string& key) {
    static const std::string none;
    const auto entry = map.find(key);
    return entry == map.end() ? none : entry->second;
}

} // namespace vgpualloc::kubernetes
