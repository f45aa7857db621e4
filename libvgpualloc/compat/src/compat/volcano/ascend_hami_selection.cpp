// Ascend HAMi: a pod's records, and the cards that a node has for them.
#include <algorithm>
#include <numeric>

#include "ascend_hami_parts.hpp"

namespace vgpualloc::compat::volcano::ascend {

namespace {

constexpr int error_code = 1;
constexpr int unschedulable = 2;
constexpr std::int64_t whole_percent = 100;

/// Upstream keeps a request in 32 bits and drops the others.
std::int64_t to_int32(std::int64_t value) { return static_cast<std::int32_t>(value); }

const std::int64_t* limit_of(const kubernetes::container& container, const std::string& resource) {
    const auto amount = container.limits.find(resource);
    return amount == container.limits.end() ? nullptr : &amount->second;
}
std::int64_t limit_or_request(const kubernetes::container& container, const std::string& resource) {
    if (const auto* const limit = limit_of(container, resource)) return to_int32(*limit);
    const auto amount = container.requests.find(resource);
    return amount == container.requests.end() ? 0 : to_int32(amount->second);
}

bool has_topology(const node_view& where) {
    return where.kind.common_word.starts_with(topology_prefix) &&
           std::ranges::all_of(where.cards, [](const card& shown) { return shown.place.has_value(); });
}

/// The cards' positions, best first. Q13: upstream leaves equal scores in the order of a Go map; here the lower index
/// comes first, which is one of upstream's outcomes and the order a corrected one would have.
std::vector<std::size_t> by_score(const node_view& where, const std::string& policy) {
    std::vector<std::size_t> order(where.cards.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t at) { return card_score(policy, where.cards[at]); });
    return order;
}

/// Does a template with that memory need more AI cores or AI CPUs than the others leave? A kind without them has no
/// such limit.
bool exceeds_units(const vnpu_kind& kind, const card& device, std::int64_t memory) {
    const ai_units needed = units_of(kind, memory);
    return (kind.ai_core != 0 && needed.cores > kind.ai_core - device.used_units.cores) ||
           (kind.ai_cpu != 0 && needed.cpus > kind.ai_cpu - device.used_units.cpus);
}

bool card_fits(const node_view& where, const card& device, const record& wish, bool core_mode) {
    // Q5: upstream registers the health of a card and never looks at it.
    if (!where.quirks.has(quirk::q5) && !device.health) return false;
    if (wish.oversized || (core_mode && !where.core_capable)) return false;
    if (device.count <= device.used || device.memory - device.used_memory < wish.memory) return false;
    // Q32: upstream counts a template's memory and never its AI cores and AI CPUs.
    if (!where.quirks.has(quirk::q32) && !core_mode && exceeds_units(where.kind, device, wish.memory)) return false;
    const std::int64_t total = core_mode ? whole_percent : device.cores;
    if (total - device.used_cores < wish.cores) return false;
    if (total == whole_percent && wish.cores == whole_percent && device.used > 0) return false;
    return total == 0 || device.used_cores != total || wish.cores != 0;
}

/// The cards from the networks with most of them; Q13: of equal networks the lower number first. Asked for none
/// upstream never sees that it has enough, and takes all. A card whose network is no number is in none.
std::vector<std::size_t> by_network(const node_view& where, const std::vector<std::size_t>& fitting,
                                    std::int64_t number) {
    std::map<std::int64_t, std::vector<std::size_t>> networks;
    for (const std::size_t at : fitting) {
        if (const auto& id = where.cards[at].place->id) networks[*id].push_back(at);
    }
    std::vector<const std::vector<std::size_t>*> order;
    for (const auto& [id, members] : networks) order.push_back(&members);
    std::ranges::stable_sort(order, std::ranges::greater{}, [](const auto* members) { return members->size(); });
    std::vector<std::size_t> taken;
    for (const auto* const members : order) {
        for (const std::size_t at : *members) {
            taken.push_back(at);
            if (static_cast<std::int64_t>(taken.size()) == number) return taken;
        }
    }
    return taken;
}

selection refused(int code, std::string error, std::string reason) {
    selection result;
    result.code = code;
    result.error = std::move(error);
    result.reason = std::move(reason);
    return result;
}

bool partial_on_many(const vnpu_kind& kind, const record& wish) {
    return wish.number > 1 && !wish.oversized && trim_memory(kind, wish.memory).memory != kind.memory_allocatable;
}

} // namespace

