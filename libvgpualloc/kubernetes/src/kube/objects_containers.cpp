// Reading Kubernetes objects: containers and their resources. What the API server would refuse is a problem
// (pkg/apis/core/validation).
#include <algorithm>
#include <array>
#include <set>

#include "objects_parts.hpp"

namespace vgpualloc::kube {
namespace {

constexpr bool is_letter_or_digit(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// Kubernetes' own resources, of which a node may give out more than it has.
bool is_overcommitted(std::string_view resource) {
    return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
           resource.find("kubernetes.io/") != std::string_view::npos;
}

/// Amounts of resources with a '/' in their names, which are whole; host amounts are read apart.
kubernetes::amount_map read_amounts(const object_cursor& from, kubernetes::container& target) {
    kubernetes::amount_map amounts;
    for (const auto& [name, entry] : from.entries()) {
        if (name.find('/') == std::string::npos) {
            if (is_overcommitted(name) || name.starts_with("hugepages-")) continue;
            entry.fail(error_code::unknown_name, name,
                       "cpu, memory, ephemeral-storage, hugepages-… or a name with its vendor, such as nvidia.com/gpu");
            continue;
        }
        if (name.starts_with("requests.")) { // what quotas call it
            entry.fail(error_code::unknown_name, name, name.substr(name.find('.') + 1) + ", as containers call it");
            continue;
        }
        const auto amount = entry.quantity(quantity_unit::one, rounding::refuse);
        if (!amount) continue;
        amounts[name] = *amount;
        target.written.try_emplace(name, kubernetes::written_amount{.text = entry.scalar(), .line = entry.line()});
    }
    return amounts;
}

/// Whether `request` is above `limit`; not if one of them cannot be read, which is told elsewhere.
bool is_above(const object_cursor& request, const object_cursor& limit) {
    const auto amount = [](const object_cursor& from) {
        return kubernetes::parse_quantity(from.value()->text, quantity_unit::thousandth, rounding::up);
    };
    const auto wanted = amount(request);
    const auto most = amount(limit);
    return wanted && most && *wanted > *most;
}

void check_requests(const object_cursor& resources) {
    const auto limits = resources.at("limits");
    for (const auto& [name, request] : resources.at("requests").entries()) {
        if (!request.present()) continue;
        const auto limit = limits.at(name);
        if (is_overcommitted(name)) {
            if (limit.present() && is_above(request, limit)) {
                request.fail(error_code::mismatch, request.scalar(), "no more than the limit, " + limit.scalar());
            }
        } else if (!limit.present()) {
            request.fail(error_code::mismatch, request.scalar(),
                         "the same amount in limits: Kubernetes refuses a request for " + name + " without it");
        } else if (is_above(request, limit) || is_above(limit, request)) {
            request.fail(error_code::mismatch, request.scalar(),
                         limit.scalar() + ", as limits have it: both have to be equal for " + name);
        }
    }
}

/// Fields that are meant for others: whoever writes them asks for nothing without knowing it.
void check_fields(const object_cursor& container) {
    for (const auto& [name, entry] : container.entries()) {
        if (name == "resource" || name == "resouces" || name == "ressources") {
            entry.fail(error_code::unknown_name, name, "resources, which is most likely meant");
        }
    }
    for (const auto& [name, entry] : container.at("resources").entries()) {
        if (name == "limits" || name == "requests" || name == "claims") continue;
        std::string meant = "limits, requests or claims";
        if (name.starts_with("l") || name.starts_with("L")) meant = "limits, which is most likely meant";
        if (name.starts_with("r") || name.starts_with("R")) meant = "requests, which is most likely meant";
        entry.fail(error_code::unknown_name, name, meant);
    }
}

bool is_always_restarted(const object_cursor& container) {
    const auto policy = container.at("restartPolicy");
    const std::string written = policy.text();
    if (written.empty() || written == "Always" || written == "OnFailure" || written == "Never") {
        return written == "Always";
    }
    policy.fail(error_code::malformed, written, "Always, OnFailure or Never");
    return false;
}

} // namespace

bool is_label(std::string_view text) {
    constexpr std::size_t label_max = 63;
    return !text.empty() && text.size() <= label_max && is_letter_or_digit(text.front()) &&
           is_letter_or_digit(text.back()) &&
           std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
    constexpr std::size_t name_max = 253;
    if (text.size() > name_max) return false;
    for (;;) {
        const auto dot = text.find('.');
        const std::string_view part = text.substr(0, dot);
        // Parts may be longer than a label of DNS: Kubernetes looks at the length of the whole.
        if (part.empty() || !is_letter_or_digit(part.front()) || !is_letter_or_digit(part.back()) ||
            !std::ranges::all_of(part, [](char c) { return is_letter_or_digit(c) || c == '-'; })) {
            return false;
        }
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

void check_label(const object_cursor& from, const std::string& name) {
    if (is_label(name)) return;
    from.fail(error_code::malformed, name,
              "at most 63 lower-case letters, digits and '-' (RFC 1123), as Kubernetes has it");
}

void check_subdomain(const object_cursor& from, const std::string& name) {
    if (is_subdomain(name)) return;
    from.fail(error_code::malformed, name,
              "at most 253 lower-case letters, digits, '-' and '.' (RFC 1123), as Kubernetes has it");
}

void check_container_names(const object_cursor& spec) {
    std::set<std::string> names;
    for (const char* list : {"containers", "initContainers"}) {
        for (const object_cursor& container : spec.at(list).items()) {
            if (!container.present()) continue;
            const auto at = container.at("name");
            const std::string name = at.text();
            if (name.empty()) {
                at.fail(error_code::missing, "", "the container's name");
                continue;
            }
            check_label(at, name);
            if (!names.insert(name).second) at.fail(error_code::duplicate, name, "a name that no other container has");
        }
    }
}

kubernetes::container read_container(const object_cursor& from, bool at_init) {
    kubernetes::container result;
    result.name = from.at("name").text();
    const auto resources = from.at("resources");
    result.limits = read_amounts(resources.at("limits"), result);
    result.requests = read_amounts(resources.at("requests"), result);
    // As the API server sets them.
    for (const auto& [name, amount] : result.limits) result.requests.try_emplace(name, amount);
    for (const auto& claim : resources.at("claims").items()) result.claims.push_back(claim.at("name").text());
    result.stays = at_init && is_always_restarted(from);
    result.privileged = from.at("securityContext").at("privileged").truth(false);
    check_fields(from);
    check_requests(resources);
    return result;
}

} // namespace vgpualloc::kube
