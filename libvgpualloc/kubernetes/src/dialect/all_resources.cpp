// What the dialects of a cluster make of the names of resources.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "text.hpp"
#include "vgpualloc/dialect/all.hpp"

namespace vgpualloc {

namespace {

std::string_view own_name(std::string_view resource) { return resource.substr(resource.find('/') + 1); }

std::string label_of(const kubernetes::container& container, bool at_init) {
    const char* const kind = container.stays ? "sidecar " : at_init ? "init container " : "container ";
    return kind + container.name;
}

std::string switched_off_by(const dialect_config& config, const std::string& resource) {
    const auto off = std::ranges::find(config.off, resource, &switched_off::resource);
    return off == config.off.end() ? std::string{} : off->by;
}

/// Calls `visit` for every resource with a domain that a container asks for.
template <class Visit>
void visit_resources(const kubernetes::pod& pod, const Visit& visit) {
    for (const auto* const list : {&pod.init_containers, &pod.containers}) {
        for (const kubernetes::container& container : *list) {
            for (const auto& [resource, amount] : container.requests) {
                if (!dialects::text::is_scalar_resource(resource)) continue;
                visit(container, list == &pod.init_containers, resource, amount);
            }
        }
    }
}

} // namespace

std::size_t dialect_set::first_reader(std::string_view resource) const {
    const auto reads = [resource](const auto& candidate) { return candidate->reads_resource(resource); };
    return static_cast<std::size_t>(std::ranges::find_if(dialects_, reads) - dialects_.begin());
}

std::map<std::string, std::size_t, std::less<>> dialect_set::listed_owners() const {
    std::map<std::string, std::size_t, std::less<>> owners;
    for (const auto& spoken : dialects_) {
        for (const std::string& resource : spoken->resources()) owners.try_emplace(resource, first_reader(resource));
    }
    return owners;
}

const dialect* dialect_set::owner_of(std::string_view resource) const {
    const auto listed = owners_.find(resource);
    const std::size_t owner = listed == owners_.end() ? first_reader(resource) : listed->second;
    return owner == dialects_.size() ? nullptr : dialects_[owner].get();
}

/// Of a vendor whose resources a dialect reads. A name with a digit is that of a model, of which there are more than
/// dialects know.
std::string dialect_set::likely_meant(const std::string& resource) const {
    const std::string_view name = own_name(resource);
    if (std::ranges::any_of(name, [](char c) { return c >= '0' && c <= '9'; })) return {};
    for (const auto& candidate : dialects_) {
        const auto begins = [&resource](const std::string& prefix) { return resource.starts_with(prefix); };
        if (std::ranges::none_of(candidate->resource_prefixes(), begins)) continue;
        for (std::string& known : candidate->resources()) {
            if (dialects::text::is_misspelled(name, own_name(known))) return std::move(known);
        }
    }
    return {};
}

std::vector<error> dialect_set::mistaken_resources(const kubernetes::pod& pod) const {
    std::map<std::string, std::string> expected_texts; // by resource: what is wrong with it in this pod, if anything
    std::optional<std::vector<std::size_t>> asked;     // the dialects in which the pod asks, once they are needed
    const auto expected_of = [&](const std::string& resource, const dialect* owner) -> std::string {
        if (owner != nullptr) {
            if (!asked) asked = asked_by(pod);
            const auto reads = [&](std::size_t position) { return dialects_[position]->reads_resource(resource); };
            return std::ranges::any_of(*asked, reads) ? "" : owner->what_else_it_takes(resource);
        }
        if (!switched_off_by(*config_, resource).empty()) return ""; // resources_not_read() tells
        const std::string meant = likely_meant(resource);
        return meant.empty() ? "" : meant + ", which is most likely meant (see --config for other names)";
    };
    std::vector<error> problems;
    visit_resources(pod, [&](const kubernetes::container& container, bool at_init, const std::string& resource,
                             std::int64_t amount) {
        if (amount == 0) return; // asks for nothing
        const dialect* const owner = owner_of(resource);
        if (at_init && owner != nullptr && !owner->reads_init_containers()) return; // resources_not_read() tells
        auto known = expected_texts.find(resource);
        if (known == expected_texts.end()) known = expected_texts.emplace(resource, expected_of(resource, owner)).first;
        if (known->second.empty()) return;
        problems.push_back(bad_value(error_code::unknown_name, "resources", resource, known->second)
                               .at("container " + container.name));
    });
    return problems;
}

std::vector<unread_resource> dialect_set::resources_not_read(const kubernetes::pod& pod) const {
    std::vector<unread_resource> unread;
    visit_resources(pod, [&](const kubernetes::container& container, bool at_init, const std::string& resource,
                             std::int64_t amount) {
        const dialect* const owner = owner_of(resource);
        const bool ignored = owner != nullptr && at_init && !owner->reads_init_containers();
        const std::string off_by = switched_off_by(*config_, resource);
        if (owner != nullptr ? !ignored : off_by.empty() && !likely_meant(resource).empty()) return;
        unread.push_back({.container = label_of(container, at_init),
                          .resource = resource,
                          .amount = kubernetes::written_of(container, resource, amount),
                          .ignored = ignored ? std::string{owner->name()} : std::string{},
                          .off_by = off_by});
    });
    return unread;
}

} // namespace vgpualloc
