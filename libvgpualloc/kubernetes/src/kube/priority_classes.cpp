// PriorityClasses.
#include "vgpualloc/kube/priority_classes.hpp"

#include "vgpualloc/kube/policies.hpp"

namespace vgpualloc::kube {

priority_classes::priority_classes(std::span<const manifest> objects, std::span<const manifest> more) {
    for (const auto& list : {objects, more}) {
        for (const manifest& object : list) {
            if (object.kind != "PriorityClass") continue;
            values_[object.name] = object.priority;
            if (object.never_preempts) never_preempting_.insert(object.name);
            if (!object.policy || !object.policy->is_default) continue;
            const auto known = values_.find(default_class_); // of several the lowest counts
            if (known == values_.end() || object.priority < known->second) default_class_ = object.name;
        }
    }
}

std::optional<error> priority_classes::admit(manifest& object) const {
    if (values_.empty()) return std::nullopt;
    const bool is_builtin = object.priority_class.starts_with("system-") && object.priority != 0; // as they are read
    const std::string& name = object.priority_class.empty() ? default_class_ : object.priority_class;
    const auto known = values_.find(name);
    if (known == values_.end() && !name.empty() && !is_builtin) {
        std::string names;
        for (const auto& [other, value] : values_) names += (names.empty() ? "" : ", ") + other;
        return bad_value(error_code::unknown_name, "priorityClassName", name,
                         "a PriorityClass of the cluster: " + names)
            .at(object.place);
    }
    const std::int64_t value = known != values_.end() ? known->second : is_builtin ? object.priority : 0;
    if (object.priority != 0 && object.priority != value) {
        const std::string rule = name.empty() ? "of a pod without a PriorityClass" : "of PriorityClass " + name;
        return bad_value(error_code::mismatch, "priority", std::to_string(object.priority),
                         "the priority " + rule + ", " + std::to_string(value))
            .at(object.place);
    }
    object.priority = value;
    object.priority_class = name;
    return std::nullopt;
}

std::int64_t priority_classes::priority_of(const manifest& object) const {
    const auto known = values_.find(object.priority_class);
    return object.priority == 0 && known != values_.end() ? known->second : object.priority;
}

bool priority_classes::preempts(const manifest& object) const {
    return !object.never_preempts && !never_preempting_.contains(object.priority_class);
}

} // namespace vgpualloc::kube
