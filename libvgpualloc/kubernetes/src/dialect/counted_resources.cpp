// What kube-scheduler counts of a resource that one pod's containers ask for.
#include "counted_resources.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace vgpualloc::dialects {

namespace {

struct units {
    std::int64_t running = 0;      ///< of containers, and of the sidecars that have started
    std::int64_t most_at_init = 0; ///< of one init container that ends, with the sidecars before it
};

} // namespace

kubernetes::amount_map needed_at_init(const kubernetes::pod& pod,
                                      const std::function<bool(const std::string& resource)>& counts) {
    std::map<std::string, units> by_resource;
    for (const kubernetes::container& container : pod.init_containers) {
        for (const auto& [resource, amount] : container.requests) {
            if (!counts(resource)) continue;
            units& own = by_resource[resource];
            if (container.stays)
                own.running += amount;
            else
                own.most_at_init = std::max(own.most_at_init, own.running + amount);
        }
    }
    for (const kubernetes::container& container : pod.containers) {
        for (const auto& [resource, amount] : container.requests) {
            const auto own = by_resource.find(resource);
            if (own != by_resource.end()) own->second.running += amount;
        }
    }
    kubernetes::amount_map needed;
    for (const auto& [resource, own] : by_resource) {
        if (own.most_at_init > own.running) needed.emplace(resource, own.most_at_init - own.running);
    }
    return needed;
}

void split_units(device_request entry, std::vector<device_request>& to) {
    entry.units = std::exchange(entry.count, 1);
    to.insert(to.end(), static_cast<std::size_t>(entry.units), entry);
}

} // namespace vgpualloc::dialects
