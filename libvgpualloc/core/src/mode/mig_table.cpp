// The tables that a mig decides with, made from a model: which pairs of places exclude each other, and the totals that
// pairs do not say.
#include "vgpualloc/mode/mig.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "catalog/mig_memory.hpp"
#include "vgpualloc/core/bits.hpp"

namespace vgpualloc::modes {

namespace {

/// Everything of the GPU that instances share out besides units: compute slices, instances of each profile, engines.
std::vector<mig_table::total> all_totals(const mig_model& model) {
    const auto taken_by = [&model](auto&& amount) {
        std::vector<std::int64_t> taken;
        for (const mig_profile& profile : model.profiles) taken.push_back(amount(profile));
        return taken;
    };
    std::vector<mig_table::total> totals;
    totals.push_back({.most = model.compute_slices.count(),
                      .taken = taken_by([](const mig_profile& p) { return p.compute_slices.count(); })});
    for (const mig_profile& only : model.profiles) {
        totals.push_back({.most = only.max_instances,
                          .taken = taken_by([&](const mig_profile& p) { return std::int64_t{&p == &only}; })});
    }
    for (const auto& [name, field] : mig_engine_fields) {
        const auto& whole = model.engines.*field;
        if (!whole) continue; // engines whose total is not known are not limited
        totals.push_back(
            {.most = *whole, .taken = taken_by([&](const mig_profile& p) { return (p.engines.*field).value_or(0); })});
    }
    return totals;
}

/// Finds out which totals can be exceeded by places that do not exclude each other, by trying their sets.
class binding_totals {
public:
    binding_totals(const mig_table& table, std::vector<mig_table::total> totals)
        : table_{&table}, totals_{std::move(totals)}, sums_(totals_.size(), 0), binds_(totals_.size(), false) {}

    [[nodiscard]] std::vector<mig_table::total> find() {
        std::uint64_t all = 0;
        for (const auto& profile : table_->profiles) all |= profile.places;
        const bool complete = try_from(all);
        std::vector<mig_table::total> binding;
        for (std::size_t i = 0; i < totals_.size(); ++i) {
            if (!complete || binds_[i]) binding.push_back(totals_[i]);
        }
        return binding;
    }

private:
    /// All sets of `open` places beside those that are counted already; false if there are too many to try.
    bool try_from(std::uint64_t open) {
        bool complete = true;
        for_each_bit(open, [&](std::size_t place) {
            if (!complete || --left_ < 0) {
                complete = false;
                return;
            }
            open &= ~bit_at(place); // sets with it are tried here, so that later ones are without it
            count(place, 1);
            complete = try_from(open & ~table_->excluded[place]);
            count(place, -1);
        });
        return complete;
    }
    void count(std::size_t place, std::int64_t sign) {
        for (std::size_t i = 0; i < totals_.size(); ++i) {
            sums_[i] += sign * totals_[i].taken[table_->profile_of[place]];
            if (sums_[i] > totals_[i].most) binds_[i] = true;
        }
    }

    const mig_table* table_;
    std::vector<mig_table::total> totals_;
    std::vector<std::int64_t> sums_;
    std::vector<bool> binds_;
    std::int64_t left_ = 50'000; ///< today's models have at most some thousands
};

expected<void> add_profiles(mig_table& table) {
    std::size_t places = 0;
    for (const mig_profile& profile : table.model.profiles) places += profile.starts.size();
    if (places > mig_table::places_max) {
        return unexpected(bad_value(error_code::unsupported, "starts", std::to_string(places),
                                    "at most 64 places of all profiles together")
                              .at("MIG model '" + table.model.name + "'"));
    }
    std::uint32_t next = 0;
    for (const mig_profile& source : table.model.profiles) {
        const auto [at_least, at_most] = memory_bounds(table.model, source);
        mig_table::profile profile{
            .memory = source.memory,
            .at_least = at_least,
            .at_most = at_most,
            .units = source.size,
            .compute = source.compute_slices,
            .cores = core_percent{whole_compute.count() * source.compute_slices.count() /
                                  table.model.compute_slices.count()},
            .places = 0,
            .first = next,
        };
        for (const mig_units start : source.starts) {
            profile.starts |= bit_at(static_cast<std::size_t>(start.count()));
            table.profile_of[next] = static_cast<std::uint32_t>(table.profiles.size());
            profile.places |= bit_at(next++);
        }
        table.profiles.push_back(std::move(profile));
    }
    return {};
}

/// Excludes from each other two places that share a unit or that together exceed a total. A profile that exceeds a
/// total alone gets no place.
void add_exclusions(mig_table& table, const std::vector<mig_table::total>& totals) {
    struct place {
        std::size_t profile;
        std::uint64_t units;
    };
    std::vector<place> places;
    for (std::size_t p = 0; p < table.profiles.size(); ++p) {
        for (const mig_units start : table.model.profiles[p].starts) {
            places.push_back({.profile = p, .units = units_at(table.model.profiles[p], start)});
        }
    }
    for (std::size_t a = 0; a < places.size(); ++a) {
        for (std::size_t b = 0; b < places.size(); ++b) {
            bool excluded = (places[a].units & places[b].units) != 0;
            for (const auto& total : totals) {
                const std::int64_t taken = total.taken[places[a].profile] + total.taken[places[b].profile];
                excluded = excluded || taken > total.most;
            }
            if (excluded) table.excluded[a] |= bit_at(b);
        }
    }
    for (std::size_t p = 0; p < table.profiles.size(); ++p) {
        const bool too_large =
            std::ranges::any_of(totals, [&](const auto& total) { return total.taken[p] > total.most; });
        if (too_large) table.profiles[p].places = 0;
    }
}

} // namespace

expected<std::shared_ptr<const mig>> make_mig(const mig_model& model) {
    mig_table table{.model = model, .profiles = {}, .by_size = {}, .totals = {}, .states = mig_states::make(model)};
    if (auto added = add_profiles(table); !added) return unexpected(added.error());
    auto totals = all_totals(model);
    add_exclusions(table, totals);
    table.totals = binding_totals{table, std::move(totals)}.find();
    for (std::uint32_t p = 0; p < table.profiles.size(); ++p) {
        if (contains(mig_profile_set::plain, model.profiles[p].kind)) table.by_size.push_back(p);
    }
    std::ranges::stable_sort(table.by_size, {}, [&](std::uint32_t p) {
        return std::tuple{table.profiles[p].at_least, table.profiles[p].units, table.profiles[p].compute};
    });
    return std::make_shared<const mig>(std::move(table));
}

} // namespace vgpualloc::modes
