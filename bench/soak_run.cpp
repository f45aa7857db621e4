#include "soak_run.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "vgpualloc/core/hash.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"

namespace vgpusoak {

using namespace vgpualloc;

namespace {

struct share_of_operations {
    operation kind;
    std::uint64_t per_mille;
};
constexpr std::array shares{
    share_of_operations{operation::place, 433},         share_of_operations{operation::release, 405},
    share_of_operations{operation::register_again, 52}, share_of_operations{operation::change, 4},
    share_of_operations{operation::fail, 20},           share_of_operations{operation::repair, 27},
    share_of_operations{operation::drain, 4},           share_of_operations{operation::reconfigure, 4},
    share_of_operations{operation::claim, 20},          share_of_operations{operation::cordon, 8},
    share_of_operations{operation::remove, 5},          share_of_operations{operation::add, 7},
    share_of_operations{operation::roll_back, 5},       share_of_operations{operation::try_out, 6},
};

/// By a draw in [0, 1000).
constexpr auto operations = [] {
    std::array<operation, 1'000> by_draw{};
    std::size_t next = 0;
    for (const share_of_operations& share : shares) {
        for (std::uint64_t i = 0; i < share.per_mille; ++i) by_draw[next++] = share.kind;
    }
    return by_draw;
}();

constexpr int trials_open_max = 3;
constexpr int attempts_max = 16; ///< to draw a machine of some state
constexpr std::int64_t operations_between_checkpoints = 64;
constexpr std::size_t requests_checked_at_once = 4;
constexpr std::uint64_t claims_max = 64;
constexpr milli_cpu cpu_beside_claim{100}; ///< of a pod that uses one

/// Bounds that a run crosses many times.
constexpr allocator_options small_tables{.interned = {.configs_max = 340'000, .devices_max = 20'000},
                                         .index_bytes_max = std::size_t{1} << 18,
                                         .requests_max = 40};

workload workload_of(const soak_world& world) {
    workload result;
    const auto count = static_cast<double>(world.requests().size());
    for (const pod_request& request : world.requests()) {
        result.typical.push_back({.cpu = request.cpu, .containers = request.containers, .frequency = 1.0 / count});
    }
    return result;
}

} // namespace

pod_id soak_run::pod_books::next() {
    if (free.empty()) {
        positions.push_back(0);
        return pod_id{numbers++};
    }
    const pod_id pod = free.back();
    free.pop_back();
    return pod;
}

void soak_run::pod_books::enter(pod_id pod) {
    positions[pod.at()] = live.size();
    live.push_back(pod);
}

void soak_run::pod_books::leave(pod_id pod) {
    const std::size_t position = positions[pod.at()];
    live[position] = live.back();
    positions[live[position].at()] = position;
    live.pop_back();
}

expected<std::unique_ptr<soak_run>> soak_run::make(const run_options& options) {
    policy_parameters parameters;
    parameters.target = workload_of(soak_world{options.world});
    auto policy = parse_policy(options.policy, native_policies, parameters);
    if (!policy) return unexpected(policy.error());
    const policy_traits traits = (*policy)->traits();
    if (traits.nodes == ties::drawn || traits.devices == ties::drawn) {
        return unexpected(error{.code = error_code::unsupported,
                                .where = "",
                                .field = "policy",
                                .value = options.policy,
                                .expected = "a policy that does not draw"});
    }
    auto reference_policy = parse_policy(options.policy, native_policies, parameters);
    return std::unique_ptr<soak_run>{new soak_run{options, *std::move(policy), *std::move(reference_policy)}};
}

soak_run::soak_run(const run_options& options, std::unique_ptr<policy> policy,
                   std::unique_ptr<vgpualloc::policy> reference)
    : world_{options.world}, draw_{options.seed}, policy_{std::move(policy)}, reference_policy_{std::move(reference)},
      book_{world_.start()}, alloc_{book_, {.node = policy_.get(), .device = policy_.get()}, small_tables},
      reference_{book_, {.node = reference_policy_.get(), .device = reference_policy_.get()}},
      requests_(world_.requests().size()), reference_every_{options.reference_every} {
    for (std::size_t i = 0; i < world_.machine_count(); ++i) machines_.push_back(world_.machine(i));
}

void soak_run::expect(bool holds, const char* sentence) {
    if (holds) return;
    ++counts_.breaks;
    if (counts_.breaks <= 20) {
        std::fprintf(stderr, "soak: break at operation %lld: %s\n", static_cast<long long>(counts_.operations),
                     sentence);
    }
}

void soak_run::note(std::uint64_t value) noexcept { checksum_ = hash_combine(checksum_, value); }

void soak_run::note(const expected<placed_pod, rejection>& decision) noexcept {
    if (!decision) {
        note(static_cast<std::uint64_t>(decision.error().main_code()));
        return;
    }
    note(decision->node.value());
    for (const device_share& share : decision->shares) note(share.device.value());
}

operation soak_run::draw_operation() {
    const operation drawn = operations[static_cast<std::size_t>(draw_.below(operations.size()))];
    return drawn == operation::try_out && trials_open_ == trials_open_max ? operation::place : drawn;
}

request_id soak_run::known(std::uint32_t request) {
    request_id& id = requests_[request];
    if (alloc_.find_request(id) == nullptr) id = alloc_.intern(world_.requests()[request]).value();
    return id;
}

request_id soak_run::draw_request() {
    const std::uint64_t kind = draw_.below(4'000);
    if (kind == 0) return known(world_.draw_naming_request(draw_));
    if (kind == 1) return alloc_.intern(soak_world::draw_new_request(draw_)).value();
    return known(world_.draw_request(draw_));
}

/// A machine whose node is there, and where; not valid() after some attempts.
std::pair<std::size_t, node_index> soak_run::draw_present() {
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        const auto machine = static_cast<std::size_t>(draw_.below(machines_.size()));
        const node_index where = book_.find_node(machines_[machine].name);
        if (where.valid() && book_.is_present(where)) return {machine, where};
    }
    return {0, node_index::none()};
}

/// A machine whose node is not there.
std::optional<std::size_t> soak_run::draw_absent() {
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        const auto machine = static_cast<std::size_t>(draw_.below(machines_.size()));
        const node_index where = book_.find_node(machines_[machine].name);
        if (!where.valid() || !book_.is_present(where)) return machine;
    }
    return std::nullopt;
}

