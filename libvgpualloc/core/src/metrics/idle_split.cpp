// Idle capacity by cause: pods of one request are packed into every node as it is.
#include "vgpualloc/metrics/idle_split.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "model/id_set.hpp"
#include "vgpualloc/core/hash.hpp"
#include "vgpualloc/metrics/round_to_total.hpp"
#include "vgpualloc/model/requested_amount.hpp"

namespace vgpualloc {

namespace {

constexpr std::int64_t endless = std::int64_t{1} << 40U;

std::int64_t& at(idle_parts& parts, idle_cause cause) { return parts[static_cast<std::size_t>(cause)]; }

std::int64_t idle_of(const device_spec& spec, const device_state& state) {
    return (whole_gpu - spec.mode->used(spec, state)).count();
}

bool asks_for_devices(const pod_request& request) {
    return std::ranges::any_of(request.containers, [](const auto& container) { return container.count > 0; });
}

} // namespace

idle_splitter::idle_splitter(const ledger& book) : book_{&book} {
    id_set known_devices;
    id_set known_configs;
    id_set known_groups;
    std::vector<std::uint32_t> devices;
    for (std::size_t n = 0; n < book.nodes().nodes.size(); ++n) {
        const node_index where{n};
        if (!book.is_present(where)) continue;
        const host_facts& host = book.nodes().nodes[n].host;
        const bool takes_pods = host.ready && !host.unschedulable;
        node_now entry{.where = where, .left = left_on(where), .is_for_all = host.is_open()};
        devices.clear();
        const auto states = book.devices(where);
        for (std::size_t d = 0; d < states.size(); ++d) {
            const bool open = takes_pods && book.services(where)[d] == service_state::in_service;
            const std::uint32_t kind = book.nodes().nodes[n].devices[d].kind;
            const std::uint32_t number = known_devices.find_or_insert(
                hash_combine(hash_combine(hash_value(states[d]), kind), open ? 1U : 0U),
                [&](std::uint32_t known) {
                    const device_now& other = devices_[known];
                    return other.kind == kind && other.state == states[d] && other.open == open;
                },
                [&] {
                    const std::int64_t idle = idle_of(book.nodes().kinds[kind], states[d]);
                    devices_.push_back({.kind = kind, .state = states[d], .open = open, .idle = idle});
                    return static_cast<std::uint32_t>(devices_.size() - 1);
                });
            devices.push_back(number);
            const std::int64_t idle = devices_[number].idle;
            entry.idle += idle;
            if (open) entry.open_idle += idle;
        }
        idle_ += entry.idle;
        if (entry.idle == 0) continue;
        std::ranges::sort(devices);
        std::uint64_t hash = 0;
        for (const std::uint32_t number : devices) hash = hash_combine(hash, number);
        entry.devices = known_configs.find_or_insert(
            hash, [&](std::uint32_t known) { return configs_[known] == devices; },
            [&] {
                configs_.push_back(devices);
                return static_cast<std::uint32_t>(configs_.size() - 1);
            });
        nodes_.push_back(entry);
        if (entry.is_for_all) add_to_group(entry, known_groups);
    }
}

/// Nodes that are for all are counted together where they are equal.
void idle_splitter::add_to_group(const node_now& node, id_set& known_groups) {
    const std::size_t groups_before = groups_.size();
    std::uint64_t hash = hash_combine(node.devices, static_cast<std::uint64_t>(node.left.pods));
    hash = hash_combine(hash, static_cast<std::uint64_t>(node.left.cpu.count()));
    const std::uint32_t number = known_groups.find_or_insert(
        hash_combine(hash, static_cast<std::uint64_t>(node.left.memory.count())),
        [&](std::uint32_t known) { return groups_[known].devices == node.devices && groups_[known].left == node.left; },
        [&] {
            groups_.push_back({.devices = node.devices, .left = node.left});
            return static_cast<std::uint32_t>(groups_before);
        });
    ++groups_[number].nodes;
    places_.resize(devices_.size());
    const bool is_new = groups_.size() > groups_before;
    for (const std::uint32_t device : configs_[node.devices]) {
        device_places& places = places_[device];
        ++places.count;
        if (is_new && (places.groups.empty() || places.groups.back() != number)) places.groups.push_back(number);
    }
}

idle_splitter::host_left idle_splitter::left_on(node_index where) const {
    const node& described = book_->nodes().nodes[where.at()];
    const host_use& used = book_->host(where);
    return {.pods = described.pods_max - used.pods,
            .cpu = described.cpu - used.cpu,
            .memory = described.memory - used.memory};
}

/// How many pods the host has room for, at most `most`.
std::int64_t idle_splitter::host_left::pods_of(const pod_request& request, std::int64_t most) const noexcept {
    // Products of smaller numbers cannot overflow, and take a tenth of the time of a division.
    constexpr std::int64_t few = std::int64_t{1} << 20U;
    constexpr std::int64_t little = std::int64_t{1} << 42U;
    if (most < few && request.cpu.count() < little && request.memory.count() < little && most <= pods &&
        most * request.cpu.count() <= cpu.count() && most * request.memory.count() <= memory.count()) {
        return most;
    }
    std::int64_t held = std::min(pods, most);
    if (request.cpu.count() > 0) held = std::min(held, cpu.count() / request.cpu.count());
    if (request.memory.count() > 0) held = std::min(held, memory.count() / request.memory.count());
    return std::max<std::int64_t>(held, 0);
}

namespace {

/// Pods of one request on the devices of a node, placed by best fit.
class node_filler {
public:
    explicit node_filler(const pod_request& request) : request_{&request} {}

