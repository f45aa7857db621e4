// Options on one node: container by container, device by device, and of each device the smallest sets of pods whose
// going makes a part of it free.
#include "room_options.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc::plan {

namespace {

/// The parts of a device that serve a container now, those that fall short of it no more than is accepted; one of those
/// that leave the device in the same state.
void parts_now(board& on, std::size_t place, const device_request& container, int compromise_max,
               std::vector<partition>& out) {
    const device_spec& spec = on.spec_of(place);
    const device_state state = on.state_of(place);
    std::vector<partition> parts;
    spec.mode->candidates(spec, state, container, parts);
    if (!parts.empty()) spec.mode->further_candidates(spec, state, container, parts);
    std::vector<device_state> states;
    for (const partition& part : parts) {
        if (spec.mode->compromise(spec, container, part) > compromise_max) continue;
        const device_state after = spec.mode->with(spec, state, part);
        if (std::ranges::find(states, after) != states.end()) continue;
        states.push_back(after);
        out.push_back(part);
    }
}

/// How far a part may fall short: a pod that moves gets nothing worse than it has.
int accepted_compromise(const board& on, std::uint32_t pod) {
    constexpr int any = 1 << 30;
    return on.pod(pod).from == nullptr ? any : on.pod(pod).compromise;
}

/// The walk over one node.
class node_walk {
public:
    node_walk(board& on, std::uint32_t pod, node_index where, std::size_t leaving_count, std::vector<room_option>& out,
              later_moves later, bool only_one = false)
        : on_{&on}, pod_{pod}, where_{where}, leaving_max_{leaving_count}, out_{&out}, later_{later},
          only_one_{only_one}, compromise_max_{accepted_compromise(on, pod)} {
        option_.where.node = where;
    }

    void walk() {
        if (!on_->allows(pod_, where_) || !on_->host_may_hold(pod_, where_, leaving_max_ > 0)) return;
        const pod_request& request = *on_->request_of(pod_).asked;
        apart_ = request.containers_apart;
        for (const device_request& container : request.containers) {
            containers_.push_back(amounts_on(*on_, container, where_));
        }
        next_device(0, 0, on_->first_of(where_));
    }

private:
    [[nodiscard]] bool is_taken(std::size_t container, std::size_t place) const {
        const device_index device{place - on_->first_of(where_)};
        return std::ranges::any_of(option_.where.shares, [&](const device_share& share) {
            return share.device == device && (apart_ || share.container == container);
        });
    }

    [[nodiscard]] bool residents_stay() const {
        return later_ == later_moves::none && option_.leaving.size() == leaving_max_;
    }

    /// Whether the walk has been at a device from which this one need not be told.
    [[nodiscard]] bool looks_like_one_before(std::size_t container, std::size_t place, std::size_t from) const {
        for (std::size_t other = from; other < place; ++other) {
            if (!is_taken(container, other) && on_->are_alike(other, place, residents_stay())) return true;
        }
        return false;
    }

    // ---- equal containers of one device each, such as units of a resource: which of them gets what is all the same

    /// A device with parts of such containers.
    struct filled_device {
        std::size_t place = 0;
        device_state before; ///< without these parts
        std::int64_t units = 0;
        std::int64_t units_max = 0; ///< as many as a device before it that was alike has
    };

    [[nodiscard]] bool is_further_unit(std::size_t container) const {
        return container > 0 && container < containers_.size() && containers_[container].count == 1 &&
               containers_[container] == containers_[container - 1];
    }

    /// The first device for a container: each unit goes to no device before that of the unit before.
    [[nodiscard]] std::size_t first_device_for(std::size_t container) const {
        return is_further_unit(container) ? filled_.back().place : on_->first_of(where_);
    }

    /// Notes a unit on a device; false if it would get more of them than one before it that was alike.
    bool add_unit(std::size_t container, std::size_t place, const device_state& before) {
        if (!is_further_unit(container)) first_filled_.push_back(filled_.size());
        if (filled_.size() > first_filled_.back() && filled_.back().place == place) {
            if (filled_.back().units == filled_.back().units_max) return false;
            ++filled_.back().units;
            return true;
        }
        filled_device entry{
            .place = place, .before = before, .units = 1, .units_max = std::numeric_limits<std::int64_t>::max()};
        for (std::size_t i = filled_.size(); i-- > first_filled_.back();) {
            if (filled_[i].before != before ||
                !on_->are_alike_but_for_states(filled_[i].place, place, residents_stay())) {
                continue;
            }
            entry.units_max = filled_[i].units;
            break;
        }
        filled_.push_back(entry);
        return true;
    }
    void remove_unit(std::size_t container) {
        if (--filled_.back().units == 0) filled_.pop_back();
        if (!is_further_unit(container)) first_filled_.pop_back();
    }