node& soak_run::machine_to_change(std::size_t machine) {
    if (trials_open_ > 0) machine_journal_.push_back({.machine = machine, .before = machines_[machine]});
    return machines_[machine];
}

void soak_run::step() {
    apply(draw_operation());
    if (counts_.operations % operations_between_checkpoints != 0) return;
    reference_.observe(); // a checkpoint drops what it has not heard of
    book_.checkpoint(alloc_.next_event());
}

void soak_run::apply(operation kind) {
    ++counts_.operations;
    switch (kind) {
    case operation::place:
        return place();
    case operation::release:
        return release();
    case operation::register_again:
        return register_again();
    case operation::change:
        return change();
    case operation::fail:
        return set_service(service_state::failed);
    case operation::repair:
        return repair();
    case operation::drain:
        return set_service(service_state::draining);
    case operation::reconfigure:
        return set_service(service_state::reconfiguring);
    case operation::claim:
        return claim();
    case operation::cordon:
        return cordon();
    case operation::remove:
        return remove();
    case operation::add:
        return add();
    case operation::roll_back:
        return roll_back();
    case operation::try_out:
        return try_out();
    }
}

/// Both policies hear of a pod, so that they know the same when they decide.
void soak_run::note_arrival(request_id request) {
    if (!policy_->traits().learns) return;
    alloc_.note_arrival(request);
    reference_.observe();
    reference_policy_->note_arrival(*alloc_.find_request(request), book_);
}

void soak_run::place() {
    const request_id request = draw_request();
    note_arrival(request);
    std::optional<expected<placement, rejection>> reference;
    if (++placements_ % reference_every_ == 0) {
        reference_.observe();
        reference = reference_.decide(*alloc_.find_request(request));
    }
    const pod_id pod = pods_.next();
    const auto placed = alloc_.place(book_, pod, request);
    note(placed);
    if (reference) {
        ++counts_.compared;
        const bool agrees =
            placed.has_value() == reference->has_value() &&
            (placed ? static_cast<const placement&>(*placed) == **reference : placed.error() == reference->error());
        expect(agrees, "the allocator decides as the reference does");
    }
    if (!placed) {
        ++counts_.refused;
        pods_.free.push_back(pod);
        return;
    }
    ++counts_.placed;
    pods_.enter(pod);
    if (trials_open_ > 0) pod_journal_.push_back({.pod = pod, .placed = true});
}

