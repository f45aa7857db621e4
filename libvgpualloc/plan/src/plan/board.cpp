// The board: built once from a ledger, then changed and changed back.
#include "board.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc::plan {

namespace {

// Of no pod's number, for board::only_resident_.
constexpr std::uint32_t no_pod = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t many_pods = no_pod - 1;

bool has_any(const std::vector<std::string>& list, const std::vector<std::string>& of_these) {
    return std::ranges::any_of(
        list, [&](const std::string& tag) { return std::ranges::find(of_these, tag) != of_these.end(); });
}

bool is_simple(const pod_request& request) {
    return request.containers.size() == 1 && request.containers.front().count == 1 && !request.names_devices() &&
           request.tags.empty();
}

template <class List>
void remove_one(List& list, std::uint32_t number) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i] != number) continue;
        for (; i + 1 < list.size(); ++i) list[i] = list[i + 1];
        list.pop_back();
        return;
    }
}

} // namespace

plan_cost cost_of_move(const cluster& nodes, const placement& from, const move_costs& costs) {
    plan_cost result;
    for (const device_share& share : from.shares) {
        const device_spec& spec = nodes.spec_of(from.node, share.device);
        result.copy += costs.copy_per_mib * spec.mode->describe(spec, share.part).memory.count();
    }
    result.downtime = (costs.downtime_per_move + result.copy) * static_cast<std::int64_t>(from.shares.size());
    return result;
}

plan_cost cost_of_moves(const cluster& nodes, const move_plan& planned, const move_costs& costs) {
    plan_cost result;
    for (const pod_move& move : planned.moves) {
        const plan_cost cost = cost_of_move(nodes, move.from, costs);
        result.copy += cost.copy;
        result.downtime += cost.downtime;
    }
    return result;
}

board::board(const ledger& book, const pod_request* blocked, std::span<const movable_pod> movable,
             const move_costs& costs)
    : book_{&book} {
    add_devices();
    add_pods(movable, costs);
    note_only_residents();
    if (blocked == nullptr) return;
    pods_.push_back({.id = {}, .request = request_number(blocked), .movable = false});
    bookings_.push_back(nullptr);
}

void board::add_devices() {
    const auto& nodes = book_->nodes().nodes;
    std::map<std::tuple<std::uint32_t, bool, device_state>, std::uint32_t> known;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const node_index where{n};
        first_.push_back(states_.size());
        hosts_.push_back(book_->host(where));
        if (!book_->is_present(where)) continue;
        const auto states = book_->devices(where);
        const auto services = book_->services(where);
        for (std::size_t d = 0; d < states.size(); ++d) {
            const std::uint32_t kind = nodes[n].devices[d].kind;
            const bool open =
                services[d] == service_state::in_service && !book_->is_overcommitted(where, device_index{d});
            const auto [at, is_new] =
                known.try_emplace({kind, open, states[d]}, static_cast<std::uint32_t>(classes_.size()));
            const device_spec& spec = book_->nodes().kinds[kind];
            if (is_new) {
                classes_.push_back(
                    {.kind = kind, .state = states[d], .open = open, .used = spec.mode->used(spec, states[d])});
            }
            classes_[at->second].members.push_back(static_cast<std::uint32_t>(states_.size()));
            class_of_.push_back(at->second);
            owner_.push_back(static_cast<std::uint32_t>(n));
            specs_.push_back(&spec);
            states_.push_back(states[d]);
            shut_.push_back(open ? 0 : 1);
        }
    }
    first_.push_back(states_.size());
    residents_.resize(states_.size());
    touches_.resize(states_.size());
    on_node_.resize(nodes.size());
    for (std::uint32_t c = 0; c < classes_.size(); ++c) fullest_first_.push_back(c);
    std::ranges::stable_sort(fullest_first_,
                             [this](std::uint32_t a, std::uint32_t b) { return classes_[a].used > classes_[b].used; });
}

