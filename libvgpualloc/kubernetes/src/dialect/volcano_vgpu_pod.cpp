// The volcano_vgpu dialect: what a pod asks for.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "text.hpp"
#include "vgpualloc/dialect/config.hpp"
#include "volcano_vgpu_parts.hpp"

namespace vgpualloc::dialects::volcano_vgpu {

namespace {

constexpr std::int64_t unset_percentage = 101; // as upstream spells "none"

std::optional<std::int64_t> found_in(const kubernetes::amount_map& amounts, const std::string& name) {
    const auto amount = name.empty() ? amounts.end() : amounts.find(name);
    if (amount == amounts.end()) return std::nullopt;
    return amount->second;
}

/// Reads the amounts of one container; the first that is out of range is kept.
class amount_reader {
public:
    amount_reader(const kubernetes::pod& pod, const kubernetes::container& container, const options& configured)
        : pod_{&pod}, container_{&container}, configured_{&configured} {}

    /// The limit, or else the request.
    [[nodiscard]] std::optional<std::int64_t> amount(const std::string& name) {
        auto value = found_in(container_->limits, name);
        if (!value) value = found_in(container_->requests, name);
        return checked(name, value);
    }
    [[nodiscard]] std::optional<std::int64_t> limit(const std::string& name) {
        return checked(name, found_in(container_->limits, name));
    }
    [[nodiscard]] const std::optional<error>& failure() const { return failure_; }

private:
    [[nodiscard]] std::optional<std::int64_t> checked(const std::string& name, std::optional<std::int64_t> value) {
        if (value && (*value < 0 || *value > amount_max) && !failure_) {
            const std::string written = kubernetes::written_of(*container_, name, *value);
            failure_ = bad_value(error_code::out_of_range, name, written,
                                 name == configured_->memory_name
                                     ? text::memory_expected(written, mib{configured_->memory_factor}, amount_max)
                                     : "a whole number from 0 to " + std::to_string(amount_max))
                           .at("pod " + pod_->ns + "/" + pod_->name + ", container " + container_->name);
        }
        return value;
    }

