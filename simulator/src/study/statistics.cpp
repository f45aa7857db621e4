#include "vgpusim/study/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "vgpualloc/core/config.hpp"

namespace vgpusim {

namespace {

/// For 1, 2, … 200 degrees of freedom: where the regularised incomplete beta function I(df / (df + t^2); df/2, 1/2) is
/// 0.05, found with 30 digits and rounded.
constexpr std::array<double, 200> t_975{
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139, 2.200985,
    2.178813,  2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873,
    2.068658,  2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272, 2.039513, 2.036933, 2.034515,
    2.032245,  2.030108, 2.028094, 2.026192, 2.024394, 2.022691, 2.021075, 2.019541, 2.018082, 2.016692, 2.015368,
    2.014103,  2.012896, 2.011741, 2.010635, 2.009575, 2.008559, 2.007584, 2.006647, 2.005746, 2.004879, 2.004045,
    2.003241,  2.002465, 2.001717, 2.000995, 2.000298, 1.999624, 1.998972, 1.998341, 1.997730, 1.997138, 1.996564,
    1.996008,  1.995469, 1.994945, 1.994437, 1.993943, 1.993464, 1.992997, 1.992543, 1.992102, 1.991673, 1.991254,
    1.990847,  1.990450, 1.990063, 1.989686, 1.989319, 1.988960, 1.988610, 1.988268, 1.987934, 1.987608, 1.987290,
    1.986979,  1.986675, 1.986377, 1.986086, 1.985802, 1.985523, 1.985251, 1.984984, 1.984723, 1.984467, 1.984217,
    1.983972,  1.983731, 1.983495, 1.983264, 1.983038, 1.982815, 1.982597, 1.982383, 1.982173, 1.981967, 1.981765,
    1.981567,  1.981372, 1.981180, 1.980992, 1.980808, 1.980626, 1.980448, 1.980272, 1.980100, 1.979930, 1.979764,
    1.979600,  1.979439, 1.979280, 1.979124, 1.978971, 1.978820, 1.978671, 1.978524, 1.978380, 1.978239, 1.978099,
    1.977961,  1.977826, 1.977692, 1.977561, 1.977431, 1.977304, 1.977178, 1.977054, 1.976931, 1.976811, 1.976692,
    1.976575,  1.976460, 1.976346, 1.976233, 1.976122, 1.976013, 1.975905, 1.975799, 1.975694, 1.975590, 1.975488,
    1.975387,  1.975288, 1.975189, 1.975092, 1.974996, 1.974902, 1.974808, 1.974716, 1.974625, 1.974535, 1.974446,
    1.974358,  1.974271, 1.974185, 1.974100, 1.974017, 1.973934, 1.973852, 1.973771, 1.973691, 1.973612, 1.973534,
    1.973457,  1.973381, 1.973305, 1.973231, 1.973157, 1.973084, 1.973012, 1.972941, 1.972870, 1.972800, 1.972731,
    1.972663,  1.972595, 1.972528, 1.972462, 1.972396, 1.972332, 1.972268, 1.972204, 1.972141, 1.972079, 1.972017,
    1.971957,  1.971896,
};

} // namespace

double mean_of(std::span<const double> values) noexcept {
    if (values.empty()) return 0.0;
    double sum = 0.0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) noexcept {
    if (values.size() < 2) return 0.0;
    const double mean = mean_of(values);
    double squares = 0.0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double t_quantile_975(std::size_t degrees_of_freedom) noexcept {
    return t_975[std::clamp<std::size_t>(degrees_of_freedom, 1, t_975.size()) - 1];
}

std::optional<double> seed_values::deviation() const noexcept {
    return by_seed.size() > 1 ? std::optional{deviation_of(by_seed)} : std::nullopt;
}

std::optional<double> seed_values::half_95() const noexcept {
    if (by_seed.size() < 2) return std::nullopt;
    return t_quantile_975(by_seed.size() - 1) * deviation_of(by_seed) / std::sqrt(static_cast<double>(by_seed.size()));
}

paired_difference paired_difference_of(std::span<const double> first, std::span<const double> second) {
    VGA_ASSERT(first.size() == second.size() && first.size() >= 2, "figures are paired by seed");
    std::vector<double> differences;
    for (std::size_t i = 0; i < first.size(); ++i) differences.push_back(second[i] - first[i]);
    const double mean = mean_of(differences);
    const auto count = static_cast<double>(differences.size());
    const double half = t_quantile_975(differences.size() - 1) * (deviation_of(differences) / std::sqrt(count));
    const auto all_alike = [](std::span<const double> values) {
        return std::ranges::all_of(values, [&](double value) { return value == values.front(); });
    };
    return {
        .mean = mean, .low = mean - half, .high = mean + half, .seeds_matter = !all_alike(first) || !all_alike(second)};
}

} // namespace vgpusim
