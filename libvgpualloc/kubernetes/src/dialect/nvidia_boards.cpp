// Dealing MIG instances to the boards of a node.
#include "nvidia_boards.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "vgpualloc/catalog/mig_offers.hpp"

namespace vgpualloc::dialects::nvidia {

namespace {

using board_counts = std::vector<std::int64_t>; // by profile

/// Places the instances from `next` on beside those that are in `placed`.
bool place_rest(const mig_model& model, const std::vector<std::size_t>& instances, std::size_t next,
                mig_layout& placed) {
    if (next == instances.size()) return true;
    for (const mig_units start : model.profiles[instances[next]].starts) {
        const mig_slot slot{.profile = instances[next], .start = start};
        if (!may_join(model, placed, slot)) continue;
        placed.push_back(slot);
        if (place_rest(model, instances, next + 1, placed)) return true;
        placed.pop_back();
    }
    return false;
}

/// What a board of the node can have at once.
class board_rules {
public:
    board_rules(const mig_model* model, const std::vector<instance_count>& all) : model_{model} {
        for (const instance_count& entry : all) {
            const auto known =
                model == nullptr ? expected<const mig_profile*>{nullptr} : find_profile(*model, entry.profile);
            if (!known || *known == nullptr) model_ = nullptr; // the model is another one than the profiles are of
            sizes_.push_back(size_by_name(entry.profile));
        }
        if (model_ == nullptr) return;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const mig_profile* const profile = *find_profile(*model_, all[i].profile);
            profiles_.push_back(static_cast<std::size_t>(profile - model_->profiles.data()));
            sizes_[i] = profile->size.count();
        }
    }

    /// Of the slices of a board that an instance takes.
    [[nodiscard]] std::int64_t size(std::size_t profile) const { return sizes_[profile]; }
    [[nodiscard]] std::int64_t slices() const {
        return model_ == nullptr ? mig_compute_slices_max : model_->units.count();
    }
    [[nodiscard]] std::int64_t taken(const board_counts& counts) const {
        return std::inner_product(counts.begin(), counts.end(), sizes_.begin(), std::int64_t{0});
    }

    [[nodiscard]] bool fits(const board_counts& counts) const {
        if (taken(counts) > slices()) return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) <= 1;
        if (model_ == nullptr) return true;
        std::vector<std::size_t> instances; // by profile of the model, the largest first
        for (std::size_t i = 0; i < counts.size(); ++i) {
            instances.insert(instances.end(), static_cast<std::size_t>(counts[i]), profiles_[i]);
        }
        std::ranges::stable_sort(instances, std::ranges::greater{},
                                 [this](std::size_t p) { return model_->profiles[p].size; });
        return places_on_board(*model_, instances).has_value();
    }

private:
    static std::int64_t size_by_name(const std::string& profile) {
        const std::int64_t slices = compute_slices_by_name(profile);
        return slices > 0 ? slices : mig_compute_slices_max;
    }

    const mig_model* model_;
    std::vector<std::size_t> profiles_; ///< positions in the model
    std::vector<std::int64_t> sizes_;
};

std::optional<std::vector<board_counts>> deal_alike(const board_rules& rules, const board_counts& all,
                                                    std::int64_t boards) {
    board_counts each;
    for (const std::int64_t count : all) {
        if (count % boards != 0) return std::nullopt;
        each.push_back(count / boards);
    }
    if (!rules.fits(each)) return std::nullopt;
    return std::vector<board_counts>(static_cast<std::size_t>(boards), each);
}

/// Each instance, the largest first, to the emptiest board that has room for it, or to the first one.
std::optional<std::vector<board_counts>> deal_one_by_one(const board_rules& rules, const board_counts& all,
                                                         std::int64_t boards, bool to_emptiest) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t p) { return rules.size(p); });
    std::vector<board_counts> dealt(static_cast<std::size_t>(boards), board_counts(all.size(), 0));
    for (const std::size_t profile : order) {
        for (std::int64_t n = 0; n < all[profile]; ++n) {
            board_counts* chosen = nullptr;
            for (board_counts& board : dealt) {
                if (chosen != nullptr && (!to_emptiest || rules.taken(board) >= rules.taken(*chosen))) continue;
                ++board[profile];
                const bool fits = rules.fits(board);
                --board[profile];
                if (fits) chosen = &board;
            }
            if (chosen == nullptr) return std::nullopt;
            ++(*chosen)[profile];
        }
    }
    return dealt;
}

std::vector<board_counts> deal(const board_rules& rules, const board_counts& all, std::optional<std::int64_t> boards) {
    const std::int64_t fewest = std::max<std::int64_t>(1, (rules.taken(all) + rules.slices() - 1) / rules.slices());
    const std::int64_t most = std::accumulate(all.begin(), all.end(), std::int64_t{0});
    for (std::int64_t number = std::max(fewest, boards.value_or(0)); number < most; ++number) {
        if (auto dealt = deal_alike(rules, all, number)) return *std::move(dealt);
        if (auto dealt = deal_one_by_one(rules, all, number, true)) return *std::move(dealt);
        if (auto dealt = deal_one_by_one(rules, all, number, false)) return *std::move(dealt);
    }
    std::vector<board_counts> dealt(static_cast<std::size_t>(std::max(most, boards.value_or(0))),
                                    board_counts(all.size(), 0)); // a board for each
    std::size_t next = 0;
    for (std::size_t profile = 0; profile < all.size(); ++profile) {
        for (std::int64_t n = 0; n < all[profile]; ++n) dealt[next++][profile] = 1;
    }
    return dealt;
}

} // namespace

std::optional<mig_layout> places_on_board(const mig_model& model, const std::vector<std::size_t>& instances) {
    mig_layout placed;
    if (!place_rest(model, instances, 0, placed)) return std::nullopt;
    return placed;
}

std::string profile_of_words(std::string_view words) {
    std::string profile{words};
    const std::size_t memory_end = profile.find("gb.");
    if (memory_end != std::string::npos) profile[memory_end + 2] = '+';
    return profile;
}

std::string words_of_profile(std::string profile) {
    const std::size_t plus = profile.find('+');
    if (plus != std::string::npos) profile[plus] = '.';
    return profile;
}

std::int64_t instances_per_board(const mig_model* model, const std::string& profile) {
    const board_rules rules{model, {{.profile = profile}}};
    std::int64_t most = 1;
    while (rules.fits({most + 1})) ++most;
    return most;
}

std::vector<std::vector<instance_count>> deal_instances(const mig_model* model, const std::vector<instance_count>& all,
                                                        std::optional<std::int64_t> boards) {
    board_counts counts;
    for (const instance_count& entry : all) counts.push_back(entry.instances);
    std::vector<std::vector<instance_count>> result;
    for (const board_counts& board : deal(board_rules{model, all}, counts, boards)) {
        auto& named = result.emplace_back(all);
        for (std::size_t i = 0; i < named.size(); ++i) named[i].instances = board[i];
    }
    return result;
}

} // namespace vgpualloc::dialects::nvidia
