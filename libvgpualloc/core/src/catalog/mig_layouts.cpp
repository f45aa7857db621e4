// Legal and maximal sets of MIG instances, by trying.
#include <algorithm>

#include "vgpualloc/catalog/mig_layouts.hpp"

namespace vgpualloc {

namespace {

/// A slot with what it takes at hand.
struct candidate {
    mig_slot slot;
    const mig_profile* profile = nullptr;
    std::uint64_t bits = 0;
};

/// Sums over the instances of a layout; instances can only be added and taken away again.
class occupancy {
public:
    explicit occupancy(const mig_model& model) : model_{&model}, instances_(model.profiles.size(), 0) {}

    [[nodiscard]] bool takes(const candidate& added) const {
        if ((used_ & added.bits) != 0) return false;
        if (compute_ + added.profile->compute_slices > model_->compute_slices) return false;
        if (instances_[added.slot.profile] >= added.profile->max_instances) return false;
        for (std::size_t i = 0; i < mig_engine_fields.size(); ++i) {
            const auto field = mig_engine_fields[i].second;
            const auto& whole = model_->engines.*field;
            if (whole && engines_[i] + (added.profile->engines.*field).value_or(0) > *whole) return false;
        }
        return true;
    }
    void add(const candidate& added) { change(added, 1); }
    void remove(const candidate& taken) { change(taken, -1); }

private:
    void change(const candidate& changed, std::int64_t sign) {
        used_ ^= changed.bits;
        compute_ += changed.profile->compute_slices * sign;
        instances_[changed.slot.profile] += sign;
        for (std::size_t i = 0; i < mig_engine_fields.size(); ++i) {
            engines_[i] += (changed.profile->engines.*mig_engine_fields[i].second).value_or(0) * sign;
        }
    }

    const mig_model* model_;
    std::uint64_t used_ = 0;
    mig_compute compute_;
    std::vector<std::int64_t> instances_; ///< by profile
    std::array<std::int64_t, mig_engine_fields.size()> engines_{};
};

[[nodiscard]] std::vector<candidate> candidates_of(const mig_model& model, mig_profile_set set) {
    std::vector<candidate> all;
    for (const mig_slot& slot : slots_of(model, set)) {
        const mig_profile& profile = model.profiles[slot.profile];
        all.push_back({.slot = slot, .profile = &profile, .bits = units_at(profile, slot.start)});
    }
    std::ranges::stable_sort(all, {}, [](const candidate& place) { return place.slot.start; });
    return all;
}

/// Walks all legal sets. What is legal stays legal when an instance goes, so every legal set is reached by adding
/// candidates in ascending order, and by exactly one such order.
class walk {
public:
    walk(const mig_model& model, const mig_enumeration_options& options)
        : all_{candidates_of(model, options.set)}, used_{model}, left_{options.layouts_max} {}

    /// Calls `visit(maximal)` for every legal set, which layout() then is, until the budget is spent; false if it was.
    template <class Visit>
    [[nodiscard]] bool run(const Visit& visit) {
        // An explicit stack: chosen_ holds the candidates of the set, `next` what is tried first at this depth.
        std::size_t next = 0;
        if (!seen(visit)) return false;
        while (true) {
            while (next < all_.size() && !used_.takes(all_[next])) ++next;
            if (next < all_.size()) {
                used_.add(all_[next]);
                chosen_.push_back(next);
                if (!seen(visit)) return false;
                ++next;
                continue;
            }
            if (chosen_.empty()) return true;
            next = chosen_.back();
            chosen_.pop_back();
            used_.remove(all_[next]);
            ++next;
        }
    }

    [[nodiscard]] mig_layout layout() const {
        mig_layout result;
        for (const std::size_t position : chosen_) result.push_back(all_[position].slot);
        return result;
    }

private:
    template <class Visit>
    [[nodiscard]] bool seen(const Visit& visit) {
        if (left_-- <= 0) return false;
        visit(std::ranges::none_of(all_, [this](const candidate& other) { return used_.takes(other); }));
        return true;
    }

    std::vector<candidate> all_;
    occupancy used_;
    std::vector<std::size_t> chosen_;
    std::int64_t left_;
};

} // namespace

std::uint64_t units_at(const mig_profile& profile, mig_units start) noexcept {
    const auto size = static_cast<unsigned>(profile.size.count());
    const std::uint64_t low = size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
    return low << static_cast<unsigned>(start.count());
}

bool contains(mig_profile_set set, mig_profile_kind kind) noexcept {
    switch (set) {
    case mig_profile_set::core:
        return kind == mig_profile_kind::core;
    case mig_profile_set::plain:
        return kind == mig_profile_kind::core || kind == mig_profile_kind::double_memory;
    case mig_profile_set::all:
        return true;
    }
    return false;
}

std::vector<mig_slot> slots_of(const mig_model& model, mig_profile_set set) {
    std::vector<mig_slot> slots;
    for (std::size_t profile = 0; profile < model.profiles.size(); ++profile) {
        if (!contains(set, model.profiles[profile].kind)) continue;
        for (const mig_units start : model.profiles[profile].starts) slots.push_back({profile, start});
    }
    return slots;
}

bool may_join(const mig_model& model, const mig_layout& layout, const mig_slot& slot) {
    if (slot.profile >= model.profiles.size()) return false;
    const auto& starts = model.profiles[slot.profile].starts;
    if (std::ranges::find(starts, slot.start) == starts.end()) return false;
    const auto at = [&model](const mig_slot& one) {
        const mig_profile& profile = model.profiles[one.profile];
        return candidate{.slot = one, .profile = &profile, .bits = units_at(profile, one.start)};
    };
    occupancy used{model};
    for (const mig_slot& taken : layout) used.add(at(taken));
    return used.takes(at(slot));
}

bool is_legal(const mig_model& model, const mig_layout& layout) {
    mig_layout so_far;
    for (const mig_slot& slot : layout) {
        if (!may_join(model, so_far, slot)) return false;
        so_far.push_back(slot);
    }
    return true;
}

mig_enumeration legal_layouts(const mig_model& model, const mig_enumeration_options& options) {
    mig_enumeration result;
    walk all{model, options};
    result.complete = all.run([&](bool) { result.layouts.push_back(all.layout()); });
    return result;
}

mig_enumeration maximal_layouts(const mig_model& model, const mig_enumeration_options& options) {
    mig_enumeration result;
    walk all{model, options};
    result.complete = all.run([&](bool maximal) {
        if (maximal) result.layouts.push_back(all.layout());
    });
    return result;
}

mig_layout_counts count_layouts(const mig_model& model, const mig_enumeration_options& options) {
    mig_layout_counts result;
    result.complete = walk{model, options}.run([&result](bool maximal) {
        ++result.legal;
        result.maximal += maximal ? 1 : 0;
    });
    return result;
}

} // namespace vgpualloc
