// The policies of living clusters, and the workload that they take for typical.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "live/parts.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpualloc {

namespace {

error refused_policy(const char* field, const std::string& policy, std::string expectation) {
    return bad_value(error_code::unsupported, field, policy, std::move(expectation));
}

bool draws(const policy& scorer) {
    const policy_traits traits = scorer.traits();
    return traits.nodes == ties::drawn || traits.devices == ties::drawn;
}

/// By how much two mixes of requests differ: 0 where they are alike, 2 where they have nothing in common.
double distance(const workload& left, const workload& right) {
    std::map<std::pair<milli_cpu, std::vector<device_request>>, double> difference;
    for (const auto& entry : left.typical) difference[{entry.cpu, entry.containers}] += entry.frequency;
    for (const auto& entry : right.typical) difference[{entry.cpu, entry.containers}] -= entry.frequency;
    double sum = 0.0;
    for (const auto& [request, frequency] : difference) sum += std::abs(frequency);
    return sum;
}

} // namespace

expected<owned_policies> make_live_policies(const live_options& options, const workload& typical,
                                            const cluster& nodes) {
    const policy_parameters parameters{.target = typical, .seed = 0, .prices = book_by_size(typical, nodes)};
    auto result = options.make_policies
                      ? options.make_policies(parameters, nodes)
                      : parse_policies(options.policy, options.device_policy, options.policies, parameters);
    if (!options.make_policies && !result &&
        result.error().code == error_code::unknown_name) { // an error that lists those without draws
        std::vector<policy_entry> without_draws(options.policies.begin(), options.policies.end());
        std::erase_if(without_draws, [](const policy_entry& entry) { return draws(*entry.make({})); });
        auto refused = parse_policies(options.policy, options.device_policy, without_draws, parameters);
        if (!refused) return refused;
    }
    if (!result) return result;
    if (draws(*result->node)) {
        return unexpected(refused_policy("policy", options.policy, "a policy that draws nothing"));
    }
    if (result->device && draws(*result->device)) {
        return unexpected(refused_policy("device_policy", options.device_policy, "a policy that draws nothing"));
    }
    return result;
}

expected<std::unique_ptr<live_cluster::deciders>>
live_cluster::make_deciders(const live_options& options, const workload& typical, const ledger& book) {
    auto policies = make_live_policies(options, typical, book.nodes());
    if (!policies) return unexpected(std::move(policies).error());
    return std::make_unique<deciders>(*std::move(policies), ++deciders_number_, book);
}

/// Others decide from now on; they know what those before them have learned.
void live_cluster::replace_deciders(std::unique_ptr<deciders> next) {
    deciders_->alloc.catch_up();
    next->pair().take_over(deciders_->pair());
    deciders_ = std::move(next);
}

/// Whether the policies are to hear of every pod that comes.
bool live_cluster::hears_arrivals() const { return !options_.make_policies && deciders_->pair().learns(); }

/// Has policies that have heard of no pod hear of those that are there, as they came.
void live_cluster::note_present_pods() {
    std::vector<std::pair<std::string, std::string>> by_age; // when it was created, full name
    for (const auto& [full_name, uid] : uids_) by_age.emplace_back(view_.find_pod(full_name)->created, full_name);
    std::ranges::sort(by_age);
    for (const auto& [created, full_name] : by_age) note_arrival(uids_.at(full_name));
}

// ---- the workload

/// Brings the counts of what pods ask for up to date.
void live_cluster::count_requests() {
    for (const std::string& full_name : std::exchange(uncounted_, {})) {
        const auto uid = uids_.find(full_name);
        VGA_ASSERT(uid != uids_.end(), "what is not counted is there");
        known_pod& known = *read(uid->second);
        known.counted = !known.pod.failure;
        if (known.counted) ++counts_[{known.pod.request.cpu, known.pod.request.containers}];
    }
}

bool live_cluster::learn_workload() {
    constexpr double difference_min = 0.05;
    // One pod more or less moves the mix by 2 / pods at most.
    const auto pods = static_cast<double>(names_.size());
    if (pods == 0.0 || 2.0 * static_cast<double>(changes_) <= difference_min * pods) return false;
    if (read_as_ != view_.dialects_version()) forget_reading();
    count_requests();
    workload now = kube::typical_of(counts_);
    if (distance(now, learned_) <= difference_min) return false;
    auto made = make_deciders(options_, now, book());
    VGA_ASSERT(made.has_value() || options_.make_policies, "the policies have been made before");
    if (!made) return false;
    learned_ = std::move(now);
    replace_deciders(*std::move(made));
    changes_ = 0;
    return true;
}

expected<void> live_cluster::renew_policies() {
    auto renewed = make_deciders(options_, learned_, book());
    if (!renewed) return unexpected(std::move(renewed).error());
    replace_deciders(*std::move(renewed));
    return {};
}

void live_cluster::note_arrival(std::string_view uid) {
    known_pod* const known = read(uid);
    if (known == nullptr) return;
    if (const auto number = intern(*known)) deciders_->alloc.note_arrival(*number);
    trim_log();
}

std::shared_ptr<const owned_policies> live_cluster::copy_learning() {
    if (!hears_arrivals()) return nullptr;
    deciders_->alloc.catch_up();
    auto copy = std::make_shared<const owned_policies>(*make_live_policies(options_, learned_, book().nodes()));
    copy->pair().take_over(deciders_->pair());
    return copy;
}

void live_cluster::restore_learning(const owned_policies& copy) {
    deciders_->alloc.catch_up(); // what has happened so far belongs to what is forgotten
    deciders_->pair().take_over(copy.pair());
}

expected<live_question> live_cluster::question(std::string_view uid) {
    const kube::snapshot_pod* const pod = pod_of(uid);
    if (pod == nullptr) {
        return unexpected(bad_value(error_code::unknown_name, "pod", uid, "a pod that is there"));
    }
    return live_question{
        .state = view_.to_snapshot([this](const std::string& full_name) { return *pod_of(uids_.at(full_name)); }),
        .pod = *pod,
        .options = {.policy = options_.policy,
                    .device_policy = options_.device_policy,
                    .make_policies = options_.make_policies,
                    .learned = copy_learning(),
                    .served = options_.deviceshare,
                    .is_scheduler = true}};
}

} // namespace vgpualloc
