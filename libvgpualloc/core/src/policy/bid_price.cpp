// Prices of slots, and scores at these.
#include "vgpualloc/policy/bid_price.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "policy/exponential.hpp"

namespace vgpualloc::policies {

namespace {

constexpr std::int64_t price_steps = 64;           ///< Q
constexpr std::int64_t milli_of_single = 3000;     ///< S1: what the last slot of one device costs
constexpr std::int64_t slot_units = 1 << 16;       ///< of a slot, for parts of one
constexpr std::int64_t near_steps = 64;            ///< of a GPU that has to leave before a next slot is there
constexpr std::int64_t near_max = 16 * near_steps; ///< beyond that none is near
constexpr std::int32_t turnover_steps = 8;
constexpr double units_per_gpu =
    1000.0 * static_cast<double>(price_steps) * static_cast<double>(slot_units * turnover_steps);

/// ln(16 / d) for d eighths of a turnover: the part of a slot that is s^L falls so with every GPU.
constexpr std::array<double, turnover_steps> fall_of_next{
    0x1.62e42fefa39efp+1, 0x1.0a2b23f3bab73p+1, 0x1.ac89b834770d4p+0, 0x1.62e42fefa39efp+0,
    0x1.29c440606e6abp+0, 0x1.f62f40794a7b8p-1, 0x1.a74269f84330ep-1, 0x1.62e42fefa39efp-1};

bool are_alike(const bid_classes& a, const bid_classes& b) {
    return std::ranges::equal(a.classes, b.classes,
                              [](const bid_class& left, const bid_class& right) { return left.is_alike(right); });
}

bool is_off(std::int64_t now, std::int64_t then, std::int64_t of) { return std::abs(now - then) * 100 > 3 * of; }

/// Whether prices differ by so much that scores had better be made anew: by a thirtieth of an idle device.
bool differ(const price_table& then, const price_table& now) {
    if (then.models_named != now.models_named || then.cpu_scarce != now.cpu_scarce) return true;
    if (is_off(now.cpu_per_gpu, then.cpu_per_gpu, then.cpu_per_gpu)) return true;
    if (then.devices.size() != now.devices.size()) return true;
    for (std::size_t i = 0; i < now.devices.size(); ++i) {
        const price_table::device_prices& a = then.devices[i];
        const price_table::device_prices& b = now.devices[i];
        if (a.model != b.model || a.mode != b.mode || is_off(b.idle, a.idle, a.idle)) return true;
        if (is_off(b.premium, a.premium, 1000) || a.parts.size() != b.parts.size()) return true;
        for (std::size_t part = 0; part < b.parts.size(); ++part) {
            if (a.parts[part].request != b.parts[part].request) return true;
            if (is_off(b.parts[part].worth, a.parts[part].worth, a.idle)) return true;
        }
    }
    return false;
}

} // namespace

bid_price::bid_price(const policy_parameters& parameters, bid_options options)
    : demand_{!parameters.prices_are_known, options},
      own_prices_{parameters.prices_are_known ? nullptr : std::make_shared<price_book>()},
      potential_{own_prices_         ? own_prices_
                 : parameters.prices ? parameters.prices
                                     : std::make_shared<const price_book>()} {
    if (own_prices_ && parameters.prices) {
        first_prices_ = parameters.prices->table;
        own_prices_->replace(first_prices_);
    }
    if (parameters.learned) demand_.expect(*parameters.learned);
}

/// The demand has another list of classes.
void bid_price::take_classes() {
    const std::shared_ptr<const bid_classes> before = std::exchange(classes_, demand_.classes());
    slots_.set_classes(classes_);
    if (!before || !classes_ || !are_alike(*before, *classes_)) {
        levels_.of_class.clear();
        levels_.stock.clear();
    }
    if (levels_.turnover > 0) ++epoch_;
    if (own_prices_ && classes_ && differ(own_prices_->table, classes_->prices)) {
        own_prices_->replace(classes_->prices);
        levels_.rests_of = classes_;
    }
    list_priced();
}

void bid_price::reprice(const ledger& book) {
    const std::vector<std::int32_t> of_class_before = levels_.of_class;
    const std::int32_t turnover_before = levels_.turnover;
    const double turnover = demand_.turnover() * turnover_steps;
    constexpr double turnover_slack = 0.72; // 0.09 of the whole
    if (std::abs(turnover - levels_.turnover) > turnover_slack) {
        levels_.turnover = static_cast<std::int32_t>(turnover + 0.5);
    }
    if (levels_.turnover == 0) {
        levels_.of_class.clear();
        levels_.stock.clear();
    }
    if (levels_.turnover > 0) {
        const std::span<const std::int64_t> stock = slots_.stock(book);
        levels_.stock.assign(stock.begin(), stock.end());
        const double covered = demand_.options().stock_time * demand_.offered();
        const bool is_first = levels_.of_class.empty();
        levels_.of_class.resize(stock.size(), 0);
        for (std::size_t c = 0; c < stock.size(); ++c) {
            const double arrivals = covered * classes_->classes[c].share;
            const double scarcity = arrivals > 0.0 ? exp_of_minus(static_cast<double>(stock[c]) / arrivals) : 0.0;
            const double wanted = scarcity * static_cast<double>(price_steps);
            constexpr double slack = 0.75;
            std::int32_t& level = levels_.of_class[c];
            if (is_first || std::abs(wanted - level) > slack) level = static_cast<std::int32_t>(wanted + 0.5);
        }
    }
    if (levels_.of_class == of_class_before && levels_.turnover == turnover_before) return;
    ++epoch_;
    list_priced();
}

/// Of a slot of a class, in milli-GPU / price_steps.
std::int64_t bid_price::price_of(std::size_t number) const {
    const bid_class& of = classes_->classes[number];
    return (of.devices == 1 ? milli_of_single : of.milli) * levels_.of_class[number];
}

/// Makes of levels and classes what scores are made of.
void bid_price::list_priced() {
    seen_.clear();
    priced_.clear();
    if (levels_.turnover == 0 || !classes_) return;
    for (std::size_t c = 0; c < levels_.of_class.size(); ++c) {
        if (levels_.of_class[c] == 0) continue;
        priced_.push_back({.number = c, .price = price_of(c), .rule = slots_.rules()[c]});
    }
    if (next_slot_turnover_ == levels_.turnover) return;
    next_slot_turnover_ = levels_.turnover;
    next_slot_.clear();
    const double fall = fall_of_next[static_cast<std::size_t>(levels_.turnover - 1)] / static_cast<double>(near_steps);
    for (std::int64_t missing = 0; missing < near_max; ++missing) {
        const double part = exp_of_minus(fall * static_cast<double>(missing));
        next_slot_.push_back(static_cast<std::int64_t>(part * static_cast<double>(slot_units) + 0.5));
    }
}

/// How many slots of a class a node has whose devices offer so many, with the part of the next one, in slot_units.
inline std::int64_t bid_price::slot_units_of(const priced_class& priced, std::int32_t offered,
                                             const node_view& node) const {
    const slot_rule& rule = priced.rule;
    const std::int64_t cpu_left = node.cpu_left.count();
    const std::int64_t whole = rule.slots(offered, cpu_left);
    if (rule.devices == 1) return whole * slot_units;
    const std::int64_t next = whole + 1;
    const auto devices = static_cast<std::int64_t>(node.config->devices.size());
    if (next * rule.devices > devices || next * rule.cpu > node.cpu_capacity.count()) return whole * slot_units;
    const std::int64_t cpu_per_gpu = std::max<std::int64_t>(classes_->cpu_per_gpu, 1);
    const std::int64_t devices_missing = (next * rule.devices - offered) * near_steps;
    const std::int64_t cpu_missing = (next * rule.cpu - cpu_left) * near_steps / cpu_per_gpu;
    const auto missing = static_cast<std::size_t>(std::max({devices_missing, cpu_missing, std::int64_t{0}}));
    return whole * slot_units + (missing < next_slot_.size() ? next_slot_[missing] : 0);
}

/// What the slots of a node are worth, in milli-GPU / price_steps / slot_units.
std::int64_t bid_price::slot_worth(const node_view& node) {
    if (priced_.empty()) return 0;
    const std::int32_t* const offers = slots_.offers(*node.config);
    std::int64_t sum = 0;
    for (const priced_class& priced : priced_) sum += priced.price * slot_units_of(priced, offers[priced.number], node);
    return sum;
}

std::vector<score_part> bid_price::score_parts(const request_view& request, const node_view& before,
                                               const node_view& after) {
    std::vector<score_part> parts{{.what = "leftovers", .worth = potential_.gain(request, before, after)}};
    if (priced_.empty()) return parts;
    std::vector<std::int64_t> units;
    const std::int32_t* const offered = slots_.offers(*before.config);
    for (const priced_class& priced : priced_) units.push_back(slot_units_of(priced, offered[priced.number], before));
    const std::int32_t* const left = slots_.offers(*after.config);
    for (std::size_t i = 0; i < priced_.size(); ++i) {
        const std::int64_t lost = units[i] - slot_units_of(priced_[i], left[priced_[i].number], after);
        if (lost == 0) continue;
        const double amount = static_cast<double>(lost) / static_cast<double>(slot_units);
        const double price = static_cast<double>(priced_[i].price * levels_.turnover) /
                             (1000.0 * static_cast<double>(price_steps * turnover_steps));
        parts.push_back({.what = "room for " + words_of(classes_->classes[priced_[i].number]),
                         .worth = -amount * price,
                         .amount = amount,
                         .price = price});
    }
    return parts;
}

bool bid_price::take_over(const policy& other) {
    const auto* const from = dynamic_cast<const bid_price*>(&other);
    if (from == nullptr) return false;
    demand_ = from->demand_;
    demand_.forget_ledger();
    first_prices_ = from->first_prices_;
    if (own_prices_) own_prices_->replace(from->prices());
    classes_ = from->classes_;
    slots_.set_classes(classes_);
    levels_ = from->levels_;
    before_trials_ = from->before_trials_;
    book_ = nullptr;
    ++epoch_;
    list_priced();
    return true;
}

const bid_price::seen_node& bid_price::look_at(const node_view& node) {
    constexpr std::size_t seen_max = 1024;
    if (seen_.empty() || seen_at_ != potential_.book().version) {
        seen_.assign(seen_max, {});
        seen_at_ = potential_.book().version;
    }
    const std::uint32_t config = node.config->id;
    seen_node& seen = seen_[config % seen_max];
    const bool is_seen = config != not_interned && seen.config == config && seen.cpu_left == node.cpu_left &&
                         seen.cpu_capacity == node.cpu_capacity;
    if (!is_seen) {
        seen = {.config = config,
                .cpu_left = node.cpu_left,
                .cpu_capacity = node.cpu_capacity,
                .potential = potential_.potential(node),
                .slots = slot_worth(node)};
    }
    return seen;
}

double bid_price::node_score(const request_view& request, const node_view& before, const node_view& after) {
    const seen_node& from = look_at(before);
    const double gain = potential_.gain_from(from.potential, request, after);
    if (priced_.empty()) return gain;
    const std::int64_t lost = (from.slots - slot_worth(after)) * levels_.turnover;
    return gain - static_cast<double>(lost) / units_per_gpu;
}

void bid_price::note_arrival(const pod_request& request, const ledger& book) {
    follow(book);
    const std::int64_t arrivals_before = demand_.arrivals();
    const bool is_new_list = demand_.note_arrival(request, book);
    if (demand_.arrivals() == arrivals_before) return; // of a pod without devices
    if (is_new_list) take_classes();
    const std::int64_t every = 1 + demand_.devices() / demand_.options().devices_per_pricing;
    if (is_new_list || demand_.arrivals() % every == 0) reprice(book);
}

/// What was read of another ledger's nodes is void.
void bid_price::follow(const ledger& book) {
    if (book_ == &book) return;
    book_ = &book;
    slots_.forget_nodes();
}

void bid_price::observe(const policy_event& event) {
    follow(*event.book);
    demand_.observe(event);
    slots_.touch(event.where);
}

void bid_price::enter_trial() {
    demand_.enter_trial();
    before_trials_.push_back(levels_);
}

void bid_price::leave_trial(bool keep) {
    const bool is_other_list = demand_.leave_trial(keep);
    if (before_trials_.empty()) return;
    price_levels before = std::move(before_trials_.back());
    before_trials_.pop_back();
    if (keep) return;
    if (is_other_list) {
        classes_ = demand_.classes();
        slots_.set_classes(classes_);
    }
    if (own_prices_ && before.rests_of != levels_.rests_of) {
        own_prices_->replace(before.rests_of ? before.rests_of->prices : first_prices_);
    }
    if (!is_other_list && before == levels_) return;
    levels_ = std::move(before);
    ++epoch_;
    list_priced();
}

void bid_price::forget_ids() {
    potential_.forget_ids();
    slots_.forget_ids();
    seen_.clear();
}

std::shared_ptr<const learned_prices> bid_price::learned() const {
    auto result = std::make_shared<learned_prices>();
    result->rests = prices();
    result->turnover = turnover();
    if (!classes_) return result;
    const bool is_priced = !levels_.of_class.empty();
    for (std::size_t c = 0; c < classes_->classes.size(); ++c) {
        slot_price& slot = result->slots.emplace_back(slot_price{.of = classes_->classes[c]});
        if (!is_priced) continue;
        slot.price = turnover() * static_cast<double>(price_of(c)) / (1000.0 * price_steps);
        slot.stock = levels_.stock[c];
    }
    return result;
}

std::vector<slot_price> bid_price::slot_prices() const {
    std::vector<slot_price> slots = learned()->slots;
    std::erase_if(slots, [](const slot_price& slot) { return slot.price == 0.0; });
    return slots;
}

} // namespace vgpualloc::policies
