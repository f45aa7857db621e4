#include "vgpusim/study/load_curve.hpp"

#include <algorithm>
#include <cstdint>

namespace vgpusim {

namespace {

/// Sums over the events of one percent.
struct load_bin {
    load_point sum{};
    std::int64_t events = 0;

    void add(const load_bin& other) noexcept {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other.sum[i];
        events += other.events;
    }
    void add(const load_point& point) noexcept {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += point[i];
        ++events;
    }
};

std::size_t percent_of(std::int64_t part, std::int64_t whole) {
    const std::int64_t quotient = part / whole * 100 + part % whole * 100 / whole;
    const std::int64_t twice_rest = 2 * (part % whole * 100 % whole);
    const bool up = twice_rest > whole || (twice_rest == whole && quotient % 2 == 1);
    return static_cast<std::size_t>(quotient + (up ? 1 : 0));
}

load_point point_of(const sample& moment, double total_milli, double total_units) {
    const auto allocated = static_cast<double>(moment.allocated_milli);
    const double idle = total_milli - allocated;
    const double unusable = static_cast<double>(moment.unusable_micro) / 1e6;
    return {allocated / total_milli,
            idle / total_milli,
            static_cast<double>(moment.served.larger()) / total_units,
            unusable,
            idle > 0.0 ? unusable / idle : 0.0,
            unusable / total_milli,
            static_cast<double>(moment.used_nodes),
            static_cast<double>(moment.used_gpus)};
}

} // namespace

load_curve load_curve_of(const run_record& record) {
    load_curve curve;
    if (record.total_milli <= 0) return curve;
    std::vector<load_bin> bins;
    for (const sample& moment : record.result.samples) {
        const std::size_t pct = percent_of(moment.arrived_milli, record.total_milli);
        if (pct > load_pct_max) break; // loads only rise
        if (pct >= bins.size()) bins.resize(pct + 1);
        bins[pct].add(point_of(moment, static_cast<double>(record.total_milli),
                               static_cast<double>(record.gpus * record.requested_whole)));
    }
    curve.resize(bins.size());
    for (std::size_t pct = 0; pct < bins.size(); ++pct) {
        load_bin near = bins[pct];
        if (near.events == 0) {
            if (pct > 0) near.add(bins[pct - 1]);
            if (pct + 1 < bins.size()) near.add(bins[pct + 1]);
        }
        if (near.events == 0) continue;
        for (double& value : near.sum) value /= static_cast<double>(near.events);
        curve[pct] = near.sum;
    }
    return curve;
}

} // namespace vgpusim