    /// Whether devices from `from` on may have room for the container and the equal ones after it. Where a device has a
    /// choice of parts, only trying tells how many it gives.
    [[nodiscard]] bool may_hold_units(std::size_t container, std::size_t from) const {
        if (containers_[container].count != 1 || option_.leaving.size() < leaving_max_) return true;
        std::int64_t wanted = 1;
        while (is_further_unit(container + static_cast<std::size_t>(wanted))) ++wanted;
        for (std::size_t place = from; place < on_->end_of(where_) && wanted > 0; ++place) {
            const device_spec& spec = on_->spec_of(place);
            if (on_->is_shut(place) || why_never(spec, containers_[container]) != rejection_code::none) continue;
            std::vector<partition> parts;
            spec.mode->candidates(spec, on_->state_of(place), containers_[container], parts);
            if (parts.size() > 1 || spec.mode->may_compromise(containers_[container])) return true;
            wanted -= spec.mode->further(spec, on_->state_of(place), containers_[container], wanted);
        }
        return wanted <= 0;
    }

    /// `already` devices of the container are chosen; the next one has no smaller place than `from`.
    void next_device(std::size_t container, std::int64_t already, std::size_t from) {
        if (only_one_ && !out_->empty()) return;
        if (container == containers_.size()) {
            host(0);
            return;
        }
        if (already == containers_[container].count) {
            next_device(container + 1, 0, first_device_for(container + 1));
            return;
        }
        if (!may_hold_units(container, from)) return;
        const auto still_wanted = static_cast<std::size_t>(containers_[container].count - already);
        for (std::size_t place = from; place + still_wanted <= on_->end_of(where_); ++place) {
            if (is_taken(container, place) || looks_like_one_before(container, place, from)) continue;
            if (!on_->step()) return;
            if (why_never(on_->spec_of(place), containers_[container]) != rejection_code::none) continue;
            if (on_->is_shut(place)) continue;
            try_device(container, already, place);
        }
    }

    struct offer {
        std::vector<std::uint32_t> leaving;
        partition part;
    };
    /// One device that the walk is at, for one container.
    struct device_attempt {
        std::size_t container = 0;
        std::int64_t already = 0;
        std::size_t place = 0;
        std::vector<std::uint32_t> candidates{}; ///< pods that may leave it, ascending
        std::vector<std::uint32_t> leaving{};    ///< those of them that are taken up, ascending
        std::vector<offer> offers{};             ///< what was tried
    };

    /// Sets of pods on the device in the order of their sizes. A part that a smaller one of them makes free is not
    /// tried again.
    void try_device(std::size_t container, std::int64_t already, std::size_t place) {
        device_attempt attempt{
            .container = container, .already = already, .place = place, .candidates = {}, .leaving = {}, .offers = {}};
        for (const std::uint32_t other : on_->residents(place)) {
            if (on_->pod(other).movable && std::ranges::find(attempt.candidates, other) == attempt.candidates.end()) {
                attempt.candidates.push_back(other);
            }
        }
        std::ranges::sort(attempt.candidates);
        const std::size_t most = std::min(attempt.candidates.size(), leaving_max_ - option_.leaving.size());
        for (std::size_t size = 0; size <= most; ++size) choose(attempt, 0, size);
    }

    /// Takes up `left` more pods, none before position `from`.
    void choose(device_attempt& attempt, std::size_t from, std::size_t left) {
        if (left == 0) {
            try_parts(attempt);
            return;
        }
        for (std::size_t i = from; i + left <= attempt.candidates.size(); ++i) {
            const std::uint32_t pod = attempt.candidates[i];
            const placement* const origin = on_->pod(pod).where;
            on_->lift(pod);
            option_.leaving.push_back(pod);
            attempt.leaving.push_back(pod);
            choose(attempt, i + 1, left - 1);
            attempt.leaving.pop_back();
            option_.leaving.pop_back();
            on_->undo_lift(pod, origin);
        }
    }