    /// A device of the right kind that is open. `uuid` is null where the request names none.
    void add(const device_spec& spec, const device_state& state, const std::string* uuid = nullptr) {
        devices_.push_back({.spec = &spec, .state = state, .idle = idle_of(spec, state), .uuid = uuid});
    }

    /// Places pods while there is room for one, at most `most`, and returns how many.
    std::int64_t fill(std::int64_t most) {
        for (std::int64_t placed = 0; placed < most; ++placed) {
            changes_.clear();
            if (place_one()) continue;
            for (std::size_t i = changes_.size(); i-- > 0;) devices_[changes_[i].first] = changes_[i].second;
            return placed;
        }
        return most;
    }

    [[nodiscard]] std::int64_t idle() const {
        std::int64_t sum = 0;
        for (const place& device : devices_) sum += device.idle;
        return sum;
    }

private:
    struct place {
        const device_spec* spec = nullptr;
        device_state state;
        std::int64_t idle = 0;
        const std::string* uuid = nullptr;
        bool taken = false; ///< by the container that is being placed, or another one of its pod if they keep apart
    };

    bool place_one() {
        for (place& device : devices_) device.taken = false;
        for (const device_request& container : request_->containers) {
            for (std::int64_t n = 0; n < container.count; ++n) {
                if (!place_on_best(container)) return false;
            }
            if (request_->containers_apart) continue;
            for (place& device : devices_) device.taken = false;
        }
        return true;
    }

    /// As policy best_fit chooses: the device with the least left, of equals the first.
    bool place_on_best(const device_request& container) {
        std::optional<std::size_t> best;
        place result;
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            place device = devices_[d];
            if (device.taken || why_never(*device.spec, container) != rejection_code::none) continue;
            if (device.uuid != nullptr && !accepts_uuid(container, *device.uuid)) continue;
            if (device.spec->mode->why_not(*device.spec, device.state, container).code != rejection_code::none) {
                continue;
            }
            parts_.clear();
            device.spec->mode->candidates(*device.spec, device.state, container, parts_);
            device.state = device.spec->mode->with(*device.spec, device.state, parts_.front());
            device.idle = idle_of(*device.spec, device.state);
            device.taken = true;
            if (best && device.idle >= result.idle) continue;
            best = d;
            result = device;
        }
        if (!best) return false;
        changes_.emplace_back(*best, devices_[*best]);
        devices_[*best] = result;
        return true;
    }