    const kubernetes::pod* pod_;
    const kubernetes::container* container_;
    const options* configured_;
    std::optional<error> failure_;
};

std::string wanted_mode(const kubernetes::pod& pod, const options& configured) {
    const auto annotation = pod.annotations.find(mode_annotation);
    if (annotation == pod.annotations.end()) return {};
    const std::string& word = annotation->second;
    if (word == "hami-core") return std::string{hami_core_mode};
    if (word == "mig") return std::string{mig_mode};
    if (word == "mps" && !configured.mps_as_hami_core) return std::string{mps_mode};
    // A text that names no mode is not the same as none: it matches no card.
    return std::string{mode_annotation} + "=" + word;
}

/// What the annotations of a pod ask of the cards of every container.
device_request wishes_of(const kubernetes::pod& pod, const options& configured) {
    const auto list = [&pod](const char* key) { return text::items(kubernetes::value_of(pod.annotations, key)); };
    device_request wished;
    wished.family = family;
    wished.types_allowed = list("nvidia.com/use-gputype");
    wished.types_denied = list("nvidia.com/nouse-gputype");
    wished.uuids_allowed = list("volcano.sh/vgpu-use-gpuuuid");
    wished.uuids_denied = list("volcano.sh/vgpu-nouse-gpuuuid");
    wished.mode = wanted_mode(pod, configured);
    return wished;
}

/// Upstream does not see a member that has nothing of a card.
void add_pod_group(const kubernetes::pod& pod, bool has_something, pod_request& request) {
    for (const char* const key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
        const std::string& group = kubernetes::value_of(pod.annotations, key);
        if (group.empty()) continue;
        const std::string tag = "group:" + pod.ns + "/" + group;
        if (has_something) request.tags.push_back(tag);
        if (kubernetes::value_of(pod.annotations, "volcano.sh/vgpu-podgroup-policy") == "spread") {
            request.avoids.push_back(tag);
        }
        return;
    }
}

void add_exclusive_rules(const kubernetes::pod& pod, const options& configured, pod_request& request) {
    for (std::size_t i = 0; i < configured.exclusive_rules.size(); ++i) {
        const kubernetes::text_map& rule = configured.exclusive_rules[i];
        const auto carried = [&pod](const auto& label) {
            const auto own_label = pod.labels.find(label.first);
            return own_label != pod.labels.end() && own_label->second == label.second;
        };
        if (rule.empty() || !std::ranges::all_of(rule, carried)) continue;
        request.tags.push_back("rule:" + std::to_string(i));
        request.avoids.push_back(request.tags.back());
    }
}

} // namespace

std::vector<std::string> vgpu_dialect::resources() const {
    return {options_.count_name, options_.memory_name, options_.cores_name, options_.memory_percentage_name,
            "volcano.sh/vgpu-priority"};
}

std::string vgpu_dialect::what_else_it_takes(const std::string& resource) const {
    std::string names;
    for (const std::string* const name : {&options_.count_name, &options_.memory_name}) {
        if (!name->empty()) names += (names.empty() ? "" : " or ") + *name;
    }
    return names + " in the limits beside it: without that " + resource + " asks for no card";
}

std::vector<std::string> vgpu_dialect::notes() const {
    if (options_.memory_factor == 1) return {};
    return {"memory of GPUs in dialect " + std::string{name()} + " is in units of " +
            std::to_string(options_.memory_factor) + " MiB (gpuMemoryFactor)"};
}

std::string vgpu_dialect::binding_node(const kubernetes::pod& pod) const {
    return text::binding_node(pod, "volcano.sh/vgpu-node", "volcano.sh/bind-phase");
}

bool vgpu_dialect::asks(const kubernetes::container& container) const {
    return found_in(container.limits, options_.count_name) || found_in(container.limits, options_.memory_name);
}

bool vgpu_dialect::requests(const kubernetes::pod& pod) const {
    return std::ranges::any_of(pod.containers, [this](const auto& container) { return asks(container); });
}

expected<pod_request> vgpu_dialect::read_pod(const kubernetes::pod& pod) const {
    pod_request request;
    const device_request wished = wishes_of(pod, options_);
    for (const kubernetes::container& container : pod.containers) {
        if (!asks(container)) continue;
        amount_reader amounts{pod, container, options_};
        device_request entry = wished;
        entry.count = amounts.limit(options_.count_name).value_or(1);
        entry.memory = mib{amounts.amount(options_.memory_name).value_or(0)};
        const std::int64_t percentage = amounts.amount(options_.memory_percentage_name).value_or(unset_percentage);
        if (percentage != unset_percentage) {
            entry.memory_percent = percentage;
            entry.memory = mib{0}; // so that requests that mean the same are equal
        }
        entry.cores = core_percent{amounts.amount(options_.cores_name).value_or(0)};
        if (amounts.failure()) return unexpected(*amounts.failure());
        request.containers.push_back(std::move(entry));
    }
    const bool has_something = std::ranges::any_of(request.containers, [](const device_request& entry) {
        return entry.memory_percent.value_or(1) != 0 || entry.cores > core_percent{0};
    });
    add_pod_group(pod, has_something, request);
    add_exclusive_rules(pod, options_, request);
    return request;
}

std::vector<std::string> vgpu_dialect::tags_of(const kubernetes::pod& pod, const pod_request&,
                                               std::span<const device_share> shares) const {
    const bool has_something = std::ranges::any_of(shares, [](const device_share& share) {
        const auto* part = std::get_if<slice>(&share.part);
        return part == nullptr || part->memory > mib{0} || part->cores > core_percent{0};
    });
    pod_request tagged;
    add_pod_group(pod, has_something, tagged);
    add_exclusive_rules(pod, options_, tagged);
    return tagged.tags;
}

void vgpu_dialect::check_silent_container(const kubernetes::container& container, request_findings& findings) const {
    for (const std::string& name : resources()) {
        if (!found_in(container.requests, name)) continue;
        findings.errors.push_back(bad_value(error_code::missing, "resources", name, what_else_it_takes(name))
                                      .at("container " + container.name));
    }
}

request_findings vgpu_dialect::check_pod(const kubernetes::pod& pod) const {
    request_findings findings;
    for (const kubernetes::container& container : pod.containers) {
        if (!asks(container)) {
            check_silent_container(container, findings);
            continue;
        }
        if (found_in(container.limits, options_.count_name) == 0)
            text::note_ignored_beside_none(container, options_.count_name,
                                           {options_.memory_name, options_.memory_percentage_name, options_.cores_name},
                                           findings);
        text::check_amounts(container, options_.count_name, options_.memory_name, mib{options_.memory_factor},
                            findings);
        const auto percentage = found_in(container.requests, options_.memory_percentage_name);
        if (percentage.value_or(unset_percentage) == unset_percentage) continue;
        if (found_in(container.requests, options_.memory_name).value_or(0) == 0) continue;
        findings.notes.push_back(text::ignored_words(container, options_.memory_name, options_.memory_percentage_name));
    }
    return findings;
}

request_findings vgpu_dialect::check(const device_request& request, const std::string& container,
                                     const idle_answer&) const {
    request_findings findings;
    text::check_percent(options_.memory_percentage_name, request.memory_percent.value_or(0), container, findings);
    text::check_percent(options_.cores_name, request.cores.count(), container, findings);
    if (request.memory_percent == 0) {
        findings.notes.push_back("container " + container + ": " + options_.memory_percentage_name +
                                 " 0 is a slice of 0 MiB; without it the container would get the whole card's memory");
    }
    const auto equals = request.mode.find('='); // wanted_mode() of a text that names no mode
    if (equals == std::string::npos) return findings;
    findings.errors.push_back(bad_value(error_code::unknown_name, request.mode.substr(0, equals),
                                        request.mode.substr(equals + 1),
                                        "hami-core, mig or mps; no card is in another mode")
                                  .at("container " + container));
    return findings;
}

std::shared_ptr<const dialect> make(options configured) {
    return std::make_shared<const vgpu_dialect>(std::move(configured));
}

options options_of(const dialect_config& config) {
    options configured = config.devices.vgpu;
    configured.exclusive_rules = config.exclusive_rules;
    configured.catalog = config.mig;
    return configured;
}

} // namespace vgpualloc::dialects::volcano_vgpu