    void try_parts(device_attempt& attempt) {
        const std::size_t place = attempt.place;
        const device_request& container = containers_[attempt.container];
        if (!on_->step() || !on_->admits(pod_, container, place)) return;
        std::vector<partition> parts;
        parts_now(*on_, place, container, compromise_max_, parts);
        for (const partition& part : parts) {
            const bool known = std::ranges::any_of(attempt.offers, [&](const offer& earlier) {
                return earlier.part == part && std::ranges::includes(attempt.leaving, earlier.leaving);
            });
            if (known) continue;
            if (leaving_max_ > 0) attempt.offers.push_back({.leaving = attempt.leaving, .part = part});
            const device_spec& spec = on_->spec_of(place);
            const device_state before = on_->state_of(place);
            const bool is_unit = container.count == 1;
            if (is_unit && !add_unit(attempt.container, place, before)) return;
            on_->state_of(place) = spec.mode->with(spec, before, part);
            option_.where.shares.push_back({.container = static_cast<std::uint32_t>(attempt.container),
                                            .device = device_index{place - on_->first_of(where_)},
                                            .part = part});
            next_device(attempt.container, attempt.already + 1, place + 1);
            option_.where.shares.pop_back();
            on_->state_of(place) = before;
            if (is_unit) remove_unit(attempt.container);
        }
    }

    /// All devices are chosen: what the host lacks has to come from pods of the node, whatever devices they have.
    void host(std::size_t from) {
        if (on_->host_holds(pod_, where_)) {
            if (option_.leaving.size() == leaving_max_) out_->push_back(option_);
            return;
        }
        if (option_.leaving.size() == leaving_max_) return;
        std::vector<std::uint32_t> others(on_->pods_on(where_).begin(), on_->pods_on(where_).end());
        std::ranges::sort(others);
        for (const std::uint32_t other : others) {
            if (other < from || !on_->pod(other).movable || !on_->host_gains(pod_, other, where_)) continue;
            if (!on_->step()) return;
            const placement* const origin = on_->pod(other).where;
            // The state of its devices has the parts that are chosen here, so only the host is changed back and forth.
            on_->lift(other);
            option_.leaving.push_back(other);
            host(other + 1);
            option_.leaving.pop_back();
            on_->undo_lift(other, origin);
        }
    }

    board* on_;
    std::uint32_t pod_;
    node_index where_;
    std::size_t leaving_max_;
    std::vector<room_option>* out_;
    later_moves later_;
    bool only_one_;
    int compromise_max_;
    bool apart_ = false;
    std::vector<device_request> containers_;
    room_option option_{};
    std::vector<filled_device> filled_;     ///< by containers of one device, those of a run of equal ones together
    std::vector<std::size_t> first_filled_; ///< for each run, where in filled_ it begins
};

/// What append_options() does where one pod leaves and none after it: with the pod taken up first, the devices of the
/// node are alike in far more ways than with a choice of who leaves at each.
void append_last_options(board& on, std::uint32_t pod, node_index where, std::vector<room_option>& out) {
    if (!on.allows(pod, where) || !on.host_may_hold(pod, where, true)) return;
    std::vector<std::uint32_t> leaving; // in the order of their first devices, then those without
    const auto append = [&](std::span<const std::uint32_t> pods) {
        std::vector<std::uint32_t> ascending(pods.begin(), pods.end());
        std::ranges::sort(ascending);
        for (const std::uint32_t other : ascending) {
            if (on.pod(other).movable && std::ranges::find(leaving, other) == leaving.end()) leaving.push_back(other);
        }
    };
    for (std::size_t place = on.first_of(where); place < on.end_of(where); ++place) append(on.residents(place));
    append(on.pods_on(where));
    for (const std::uint32_t other : leaving) {
        if (!on.step()) return;
        const placement* const origin = on.pod(other).where;
        on.lift(other);
        std::vector<room_option> options;
        node_walk{on, pod, where, 0, options, later_moves::none}.walk();
        on.undo_lift(other, origin);
        for (room_option& option : options) {
            if (on.fits(pod, option.where)) continue; // the other may as well stay
            option.leaving.push_back(other);
            out.push_back(std::move(option));
        }
    }
}

/// The first free place on a device for a simple request; false if it has none.
bool place_on(board& on, std::uint32_t pod, std::size_t place, const std::function<bool(const placement&)>& use,
              bool& goes_on) {
    const node_index where = on.node_of(place);
    if (on.is_shut(place) || !on.allows(pod, where) || !on.host_holds(pod, where)) return false;
    const device_request& container = on.request_of(pod).asked->containers.front();
    if (!on.tags_agree(pod, place)) return false;
    std::vector<partition> parts;
    parts_now(on, place, container, accepted_compromise(on, pod), parts);
    for (const partition& part : parts) {
        placement shown{.node = where, .shares = {}};
        shown.shares.push_back({.container = 0, .device = device_index{place - on.first_of(where)}, .part = part});
        goes_on = use(shown);
        if (!goes_on) return true;
    }
    return !parts.empty();
}

bool show_simple(board& on, std::uint32_t pod, const std::function<bool(const placement&)>& use) {
    const device_request& container = on.request_of(pod).asked->containers.front();
    bool goes_on = true;
    const std::vector<std::uint32_t> touched = on.touched();
    for (const std::uint32_t place : touched) {
        if (!on.allows(pod, on.node_of(place))) continue;
        if (!on.step()) return true;
        if (why_never(on.spec_of(place), container) != rejection_code::none) continue;
        static_cast<void>(place_on(on, pod, place, use, goes_on));
        if (!goes_on) return false;
    }
    std::vector<std::pair<std::uint32_t, std::size_t>> rest; // classes, and from where on they have not been shown
    for (const std::uint32_t number : on.fullest_first()) {
        if (!on.class_fits(pod, number)) continue;
        const auto& members = on.classes()[number].members;
        std::size_t next = 0;
        for (bool shown = false; next < members.size() && !shown; ++next) {
            if (!on.allows(pod, on.node_of(members[next]))) continue;
            if (!on.step()) return true;
            if (on.is_touched(members[next])) continue;
            shown = place_on(on, pod, members[next], use, goes_on);
            if (!goes_on) return false;
        }
        if (next < members.size()) rest.emplace_back(number, next);
    }
    for (const auto& [number, from] : rest) {
        const auto& members = on.classes()[number].members;
        for (std::size_t i = from; i < members.size(); ++i) {
            if (!on.allows(pod, on.node_of(members[i]))) continue;
            if (!on.step()) return true;
            if (on.is_touched(members[i])) continue;
            static_cast<void>(place_on(on, pod, members[i], use, goes_on));
            if (!goes_on) return false;
        }
    }
    return true;
}

} // namespace

