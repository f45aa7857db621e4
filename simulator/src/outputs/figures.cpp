#include "vgpusim/outputs/figures.hpp"

namespace vgpusim {

namespace {

double fraction(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

} // namespace

run_figures figures_of(const run_record& record) {
    const auto total = static_cast<double>(record.total_milli);
    const auto allocated_end = static_cast<double>(record.last.allocated_milli);
    const double unusable_end = static_cast<double>(record.last.unusable_micro) / 1e6;
    const over_time& usage = record.result.usage;
    const bool means_over_time = record.pods_leave && usage.has_span();
    const double allocated = means_over_time ? usage.allocated_milli() : allocated_end;
    const over_time& arrivals = record.result.usage_of_arrivals;
    const bool arrivals_take_time = means_over_time && arrivals.has_span();
    const double allocated_until = arrivals_take_time ? arrivals.allocated_milli() : allocated;
    const double served = means_over_time ? usage.served_milli() : static_cast<double>(record.last.served_milli);
    const double unusable = means_over_time ? usage.unusable_milli() : unusable_end;
    return {.served_ratio = fraction(served, total),
            .allocation_mean_ratio = fraction(allocated, total),
            .allocation_until_last_arrival_ratio = fraction(allocated_until, total),
            .allocation_peak_ratio = fraction(static_cast<double>(record.result.peak.state.allocated_milli), total),
            .allocation_end_ratio = fraction(allocated_end, total),
            .unusable_milli = unusable,
            .unusable_of_all_ratio = fraction(unusable, total),
            .unusable_of_idle_ratio = fraction(unusable, total - allocated),
            .unusable_end_milli = unusable_end,
            .unusable_of_idle_end_ratio = fraction(unusable_end, total - allocated_end)};
}

} // namespace vgpusim
