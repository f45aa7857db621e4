// The volcano_vgpu dialect: what a pod asks for.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "text.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"
#include "volcano_vgpu_text.hpp"

namespace vgpualloc::dialect::volcano_vgpu {

namespace {

constexpr std::int64_t unset_percentage = 101; // as upstream spells "none"

std::optional<std::int64_t> found_in(const kubernetes::amount_map& amounts, const std::string& name) {
    const auto found = name.empty() ? amounts.end() : amounts.find(name);
    if (found == amounts.end()) return std::nullopt;
    return found->second;
}

/// Reads the amounts of one container; the first that is out of range is kept.
class amount_reader {
public:
    amount_reader(const kubernetes::pod& pod, const kubernetes::container& of) : pod_{&pod}, container_{&of} {}

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
            failure_ = error{error_code::out_of_range, "pod " + pod_->ns + "/" + pod_->name,
                             "container " + container_->name + " " + name, std::to_string(*value),
                             "a whole number from 0 to " + std::to_string(amount_max)};
        }
        return value;
    }

    const kubernetes::pod* pod_;
    const kubernetes::container* container_;
    std::optional<error> failure_;
};

std::string wanted_mode(const kubernetes::pod& of, const options& with) {
    const auto found = of.annotations.find(mode_annotation);
    if (found == of.annotations.end()) return {};
    if (found->second == "hami-core") return std::string{hami_core_mode};
    if (found->second == "mig") return std::string{mig_mode};
    if (found->second == "mps" && !with.mps_as_hami_core) return std::string{mps_mode};
    // A text that names no mode is not the same as none: it matches no card.
    return std::string{mode_annotation} + "=" + found->second;
}

/// What the annotations of a pod ask of the cards of every container.
device_request wishes_of(const kubernetes::pod& of, const options& with) {
    const auto list = [&of](const char* key) { return text::items(kubernetes::value_of(of.annotations, key)); };
    device_request wished;
    wished.family = family;
    wished.types_allowed = list("nvidia.com/use-gputype");
    wished.types_denied = list("nvidia.com/nouse-gputype");
    wished.uuids_allowed = list("volcano.sh/vgpu-use-gpuuuid");
    wished.uuids_denied = list("volcano.sh/vgpu-nouse-gpuuuid");
    wished.mode = wanted_mode(of, with);
    return wished;
}

/// Upstream does not see a member that has nothing of a card.
void add_pod_group(const kubernetes::pod& of, bool has_something, pod_request& to) {
    for (const char* const key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
        const std::string& group = kubernetes::value_of(of.annotations, key);
        if (group.empty()) continue;
        const std::string tag = "group:" + of.ns + "/" + group;
        if (has_something) to.tags.push_back(tag);
        if (kubernetes::value_of(of.annotations, "volcano.sh/vgpu-podgroup-policy") == "spread") {
            to.avoids.push_back(tag);
        }
        return;
    }
}

void add_exclusive_rules(const kubernetes::pod& of, const options& with, pod_request& to) {
    for (std::size_t i = 0; i < with.exclusive_rules.size(); ++i) {
        const kubernetes::text_map& rule = with.exclusive_rules[i];
        const auto carried = [&of](const auto& label) {
            const auto found = of.labels.find(label.first);
            return found != of.labels.end() && found->second == label.second;
        };
        if (rule.empty() || !std::ranges::all_of(rule, carried)) continue;
        to.tags.push_back("rule:" + std::to_string(i));
        to.avoids.push_back(to.tags.back());
    }
}

} // namespace

bool asks(const kubernetes::container& one, const options& with) {
    return found_in(one.limits, with.count_name) || found_in(one.limits, with.memory_name);
}

bool requests(const kubernetes::pod& of, const options& with) {
    return std::ranges::any_of(of.containers, [&with](const auto& each) { return asks(each, with); });
}

expected<pod_request> read_pod(const kubernetes::pod& of, const options& with) {
    pod_request made;
    const device_request wished = wishes_of(of, with);
    for (const kubernetes::container& each : of.containers) {
        if (!asks(each, with)) continue;
        amount_reader amounts{of, each};
        device_request wanted = wished;
        wanted.count = amounts.limit(with.count_name).value_or(1);
        wanted.memory = mib{amounts.amount(with.memory_name).value_or(0)};
        const std::int64_t percentage = amounts.amount(with.memory_percentage_name).value_or(unset_percentage);
        if (percentage != unset_percentage) {
            wanted.memory_percent = percentage;
            wanted.memory = mib{0}; // so that requests that mean the same are equal
        }
        wanted.cores = core_percent{amounts.amount(with.cores_name).value_or(0)};
        if (amounts.failure()) return unexpected(*amounts.failure());
        made.containers.push_back(std::move(wanted));
    }
    const bool has_something = std::ranges::any_of(made.containers, [](const device_request& each) {
        return each.memory_percent.value_or(1) != 0 || each.cores > core_percent{0};
    });
    add_pod_group(of, has_something, made);
    add_exclusive_rules(of, with, made);
    return made;
}

std::vector<std::string> tags_of(const kubernetes::pod& of, std::span<const device_share> has, const options& with) {
    const bool has_something = std::ranges::any_of(has, [](const device_share& each) {
        const auto* part = std::get_if<slice>(&each.part);
        return part == nullptr || part->memory > mib{0} || part->cores > core_percent{0};
    });
    pod_request made;
    add_pod_group(of, has_something, made);
    add_exclusive_rules(of, with, made);
    return made.tags;
}

} // namespace vgpualloc::dialect::volcano_vgpu