    const pod_request* request_;
    std::vector<place> devices_;
    std::vector<std::pair<std::size_t, place>> changes_; ///< by the pod that is being placed: what was there before
    std::vector<partition> parts_;
};

/// Whether some container could have a device in this state.
bool has_room(const pod_request& request, const device_spec& spec, const device_state& state) {
    return std::ranges::any_of(request.containers, [&](const device_request& container) {
        return container.count > 0 && why_never(spec, container) == rejection_code::none &&
               spec.mode->why_not(spec, state, container).code == rejection_code::none;
    });
}

/// What of a device that is offered in units is free in units that some container asks for.
std::int64_t idle_in_units(const pod_request& request, const device_spec& spec, device_state state) {
    const std::int64_t before = idle_of(spec, state);
    std::vector<partition> parts;
    for (const device_request& container : request.containers) {
        if (container.count == 0 || why_never(spec, container) != rejection_code::none) continue;
        for (parts.clear(); spec.mode->candidates(spec, state, container, parts), !parts.empty(); parts.clear()) {
            state = spec.mode->with(spec, state, parts.front());
        }
    }
    return before - idle_of(spec, state);
}

} // namespace

/// What a device that is open says to a request.
struct idle_splitter::device_answer {
    std::int64_t right = 0; ///< what is idle of the right kind
    bool has_room = false;  ///< for some container
};

/// What a node's devices say where the pod's rules admit the node, whatever its host has left.
struct idle_splitter::node_answer {
    idle_parts parts{};    ///< without of_use and host_full
    std::int64_t fits = 0; ///< what pods would take if the host were endless
    std::int64_t pods = 0; ///< how many that is
};

/// The answers to requests for the same devices, which may differ in what they ask of hosts.
class idle_splitter::device_answers {
public:
    device_answers(const idle_splitter& of, const pod_request& request)
        : of_{&of}, request_{request}, of_config_(of.configs_.size()), of_device_(of.devices_.size()),
          of_kind_(of.book_->nodes().kinds.size()) {}

    [[nodiscard]] bool are_for(const pod_request& request) const {
        return request.containers == request_.containers && request.containers_apart == request_.containers_apart;
    }

    /// The sum of node_answer::parts over the nodes that are for all.
    const idle_parts& of_nodes_for_all() {
        if (!sum_) sum_up();
        return *sum_;
    }
    struct fitting_group {
        const node_group* nodes = nullptr;
        const node_answer* answer = nullptr;
    };
    /// Those of them in which anything fits.
    const std::vector<fitting_group>& fitting() {
        if (!sum_) sum_up();
        return fitting_;
    }

    const node_answer& with_endless_host(std::uint32_t config) {
        auto& answer = of_config_[config];
        if (answer) return *answer;
        answer.emplace();
        bool has_room = false;
        for (const std::uint32_t number : of_->configs_[config]) {
            if (add_devices(number, 1, answer->parts)) has_room = true;
        }
        if (has_room) {
            node_filler filler = filler_of(config);
            const std::int64_t before = filler.idle();
            answer->pods = filler.fill(endless);
            answer->fits = before - filler.idle();
        }
        at(answer->parts, idle_cause::scattered) -= answer->fits;
        return *answer;
    }

    /// What fewer pods than fit would take.
    std::int64_t taken_by(std::uint32_t config, std::int64_t pods) {
        if (pods == 0) return 0;
        const auto [entry, is_new] = by_pods_.try_emplace({config, pods});
        if (is_new) {
            node_filler filler = filler_of(config);
            const std::int64_t before = filler.idle();
            filler.fill(pods);
            entry->second = before - filler.idle();
        }
        return entry->second;
    }

private:
    /// Adds what devices in one state say as long as nothing fits. True if a container has room in one.
    bool add_devices(std::uint32_t number, std::int64_t count, idle_parts& to) {
        const device_now& device = of_->devices_[number];
        if (!device.open) {
            at(to, idle_cause::out_of_service) += count * device.idle;
            return false;
        }
        const device_answer& answer = of_device(number);
        at(to, idle_cause::wrong_kind) += count * (device.idle - answer.right);
        at(to, idle_cause::scattered) += count * answer.right;
        return answer.has_room;
    }

