#include "vgpualloc/packing/device_packing.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

namespace {

constexpr std::size_t dimensions_max = 4;
constexpr std::int32_t left_idle = -1;

error refused_packing(error_code code, std::string field, std::string what) {
    return bad_value(code, field, "", std::move(what)).at("device packing");
}

error too_many_patterns(std::size_t patterns_max) {
    return refused_packing(error_code::unsupported, "patterns",
                           "at most " + std::to_string(patterns_max) + " ways to fill one device");
}

/// The pattern of counts by part.
device_pattern pattern_of(const std::vector<std::int64_t>& counts) {
    device_pattern result;
    for (std::size_t part = 0; part < counts.size(); ++part) {
        if (counts[part] > 0) result.push_back({.part = static_cast<std::uint32_t>(part), .count = counts[part]});
    }
    return result;
}

} // namespace

expected<knapsack_packing> knapsack_packing::make(const amounts& capacity, const std::vector<amounts>& needs,
                                                  std::size_t cells_max) {
    const std::size_t dimensions = capacity.size();
    if (dimensions == 0 || dimensions > dimensions_max || std::ranges::any_of(capacity, [](auto c) { return c < 0; })) {
        return unexpected(refused_packing(error_code::malformed, "capacity", "one to four amounts, none below 0"));
    }
    knapsack_packing result;
    result.parts_ = needs.size();
    result.steps_.assign(dimensions, 0);
    for (const amounts& need : needs) {
        const bool well_formed = need.size() == dimensions &&
                                 std::ranges::none_of(need, [](auto n) { return n < 0; }) &&
                                 std::ranges::any_of(need, [](auto n) { return n > 0; });
        if (!well_formed) {
            return unexpected(
                refused_packing(error_code::malformed, "needs", "an amount for each dimension, one of them above 0"));
        }
        for (std::size_t d = 0; d < dimensions; ++d) result.steps_[d] = std::gcd(result.steps_[d], need[d]);
    }
    result.cells_ = 1;
    for (std::size_t d = 0; d < dimensions; ++d) {
        if (result.steps_[d] == 0) result.steps_[d] = std::max<std::int64_t>(capacity[d], 1);
        result.capacity_.push_back(capacity[d] / result.steps_[d]);
        const auto states = static_cast<std::size_t>(result.capacity_[d]) + 1;
        if (states > cells_max / result.cells_) {
            return unexpected(refused_packing(error_code::unsupported, "capacity",
                                              "at most " + std::to_string(cells_max) + " states of what is left"));
        }
        result.cells_ *= states;
    }
    result.strides_.assign(dimensions, 1);
    for (std::size_t d = dimensions - 1; d > 0; --d) {
        result.strides_[d - 1] = result.strides_[d] * (result.capacity_[d] + 1);
    }
    std::vector<std::pair<amounts, std::uint32_t>> by_size;
    for (std::size_t part = 0; part < needs.size(); ++part) {
        amounts need = needs[part];
        for (std::size_t d = 0; d < dimensions; ++d) need[d] /= result.steps_[d];
        by_size.emplace_back(std::move(need), static_cast<std::uint32_t>(part));
    }
    std::ranges::sort(by_size);
    for (auto& [need, part] : by_size) {
        if (result.sizes_.empty() || result.sizes_.back().need != need) {
            const auto offset = std::inner_product(need.begin(), need.end(), result.strides_.begin(), std::int64_t{0});
            result.sizes_.push_back({.need = need, .offset = static_cast<std::size_t>(offset), .parts = {}});
        }
        result.sizes_.back().parts.push_back(part);
    }
    return result;
}

/// Of every size the dearest part, but for those of which a smaller one is worth as much: a best pattern does without
/// them.
std::vector<knapsack_packing::dear_part> knapsack_packing::dear_parts(std::span<const double> worth) const {
    VGA_ASSERT(worth.size() == parts_, "every part has a worth");
    std::vector<dear_part> result;
    for (const size_class& size : sizes_) {
        dear_part dearest{.size = &size};
        for (const std::uint32_t part : size.parts) {
            if (worth[part] > dearest.worth) dearest = {.worth = worth[part], .part = part, .size = &size};
        }
        const auto replaces = [&](const dear_part& other) {
            return other.worth >= dearest.worth &&
                   std::ranges::equal(other.size->need, size.need, std::ranges::less_equal{});
        };
        if (dearest.worth > 0.0 && std::ranges::none_of(result, replaces)) result.push_back(dearest);
    }
    return result;
}

