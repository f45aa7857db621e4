// What several seeds show of a figure: mean, standard deviation, and 95 % confidence intervals of differences. Only
// additions, multiplications, divisions and square roots, which IEEE 754 rounds alike everywhere.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace vgpusim {

/// Mean of values in their order; 0 without any.
[[nodiscard]] double mean_of(std::span<const double> values) noexcept;

/// Sample standard deviation (divided by n - 1); 0 with fewer than two values.
[[nodiscard]] double deviation_of(std::span<const double> values) noexcept;

/// The 0.975 quantile of Student's t distribution with so many degrees of freedom, at least one, to six decimals. Above
/// 200 the one of 200 is taken, which makes intervals at most 0.7 % too wide.
[[nodiscard]] double t_quantile_975(std::size_t degrees_of_freedom) noexcept;

/// A figure of one policy, by seed.
struct seed_values {
    std::vector<double> by_seed;

    [[nodiscard]] double mean() const noexcept { return mean_of(by_seed); }
    /// Nothing with one seed.
    [[nodiscard]] std::optional<double> deviation() const noexcept;
    /// Half of the 95 % confidence interval of the mean, Student's t; nothing with one seed.
    [[nodiscard]] std::optional<double> half_95() const noexcept;
};

/// How two policies differ in a figure over the same seeds.
struct paired_difference {
    double mean = 0.0; ///< of second - first, seed by seed
    double low = 0.0;  ///< 95 % confidence interval of the mean, Student's t
    double high = 0.0;
    /// Whether the figures of any policy depend on the seed. Where they do not, all runs are one, and there is no
    /// interval.
    bool seeds_matter = true;

    /// Whether the interval leaves out 0. With at least two seeds one time in twenty it does so by chance.
    [[nodiscard]] bool is_shown() const noexcept { return low > 0.0 || high < 0.0; }
};

/// Both have the figures of the same seeds in the same order, at least two.
[[nodiscard]] paired_difference paired_difference_of(std::span<const double> first, std::span<const double> second);

} // namespace vgpusim