bool asks_core_mode(const kubernetes::pod& pending) {
    return kubernetes::value_of(pending.annotations, "huawei.com/vnpu-mode") == "hami-core";
}

trimmed_memory trim_memory(const vnpu_kind& kind, std::int64_t memory) {
    const vnpu_template* smallest = nullptr;
    for (const vnpu_template& candidate : kind.templates) {
        if (candidate.memory >= memory && (smallest == nullptr || candidate.memory < smallest->memory))
            smallest = &candidate;
    }
    if (smallest != nullptr) return {.memory = smallest->memory, .template_name = smallest->name};
    // Q11: more than the whole card becomes nothing, which fits anywhere.
    return {.memory = memory <= kind.memory_capacity ? kind.memory_allocatable : 0, .template_name = {}};
}

ai_units units_of(const vnpu_kind& kind, std::int64_t memory) {
    const auto cut = std::ranges::find(kind.templates, memory, &vnpu_template::memory);
    if (cut != kind.templates.end()) return {.cores = cut->ai_core, .cpus = cut->ai_cpu};
    return memory == kind.memory_allocatable ? ai_units{.cores = kind.ai_core, .cpus = kind.ai_cpu} : ai_units{};
}

std::vector<record> records_of(const kubernetes::pod& pending, const vnpu_kind& kind, std::int64_t whole,
                               bool core_mode, const quirk_set& quirks) {
    std::vector<record> records;
    for (const auto& container : pending.containers) {
        const auto* const count = limit_of(container, kind.resource_name);
        if (count == nullptr && limit_of(container, kind.resource_memory_name) == nullptr) {
            // Q4: no place is kept for the container, so the annotation's positions are not the containers'.
            if (!quirks.has(quirk::q4)) records.push_back({.asks = false});
            continue;
        }
        record wish{.number = count == nullptr ? 1 : to_int32(*count),
                    .memory = limit_or_request(container, kind.resource_memory_name),
                    .cores = limit_or_request(container, kind.resource_name + "-core")};
        if (wish.memory == 0) wish.memory = whole;
        if (!core_mode && wish.memory > 0) {
            const std::int64_t amount = wish.memory;
            wish.memory = trim_memory(kind, amount).memory;
            wish.oversized = wish.memory < amount && amount > kind.memory_capacity && !quirks.has(quirk::q11);
        }
        records.push_back(wish);
    }
    return records;
}

double card_score(const std::string& policy, const card& device) {
    if (policy == "binpack") {
        return device.memory == 0
                   ? 0.0
                   : 100.0 * (static_cast<double>(device.used_memory) / static_cast<double>(device.memory));
    }
    return policy == "spread" && device.used == 0 ? 100.0 : 0.0;
}

namespace {

/// Looks ahead for records that each take cards of their own, with Q31 off.
class card_matching {
public:
    card_matching(const node_view& where, const std::vector<record>& wishes, bool core_mode)
        : where_{&where}, wishes_{&wishes}, core_mode_{core_mode}, taken_(where.cards.size(), false) {}

    /// The cards by record, in the order of `order` where that leaves enough for the rest; empty if there is no way.
    [[nodiscard]] std::vector<std::vector<std::size_t>> find(const std::vector<std::size_t>& order) {
        std::vector<std::vector<std::size_t>> cards(wishes_->size());
        for (std::size_t r = 0; r < wishes_->size(); ++r) {
            std::int64_t left = (*wishes_)[r].number;
            for (std::size_t k = 0; k < order.size() && left > 0; ++k) {
                if (!suits(order[k], r)) continue;
                taken_[order[k]] = true;
                if (rest_fits(r, left - 1, order, k + 1)) {
                    cards[r].push_back(order[k]);
                    --left;
                } else {
                    taken_[order[k]] = false;
                }
            }
            if (left > 0) return {};
        }
        return cards;
    }

private:
    static constexpr std::int64_t ways_max = 1 << 15;