/// Cell by cell, with the number of dimensions known to the compiler: most of the time of learned prices goes here.
template <std::size_t Dimensions>
void knapsack_packing::fill_cells(const std::vector<dear_part>& parts, table& into) const {
    struct candidate {
        std::size_t offset;
        double worth;
        std::array<std::int64_t, Dimensions> need;
    };
    std::vector<candidate> candidates;
    candidates.reserve(parts.size());
    for (const dear_part& part : parts) {
        candidate& added =
            candidates.emplace_back(candidate{.offset = part.size->offset, .worth = part.worth, .need = {}});
        std::ranges::copy(part.size->need, added.need.begin());
    }
    std::array<std::int64_t, Dimensions> rest{};
    std::size_t fitting = 0; // candidates are sorted by what they take of the first dimension, which only grows
    for (std::size_t cell = 0; cell < cells_; ++cell) {
        double best_worth = 0.0;
        std::int32_t taken = left_idle;
        for (std::size_t d = 0; d < Dimensions; ++d) {
            if (rest[d] > 0)
                best_worth = std::max(best_worth, into.worth[cell - static_cast<std::size_t>(strides_[d])]);
        }
        while (fitting < candidates.size() && candidates[fitting].need[0] <= rest[0]) ++fitting;
        for (std::size_t i = 0; i < fitting; ++i) {
            const candidate& part = candidates[i];
            bool fits = true;
            for (std::size_t d = 1; d < Dimensions; ++d) fits = fits && part.need[d] <= rest[d];
            if (!fits) continue;
            const double with = into.worth[cell - part.offset] + part.worth;
            if (with > best_worth) {
                best_worth = with;
                taken = static_cast<std::int32_t>(i);
            }
        }
        into.worth[cell] = best_worth;
        into.taken[cell] = taken;
        for (std::size_t d = Dimensions; d-- > 0;) {
            if (++rest[d] <= capacity_[d]) break;
            rest[d] = 0;
        }
    }
}

knapsack_packing::table knapsack_packing::fill(const std::vector<dear_part>& parts) const {
    table result{.worth = std::vector<double>(cells_), .taken = std::vector<std::int32_t>(cells_, left_idle)};
    static_assert(dimensions_max == 4);
    switch (capacity_.size()) {
    case 1:
        fill_cells<1>(parts, result);
        break;
    case 2:
        fill_cells<2>(parts, result);
        break;
    case 3:
        fill_cells<3>(parts, result);
        break;
    case 4:
        fill_cells<4>(parts, result);
        break;
    default: // of no parts
        break;
    }
    return result;
}

worthy_pattern knapsack_packing::best(std::span<const double> worth) const {
    const std::vector<dear_part> dear = dear_parts(worth);
    const table filled = fill(dear);
    std::vector<std::int64_t> counts(parts_, 0);
    std::size_t cell = cells_ - 1;
    amounts rest = capacity_;
    while (filled.worth[cell] > 0.0) {
        const std::int32_t taken = filled.taken[cell];
        if (taken != left_idle) {
            const dear_part& part = dear[static_cast<std::size_t>(taken)];
            ++counts[part.part];
            cell -= part.size->offset;
            for (std::size_t d = 0; d < rest.size(); ++d) rest[d] -= part.size->need[d];
            continue;
        }
        std::size_t idle = 0; // a dimension of which a unit less is worth as much
        while (rest[idle] == 0 || filled.worth[cell - static_cast<std::size_t>(strides_[idle])] < filled.worth[cell]) {
            ++idle;
        }
        cell -= static_cast<std::size_t>(strides_[idle]);
        --rest[idle];
    }
    return {.worth = filled.worth.back(), .parts = pattern_of(counts)};
}

std::vector<double> knapsack_packing::worth_of_rests(std::span<const double> worth) const {
    return fill(dear_parts(worth)).worth;
}

std::size_t knapsack_packing::position_of(const amounts& rest) const {
    VGA_ASSERT(rest.size() == capacity_.size(), "a rest has an amount for each dimension");
    std::int64_t position = 0;
    for (std::size_t d = 0; d < rest.size(); ++d) {
        position += std::clamp<std::int64_t>(rest[d] / steps_[d], 0, capacity_[d]) * strides_[d];
    }
    return static_cast<std::size_t>(position);
}

expected<std::vector<device_pattern>> knapsack_packing::enumerate(std::span<const std::int64_t> most,
                                                                  std::size_t patterns_max) const {
    VGA_ASSERT(most.size() == parts_, "every part has a limit");
    std::vector<const amounts*> needs(parts_);
    for (const size_class& size : sizes_) {
        for (const std::uint32_t part : size.parts) needs[part] = &size.need;
    }
    std::vector<device_pattern> result;
    std::vector<std::int64_t> counts(parts_, 0);
    amounts rest = capacity_;
    const auto change = [&](std::size_t part, std::int64_t by) {
        counts[part] += by;
        for (std::size_t d = 0; d < rest.size(); ++d) rest[d] -= by * (*needs[part])[d];
    };
    const auto fits_once_more = [&](std::size_t part) {
        const auto covers = [](auto need, auto left) { return need <= left; };
        return counts[part] < most[part] && std::equal(needs[part]->begin(), needs[part]->end(), rest.begin(), covers);
    };
    // Counts from the first part to the last, like the digits of a number whose first digit changes fastest.
    while (true) {
        std::size_t part = 0;
        while (part < parts_ && !fits_once_more(part)) {
            change(part, -counts[part]);
            ++part;
        }
        if (part == parts_) return result;
        change(part, 1);
        if (result.size() == patterns_max) return unexpected(too_many_patterns(patterns_max));
        result.push_back(pattern_of(counts));
    }
}

} // namespace vgpualloc
