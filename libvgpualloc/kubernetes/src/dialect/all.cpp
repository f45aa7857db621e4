// The dialects of one cluster.
#include "vgpualloc/dialect/all.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "text.hpp"

namespace vgpualloc {

namespace {

dialect_set::members made_of_list(const dialect_config& config) {
    dialect_set::members dialects;
    for (const dialect_entry& entry : dialect_list) {
        if (entry.make != nullptr) dialects.push_back(entry.make(config));
    }
    return dialects;
}

std::set<std::string> as_set(std::vector<std::string> names) {
    return {std::make_move_iterator(names.begin()), std::make_move_iterator(names.end())};
}

} // namespace

bool dialect::reads_resource(std::string_view resource) const {
    const auto names = resources();
    return std::ranges::find(names, resource) != names.end();
}

dialect_set::dialect_set(dialect_config config) : dialect_set{made_of_list(config), config} {}

dialect_set::dialect_set(members dialects, dialect_config config)
    : dialects_{std::move(dialects)}, config_{std::make_shared<const dialect_config>(std::move(config))},
      owners_{listed_owners()} {}

const dialect* dialect_set::find(std::string_view name) const {
    const auto same = [name](const auto& candidate) { return candidate->name() == name; };
    const auto known = std::ranges::find_if(dialects_, same);
    return known == dialects_.end() ? nullptr : known->get();
}

std::vector<std::size_t> dialect_set::asked_by(const kubernetes::pod& pod) const {
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < dialects_.size(); ++i) {
        if (dialects_[i]->requests(pod)) positions.push_back(i);
    }
    return positions;
}

std::string dialect_set::binding_node(const kubernetes::pod& pod) const {
    for (const auto& candidate : dialects_) {
        if (std::string node = candidate->binding_node(pod); !node.empty()) return node;
    }
    return {};
}

dialect_set dialect_set::for_nodes(std::span<const kubernetes::node* const> nodes) const {
    if (nodes.empty()) return *this; // nobody knows which plugins there are
    std::vector<std::set<std::string>> traits(dialects_.size());
    for (std::size_t i = 0; i < dialects_.size(); ++i) {
        for (const kubernetes::node* node : nodes) {
            if (std::string trait = dialects_[i]->trait_of(*node); !trait.empty()) traits[i].insert(std::move(trait));
        }
    }
    return for_traits(traits);
}

dialect_set dialect_set::for_traits(std::span<const std::set<std::string>> traits) const {
    dialect_set adapted = *this;
    for (std::size_t i = 0; i < dialects_.size(); ++i) {
        if (auto own = dialects_[i]->for_traits(traits[i])) adapted.dialects_[i] = std::move(own);
    }
    return adapted;
}

std::vector<std::string> dialect_set::resources_needed(const kubernetes::pod& pod) const {
    std::set<std::string> names;
    for (const auto* const containers : {&pod.containers, &pod.init_containers}) {
        for (const kubernetes::container& container : *containers) {
            for (const auto& [resource, amount] : container.requests) {
                if (amount > 0 && dialects::text::is_scalar_resource(resource)) names.insert(resource);
            }
        }
    }
    for (const auto& spoken : dialects_) names.merge(as_set(spoken->resources_added(pod)));
    return {names.begin(), names.end()};
}

std::vector<std::string> dialect_set::resources_offered(const kubernetes::node& node) const {
    std::set<std::string> names;
    for (const auto& [resource, amount] : node.allocatable) {
        if (dialects::text::is_scalar_resource(resource) && dialects::text::offers(node, resource)) {
            names.insert(resource);
        }
    }
    for (const auto& spoken : dialects_) names.merge(as_set(spoken->resources_counted(node)));
    return {names.begin(), names.end()};
}

expected<void> dialect_set::check_scheduler(std::string_view name, const std::string& scheduler) const {
    const dialect* const spoken = find(name);
    if (spoken == nullptr || spoken->scheduler().empty() || spoken->scheduler() == scheduler) return {};
    std::string needed = "'" + std::string{spoken->scheduler()} + "', which alone serves dialect " + std::string{name};
    return unexpected(scheduler.empty()
                          ? bad_input(error_code::mismatch, "spec.schedulerName", "missing", std::move(needed))
                          : bad_value(error_code::mismatch, "spec.schedulerName", scheduler, std::move(needed)));
}

expected<void> dialect_set::check_enabled(const dialects::volcano::plugin_arguments& arguments, std::string_view name,
                                          const kubernetes::pod& pod) const {
    const dialect* const asked_in = find(name);
    if (asked_in == nullptr) return {};
    const auto refuse = [name](std::string expected_text) {
        return unexpected(bad_value(error_code::unsupported, "dialect", name, std::move(expected_text)));
    };
    const std::string_view argument = asked_in->deviceshare(pod).argument;
    if (argument.empty()) {
        std::string served;
        for (const auto& candidate : dialects_) {
            if (candidate->deviceshare(pod).argument.empty()) continue;
            served += (served.empty() ? "" : ", ") + std::string{candidate->name()};
        }
        return refuse("a dialect that plugin deviceshare serves: " + served);
    }
    const std::string full_name = "deviceshare." + std::string{argument};
    if (dialects::volcano::is_enabled(arguments, full_name)) return {};
    return refuse("argument " + full_name + ": true");
}

expected<void> dialect_set::check_served(const dialects::volcano::plugin_arguments& arguments, std::string_view name,
                                         const kubernetes::pod& pod) const {
    const dialect* const asked_in = find(name);
    if (asked_in == nullptr) return {};
    const std::string_view argument = asked_in->deviceshare(pod).argument;
    if (argument == "AscendMindClusterVNPUEnable" && arguments.preset_virtual_devices) {
        return unexpected(
            bad_value(error_code::unsupported, "presetVirtualDevice", "true", "false: NPUs are cut as pods come"));
    }
    if (argument.empty() || !dialects::volcano::enables_something(arguments)) return {};
    return check_enabled(arguments, name, pod);
}

} // namespace vgpualloc