    [[nodiscard]] bool suits(std::size_t at, std::size_t r) const {
        const record& wish = (*wishes_)[r];
        return wish.asks && !taken_[at] && card_fits(*where_, where_->cards[at], wish, core_mode_);
    }
    [[nodiscard]] bool rest_fits(std::size_t r, std::int64_t left, const std::vector<std::size_t>& order,
                                 std::size_t from) {
        if (left <= 0) return r + 1 == wishes_->size() || rest_fits(r + 1, (*wishes_)[r + 1].number, order, 0);
        for (std::size_t k = from; k < order.size(); ++k) {
            if (!suits(order[k], r)) continue;
            if (--ways_left_ < 0) return false;
            taken_[order[k]] = true;
            const bool fits = rest_fits(r, left - 1, order, k + 1);
            taken_[order[k]] = false;
            if (fits) return true;
        }
        return false;
    }

    const node_view* where_;
    const std::vector<record>* wishes_;
    bool core_mode_;
    std::vector<bool> taken_;
    std::int64_t ways_left_ = ways_max;
};

selection select_greedily(const node_view& where, const kubernetes::pod& pending, const std::string& policy) {
    const bool core_mode = asks_core_mode(pending);
    const bool topology = has_topology(where);
    const auto order = by_score(where, policy);
    std::vector<bool> taken(where.cards.size(), false); // by an earlier record of this pod
    selection result;
    for (const record& wish :
         records_of(pending, where.kind, where.cards[order.front()].memory, core_mode, where.quirks)) {
        result.parts.push_back({.wish = wish, .cards = {}});
        if (!wish.asks) continue;
        if (!core_mode && partial_on_many(where.kind, wish)) {
            return refused(error_code,
                           "vNPU does not support partial memory allocation when requesting multiple devices",
                           "multi_device_partial_memory");
        }
        // Q7b: a record for no cards still takes one where one fits, and with a topology all that fit.
        if (wish.number <= 0 && !where.quirks.has(quirk::q7b)) continue;
        std::vector<std::size_t> fitting;
        for (const std::size_t at : order) {
            if (taken[at] || !card_fits(where, where.cards[at], wish, core_mode)) continue;
            fitting.push_back(at);
            if (!topology && static_cast<std::int64_t>(fitting.size()) >= wish.number) break;
        }
        if (static_cast<std::int64_t>(fitting.size()) < wish.number) {
            return refused(unschedulable, "no enough ascend device available", "not_enough_fit");
        }
        if (topology) fitting = by_network(where, fitting, wish.number);
        for (const std::size_t at : fitting) taken[at] = true;
        result.parts.back().cards = std::move(fitting);
    }
    return result;
}

} // namespace

selection select(const node_view& where, const kubernetes::pod& pending, const std::string& policy) {
    selection greedy = select_greedily(where, pending, policy);
    // Q31: a pod for which the cards were taken in the wrong order is refused.
    if (greedy.code != unschedulable || where.quirks.has(quirk::q31)) return greedy;
    const bool core_mode = asks_core_mode(pending);
    const auto order = by_score(where, policy);
    const auto wishes = records_of(pending, where.kind, where.cards[order.front()].memory, core_mode, where.quirks);
    const bool refused_as_such = std::ranges::any_of(
        wishes, [&](const record& wish) { return !core_mode && wish.asks && partial_on_many(where.kind, wish); });
    const auto cards =
        refused_as_such ? std::vector<std::vector<std::size_t>>{} : card_matching{where, wishes, core_mode}.find(order);
    if (cards.empty()) return greedy;
    selection result;
    for (std::size_t r = 0; r < wishes.size(); ++r) result.parts.push_back({.wish = wishes[r], .cards = cards[r]});
    return result;
}

double selection_score(const node_view& where, const selection& chosen, const std::string& policy) {
    double score = 0.0;
    bool all_placed = true;
    std::map<std::int64_t, std::int64_t> networks;
    for (const auto& part : chosen.parts) {
        // Upstream reads the first card of an empty list and panics; here such a record counts nothing.
        if (part.cards.empty()) continue;
        const card& first = where.cards[part.cards.front()];
        score += card_score(policy, first);
        all_placed = all_placed && first.place.has_value();
        if (first.place && first.place->id) ++networks[*first.place->id];
    }
    if (!where.kind.common_word.starts_with(topology_prefix) || !all_placed) return score;
    std::int64_t most = 0;
    std::int64_t total = 0;
    for (const auto& [id, count] : networks) {
        most = std::max(most, count);
        total += count;
    }
    if (total == 0) return 0.0; // as upstream: the cards' scores are lost
    return score + static_cast<double>(most) / static_cast<double>(total) * 10.0;
}

} // namespace vgpualloc::compat::volcano::ascend
