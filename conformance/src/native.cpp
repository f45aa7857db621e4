// Sessions of the native side.
#include "native.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/mode/factory.hpp"

namespace vgpuconformance {

using vgpualloc::booking;
using vgpualloc::device_index;
using vgpualloc::device_registration;
using vgpualloc::device_share;
using vgpualloc::node_index;
using vgpualloc::pod_id;

struct native_side::session {
    vgpualloc::cluster owned;
    std::vector<vgpualloc::dialects::node_reading> registered; ///< by node
    std::unique_ptr<vgpualloc::ledger> book;
    std::unique_ptr<vgpualloc::policy> ranking;
    std::unique_ptr<vgpualloc::allocator> alloc;
    std::uint32_t pods = 0;

    [[nodiscard]] pod_id next_pod() { return pod_id{pods++}; }
};

namespace {

/// A device that cannot be one, such as one without slots, gives out nothing; what runs on it is still counted.
void add_registered(vgpualloc::cluster& to, vgpualloc::node& where, device_registration registered) {
    if (registered.slots < 1 || registered.memory < vgpualloc::mib{1} ||
        registered.cores < vgpualloc::core_percent{1}) {
        registered.healthy = false;
        registered.slots = std::max<std::int64_t>(registered.slots, 1);
        registered.memory = std::max(registered.memory, vgpualloc::mib{1});
        registered.cores = std::max(registered.cores, vgpualloc::core_percent{1});
    }
    const auto added = vgpualloc::add_device(to, where, registered, vgpualloc::built_in_mig_catalog());
    if (!added) throw std::invalid_argument{added.error().message()};
}

} // namespace

native_side::native_side(const recorded_case& recorded, footing within_sessions)
    : family_{make_native_family(recorded)}, footing_{within_sessions}, node_count_{recorded.nodes.size()} {
    open_session();
}

native_side::~native_side() = default;

void native_side::open_session() {
    auto opened = std::make_unique<session>();
    for (std::size_t i = 0; i < node_count_; ++i) {
        std::vector<const vgpualloc::kubernetes::pod*> here;
        for (const bound_pod& bound : bound_) {
            if (bound.node == i) here.push_back(&bound.pod);
        }
        vgpualloc::node node{.name = std::to_string(i),
                             .cpu = {},
                             .memory = vgpualloc::bytes{family_->extended_of_node(i)},
                             .pods_max = std::numeric_limits<std::int32_t>::max(),
                             .devices = {}};
        const auto& reading = opened->registered.emplace_back(family_->read_node(i, here));
        for (const device_registration& registered : reading.devices) {
            add_registered(opened->owned, node, registered);
        }
        opened->owned.nodes.push_back(std::move(node));
    }
    opened->book = std::make_unique<vgpualloc::ledger>(opened->owned);
    adopt_bound(*opened, *opened->book);
    opened->ranking = family_->make_policy();
    opened->alloc = std::make_unique<vgpualloc::allocator>(
        *opened->book, vgpualloc::policy_pair{.node = opened->ranking.get(), .device = opened->ranking.get()});
    session_ = std::move(opened);
}

/// Books the pods that the recording has bound so far; the last of them has the id before the next.
void native_side::adopt_bound(session& in, vgpualloc::ledger& book) const {
    for (const bound_pod& bound : bound_) {
        booking running{.owner = in.next_pod(),
                        .cpu = {},
                        .memory = vgpualloc::bytes{family_->spoken().extended_of(bound.pod)},
                        .where = {.node = node_index{bound.node}, .shares = {}},
                        .tags = {}};
        const auto read = family_->spoken().read_assignment(bound.pod, in.registered[bound.node].devices);
        running.tags = family_->spoken().tags_of(bound.pod, {}, read.shares);
        for (const device_share& share : read.shares) running.where.shares.push_back(share);
        // What no device of the node can hold is not counted.
        static_cast<void>(book.adopt(std::move(running)));
    }
}

/// What is booked once the pod is bound: beside the pods as the recording bound them.
booked_devices native_side::cache_with(const vgpualloc::placement& placed) const {
    vgpualloc::ledger book{session_->owned};
    adopt_bound(*session_, book);
    static_cast<void>(
        book.adopt({.owner = session_->next_pod(), .cpu = {}, .memory = {}, .where = placed, .tags = {}}));
    return booked_in(book, placed.node.at());
}

booked_devices native_side::booked_in(const vgpualloc::ledger& book, std::size_t node) const {
    booked_devices booked;
    const auto states = book.devices(node_index{node});
    for (std::size_t d = 0; d < states.size(); ++d) {
        const device_registration& registered = session_->registered[node].devices[d];
        if (const booked_use use =
                family_->use_of(book.nodes().spec_of(node_index{node}, device_index{d}), states[d], registered);
            use != booked_use{}) {
            booked[session_->registered[node].index_of(d)] = use;
        }
    }
    return booked;
}

/// The best placement over all readings of the pod; `fits` is filled in by node.
std::optional<native_side::decision> native_side::decide(const vgpualloc::kubernetes::pod& pod,
                                                         std::vector<bool>& fits) {
    std::optional<decision> best;
    double best_score = 0.0;
    for (const vgpualloc::pod_request& request : family_->read_pod(pod)) {
        const auto request_id = session_->alloc->intern(request);
        if (!request_id) continue; // an amount beyond what any device has
        const auto answers = session_->alloc->evaluate(*request_id);
        bool somewhere = false;
        for (std::size_t i = 0; i < answers.size(); ++i) {
            const bool fits_here = answers[i].code == vgpualloc::rejection_code::none;
            fits[i] = fits[i] || fits_here;
            somewhere = somewhere || fits_here;
        }
        if (!somewhere) continue;
        auto placed = session_->alloc->decide(*request_id);
        if (!placed) throw std::logic_error{"a pod that fits is placed"};
        const double score = answers[placed->node.at()].score;
        const bool better = !best || score > best_score || (score == best_score && placed->node < best->where.node);
        if (!better) continue;
        best_score = score;
        best = decision{.request = request, .where = *std::move(placed)};
    }
    return best;
}

std::vector<taken_part> native_side::parts_of(const decision& decided) const {
    std::vector<taken_part> parts;
    std::int64_t position = -1;
    std::uint32_t container = std::numeric_limits<std::uint32_t>::max();
    for (const device_share& share : decided.where.shares) {
        if (share.container != container) ++position;
        container = share.container;
        const auto& reading = session_->registered[decided.where.node.at()];
        const device_registration& registered = reading.devices[share.device.at()];
        taken_part part = family_->part_of(share, registered, decided.request.containers[share.container]);
        part.container = position;
        part.device = reading.index_of(share.device.at());
        parts.push_back(std::move(part));
    }
    return parts;
}

outcome native_side::add(const recorded_event& event) {
    outcome result;
    result.fits.resize(node_count_, false);
    if (!family_->spoken().requests(event.pod)) return result;
    const auto decided = decide(event.pod, result.fits);
    if (!decided) return result;
    result.chosen = static_cast<std::int64_t>(decided->where.node.at());
    result.allocated = true;
    result.parts = parts_of(*decided);
    const booking booked{.owner = session_->next_pod(),
                         .cpu = {},
                         .memory = vgpualloc::bytes{family_->spoken().extended_of(event.pod)},
                         .where = decided->where,
                         .tags = decided->request.tags};
    if (!session_->book->adopt(booked)) throw std::logic_error{"a placement names devices of its node"};
    if (event.roll_back) session_->book->release(booked.owner);
    result.session = booked_in(*session_->book, decided->where.node.at());
    if (!event.roll_back && family_->has_cache()) result.cache = cache_with(decided->where);
    return result;
}

void native_side::follow(const recorded_event& event) {
    if (event.bound_a_pod()) {
        bound_.push_back({.pod = event.bound_pod(), .node = static_cast<std::size_t>(event.result.chosen)});
    } else if (event.kind == event_kind::restore) {
        bound_.push_back({.pod = event.pod, .node = event.node});
    } else if (event.kind == event_kind::remove) {
        std::erase_if(bound_, [&](const bound_pod& bound) { return bound.pod.uid == event.pod_uid; });
    }
}

outcome native_side::step(const recorded_event& event) {
    if (event.kind == event_kind::add) {
        if (footing_ == footing::recorded || event.new_session) open_session();
        outcome result = add(event);
        follow(event);
        return result;
    }
    follow(event);
    open_session();
    outcome result;
    result.chosen = event.result.chosen;
    if (result.chosen >= 0 && family_->has_cache()) {
        result.cache = booked_in(*session_->book, static_cast<std::size_t>(result.chosen));
    }
    return result;
}

} // namespace vgpuconformance
