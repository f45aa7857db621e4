#include "unit_classes.hpp"

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "board.hpp"
#include "emptied_units.hpp"
#include "room_options.hpp"
#include "share_rounding.hpp"
#include "vgpualloc/packing/next_states.hpp"

namespace vgpualloc::plan {

namespace {

/// Pods that ask alike; where the units are devices, their parts for one container.
struct pod_class {
    std::uint32_t pod = 0;      ///< one of them
    std::size_t container = 0;  ///< where the units are devices
    bool names_devices = false; ///< answers depend on more than the kinds and states of devices
};

struct device_form {
    std::uint32_t kind = 0;
    device_state state; ///< by what stays
    bool shut = false;

    auto operator<=>(const device_form&) const = default;
};

/// What units of a class have in common.
struct unit_form {
    bool stays = false;
    std::vector<std::int64_t> host{}; ///< what is free of it
    std::vector<device_form> devices{};
    std::vector<bool> allows{};             ///< by rules of the host
    std::vector<std::int64_t> for_namers{}; ///< the memory asked for, by class that names devices, container and place

    auto operator<=>(const unit_form&) const = default;
};

/// What a device answers to one device's worth of a container.
struct device_answer {
    std::int64_t most = 0; ///< how often it serves that, alone
    requested_share share; ///< nothing of memory or compute where a mode's amounts do not say what fits
};

/// A pod of a class that is on a unit, or a part of it.
struct resident {
    std::uint32_t pods = 0; ///< class
    std::uint32_t pod = 0;
    std::optional<std::size_t> place{}; ///< where the units are devices
};
using counts_by_class = std::vector<std::pair<std::uint32_t, std::int64_t>>;

constexpr double tolerance_of_sums = 1e-9;

class classifier {
public:
    classifier(const ledger& book, std::span<const movable_pod> movable, emptied_unit unit)
        : unit_{unit}, on_{book, nullptr, movable, {}} {}

    std::optional<unit_classes> classify(std::size_t options_max) {
        collect_pods();
        for (const std::uint32_t pod : lifted_) on_.lift(pod);
        std::size_t options = 0;
        for_each_unit(on_, unit_, [&](std::size_t first, std::size_t end) {
            if (options > options_max) return;
            const std::size_t before = result_.units.size();
            add_unit(first, end);
            for (std::size_t k = before; k < result_.units.size(); ++k) options += result_.units[k].options.size();
        });
        if (options > options_max) return std::nullopt;
        return std::move(result_);
    }

private:
    // ---- pods

    [[nodiscard]] const std::vector<device_request>& containers_of(std::uint32_t pod) {
        return on_.request_of(pod).asked->containers;
    }

    /// Pods without devices may be anywhere; those that have less than they ask for may take any room. Neither counts.
    void collect_pods() {
        residents_.resize(on_.device_count());
        for (std::uint32_t pod = 0; pod < on_.pods().size(); ++pod) {
            if (!on_.pod(pod).movable) continue;
            lifted_.push_back(pod);
            if (!on_.pod(pod).where->shares.empty() && has_what_it_asks(pod)) add_pod(pod);
        }
    }

    [[nodiscard]] bool has_what_it_asks(std::uint32_t pod) {
        const placement& where = *on_.pod(pod).where;
        const auto& containers = containers_of(pod);
        if (on_.pod(pod).compromise > 0) return false;
        std::vector<std::int64_t> devices(containers.size(), 0);
        for (const device_share& share : where.shares) {
            if (share.container >= containers.size()) return false;
            ++devices[share.container];
            const std::size_t place = on_.first_of(where.node) + share.device.at();
            if (!is_enough(place, share.part, amounts_on(on_, containers[share.container], where.node))) return false;
        }
        for (std::size_t c = 0; c < containers.size(); ++c) {
            if (devices[c] != containers[c].count) return false;
        }
        return true;
    }

    /// Whether a part is no smaller than one that the idle device would give.
    [[nodiscard]] bool is_enough(std::size_t place, const partition& part, const device_request& container) const {
        const device_spec& spec = on_.spec_of(place);
        if (why_never(spec, container) != rejection_code::none) return false;
        std::vector<partition> offered;
        spec.mode->candidates(spec, {}, container, offered);
        if (!offered.empty()) spec.mode->further_candidates(spec, {}, container, offered);
        const part_description has = spec.mode->describe(spec, part);
        return std::ranges::any_of(offered, [&](const partition& least) {
            const part_description wanted = spec.mode->describe(spec, least);
            return has.memory >= wanted.memory && has.cores >= wanted.cores;
        });
    }

