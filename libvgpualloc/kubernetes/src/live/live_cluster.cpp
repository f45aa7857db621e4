// Living clusters.
#include "vgpualloc/live/live_cluster.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "explain/node.hpp"
#include "live/parts.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/kube/annotations.hpp"
#include "vgpualloc/kube/cluster_objects.hpp"
#include "vgpualloc/live/live_options.hpp"
#include "vgpualloc/model/limits.hpp"

namespace vgpualloc {

live_cluster::live_cluster(live_options options) : options_{std::move(options)}, view_{dialect_set{options_.config}} {}
live_cluster::~live_cluster() = default;

expected<std::unique_ptr<live_cluster>> live_cluster::make(live_options options) {
    std::unique_ptr<live_cluster> result{new live_cluster{std::move(options)}};
    auto made = result->make_deciders(result->options_, {}, result->book());
    if (!made) return unexpected(std::move(made).error());
    result->deciders_ = *std::move(made);
    return result;
}

namespace {

/// The device of that uuid; none if the node has none.
std::optional<device_index> device_of(const node& owner, std::string_view uuid) {
    const auto position = std::ranges::find(owner.devices, uuid, &device::uuid);
    if (position == owner.devices.end()) return std::nullopt;
    return device_index{position - owner.devices.begin()};
}

/// The same devices of a node as another configuration reads it, by uuid; none if one of them is not there.
std::optional<placement> same_devices(const placement& where, const cluster& before, ledger& after) {
    const node& old_node = before.nodes[where.node.at()];
    placement result{.node = after.find_node(old_node.name), .shares = where.shares};
    if (!result.node.valid()) return std::nullopt;
    for (device_share& share : result.shares) {
        const auto same = device_of(after.nodes().nodes[result.node.at()], old_node.devices[share.device.at()].uuid);
        if (!same) return std::nullopt;
        share.device = *same;
    }
    return result;
}

/// Lets the devices that somebody has ordered out of service stay so in another ledger of the same cluster.
void keep_orders(const ledger& before, ledger& after) {
    for (std::size_t n = 0; n < before.nodes().nodes.size(); ++n) {
        if (!before.is_present(node_index{n})) continue;
        const node& described = before.nodes().nodes[n];
        const node_index where = after.find_node(described.name);
        if (!where.valid() || !after.is_present(where)) continue;
        const auto services = before.services(node_index{n});
        for (std::size_t d = 0; d < services.size(); ++d) {
            if (services[d] != service_state::draining && services[d] != service_state::reconfiguring) continue;
            const auto same = device_of(after.nodes().nodes[where.at()], described.devices[d].uuid);
            if (!same) continue;
            const auto ordered = after.set_service(where, *same, services[d]);
            VGA_ASSERT(ordered.has_value(), "the device is there");
        }
    }
}

} // namespace

expected<void> live_cluster::configure(live_options options) {
    VGA_ASSERT(trials_.empty(), "a configuration is no matter of trials");
    kube::cluster_view view = view_.read_as(dialect_set{options.config});
    auto made = make_deciders(options, learned_, view.book());
    if (!made) return unexpected(std::move(made).error());
    // What no object says is carried over by the names of nodes and the uuids of devices.
    std::vector<error> dropped;
    for (const auto& [full_name, uid] : uids_) {
        const booking* const held = view_.book().find_booking(view_.id_of(full_name));
        const pod_id id = view.id_of(full_name);
        if (held == nullptr || !id.valid() || view.book().is_live(id)) continue;
        booking carried = *held;
        carried.owner = id;
        auto where = same_devices(held->where, view_.book().nodes(), view.book());
        if (where) carried.where = *std::move(where);
        if (!where || !view.book().reserve(std::move(carried))) {
            dropped.push_back(bad_value(error_code::mismatch, "",
                                        view_.book().nodes().nodes[held->where.node.at()].name,
                                        "its devices there under the new configuration too; it waits again")
                                  .at("pod " + full_name));
            continue;
        }
        if (view_.book().is_committed(held->owner)) static_cast<void>(view.book().commit(id));
    }
    std::map<std::string, live_holding, std::less<>> suspended;
    for (const auto& [full_name, kept] : suspended_) {
        const pod_id id = view.id_of(full_name);
        const booking* const held = view.book().find_booking(id);
        if (held == nullptr) continue;
        suspended.emplace(full_name, live_holding{.held = *held, .node = kept.node, .uuids = kept.uuids});
        const auto released = view.book().release(id);
        VGA_ASSERT(released.has_value(), "what the view adopted is committed");
    }
    suspended_ = std::move(suspended);
    keep_orders(view_.book(), view.book()); // after the reservations, which a device out of service keeps
    deciders_->alloc.catch_up();
    (*made)->alloc.catch_up(); // with what was carried over, which is among what is taken over
    const bool knows_pods = (*made)->pair().take_over(deciders_->pair());
    options_ = std::move(options);
    deciders_.reset(); // of the ledger that goes
    view_ = std::move(view);
    deciders_ = *std::move(made);
    forget_reading();
    if (hears_arrivals() && !knows_pods) note_present_pods();
    dropped_ = std::move(dropped);
    return {};
}

// ---- what the cluster is

live_cluster::told live_cluster::upsert(const kube::manifest& object) {
    const applied change = apply(object);
    if (change.arrived != nullptr) note_arrival(*change.arrived);
    return change.result;
}

/// Takes an object for what is now.
live_cluster::applied live_cluster::apply(const kube::manifest& object) {
    VGA_ASSERT(trials_.empty(), "objects are no matter of trials");
    if (object.kind != "Pod" || !object.pod) {
        if (!view_.upsert(object)) return {};
        forget_resumed();
        return {.result = told::changed};
    }
    const std::string full_name = kube::full_name_of(object);
    const std::string& uid = object.pod->uid.empty() ? full_name : object.pod->uid;
    if (const auto known = uids_.find(full_name); known != uids_.end() && known->second != uid) {
        const kube::manifest* const present = view_.find_pod(full_name);
        const bool is_older = present != nullptr && !object.created.empty() && object.created < present->created;
        if (is_older) return {.result = told::outdated};
    }
    if (const auto known = names_.find(uid); known != names_.end() && known->second != full_name) {
        remove_pod(uid); // one uid is one pod, whatever it is called
    }
    if (!view_.upsert(object)) return {};
    const bool is_known = names_.contains(uid);
    forget(full_name);
    ++changes_;
    if (view_.find_pod(full_name) == nullptr) return {.result = told::changed}; // it has ended
    const std::string& known_uid = uids_[full_name] = uid;
    names_[uid] = full_name;
    uncounted_.insert(full_name);
    return {.result = told::changed, .arrived = !is_known && hears_arrivals() ? &known_uid : nullptr};
}

/// What was known of a pod whose object has changed or is gone.
void live_cluster::forget(const std::string& full_name) {
    if (const auto known = pods_.find(full_name); known != pods_.end()) {
        if (known->second.counted) {
            const auto count = counts_.find({known->second.pod.request.cpu, known->second.pod.request.containers});
            if (--count->second == 0) counts_.erase(count);
        }
        pods_.erase(known);
    }
    uncounted_.erase(full_name);
    suspended_.erase(full_name);
    if (const auto known = uids_.find(full_name); known != uids_.end()) {
        names_.erase(known->second);
        uids_.erase(known);
    }
}

/// What was read of pods, whose annotations and resources may mean something else now.
void live_cluster::forget_reading() {
    pods_.clear();
    readings_.clear();
    counts_.clear();
    for (const auto& [full_name, uid] : uids_) uncounted_.insert(uncounted_.end(), full_name);
    read_as_ = view_.dialects_version();
}

/// A node whose devices are others now has its pods booked anew, also those that were suspended.
void live_cluster::forget_resumed() {
    std::erase_if(suspended_, [this](const auto& entry) { return book().is_live(view_.id_of(entry.first)); });
}

bool live_cluster::remove_node(std::string_view name) {
    VGA_ASSERT(trials_.empty(), "objects are no matter of trials");
    return view_.remove_node(name);
}

bool live_cluster::remove_pod(std::string_view uid) {
    VGA_ASSERT(trials_.empty(), "objects are no matter of trials");
    const std::string* const name = name_of(uid);
    if (name == nullptr) return false;
    const std::string full_name = *name;
    forget(full_name);
    ++changes_;
    return view_.remove_pod(full_name);
}

bool live_cluster::remove_config_map(std::string_view full_name) {
    VGA_ASSERT(trials_.empty(), "objects are no matter of trials");
    if (!view_.remove_config_map(full_name)) return false;
    forget_resumed();
    return true;
}

node_index live_cluster::find_node(std::string_view name) {
    const node_index where = view_.book().find_node(name);
    return where.valid() && book().is_present(where) ? where : node_index{};
}

expected<device_index> live_cluster::find_device(node_index where, std::string_view uuid) const {
    const auto unknown = [](std::string_view field, std::string value, const char* what) {
        return unexpected(bad_value(error_code::unknown_name, field, value, what));
    };
    if (where.at() >= book().nodes().nodes.size() || !book().is_present(where)) {
        return unknown("node", where.valid() ? std::to_string(where.value()) : "", "a node that is there");
    }
    const auto which = uuid.empty() ? std::nullopt : device_of(book().nodes().nodes[where.at()], uuid);
    if (!which) return unknown("device", std::string{uuid}, "a device of the node");
    return *which;
}

expected<bool> live_cluster::set_service(node_index where, std::string_view uuid, service_state service) {
    const auto which = find_device(where, uuid);
    if (!which) return unexpected(which.error());
    if (service == service_state::in_service) {
        const auto registered = view_.devices_of(book().nodes().nodes[where.at()].name);
        const auto same = std::ranges::find(registered, uuid, [](const auto& entry) { return entry.registered.uuid; });
        if (same != registered.end() && !same->registered.healthy) service = service_state::failed;
    }
    return view_.book().set_service(where, *which, service);
}

// ---- pods

const std::string* live_cluster::name_of(std::string_view uid) const {
    const auto known = names_.find(uid);
    return known == names_.end() ? nullptr : &known->second;
}

pod_id live_cluster::id_of(std::string_view uid) const {
    const std::string* const name = name_of(uid);
    return name == nullptr ? pod_id{} : view_.id_of(*name);
}

/// Null if the pod is not known.
live_cluster::known_pod* live_cluster::read(std::string_view uid) {
    if (read_as_ != view_.dialects_version()) forget_reading();
    const std::string* const name = name_of(uid);
    if (name == nullptr) return nullptr;
    if (const auto known = pods_.find(*name); known != pods_.end()) return &known->second;
    auto pod = view_.pod(*name);
    VGA_ASSERT(pod.has_value(), "a pod with a uid is one of the view");
    known_pod entry{.pod = *std::move(pod)};
    entry.failure = entry.pod.failure;
    if (!entry.failure) {
        if (auto checked = check_request(entry.pod.request); !checked) entry.failure = std::move(checked).error();
    }
    if (!entry.failure && options_.deviceshare) {
        auto served = view_.dialects().check_served(*options_.deviceshare, entry.pod.dialect, entry.pod.object);
        if (!served) entry.failure = std::move(served).error();
    }
    return &pods_.emplace(*name, std::move(entry)).first->second;
}

/// The request's number with those who decide now; none if no scheduler can serve the pod.
std::optional<request_id> live_cluster::intern(known_pod& known) {
    if (known.failure) return std::nullopt;
    allocator& alloc = deciders_->alloc;
    const bool is_numbered = known.numbered_by == deciders_->number && alloc.find_request(known.number) != nullptr;
    if (!is_numbered) {
        const auto number = alloc.intern(known.pod.request);
        if (!number) return std::nullopt;
        known.number = *number;
        known.numbered_by = deciders_->number;
    }
    return known.number;
}

live_pod_state live_cluster::state_of(std::string_view uid) const {
    const std::string* const name = name_of(uid);
    if (name == nullptr) return live_pod_state::unknown;
    const pod_id id = view_.id_of(*name);
    if (book().is_committed(id)) return live_pod_state::committed;
    if (book().is_live(id)) return live_pod_state::reserved;
    return suspended_.contains(*name) ? live_pod_state::suspended : live_pod_state::waiting;
}

const kube::snapshot_pod* live_cluster::pod_of(std::string_view uid) {
    const known_pod* const known = read(uid);
    return known == nullptr ? nullptr : &known->pod;
}

std::string live_cluster::full_name_of(std::string_view uid) const {
    const std::string* const name = name_of(uid);
    return name == nullptr ? std::string{} : *name;
}

const booking* live_cluster::booking_of(std::string_view uid) const { return book().find_booking(id_of(uid)); }

std::optional<error> live_cluster::failure_of(std::string_view uid) {
    const known_pod* const known = read(uid);
    return known == nullptr ? std::nullopt : known->failure;
}

bool live_cluster::wants_devices(std::string_view uid) {
    const known_pod* const known = read(uid);
    return known != nullptr && (known->failure || !known->pod.request.containers.empty());
}

expected<std::vector<node_opinion>, rejection_detail> live_cluster::evaluate(std::string_view uid, bool numbers) {
    std::vector<node_opinion> opinions;
    opinions.reserve(book().nodes().nodes.size());
    const rejection_detail refused =
        evaluate(uid, numbers, [&](const node_opinion& opinion) { opinions.push_back(opinion); });
    if (refused.code != rejection_code::none) return unexpected(refused);
    return opinions;
}

rejection_detail live_cluster::evaluate(std::string_view uid, bool numbers,
                                        const std::function<void(const node_opinion&)>& visit) {
    known_pod* const known = read(uid);
    if (known == nullptr) return {.code = rejection_code::pod_not_known};
    const auto request = intern(*known);
    if (!request) {
        const node_opinion refusal{.refusal = {.code = rejection_code::amount_not_valid}};
        for (std::size_t n = 0; n < book().nodes().nodes.size(); ++n) visit(refusal);
        return {};
    }
    const auto answers = deciders_->alloc.evaluate(*request);
    for (std::size_t n = 0; n < book().nodes().nodes.size(); ++n) {
        const node_index where{n};
        const node_answer& answer = answers[n];
        if (answer.code == rejection_code::node_gone) {
            visit({.refusal = {.code = answer.code}});
        } else if (numbers && answer.code != rejection_code::none) {
            visit(opinion_of(known, decide_on(uid, where), where));
        } else {
            visit({.score = answer.score,
                   .compromise = answer.compromise,
                   .rank = book().rank_of(where),
                   .refusal = {.code = answer.code}});
        }
    }
    trim_log();
    return {};
}

rejection_code live_cluster::why_not_asked(const known_pod* known, node_index where) const {
    if (known == nullptr) return rejection_code::pod_not_known;
    if (known->failure) return rejection_code::amount_not_valid;
    if (where.at() >= book().nodes().nodes.size()) return rejection_code::node_not_known;
    return book().is_present(where) ? rejection_code::none : rejection_code::node_gone;
}

/// What one node decides about a pod, and what each of its devices says.
node_decision live_cluster::decide_on(std::string_view uid, node_index where) {
    const known_pod* const known = read(uid);
    const rejection_code refusal = why_not_asked(known, where);
    if (refusal != rejection_code::none) {
        node_decision refused;
        refused.answer.code = refusal;
        return refused;
    }
    auto decision = deciders_->alloc.ask_node(where, known->pod.request);
    trim_log();
    return decision;
}

node_opinion live_cluster::opinion_of(const known_pod* known, const node_decision& decision, node_index where) const {
    node_opinion opinion{.score = decision.answer.score,
                         .compromise = decision.answer.compromise,
                         .refusal = {.code = decision.answer.code}};
    if (where.at() >= book().nodes().nodes.size() || !book().is_present(where)) return opinion;
    opinion.rank = book().rank_of(where);
    if (opinion.fits() || known == nullptr || known->failure) return opinion;
    const auto refused = explaining::refusal_of(book().nodes(), where, known->pod.request, decision);
    opinion.refusal = {.code = refused.code, .wanted = refused.wanted, .available = refused.available};
    if (!refused.unit.empty()) opinion.unit = refused.unit;
    return opinion;
}

node_opinion live_cluster::ask_node(std::string_view uid, node_index where) {
    const node_decision decision = decide_on(uid, where);
    return opinion_of(read(uid), decision, where);
}

expected<std::optional<node_index>, rejection_detail> live_cluster::choose(std::string_view uid,
                                                                           std::span<const node_index> candidates) {
    const auto opinions = evaluate(uid, false);
    if (!opinions) return unexpected(opinions.error());
    std::optional<node_index> best;
    const auto key = [&](node_index where) {
        const node_opinion& opinion = (*opinions)[where.at()];
        return std::tuple{opinion.compromise, -opinion.score, opinion.rank};
    };
    for (const node_index where : candidates) {
        if (where.at() >= opinions->size()) {
            return unexpected(rejection_detail{.code = rejection_code::node_not_known});
        }
        if (!(*opinions)[where.at()].fits()) continue;
        if (!best || key(where) < key(*best)) best = where;
    }
    return best;
}

node_opinion live_cluster::ask_without(std::string_view uid, node_index where,
                                       std::span<const std::string> uids_without) {
    const trial attempt{view_.book()};
    for (const std::string& other : uids_without) {
        const pod_id id = id_of(other);
        if (!book().is_live(id)) continue;
        const auto gone = book().is_committed(id) ? view_.book().release(id) : view_.book().rollback(id);
        VGA_ASSERT(gone.has_value(), "what is live can be given back");
    }
    return ask_node(uid, where);
}

node_opinion live_cluster::reserve(std::string_view uid, node_index where) {
    const live_pod_state state = state_of(uid);
    if (state != live_pod_state::waiting && state != live_pod_state::unknown) {
        return {.refusal = {.code = rejection_code::pod_is_live}};
    }
    known_pod* const known = read(uid);
    if (why_not_asked(known, where) != rejection_code::none) return ask_node(uid, where);
    const pod_request& request = known->pod.request;
    const auto number = intern(*known);
    if (!number) return ask_node(uid, where);
    auto decision = deciders_->alloc.try_node(where, *number);
    if (!decision) return ask_node(uid, where);
    trim_log();
    node_opinion opinion{
        .score = decision->answer.score, .compromise = decision->answer.compromise, .rank = book().rank_of(where)};
    const auto booked = view_.book().reserve(booking_for(id_of(uid), request, *std::move(decision)));
    if (!booked) opinion.refusal = booked.error();
    return opinion;
}

expected<kubernetes::text_map> live_cluster::annotations_of(std::string_view uid, std::int64_t unix_ns) {
    const booking* const held = booking_of(uid);
    const known_pod* const known = read(uid);
    if (held == nullptr || known == nullptr) {
        return unexpected(bad_value(error_code::missing, "pod", uid, "a pod that is reserved or has its devices"));
    }
    const std::string& node = book().nodes().nodes[held->where.node.at()].name;
    const auto devices = view_.devices_of(node);
    const dialect* const spoken = view_.dialects().find(known->pod.dialect);
    constexpr std::int64_t ns_per_second = 1'000'000'000;
    const bool in_ns = spoken != nullptr && spoken->times_in_nanoseconds();
    return kube::annotations_of({.name = node, .devices = devices, .dialects = &view_.dialects()}, known->pod,
                                held->where.shares, std::to_string(in_ns ? unix_ns : unix_ns / ns_per_second));
}

node_view live_cluster::view_of(node_index where) { return deciders_->alloc.view_of(where); }

std::vector<std::string> live_cluster::pods() const {
    std::vector<std::string> uids;
    for (const auto& [uid, full_name] : names_) uids.push_back(uid);
    std::ranges::sort(uids);
    return uids;
}

/// Drops the events that the allocator, who has just decided, has read.
void live_cluster::trim_log() {
    if (trials_.empty()) view_.book().checkpoint(deciders_->alloc.next_event());
}

} // namespace vgpualloc