device_request amounts_on(const board& on, const device_request& container, node_index where) {
    device_request result = container;
    if (!container.memory_of_first || container.memory_percent || container.memory > mib{0}) return result;
    for (std::size_t place = on.first_of(where); place < on.end_of(where); ++place) {
        if (!container.family.empty() && on.spec_of(place).family != container.family) continue;
        result.memory = on.spec_of(place).memory;
        break;
    }
    return result;
}

std::optional<placement> free_place_on(board& on, std::uint32_t pod, std::size_t place) {
    if (why_never(on.spec_of(place), on.request_of(pod).asked->containers.front()) != rejection_code::none) {
        return std::nullopt;
    }
    std::optional<placement> result;
    bool goes_on = true;
    const auto keep = [&result](const placement& where) {
        result = where;
        return false;
    };
    static_cast<void>(place_on(on, pod, place, keep, goes_on));
    return result;
}

std::optional<placement> free_place_of_devices(board& on, std::uint32_t pod, node_index where,
                                               std::span<const std::size_t> places) {
    const auto& containers = on.request_of(pod).asked->containers;
    if (containers.size() != 1) {
        std::vector<room_option> options;
        node_walk{on, pod, where, 0, options, later_moves::none, true}.walk();
        return options.empty() ? std::nullopt : std::optional{options.front().where};
    }
    if (!on.allows(pod, where) || !on.host_holds(pod, where)) return std::nullopt;
    const device_request container = amounts_on(on, containers.front(), where);
    placement result{.node = where, .shares = {}};
    std::vector<partition> parts;
    for (const std::size_t place : places) {
        if (static_cast<std::int64_t>(result.shares.size()) == container.count) break;
        if (!on.admits(pod, container, place)) continue;
        parts.clear();
        parts_now(on, place, container, accepted_compromise(on, pod), parts);
        if (parts.empty()) continue;
        result.shares.push_back(
            {.container = 0, .device = device_index{place - on.first_of(where)}, .part = parts.front()});
    }
    if (static_cast<std::int64_t>(result.shares.size()) < container.count) return std::nullopt;
    return result;
}

void append_options(board& on, std::uint32_t pod, node_index where, std::size_t leaving_count,
                    std::vector<room_option>& out, later_moves later) {
    if (leaving_count == 1 && later == later_moves::none && !on.request_of(pod).simple) {
        append_last_options(on, pod, where, out);
        return;
    }
    node_walk{on, pod, where, leaving_count, out, later}.walk();
}

bool for_each_free_place(board& on, std::uint32_t pod, const std::function<bool(const placement&)>& use,
                         later_moves later) {
    if (on.request_of(pod).simple) return show_simple(on, pod, use);
    std::vector<room_option> options;
    for (std::size_t n = 0; n < on.node_count(); ++n) {
        if (!on.allows(pod, node_index{n})) continue;
        if (!on.step()) return true;
        options.clear();
        append_options(on, pod, node_index{n}, 0, options, later);
        for (const room_option& option : options) {
            if (!use(option.where)) return false;
        }
    }
    return true;
}

bool has_free_place(board& on, std::uint32_t pod) {
    return !for_each_free_place(on, pod, [](const placement&) { return false; }, later_moves::none);
}

} // namespace vgpualloc::plan