void soak_run::release() {
    if (pods_.live.empty()) return;
    const pod_id pod = pods_.live[static_cast<std::size_t>(draw_.below(pods_.live.size()))];
    expect(book_.release(pod).has_value(), "a live pod is released");
    pods_.leave(pod);
    if (trials_open_ > 0) {
        pod_journal_.push_back({.pod = pod, .placed = false});
        pods_.ended.push_back(pod);
    } else {
        pods_.give_back(pod);
    }
}

void soak_run::register_again() {
    const auto [machine, where] = draw_present();
    if (!where.valid()) return;
    const auto changed = book_.update_node(where, machines_[machine]);
    expect(changed && !*changed, "a registration that comes again unchanged changes nothing");
}

void soak_run::change() {
    const auto [machine, where] = draw_present();
    if (!where.valid()) return;
    node described = world_.changed_machine(machine, draw_);
    node& registered = machine_to_change(machine);
    described.host.unschedulable = registered.host.unschedulable;
    for (device& next : described.devices) {
        const auto before = std::ranges::find(registered.devices, next.uuid, &device::uuid);
        if (before != registered.devices.end()) next.service = before->service;
    }
    registered = described;
    expect(book_.update_node(where, std::move(described)).has_value(), "a machine is described anew");
    ++counts_.changes;
}

/// What the machine's device plugin reports from now on.
void soak_run::set_health(std::size_t machine, const std::string& uuid, service_state health) {
    node& registered = machine_to_change(machine);
    const auto reported = std::ranges::find(registered.devices, uuid, &device::uuid);
    if (reported != registered.devices.end()) reported->service = health;
}

void soak_run::set_service(service_state service) {
    const auto [machine, where] = draw_present();
    if (!where.valid()) return;
    const std::vector<device>& devices = book_.nodes().nodes[where.at()].devices;
    if (devices.empty()) return;
    const device_index which{draw_.below(devices.size())};
    if (service == service_state::failed) set_health(machine, devices[which.at()].uuid, service);
    expect(book_.set_service(where, which, service).has_value(), "a device changes its service");
    ++counts_.changes;
}

void soak_run::repair() {
    for (int attempt = 0; attempt < 8; ++attempt) {
        const auto [machine, where] = draw_present();
        if (!where.valid()) return;
        const auto services = book_.services(where);
        const auto closed =
            std::ranges::find_if(services, [](service_state s) { return s != service_state::in_service; });
        if (closed == services.end()) continue;
        const device_index which{closed - services.begin()};
        set_health(machine, book_.nodes().nodes[where.at()].devices[which.at()].uuid, service_state::in_service);
        expect(book_.set_service(where, which, service_state::in_service).has_value(), "a device is repaired");
        ++counts_.changes;
        return;
    }
}

/// Numbers of claims are used again at once; a trial takes back what it did to one.
void soak_run::claim() {
    const claim_id claim{draw_.below(claims_max)};
    if (!book_.is_live(claim)) return reserve_claim(claim);
    if (draw_.below(4) != 0) return use_claim(claim);
    const std::uint32_t users = book_.users_of(claim);
    const auto ended = book_.is_committed(claim) ? book_.release(claim) : book_.rollback(claim);
    expect(ended.has_value() == (users == 0), "a claim is given back when no pod uses it");
    expect(ended || ended.error().code == rejection_code::claim_in_use, "what keeps a claim are its users");
}

void soak_run::reserve_claim(claim_id claim) {
    const auto decision = alloc_.decide(draw_request());
    if (!decision || decision->shares.empty()) return;
    const host_use before = book_.host(decision->node);
    expect(book_.reserve({.owner = claim, .where = *decision}).has_value(), "a claim gets what the allocator decides");
    expect(book_.host(decision->node) == before, "a claim has nothing of the host");
    if (draw_.below(3) != 0) expect(book_.commit(claim).has_value(), "a claim is committed");
    ++counts_.claims;
}

void soak_run::use_claim(claim_id claim) {
    const node_index where = book_.booking_of(claim).where.node;
    const std::uint32_t users = book_.users_of(claim);
    const pod_id pod = pods_.next();
    const auto booked = book_.reserve(
        {.owner = pod, .cpu = cpu_beside_claim, .where = {.node = where, .shares = {}}, .claims = {claim}});
    expect(book_.users_of(claim) == users + (booked ? 1 : 0), "a claim has the users that were booked");
    if (!booked) {
        const rejection_code code = booked.error().code;
        expect(code == rejection_code::node_gone || code == rejection_code::too_many_pods ||
                   code == rejection_code::insufficient_cpu,
               "what keeps a pod from a claim is its node");
        pods_.free.push_back(pod);
        return;
    }
    expect(book_.commit(pod).has_value(), "a pod that uses a claim is committed");
    pods_.enter(pod);
    if (trials_open_ > 0) pod_journal_.push_back({.pod = pod, .placed = true});
    ++counts_.claim_users;
}