void board::add_pods(std::span<const movable_pod> movable, const move_costs& costs) {
    std::vector<movable_pod> sorted(movable.begin(), movable.end());
    std::ranges::sort(sorted, {}, &movable_pod::pod);
    std::map<const pod_request*, std::uint32_t> seen;
    std::vector<owner_id> live;
    for (const pod_id pod : book_->live_pods()) live.emplace_back(pod);
    for (const claim_id claim : book_->live_claims()) live.emplace_back(claim); // they stay where they are
    pods_.reserve(live.size() + 1);
    for (const owner_id id : live) {
        const booking& booked = book_->booking_of(id);
        if (!book_->is_present(booked.where.node)) continue;
        board_pod entry{.id = id, .where = &booked.where, .from = &booked.where};
        const auto at = std::ranges::lower_bound(sorted, id.pod(), {}, &movable_pod::pod);
        const bool may_move = id.is_pod() && booked.claims.empty(); // what a pod uses of a claim stays
        if (may_move && at != sorted.end() && at->pod == id.pod() && book_->is_committed(id)) {
            const auto [request, is_new] = seen.try_emplace(at->request, 0);
            if (is_new) request->second = request_number(at->request);
            entry.request = request->second;
            entry.movable = true;
            entry.cost = cost_of_move(book_->nodes(), booked.where, costs);
        }
        const auto number = static_cast<std::uint32_t>(pods_.size());
        for (const device_share& share : booked.where.shares) {
            const std::size_t place = first_of(booked.where.node) + share.device.at();
            residents_[place].push_back(number);
            if (!entry.movable) continue;
            if (book_->is_overcommitted(booked.where.node, share.device)) entry.movable = false;
            const auto& containers = requests_[entry.request].asked->containers;
            if (share.container >= containers.size()) continue;
            entry.compromise =
                std::max(entry.compromise,
                         specs_[place]->mode->compromise(*specs_[place], containers[share.container], share.part));
        }
        on_node_[booked.where.node.at()].push_back(number);
        pods_.push_back(entry);
        bookings_.push_back(&booked);
    }
}

void board::note_only_residents() {
    for (const auto& residents : residents_) {
        const bool is_one = std::ranges::all_of(residents, [&](std::uint32_t pod) { return pod == residents[0]; });
        only_resident_.push_back(residents.empty() ? no_pod : is_one ? residents[0] : many_pods);
    }
}

std::uint32_t board::request_number(const pod_request* request) {
    const auto at = std::ranges::lower_bound(
        request_order_, *request, {}, [this](std::uint32_t i) -> const pod_request& { return *requests_[i].asked; });
    if (at != request_order_.end() && *requests_[*at].asked == *request) return *at;
    const auto number = static_cast<std::uint32_t>(requests_.size());
    request_order_.insert(at, number);
    const bool names_uuids = std::ranges::any_of(request->containers, [](const device_request& container) {
        return !container.uuids_allowed.empty() || !container.uuids_denied.empty();
    });
    if (names_uuids || !request->tags.empty() || !request->avoids.empty()) tells_devices_apart_ = true;
    requests_.push_back({.asked = request,
                         .simple = is_simple(*request),
                         .node_allows = std::vector<std::int8_t>(node_count(), -1),
                         .fits = std::vector<std::int8_t>(classes_.size(), -1)});
    return number;
}

void board::touch(std::size_t place) {
    if (touches_[place]++ == 0) touched_.push_back(static_cast<std::uint32_t>(place));
}

void board::untouch(std::size_t place) {
    if (--touches_[place] == 0) remove_one(touched_, static_cast<std::uint32_t>(place));
}

void board::add_shares(std::uint32_t pod, const placement& where) {
    for (const device_share& share : where.shares) {
        const std::size_t place = first_of(where.node) + share.device.at();
        states_[place] = specs_[place]->mode->with(*specs_[place], states_[place], share.part);
        residents_[place].push_back(pod);
    }
    host_use& host = hosts_[where.node.at()];
    const pod_request& request = *requests_[pods_[pod].request].asked;
    host.cpu += bookings_[pod] != nullptr ? bookings_[pod]->cpu : request.cpu;
    host.memory += bookings_[pod] != nullptr ? bookings_[pod]->memory : request.memory;
    ++host.pods;
    on_node_[where.node.at()].push_back(pod);
    pods_[pod].where = &where;
}