    void add_pod(std::uint32_t pod) {
        const placement& where = *on_.pod(pod).where;
        const std::size_t first = on_.first_of(where.node);
        if (unit_ == emptied_unit::node) {
            const booking& booked = on_.book().booking_of(on_.pod(pod).id);
            const std::uint32_t pods = class_of(pod, {booked.cpu.count(), booked.memory.count()}, 0);
            ++result_.pods[pods];
            residents_[first].push_back({.pods = pods, .pod = pod});
            return;
        }
        for (const device_share& share : where.shares) {
            const std::uint32_t pods = class_of(pod, {}, share.container);
            ++result_.pods[pods];
            const std::size_t place = first + share.device.at();
            residents_[place].push_back({.pods = pods, .pod = pod, .place = place});
        }
    }

    /// `host`: what it takes of it.
    std::uint32_t class_of(std::uint32_t pod, std::pair<std::int64_t, std::int64_t> host, std::size_t container) {
        const auto number = static_cast<std::uint32_t>(pods_.size());
        const auto [known, is_new] = numbers_.try_emplace({on_.pod(pod).request, host, container}, number);
        if (!is_new) return known->second;
        const pod_request& request = *on_.request_of(pod).asked;
        if (rules_.insert(request.rules).second) asking_.push_back(pod);
        pods_.push_back({.pod = pod, .container = container, .names_devices = request.names_devices()});
        result_.pods.push_back(0);
        return number;
    }

    // ---- units

    void add_unit(std::size_t first, std::size_t end) {
        if (first == end) return;
        const auto [known, is_new] = forms_.try_emplace(form_of(first, end), result_.units.size());
        if (is_new) result_.units.push_back(describe(first, end));
        std::size_t k = known->second;
        if (!takes(result_.units[k], residents_[first])) k = class_that_keeps(k, residents_[first]);
        ++result_.units[k].count;
    }

    [[nodiscard]] unit_form form_of(std::size_t first, std::size_t end) {
        const node_index where = on_.node_of(first);
        unit_form form{.stays = !is_idle(on_, first, end)};
        if (unit_ == emptied_unit::node) form.host = free_host(where);
        for (std::size_t place = first; place < end; ++place) {
            const node& owner = on_.book().nodes().nodes[where.at()];
            form.devices.push_back({.kind = owner.devices[place - on_.first_of(where)].kind,
                                    .state = on_.state_of(place),
                                    .shut = on_.is_shut(place)});
        }
        for (const std::uint32_t pod : asking_) form.allows.push_back(on_.allows(pod, where));
        constexpr std::int64_t not_admitted = -1;
        for (const pod_class& pods : pods_) {
            if (!pods.names_devices) continue;
            for (const device_request& container : containers_of(pods.pod)) {
                const std::int64_t memory = amounts_on(on_, container, where).memory.count();
                for (std::size_t place = first; place < end; ++place) {
                    form.for_namers.push_back(on_.admits(pods.pod, container, place) ? memory : not_admitted);
                }
            }
        }
        return form;
    }

    /// CPU, memory and pods of a node beside what stays.
    [[nodiscard]] std::vector<std::int64_t> free_host(node_index where) const {
        const node& capacity = on_.book().nodes().nodes[where.at()];
        const host_use& used = on_.host_of(where);
        return {capacity.cpu.count() - used.cpu.count(), capacity.memory.count() - used.memory.count(),
                capacity.pods_max - used.pods};
    }

    /// A class of units like this one, so far of none.
    [[nodiscard]] unit_class describe(std::size_t first, std::size_t end) {
        unit_class result{.stays = !is_idle(on_, first, end)};
        double devices = 0.0;
        double memory = 0.0;
        double compute = 0.0;
        for (std::size_t place = first; place < end; ++place) {
            if (on_.is_shut(place)) continue;
            devices += 1.0;
            memory += free_share(place, &use_vector::memory, on_.spec_of(place).memory);
            compute += free_share(place, &use_vector::compute, on_.spec_of(place).cores);
        }
        for (const double amount : {memory, compute}) {
            for (const share_rounding& rounded : share_roundings) {
                result.capacity.push_back(rounded.changes_nothing() ? amount : devices);
            }
        }
        if (unit_ == emptied_unit::node) {
            for (const std::int64_t amount : free_host(on_.node_of(first))) {
                result.capacity.push_back(static_cast<double>(std::max<std::int64_t>(amount, 0)));
            }
        }
        for (std::uint32_t pods = 0; pods < pods_.size(); ++pods) add_option(pods, first, end, result);
        return result;
    }

    /// What pods that stay leave of a device.
    template <class Amount>
    [[nodiscard]] double free_share(std::size_t place, Amount use_vector::* of, Amount whole) const {
        const device_spec& spec = on_.spec_of(place);
        const Amount used = spec.mode->use(spec, on_.state_of(place)).*of;
        return 1.0 - value_of(fraction::of(used.count(), whole.count()));
    }

