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
                                        const std::string& policy, const settings& setup) {
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
        if (setup.has(quirk::q14)) {
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
bool keeps_group(const settings& setup) { return !setup.has(quirk::q1) || !setup.has(quirk::q1e); }

void undo_instance(const card_spec& card, card_use& use, const mig_pick& pick, const settings& setup) {
    if (!setup.has(quirk::q1)) free_slot(use, (*card.groups)[pick.group].instances[pick.kind], pick.slot);
    if (keeps_group(setup) && --use.open_bookings == 0) use.group = use.settled_group;
}

void book(const card_spec& card, card_use& use, const card_booking& booking, const settings& setup) {
    ++use.num;
    use.memory += booking.charged;
    use.cores += booking.cores;
    if (!booking.instance) return;
    // Q1: a session's bookings leave the instances in use as they are, so that the next pod gets the same one.
    // Q1e: nor do they choose the group, so that the next pod may get one of another group.
    const mig_pick& pick = *booking.instance;
    if (keeps_group(setup)) {
        use.group = static_cast<std::int64_t>(pick.group);
        ++use.open_bookings;
    }
    if (!setup.has(quirk::q1)) use_slot(use, (*card.groups)[pick.group].instances[pick.kind], pick.slot);
}

/// One pod's walk over the cards of a node.
class selector {
public:
    selector(const node_ledger& node, std::vector<card_use>& uses, const selection_request& request,
             const settings& setup)
        : node_{&node}, uses_{&uses}, request_{&request}, setup_{setup}, wishes_{*request.pending, setup} {
        const auto& annotations = request.pending->annotations;
        if (const auto mode = annotations.find(mode_annotation); mode != annotations.end()) mode_ = mode->second;
    }

    selection run() {
        if (!has_mode()) {
            fail("pod required sharing mode " + *mode_ + " is not the same as the node mode " +
                     mode_name(node_->spec->mig),
                 "mode_mismatch");
            return std::move(result_);
        }
        for (const record& wish : records_of(*request_->pending, setup_)) {
            result_.containers.emplace_back();
            if (!wish.requests) continue;
            if (!serve(wish)) break;
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
        if (setup_.has(quirk::q6)) return *mode_ == mode_name(node_->spec->mig);
        return std::ranges::any_of(cards(), [this](const card_spec& card) { return *mode_ == mode_name(card.mig); });
    }

    /// Gives the record its cards; false, with the reason, if there are not enough.
    bool serve(const record& wish) {
        if (wish.count > static_cast<std::int64_t>(cards().size())) {
            fail("no enough gpu cards on node " + node_->spec->name, "not_enough_cards");
            return false;
        }
        // Q7b: a count of 0 takes the first suitable card all the same, without naming it. (A negative one, which only
        // a number over 32 bits can become, takes every suitable card.)
        if (wish.count <= 0 && !setup_.has(quirk::q7b)) return true;
        std::int64_t left = wish.count;
        bool uuid_found = false;
        for (const std::size_t i : visiting_order(cards(), *uses_, request_->policy, setup_)) {
            if (!wishes_.permit_uuid(cards()[i].uuid)) continue;
            uuid_found = true;
            if (!take(i, wish, left > 0)) continue;
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
    [[nodiscard]] bool suits(std::size_t i, const record& wish, std::int64_t need) const {
        const card_spec& card = cards()[i];
        const card_use& use = (*uses_)[i];
        const auto is_unsigned_less = [](std::int64_t a, std::int64_t b) {
            return static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b);
        };
        if (request_->blocked.contains(card.index) || !is_unsigned_less(use.num, card.number)) return false;
        // Q5: upstream stores the health and never asks.
        if (!setup_.has(quirk::q5) && !card.health) return false;
        if (wishes_.conflict(node_->pods[i])) return false;
        if (card.memory - use.memory < need) return false;
        if (is_unsigned_less(100, use.cores + wish.cores)) return false;
        if (wish.cores == 100 && use.num > 0) return false;
        if (use.cores == 100 && wish.cores == 0) return false;
        if (!setup_.has(quirk::q6) && mode_ && *mode_ != mode_name(card.mig)) return false;
        return wishes_.permit_type(card.type);
    }

    bool take(std::size_t i, const record& wish, bool name_it) {
        const card_spec& card = cards()[i];
        const std::int64_t need = needed_memory(wish, card);
        if (!suits(i, wish, need)) return false;
        card_booking booking{.card = i, .need = need, .charged = need, .cores = wish.cores, .instance = {}};
        card_use& use = (*uses_)[i];
        if (is_served_as_mig(*node_->spec, card, setup_)) {
            booking.instance = find_instance(card, use, need, setup_);
            if (!booking.instance) return false;
            booking.charged = setup_.in_ledger_units(booking.instance->memory);
        }
        const double score_before = score_of(card, use, request_->policy);
        book(card, use, booking, setup_);
        if (name_it) {
            result_.containers.back().push_back(
                {.card = i, .need = need, .cores = wish.cores, .instance = booking.instance});
            // Q10: after booking no card is unused, so spread scores 0 for each.
            const bool before = request_->policy == "spread" && !setup_.has(quirk::q10);
            result_.score += before ? score_before : score_of(card, use, request_->policy);
        }
        result_.bookings.push_back(std::move(booking));
        return true;
    }

    void roll_back() {
        for (const card_booking& booking : result_.bookings) {
            if (!setup_.has(quirk::q7)) {
                undo_booking(*node_->spec, *uses_, booking, setup_);
                continue;
            }
            // Q7: what goes back is the need, and a MIG card was charged for the instance.
            card_use& use = (*uses_)[booking.card];
            use.num = std::max<std::int64_t>(use.num - 1, 0);
            use.memory = std::max<std::int64_t>(use.memory - booking.need, 0);
            use.cores = std::max<std::int64_t>(use.cores - booking.cores, 0);
            if (booking.instance) undo_instance(cards()[booking.card], use, *booking.instance, setup_);
        }
        result_.bookings.clear();
        result_.containers.clear();
        result_.score = 0.0;
    }

    const node_ledger* node_;
    std::vector<card_use>* uses_;
    const selection_request* request_;
    settings setup_;
    card_wishes wishes_;
    std::optional<std::string> mode_; ///< that the pod asks for
    selection result_;
};

} // namespace

selection select_cards(const node_ledger& node, std::vector<card_use>& uses, const selection_request& request,
                       const settings& setup) {
    return selector{node, uses, request, setup}.run();
}

void book_entry(const node_spec& node, std::vector<card_use>& uses, const assigned_card& entry, const settings& setup) {
    for (std::size_t i = 0; i < node.cards.size(); ++i) {
        const card_spec& card = node.cards[i];
        if (!is_id_of(entry.id, card, setup)) continue;
        card_booking booking{
            .card = i, .need = entry.memory, .charged = entry.memory, .cores = entry.cores, .instance = {}};
        if (is_served_as_mig(node, card, setup)) {
            booking.instance = instance_of(card, entry.id);
            if (!booking.instance) return;
            booking.charged = setup.in_ledger_units(booking.instance->memory);
        }
        book(card, uses[i], booking, setup);
        return;
    }
}

void undo_booking(const node_spec& node, std::vector<card_use>& uses, const card_booking& booking,
                  const settings& setup) {
    card_use& use = uses[booking.card];
    --use.num;
    use.memory -= booking.charged;
    use.cores -= booking.cores;
    if (booking.instance) undo_instance(node.cards[booking.card], use, *booking.instance, setup);
}

} // namespace vgpualloc::compat::volcano::vgpu