    /// Device by device, as only nodes with room in a device have something that fits.
    void sum_up() {
        sum_.emplace();
        std::vector<bool> has_room(of_->groups_.size());
        for (std::uint32_t number = 0; number < of_->places_.size(); ++number) {
            const device_places& places = of_->places_[number];
            if (places.count == 0 || !add_devices(number, places.count, *sum_)) continue;
            for (const std::uint32_t group : places.groups) has_room[group] = true;
        }
        for (std::size_t g = 0; g < has_room.size(); ++g) {
            if (!has_room[g]) continue;
            const node_group& group = of_->groups_[g];
            const node_answer& answer = with_endless_host(group.devices);
            at(*sum_, idle_cause::scattered) -= group.nodes * answer.fits;
            if (answer.fits > 0) fitting_.push_back({.nodes = &group, .answer = &answer});
        }
    }

    /// The devices that have room.
    node_filler filler_of(std::uint32_t config) {
        node_filler filler{request_};
        for (const std::uint32_t number : of_->configs_[config]) {
            const device_now& device = of_->devices_[number];
            if (device.open && of_device(number).has_room) filler.add(of_->spec_of(device), device.state);
        }
        return filler;
    }

    const device_answer& of_device(std::uint32_t number) {
        auto& answer = of_device_[number];
        if (answer) return *answer;
        answer.emplace();
        const device_now& device = of_->devices_[number];
        if (!is_right(device.kind)) return *answer;
        const device_spec& spec = of_->spec_of(device);
        answer->right = spec.mode->units().in_units() ? idle_in_units(request_, spec, device.state) : device.idle;
        answer->has_room = has_room(request_, spec, device.state);
        return *answer;
    }

    bool is_right(std::uint32_t kind) {
        auto& answer = of_kind_[kind];
        if (!answer) answer = has_room(request_, of_->book_->nodes().kinds[kind], {});
        return *answer;
    }

    const idle_splitter* of_;
    pod_request request_; ///< its rules and what it asks of the host are not looked at
    std::vector<std::optional<node_answer>> of_config_;
    std::vector<std::optional<device_answer>> of_device_;
    std::vector<std::optional<bool>> of_kind_;
    std::optional<idle_parts> sum_;
    std::vector<fitting_group> fitting_;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> by_pods_; ///< by config and pods
};

idle_parts idle_splitter::of(const pod_request& request) const {
    device_answers answers{*this, request};
    return of(request, answers);
}

/// Node by node, and device by device as the pod's containers that accept it see it.
idle_parts idle_splitter::of_named(const pod_request& request) const {
    idle_parts sum{};
    for (const node_now& node : nodes_) {
        const vgpualloc::node& described = book_->nodes().nodes[node.where.at()];
        at(sum, idle_cause::out_of_service) += node.idle - node.open_idle;
        if (why_not_host(request.rules, described.host, described.name) != rejection_code::none) {
            at(sum, idle_cause::wrong_kind) += node.open_idle;
            continue;
        }
        const bool takes_pods = described.host.ready && !described.host.unschedulable;
        const auto states = book_->devices(node.where);
        node_filler filler{request};
        std::int64_t right = 0;
        for (std::size_t d = 0; d < states.size(); ++d) {
            if (!takes_pods || book_->services(node.where)[d] != service_state::in_service) continue;
            const device& board = described.devices[d];
            const device_spec& spec = book_->nodes().kinds[board.kind];
            pod_request accepting = request; // the containers that take this device
            std::erase_if(accepting.containers,
                          [&](const device_request& container) { return !accepts_uuid(container, board.uuid); });
            const std::int64_t idle = idle_of(spec, states[d]);
            std::int64_t own = 0;
            if (has_room(accepting, spec, {})) {
                own = spec.mode->units().in_units() ? idle_in_units(accepting, spec, states[d]) : idle;
            }
            if (own > 0 && has_room(accepting, spec, states[d])) filler.add(spec, states[d], &board.uuid);
            at(sum, idle_cause::wrong_kind) += idle - own;
            right += own;
        }
        node_filler with_endless_host = filler;
        const std::int64_t before = filler.idle();
        const std::int64_t pods = with_endless_host.fill(endless);
        const std::int64_t fits = before - with_endless_host.idle();
        filler.fill(node.left.pods_of(request, pods));
        const std::int64_t taken = before - filler.idle();
        at(sum, idle_cause::of_use) += taken;
        at(sum, idle_cause::host_full) += fits - taken;
        at(sum, idle_cause::scattered) += right - fits;
    }
    return sum;
}