    void add_option(std::uint32_t number, std::size_t first, std::size_t end, unit_class& units) {
        const pod_class& pods = pods_[number];
        const node_index where = on_.node_of(first);
        const bool of_nodes = unit_ == emptied_unit::node;
        if (!on_.allows(pods.pod, where) || (of_nodes && !on_.host_holds(pods.pod, where))) return;
        unit_option option{
            .pods = number, .most = result_.pods[number], .demand = std::vector(units.capacity.size(), 0.0)};
        const auto& containers = containers_of(pods.pod);
        for (std::size_t c = 0; c < containers.size(); ++c) {
            if (containers[c].count == 0 || (!of_nodes && c != pods.container)) continue;
            add_container(pods.pod, containers[c], of_nodes ? containers[c].count : 1, {first, end}, option);
        }
        if (of_nodes) add_host(pods.pod, option.demand);
        for (std::size_t amount = 0; amount < option.demand.size(); ++amount) {
            if (option.demand[amount] <= 0.0) continue;
            const double fitting = units.capacity[amount] / option.demand[amount] + tolerance_of_sums;
            if (fitting < static_cast<double>(option.most)) option.most = static_cast<std::int64_t>(fitting);
        }
        if (option.most > 0) units.options.push_back(std::move(option));
    }

    /// Limits the option to what devices of the unit hold, if each pod wants parts of `count` different ones, and adds
    /// that many times the smallest share.
    void add_container(std::uint32_t pod, const device_request& asked, std::int64_t count,
                       std::pair<std::size_t, std::size_t> unit, unit_option& option) {
        const device_request container = amounts_on(on_, asked, on_.node_of(unit.first));
        std::vector<std::int64_t> most; // by device
        requested_share smallest = requested_share::all();
        for (std::size_t place = unit.first; place < unit.second; ++place) {
            if (!on_.admits(pod, asked, place)) continue;
            const device_answer& answer = ask(place, container);
            if (answer.most == 0) continue;
            most.push_back(answer.most);
            smallest = smaller(smallest, answer.share);
        }
        const auto hold = [&](std::int64_t pods) {
            std::int64_t parts = 0;
            for (const std::int64_t of_device : most) parts += std::min(of_device, pods);
            return parts >= count * pods;
        };
        // Each pod has parts of different devices, so with more pods every further one finds fewer devices with room.
        std::int64_t fitting = 0;
        for (std::int64_t beyond = option.most + 1; fitting + 1 < beyond;) {
            const std::int64_t middle = fitting + (beyond - fitting) / 2;
            (hold(middle) ? fitting : beyond) = middle;
        }
        option.most = fitting;
        std::size_t amount = 0;
        for (const fraction& share : {smallest.memory, smallest.compute}) {
            for (const share_rounding& rounded : share_roundings) {
                option.demand[amount++] += static_cast<double>(count) * rounded.of(share);
            }
        }
    }

    void add_host(std::uint32_t pod, std::vector<double>& demand) const {
        const booking& booked = on_.book().booking_of(on_.pod(pod).id);
        const std::size_t amount = 2 * share_roundings.size();
        demand[amount] = static_cast<double>(booked.cpu.count());
        demand[amount + 1] = static_cast<double>(booked.memory.count());
        demand[amount + 2] = 1.0;
    }

    /// Of an open device that admits the pod.
    const device_answer& ask(std::size_t place, const device_request& container) {
        const device_spec& spec = on_.spec_of(place);
        const device_state& state = on_.state_of(place);
        const auto [known, is_new] = answers_.try_emplace({&spec, state, container});
        device_answer& answer = known->second;
        if (!is_new) return answer;
        answer.most = times(spec, state, container);
        if (answer.most == 0) return answer;
        answer.share = spec.mode->requested(spec, container);
        // A percentage is rounded down to whole MiB.
        const fraction memory_taken = fraction::of(memory_wanted(spec, container).count(), spec.memory.count());
        answer.share.memory = std::min(answer.share.memory, memory_taken);
        // Of a mode that gives out something else, such as turns, the shares of what fits may be more than is free.
        const auto most = static_cast<double>(answer.most);
        const double memory = free_share(place, &use_vector::memory, spec.memory);
        const double compute = free_share(place, &use_vector::compute, spec.cores);
        if (value_of(answer.share.memory) * most > memory + tolerance_of_sums) answer.share.memory = {};
        if (value_of(answer.share.compute) * most > compute + tolerance_of_sums) answer.share.compute = {};
        return answer;
    }

