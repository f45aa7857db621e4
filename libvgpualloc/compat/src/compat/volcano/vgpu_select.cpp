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
                     mode_name(*node_->spec, setup_),
                 "mode_mismatch");
            return std::move(result_);
        }
        const std::vector<record> wishes = records_of(*request_->pending, setup_);
        const std::vector<card_use> before = *uses_;
        for (const record& wish : wishes) {
            result_.containers.emplace_back();
            if (!wish.requests) continue;
            if (!serve(wish)) break;
        }
        if (result_.fits()) return std::move(result_);
        roll_back();
        // Q31: a pod for which the cards were taken in the wrong order is refused.
        if (!setup_.has(quirk::q31) && std::ranges::count_if(wishes, wants_cards) > 1) serve_ahead(wishes, before);
        return std::move(result_);
    }

private:
    static constexpr std::int64_t ways_max = 1 << 15; ///< that looking ahead tries for one pod

    [[nodiscard]] const std::vector<card_spec>& cards() const { return node_->spec->cards; }

    [[nodiscard]] static bool wants_cards(const record& wish) { return wish.requests && wish.count > 0; }

    void fail(std::string error, std::string reason) {
        result_.error = std::move(error);
        result_.reason = std::move(reason);
    }

    [[nodiscard]] bool has_mode() const {
        if (!mode_) return true;
        if (setup_.has(quirk::q6)) return *mode_ == mode_name(*node_->spec, setup_);
        return std::ranges::any_of(cards(),
                                   [this](const card_spec& card) { return *mode_ == mode_name(card, setup_); });
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
        // Q30: of MPS there is neither its limit of clients, nor that a limit of threads is no guarantee to anybody.
        if (is_served_as_mps(*node_->spec, card, setup_) && use.num >= mps_clients_max) return false;
        // Q5: upstream stores the health and never asks.
        if (!setup_.has(quirk::q5) && !card.health) return false;
        if (wishes_.conflict(node_->pods[i])) return false;
        if (card.memory - use.memory < need) return false;
        if (!joins(card, use, wish.cores)) return false;
        if (!setup_.has(quirk::q6) && mode_ && *mode_ != mode_name(card, setup_)) return false;
        return wishes_.permit_type(card.type);
    }

    /// Whether the compute asked for may join what is on the card. With Q27 off that is for the instances to say.
    [[nodiscard]] bool joins(const card_spec& card, const card_use& use, std::int64_t cores) const {
        if (!setup_.has(quirk::q27) && is_served_as_mig(*node_->spec, card, setup_)) return true;
        if (static_cast<std::uint64_t>(use.cores + cores) > 100) return false;
        if (is_served_as_mps(*node_->spec, card, setup_)) return true;
        if (cores == 100 && use.num > 0) return false;
        return use.cores != 100 || cores != 0;
    }

    /// The ways in which a card could serve a record, upstream's first; at most `most`.
    [[nodiscard]] std::vector<card_booking> ways_of(std::size_t i, const record& wish, std::size_t most) const {
        const card_spec& card = cards()[i];
        const std::int64_t need = needed_memory(wish, card);
        if (!suits(i, wish, need)) return {};
        const card_booking whole{.card = i,
                                 .need = need,
                                 .charged = need,
                                 .cores = charged_cores(*node_->spec, card, wish.cores, setup_),
                                 .instance = {}};
        if (!is_served_as_mig(*node_->spec, card, setup_)) return {whole};
        std::vector<card_booking> ways;
        for (const mig_pick& pick :
             instances_for(card, (*uses_)[i], {.need = need, .cores = wish.cores}, most, setup_)) {
            ways.push_back(whole);
            ways.back().charged = setup_.in_ledger_units(pick.memory);
            ways.back().instance = pick;
        }
        return ways;
    }

    bool take(std::size_t i, const record& wish, bool name_it) {
        const auto ways = ways_of(i, wish, 1);
        if (ways.empty()) return false;
        take_way(ways.front(), wish, name_it);
        return true;
    }

    void take_way(const card_booking& booking, const record& wish, bool name_it) {
        const card_spec& card = cards()[booking.card];
        card_use& use = (*uses_)[booking.card];
        const double score_before = score_of(card, use, request_->policy);
        book(card, use, booking, setup_);
        if (name_it) {
            result_.containers.back().push_back(
                {.card = booking.card, .need = booking.need, .cores = wish.cores, .instance = booking.instance});
            // Q10: after booking no card is unused, so spread scores 0 for each.
            const bool before = request_->policy == "spread" && !setup_.has(quirk::q10);
            result_.score += before ? score_before : score_of(card, use, request_->policy);
        }
        result_.bookings.push_back(booking);
    }

    /// Serves the records with cards only that leave enough for the rest, where there are such. `before`: the cards as
    /// they were before the pod, which a roll-back need not give back (Q7).
    void serve_ahead(const std::vector<record>& wishes, const std::vector<card_use>& before) {
        selection refused = std::exchange(result_, {});
        std::vector<card_use> rolled_back = std::exchange(*uses_, before);
        for (std::size_t r = 0; r < wishes.size(); ++r) {
            result_.containers.emplace_back();
            if (!wants_cards(wishes[r])) {
                if (wishes[r].requests && !serve(wishes[r])) break;
                continue;
            }
            if (serve_one_ahead(wishes, r)) continue;
            result_ = std::move(refused);
            *uses_ = std::move(rolled_back);
            return;
        }
    }

    [[nodiscard]] bool serve_one_ahead(const std::vector<record>& wishes, std::size_t r) {
        std::int64_t left = wishes[r].count;
        const auto order = visiting_order(cards(), *uses_, request_->policy, setup_);
        for (std::size_t k = 0; k < order.size() && left > 0; ++k) {
            if (!wishes_.permit_uuid(cards()[order[k]].uuid)) continue;
            for (const card_booking& way : ways_of(order[k], wishes[r], ~std::size_t{0})) {
                const double score = result_.score;
                take_way(way, wishes[r], true);
                if (rest_fits(wishes, r, left - 1, order, k + 1)) {
                    --left;
                    break;
                }
                undo_booking(*node_->spec, *uses_, way, setup_);
                result_.bookings.pop_back();
                result_.containers.back().pop_back();
                result_.score = score;
            }
        }
        return left == 0;
    }

    /// Whether `left` more cards for a record, from a place in the order on, and all of the later records fit.
    [[nodiscard]] bool rest_fits(const std::vector<record>& wishes, std::size_t r, std::int64_t left,
                                 const std::vector<std::size_t>& order, std::size_t from) {
        if (left == 0) {
            for (++r; r < wishes.size() && !wants_cards(wishes[r]);) ++r;
            if (r == wishes.size()) return true;
            std::vector<std::size_t> all(cards().size());
            std::iota(all.begin(), all.end(), std::size_t{0});
            return rest_fits(wishes, r, wishes[r].count, all, 0);
        }
        for (std::size_t k = from; k < order.size(); ++k) {
            if (!wishes_.permit_uuid(cards()[order[k]].uuid)) continue;
            for (const card_booking& way : ways_of(order[k], wishes[r], ~std::size_t{0})) {
                if (--ways_left_ < 0) return false;
                book(cards()[order[k]], (*uses_)[order[k]], way, setup_);
                const bool fits = rest_fits(wishes, r, left - 1, order, k + 1);
                undo_booking(*node_->spec, *uses_, way, setup_);
                if (fits) return true;
            }
        }
        return false;
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
    std::int64_t ways_left_ = ways_max;
};

} // namespace

selection select_cards(const node_ledger& node, std::vector<card_use>& uses, const selection_request& request,
                       const settings& setup) {
    return selector{node, uses, request, setup}.run();
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
