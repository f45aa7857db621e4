// Pods of which many are made.
#include <utility>

#include "live/parts.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/live/live_cluster.hpp"

namespace vgpualloc {

live_template::live_template(kube::manifest object) : object_{std::move(object)} {
    VGA_ASSERT(object_.pod.has_value(), "a template is of a pod");
    object_.pod->uid.clear();
}

std::string live_cluster::add_like(live_template& like, std::string name) {
    constexpr std::size_t readings_max = 1024;
    like.object_.name = std::move(name);
    std::string full_name = kube::namespace_of(like.object_) + "/" + like.object_.name;
    const applied change = apply(like.object_);
    if (read_as_ != view_.dialects_version()) forget_reading();
    if (const auto reading = readings_.find(like.identity_); reading != readings_.end()) {
        pods_.emplace(full_name, reading->second).first->second.pod.name = like.object_.name;
    } else {
        known_pod* const known = read(full_name);
        if (known == nullptr) return full_name; // it has ended
        if (readings_.size() >= readings_max) readings_.clear();
        static_cast<void>(intern(*known));
        readings_.emplace(like.identity_, *known);
    }
    if (change.arrived != nullptr) note_arrival(full_name);
    return full_name;
}

} // namespace vgpualloc