    /// How often the device serves the container, whichever parts it gives.
    [[nodiscard]] static std::int64_t times(const device_spec& spec, const device_state& state,
                                            const device_request& container) {
        constexpr std::size_t states_max = 256; // beyond that it may be any number
        constexpr std::int64_t times_max = 4096;
        std::vector<device_state> states{state};
        for (std::int64_t count = 0; count < times_max && states.size() <= states_max; ++count) {
            std::vector<device_state> next;
            for (const device_state& filled : states) {
                for (const device_state& after : next_states(spec, filled, container)) next.push_back(after);
            }
            if (next.empty()) return count;
            std::ranges::sort(next);
            next.erase(std::ranges::unique(next).begin(), next.end());
            states = std::move(next);
        }
        return std::numeric_limits<std::int64_t>::max();
    }

    // ---- pods that are where they could not come to

    /// Whether the class of units has room for the pods that are on this unit, on the devices that they are on.
    [[nodiscard]] bool takes(const unit_class& units, const std::vector<resident>& residents) {
        for (const resident& there : residents) {
            if (!is_admitted_where_it_is(there)) return false;
        }
        std::vector<double> left = units.capacity;
        for (const auto& [pods, count] : counts_of(residents)) {
            const auto option = std::ranges::lower_bound(units.options, pods, {}, &unit_option::pods);
            if (option == units.options.end() || option->pods != pods || count > option->most) return false;
            for (std::size_t amount = 0; amount < left.size(); ++amount) {
                left[amount] -= option->demand[amount] * static_cast<double>(count);
            }
        }
        for (std::size_t amount = 0; amount < left.size(); ++amount) {
            if (left[amount] < -tolerance_of_sums * std::max(units.capacity[amount], 1.0)) return false;
        }
        return true;
    }

    [[nodiscard]] bool is_admitted_where_it_is(const resident& there) {
        const placement& from = *on_.pod(there.pod).from;
        return std::ranges::all_of(from.shares, [&](const device_share& share) {
            const std::size_t place = on_.first_of(from.node) + share.device.at();
            if (there.place && place != *there.place) return true;
            const device_request& container = containers_of(there.pod)[share.container];
            return on_.admits(there.pod, container, place) &&
                   ask(place, amounts_on(on_, container, from.node)).most > 0;
        });
    }

    [[nodiscard]] static counts_by_class counts_of(const std::vector<resident>& residents) {
        std::map<std::uint32_t, std::int64_t> counts;
        for (const resident& there : residents) ++counts[there.pods];
        return {counts.begin(), counts.end()};
    }

    /// A class of its own for a unit that keeps pods which could not come to it: what may come, and beside that what
    /// may stay.
    std::size_t class_that_keeps(std::size_t like, const std::vector<resident>& residents) {
        const counts_by_class counts = counts_of(residents);
        const auto [known, is_new] = keeping_.try_emplace({like, counts}, result_.units.size());
        if (!is_new) return known->second;
        unit_class units = result_.units[like];
        units.count = 0;
        for (const auto& [pods, count] : counts) {
            auto option = std::ranges::lower_bound(units.options, pods, {}, &unit_option::pods);
            if (option == units.options.end() || option->pods != pods) {
                units.options.insert(option,
                                     {.pods = pods, .most = count, .demand = std::vector(units.capacity.size(), 0.0)});
                continue;
            }
            option->most = std::min(option->most + count, result_.pods[pods]);
            for (std::size_t amount = 0; amount < units.capacity.size(); ++amount) {
                units.capacity[amount] += option->demand[amount] * static_cast<double>(count);
            }
        }
        result_.units.push_back(std::move(units));
        return known->second;
    }

    emptied_unit unit_;
    board on_;
    unit_classes result_;
    std::vector<std::uint32_t> lifted_;            ///< pods
    std::vector<std::vector<resident>> residents_; ///< of units, by their first place
    std::vector<pod_class> pods_;
    std::map<std::tuple<std::uint32_t, std::pair<std::int64_t, std::int64_t>, std::size_t>, std::uint32_t>
        numbers_; ///< of classes of pods, by request, host and container
    std::set<host_rules> rules_;
    std::vector<std::uint32_t> asking_; ///< for each of these rules, a pod with them
    std::map<unit_form, std::size_t> forms_;
    std::map<std::pair<std::size_t, counts_by_class>, std::size_t> keeping_;
    std::map<std::tuple<const device_spec*, device_state, device_request>, device_answer> answers_;
};

} // namespace

std::optional<unit_classes> classify_units(const ledger& book, std::span<const movable_pod> movable, emptied_unit unit,
                                           std::size_t options_max) {
    return classifier{book, movable, unit}.classify(options_max);
}

} // namespace vgpualloc::plan