void board::remove_shares(std::uint32_t pod, const placement& where) {
    for (std::size_t i = where.shares.size(); i-- > 0;) {
        const device_share& share = where.shares[i];
        const std::size_t place = first_of(where.node) + share.device.at();
        states_[place] = specs_[place]->mode->without(*specs_[place], states_[place], share.part);
        remove_one(residents_[place], pod);
    }
    host_use& host = hosts_[where.node.at()];
    const pod_request& request = *requests_[pods_[pod].request].asked;
    host.cpu -= bookings_[pod] != nullptr ? bookings_[pod]->cpu : request.cpu;
    host.memory -= bookings_[pod] != nullptr ? bookings_[pod]->memory : request.memory;
    --host.pods;
    remove_one(on_node_[where.node.at()], pod);
    pods_[pod].where = nullptr;
}

void board::lift(std::uint32_t pod) {
    const placement& where = *pods_[pod].where;
    for (const device_share& share : where.shares) touch(first_of(where.node) + share.device.at());
    remove_shares(pod, where);
}

void board::undo_lift(std::uint32_t pod, const placement* where) {
    add_shares(pod, *where);
    for (const device_share& share : where->shares) untouch(first_of(where->node) + share.device.at());
}

void board::put(std::uint32_t pod, const placement* where) {
    for (const device_share& share : where->shares) touch(first_of(where->node) + share.device.at());
    add_shares(pod, *where);
}

void board::undo_put(std::uint32_t pod) {
    const placement& where = *pods_[pod].where;
    remove_shares(pod, where);
    for (const device_share& share : where.shares) untouch(first_of(where.node) + share.device.at());
}

std::uint32_t board::add_copy(std::uint32_t pod) {
    pods_.push_back(pods_[pod]);
    pods_.back().where = nullptr;
    bookings_.push_back(bookings_[pod]);
    return static_cast<std::uint32_t>(pods_.size() - 1);
}

void board::drop_copy() {
    pods_.pop_back();
    bookings_.pop_back();
}

bool board::allows(std::uint32_t pod, node_index where) {
    board_request& request = request_of(pod);
    std::int8_t& known = request.node_allows[where.at()];
    if (known < 0) {
        const node& described = book_->nodes().nodes[where.at()];
        const bool allowed = book_->is_present(where) &&
                             why_not_host(request.asked->rules, described.host, described.name) == rejection_code::none;
        known = allowed ? 1 : 0;
    }
    return known == 1;
}

bool board::host_holds(std::uint32_t pod, node_index where) const noexcept {
    return has_host_for(pod, book_->nodes().nodes[where.at()], hosts_[where.at()]);
}

bool board::has_host_for(std::uint32_t pod, const node& capacity, const host_use& used) const noexcept {
    const pod_request& request = *requests_[pods_[pod].request].asked;
    const milli_cpu cpu = bookings_[pod] != nullptr ? bookings_[pod]->cpu : request.cpu;
    const bytes memory = bookings_[pod] != nullptr ? bookings_[pod]->memory : request.memory;
    if (used.pods + 1 > capacity.pods_max) return false;
    if (cpu > milli_cpu{0} && cpu > capacity.cpu - used.cpu) return false;
    return memory <= bytes{0} || memory <= capacity.memory - used.memory;
}

bool board::host_may_hold(std::uint32_t pod, node_index where, bool some_leave) const noexcept {
    if (!some_leave) return host_holds(pod, where);
    const node& capacity = book_->nodes().nodes[where.at()];
    host_use staying = hosts_[where.at()];
    for (const std::uint32_t other : on_node_[where.at()]) {
        if (!pods_[other].movable || bookings_[other] == nullptr) continue;
        staying.cpu -= bookings_[other]->cpu;
        staying.memory -= bookings_[other]->memory;
        --staying.pods;
    }
    return has_host_for(pod, capacity, staying);
}

