#include "vgpu_select.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <utility>

namespace vgpualloc::compat::volcano::vgpu {

namespace {

constexpr const char* mode_annotation = "volcano.sh/vgpu-mode";

/// Positions of the cards in the order in which a record visits them.
std::vector<std::size_t> visiting_order(const std::vector<card_spec>& cards, const std::vector<card_use>& uses,
                                        const std::string& policy, const settings& with) {
    std::vector<std::size_t> order(cards.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (policy == "binpack") {
        std::ranges::stable_sort(order, std::ranges::greater{}, [&uses](std::size_t i) { return uses[i].memory; });
    } else if (policy == "spread") {
        std::ranges::stable_sort(order, {}, [&uses](std::size_t i) { return uses[i].num; });
    } else {
        std::ranges::reverse(order);
        // Q14: upstream counts down from the number of cards, so where the registration has a hole it dereferences a
        // card that is none, and panics, and does not reach the last ones. Here a hole is passed over; the last cards
        // stay out of reach.
        if (with.has(quirk::q14)) {
            const auto count = static_cast<std::int64_t>(cards.size());
            std::erase_if(order, [&](std::size_t i) { return cards[i].index >= count; });
        }
    }
    return order;
}

double score_of(const card_spec& card, const card_use& use, const std::string& policy) {
    if (policy == "binpack") {
        // A card without memory can be booked by a pod that needs none; upstream's 0/0 is left out.
        if (card.memory == 0) return 0.0;
        return 100.0 * (static_cast<double>(use.memory) / static_cast<double>(card.memory));
    }
    if (policy == "spread") return use.num == 0 ? 100.0 : 0.0;
    return 0.0;
}

/// Do the session's MIG bookings decide the group, with Q1 or Q1e off?
bool keeps_group(const settings& with) { return !with.has(quirk::q1) || !with.has(quirk::q1e); }

void undo_instance(const card_spec& card, card_use& use, const mig_pick& pick, const settings& with) {
    if (!with.has(quirk::q1)) free_slot(use, (*card.groups)[pick.group].instances[pick.kind], pick.slot);
    if (keeps_group(with) && --use.open_bookings == 0) use.group = use.settled_group;
}

void book(const card_spec& card, card_use& use, const card_booking& booking, const settings& with) {
    ++use.num;
    use.memory += booking.charged;
    use.cores += booking.cores;
    if (!booking.instance) return;
    // Q1: a session's bookings leave the instances in use as they are, so that the next pod gets the same one.
    // Q1e: nor do they choose the group, so that the next pod may get one of another group.
    const mig_pick& pick = *booking.instance;
    if (keeps_group(with)) {
        use.group = static_cast<std::int64_t>(pick.group);
        ++use.open_bookings;
    }
    if (!with.has(quirk::q1)) use_slot(use, (*card.groups)[pick.group].instances[pick.kind], pick.slot);
}

/// One pod's walk over the cards of a node.
class selector {
public:
    selector(const node_ledger& node, std::vector<card_use>& uses, const selection_request& request,
             const settings& with)
        : node_{&node}, uses_{&uses}, request_{&request}, with_{with}, wishes_{*request.asked, with} {
        const auto& annotations = request.asked->annotations;
        if (const auto found = annotations.find(mode_annotation); found != annotations.end()) mode_ = found->second;
    }

    selection run() {
        if (!has_mode()) {
            fail("pod required sharing mode " + *mode_ + " is not the same as the node mode " +
                     mode_name(node_->spec->mig),
                 "mode_mismatch");
            return std::move(result_);
        }
        for (const record& wanted : records_of(*request_->asked, with_)) {
            result_.containers.emplace_back();
            if (!wanted.requests) continue;
            if (!serve(wanted)) break;
        }
        if (!result_.fits()) roll_back();
        return std::move(result_);
    }

private:
    [[nodiscard]] const std::vector<card_spec>& cards() const { return node_->spec->cards; }

    void fail(std::string error, std::string reason) {
        result_.error = std::move(error);
        result_.reason = std::move(reason);
    }

    [[nodiscard]] bool has_mode() const {
        if (!mode_) return true;
        if (with_.has(quirk::q6)) return *mode_ == mode_name(node_->spec->mig);
        return std::ranges::any_of(cards(), [this](const card_spec& each) { return *mode_ == mode_name(each.mig); });
    }

    /// Gives the record its cards; false, with the reason, if there are not enough.
    bool serve(const record& wanted) {
        if (wanted.count > static_cast<std::int64_t>(cards().size())) {
            fail("no enough gpu cards on node " + node_->spec->name, "not_enough_cards");
            return false;
        }
        // Q7b: a count of 0 takes the first suitable card all the same, without naming it. (A negative one, which only
        // a number over 32 bits can become, takes every suitable card.)
        if (wanted.count <= 0 && !with_.has(quirk::q7b)) return true;
        std::int64_t left = wanted.count;
        bool uuid_found = false;
        for (const std::size_t i : visiting_order(cards(), *uses_, request_->policy, with_)) {
            if (!wishes_.permit_uuid(cards()[i].uuid)) continue;
            uuid_found = true;
            if (!take(i, wanted, left > 0)) continue;
            if (left > 0) --left;
            if (left == 0) break;
        }
        if (left <= 0) return true;
        if (wishes_.has_uuids() && !uuid_found) {
            fail(wishes_.no_uuid_error(node_->spec->name), "uuid_no_match");
        } else {
            fail("not enough gpu fitted on this node", "not_enough_fit");
        }
        return false;
    }

    /// The tests of one card besides its uuid and the instance, in upstream's order.
    [[nodiscard]] bool suits(std::size_t i, const record& wanted, std::int64_t need) const {
        const card_spec& card = cards()[i];
        const card_use& use = (*uses_)[i];
        const auto is_unsigned_less = [](std::int64_t a, std::int64_t b) {
            return static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b);
        };
        if (request_->blocked.contains(card.index) || !is_unsigned_less(use.num, card.number)) return false;
        // Q5: upstream stores the health and never asks.
        if (!with_.has(quirk::q5) && !card.health) return false;
        if (wishes_.conflict(node_->pods[i])) return false;
        if (card.memory - use.memory < need) return false;
        if (is_unsigned_less(100, use.cores + wanted.cores)) return false;
        if (wanted.cores == 100 && use.num > 0) return false;
        if (use.cores == 100 && wanted.cores == 0) return false;
        if (!with_.has(quirk::q6) && mode_ && *mode_ != mode_name(card.mig)) return false;
        return wishes_.permit_type(card.type);
    }

    bool take(std::size_t i, const record& wanted, bool name_it) {
        const card_spec& card = cards()[i];
        const std::int64_t need = needed_memory(wanted, card);
        if (!suits(i, wanted, need)) return false;
        card_booking booking{.card = i, .need = need, .charged = need, .cores = wanted.cores, .instance = {}};
        card_use& use = (*uses_)[i];
        if (is_served_as_mig(*node_->spec, card, with_)) {
            booking.instance = find_instance(card, use, need, with_);
            if (!booking.instance) return false;
            booking.charged = with_.in_ledger_units(booking.instance->memory);
        }
        const double score_before = score_of(card, use, request_->policy);
        book(card, use, booking, with_);
        if (name_it) {
            result_.containers.back().push_back(
                {.card = i, .need = need, .cores = wanted.cores, .instance = booking.instance});
            // Q10: after booking no card is unused, so spread scores 0 for each.
            const bool before = request_->policy == "spread" && !with_.has(quirk::q10);
            result_.score += before ? score_before : score_of(card, use, request_->policy);
        }
        result_.bookings.push_back(std::move(booking));
        return true;
    }

    void roll_back() {
        for (const card_booking& each : result_.bookings) {
            if (!with_.has(quirk::q7)) {
                undo_booking(*node_->spec, *uses_, each, with_);
                continue;
            }
            // Q7: what goes back is the need, and a MIG card was charged for the instance.
            card_use& use = (*uses_)[each.card];
            use.num = std::max<std::int64_t>(use.num - 1, 0);
            use.memory = std::max<std::int64_t>(use.memory - each.need, 0);
            use.cores = std::max<std::int64_t>(use.cores - each.cores, 0);
            if (each.instance) undo_instance(cards()[each.card], use, *each.instance, with_);
        }
        result_.bookings.clear();
        result_.containers.clear();
        result_.score = 0.0;
    }

    const node_ledger* node_;
    std::vector<card_use>* uses_;
    const selection_request* request_;
    settings with_;
    card_wishes wishes_;
    std::optional<std::string> mode_; ///< that the pod asks for
    selection result_;
};

} // namespace

selection select_cards(const node_ledger& node, std::vector<card_use>& uses, const selection_request& request,
                       const settings& with) {
    return selector{node, uses, request, with}.run();
}

void book_entry(const node_spec& node, std::vector<card_use>& uses, const assigned_card& entry, const settings& with) {
    for (std::size_t i = 0; i < node.cards.size(); ++i) {
        const card_spec& card = node.cards[i];
        if (!is_id_of(entry.id, card, with)) continue;
        card_booking booking{
            .card = i, .need = entry.memory, .charged = entry.memory, .cores = entry.cores, .instance = {}};
        if (is_served_as_mig(node, card, with)) {
            booking.instance = instance_of(card, entry.id);
            if (!booking.instance) return;
            booking.charged = with.in_ledger_units(booking.instance->memory);
        }
        book(card, uses[i], booking, with);
        return;
    }
}

void undo_booking(const node_spec& node, std::vector<card_use>& uses, const card_booking& booking,
                  const settings& with) {
    card_use& use = uses[booking.card];
    --use.num;
    use.memory -= booking.charged;
    use.cores -= booking.cores;
    if (booking.instance) undo_instance(node.cards[booking.card], use, *booking.instance, with);
}

} // namespace vgpualloc::compat::volcano::vgpu