void soak_run::cordon() {
    const auto [machine, where] = draw_present();
    if (!where.valid()) return;
    const bool schedulable = draw_.below(16) != 0;
    machine_to_change(machine).host.unschedulable = !schedulable;
    expect(book_.set_schedulable(where, schedulable).has_value(), "a node is cordoned or opened");
    ++counts_.changes;
}

void soak_run::remove() {
    const auto [machine, where] = draw_present();
    if (!where.valid()) return;
    expect(book_.remove_node(where).has_value(), "a node is removed");
    ++counts_.changes;
}

void soak_run::add() {
    const auto machine = draw_absent();
    if (!machine) return;
    expect(book_.add_node(machines_[*machine]).has_value(), "a node is added");
    ++counts_.changes;
}

void soak_run::roll_back() {
    const request_id id = draw_request();
    const auto decision = alloc_.decide(id);
    if (!decision) return;
    const pod_request& request = *alloc_.find_request(id);
    const pod_id pod = pods_.next();
    const auto booked = book_.reserve(
        {.owner = pod, .cpu = request.cpu, .memory = request.memory, .where = *decision, .tags = request.tags});
    expect(booked.has_value(), "the ledger accepts what the allocator decides");
    expect(book_.rollback(pod).has_value(), "a reserved pod is rolled back");
    pods_.give_back(pod);
}

void soak_run::try_out() {
    const journal_mark mark{
        .pods = pod_journal_.size(), .machines = machine_journal_.size(), .ended = pods_.ended.size()};
    const std::uint32_t witness = world_.draw_request(draw_);
    const auto before = alloc_.decide(known(witness));
    const std::size_t live = book_.live_count();
    trial attempt{book_};
    ++trials_open_;
    for (std::uint64_t left = 1 + draw_.below(8); left > 0; --left) apply(draw_operation());
    --trials_open_;
    if (draw_.below(3) == 0) {
        attempt.keep();
        ++counts_.trials_kept;
    } else {
        attempt.undo();
        take_back(mark);
        ++counts_.trials_undone;
        expect(book_.live_count() == live, "a trial undone leaves the pods that there were");
        expect(alloc_.decide(known(witness)) == before, "a trial undone leaves every later decision");
    }
    if (trials_open_ > 0) return;
    for (const pod_id pod : pods_.ended) pods_.give_back(pod);
    pods_.ended.clear();
    pod_journal_.clear();
    machine_journal_.clear();
}

/// The books of this program as they were before a trial that was undone.
void soak_run::take_back(const journal_mark& mark) {
    while (pod_journal_.size() > mark.pods) {
        const pod_entry entry = pod_journal_.back();
        pod_journal_.pop_back();
        if (entry.placed) {
            pods_.leave(entry.pod);
            pods_.give_back(entry.pod);
        } else {
            pods_.enter(entry.pod);
        }
    }
    pods_.ended.resize(mark.ended);
    while (machine_journal_.size() > mark.machines) {
        machines_[machine_journal_.back().machine] = std::move(machine_journal_.back().before);
        machine_journal_.pop_back();
    }
}

void soak_run::check() {
    book_.check();
    alloc_.catch_up();
    reference_.observe();
    if (policy_->traits().learns) {
        expect(*policy_->learned() == *reference_policy_->learned(), "both policies have learned the same");
    }
    for (std::size_t i = 0; i < requests_checked_at_once; ++i) {
        const auto request = static_cast<std::uint32_t>(next_checked_++ % requests_.size());
        const auto answers = alloc_.evaluate(known(request));
        const auto expected = reference_.evaluate(world_.requests()[request]);
        const auto agree = [](const node_answer& a, const node_answer& b) {
            return a.code == b.code && (a.code != rejection_code::none || a.score == b.score);
        };
        expect(std::ranges::equal(answers, expected, agree), "every node answers as the reference says");
    }
    note(book_.live_count());
}

} // namespace vgpusoak