bool board::are_alike_but_for_states(std::size_t one, std::size_t other, bool residents_stay) const {
    if (tells_devices_apart_ || class_of_[one] != class_of_[other] || shut_[one] != shut_[other]) return false;
    if (residents_stay && !is_touched(one) && !is_touched(other)) return true;
    if (only_resident_[one] != only_resident_[other] || only_resident_[one] == many_pods) return false;
    // Of one resident each, the states say that its parts are the same too.
    const auto& residents = residents_[one];
    return residents.size() <= 1 && std::ranges::equal(residents, residents_[other]);
}

bool board::host_gains(std::uint32_t pod, std::uint32_t leaving, node_index where) const noexcept {
    const node& capacity = book_->nodes().nodes[where.at()];
    const host_use& used = hosts_[where.at()];
    const pod_request& request = *requests_[pods_[pod].request].asked;
    const booking& other = *bookings_[leaving];
    if (used.pods + 1 > capacity.pods_max) return true;
    if (request.cpu > capacity.cpu - used.cpu && other.cpu > milli_cpu{0}) return true;
    return request.memory > capacity.memory - used.memory && other.memory > bytes{0};
}

bool board::admits(std::uint32_t pod, const device_request& container, std::size_t place) const {
    if (shut_[place] != 0) return false;
    if (why_never(*specs_[place], container) != rejection_code::none) return false;
    const auto lists = [](const std::vector<std::string>& list, const std::string& value) {
        return std::ranges::find(list, value) != list.end();
    };
    const node_index where = node_of(place);
    const std::string& uuid = book_->nodes().nodes[where.at()].devices[place - first_of(where)].uuid;
    if (!container.uuids_allowed.empty() && !lists(container.uuids_allowed, uuid)) return false;
    if (lists(container.uuids_denied, uuid)) return false;
    return tags_agree(pod, place);
}

bool board::tags_agree(std::uint32_t pod, std::size_t place) const {
    const pod_request& request = *requests_[pods_[pod].request].asked;
    if (request.avoids.empty() && request.tags.empty()) return true;
    for (const std::uint32_t other : residents_[place]) {
        if (other == pod) continue;
        const booking* const booked = bookings_[other];
        const auto& tags = booked != nullptr ? booked->tags : requests_[pods_[other].request].asked->tags;
        if (has_any(tags, request.avoids)) return false;
        const bool planned = pods_[other].where != pods_[other].from;
        if (planned && has_any(request.tags, requests_[pods_[other].request].asked->avoids)) return false;
    }
    return true;
}

bool board::class_fits(std::uint32_t pod, std::uint32_t number) {
    board_request& request = request_of(pod);
    std::int8_t& known = request.fits[number];
    if (known < 0) {
        const device_class& devices = classes_[number];
        const device_spec& spec = book_->nodes().kinds[devices.kind];
        const device_request& container = request.asked->containers.front();
        const bool fitting = devices.open && why_never(spec, container) == rejection_code::none &&
                             spec.mode->why_not(spec, devices.state, container).code == rejection_code::none;
        known = fitting ? 1 : 0;
    }
    return known == 1;
}

bool board::fits(std::uint32_t pod, const placement& where) {
    if (!allows(pod, where.node) || !host_holds(pod, where.node)) return false;
    const auto& containers = request_of(pod).asked->containers;
    std::size_t done = 0;
    bool fitting = true;
    for (; done < where.shares.size(); ++done) {
        const device_share& share = where.shares[done];
        const std::size_t place = first_of(where.node) + share.device.at();
        const device_spec& spec = *specs_[place];
        // The part alone says nothing of who may join whom (sharing_mode): that is the request's to say.
        fitting = admits(pod, containers[share.container], place) &&
                  spec.mode->why_not(spec, states_[place], containers[share.container]).code == rejection_code::none &&
                  spec.mode->why_not(spec, states_[place], share.part).code == rejection_code::none;
        if (!fitting) break;
        states_[place] = spec.mode->with(spec, states_[place], share.part);
    }
    while (done-- > 0) {
        const device_share& share = where.shares[done];
        const std::size_t place = first_of(where.node) + share.device.at();
        states_[place] = specs_[place]->mode->without(*specs_[place], states_[place], share.part);
    }
    return fitting;
}

} // namespace vgpualloc::plan