void idle_splitter::add_taken(const node_group& nodes, const pod_request& request, const node_answer& answer,
                              device_answers& answers, idle_parts& sum) {
    const std::int64_t pods = nodes.left.pods_of(request, answer.pods);
    const std::int64_t taken = pods == answer.pods ? answer.fits : answers.taken_by(nodes.devices, pods);
    at(sum, idle_cause::of_use) += nodes.nodes * taken;
    at(sum, idle_cause::host_full) += nodes.nodes * (answer.fits - taken);
}

idle_parts idle_splitter::of(const pod_request& request, device_answers& answers) const {
    if (std::ranges::any_of(request.containers, names_uuids)) return of_named(request);
    idle_parts sum{};
    const bool goes_anywhere = !request.rules.restricts();
    if (goes_anywhere) {
        sum = answers.of_nodes_for_all();
        for (const auto& [nodes, answer] : answers.fitting()) add_taken(*nodes, request, *answer, answers, sum);
    }
    for (const node_now& node : nodes_) {
        if (goes_anywhere && node.is_for_all) continue;
        const vgpualloc::node& described = book_->nodes().nodes[node.where.at()];
        if (why_not_host(request.rules, described.host, described.name) != rejection_code::none) {
            at(sum, idle_cause::wrong_kind) += node.open_idle;
            at(sum, idle_cause::out_of_service) += node.idle - node.open_idle;
            continue;
        }
        const node_answer& answer = answers.with_endless_host(node.devices);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += answer.parts[i];
        if (answer.fits == 0) continue;
        add_taken({.devices = node.devices, .left = node.left, .nodes = 1}, request, answer, answers, sum);
    }
    return sum;
}

idle_parts idle_splitter::mean_over(const std::vector<counted_request>& requests, const stop_signal& stop) const {
    std::vector<const counted_request*> sorted; // those for the same devices follow one another
    for (const counted_request& entry : requests) {
        if (entry.pods > 0 && asks_for_devices(entry.request)) sorted.push_back(&entry);
    }
    std::ranges::stable_sort(sorted, {},
                             [](const counted_request* entry) -> const auto& { return entry->request.containers; });
    std::array<double, idle_cause_count> sums{};
    std::int64_t pods = 0;
    std::optional<device_answers> answers;
    for (const counted_request* entry : sorted) {
        if (stop.raised()) break;
        if (!answers || !answers->are_for(entry->request)) answers.emplace(*this, entry->request);
        const idle_parts parts = of(entry->request, *answers);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            sums[i] += static_cast<double>(parts[i]) * static_cast<double>(entry->pods);
        }
        pods += entry->pods;
    }
    if (pods == 0) {
        idle_parts parts = of({});
        at(parts, idle_cause::of_use) += std::exchange(at(parts, idle_cause::wrong_kind), 0);
        return parts;
    }
    for (double& sum : sums) sum /= static_cast<double>(pods);
    idle_parts result{};
    round_to_total(std::span<const double>{sums}, 1, idle_, result);
    return result;
}

idle_parts rounded_to(const idle_parts& parts, std::int64_t step) {
    const std::int64_t sum = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    idle_parts result{};
    round_to_total(std::span<const std::int64_t>{parts}, step, (sum + step / 2) / step * step, result);
    return result;
}

} // namespace vgpualloc
