#include "vgpusim/outputs/figures.hpp"

namespace vgpusim {

namespace {

double part_of_whole(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

} // namespace

run_figures figures_of(const run_record& record) {
    const auto total = static_cast<double>(record.total_milli);
    const auto allocated_end = static_cast<double>(record.last.allocated_milli);
    const double unusable_end = static_cast<double>(record.last.unusable_micro) / 1e6;
    const over_time& usage = record.result.usage;
    const bool means_over_time = record.pods_leave && usage.has_span();
    const double allocated = means_over_time ? usage.mean<&amounts_in_use::allocated_milli>() : allocated_end;
    const over_time& arrivals = record.result.usage_of_arrivals;
    const bool arrivals_take_time = means_over_time && arrivals.has_span();
    const double allocated_until = arrivals_take_time ? arrivals.mean<&amounts_in_use::allocated_milli>() : allocated;
    const auto total_units = static_cast<double>(record.gpus * record.requested_whole);
    const requested_units& served_end = record.last.served;
    const auto served = [&]<std::int64_t amounts_in_use::* Amount>(std::int64_t at_end) {
        return part_of_whole(means_over_time ? usage.mean<Amount>() : static_cast<double>(at_end), total_units);
    };
    const double unusable = means_over_time ? usage.unusable_milli() : unusable_end;
    return {.served_ratio = served.operator()<&amounts_in_use::served>(served_end.larger()),
            .served_memory_ratio = served.operator()<&amounts_in_use::served_memory>(served_end.memory),
            .served_compute_ratio = served.operator()<&amounts_in_use::served_compute>(served_end.compute),
            .served_peak_ratio = part_of_whole(static_cast<double>(record.result.served_peak), total_units),
            .allocation_mean_ratio = part_of_whole(allocated, total),
            .allocation_until_last_arrival_ratio = part_of_whole(allocated_until, total),
            .allocation_peak_ratio =
                part_of_whole(static_cast<double>(record.result.peak.state.allocated_milli), total),
            .allocation_end_ratio = part_of_whole(allocated_end, total),
            .unusable_milli = unusable,
            .unusable_of_all_ratio = part_of_whole(unusable, total),
            .unusable_of_idle_ratio = part_of_whole(unusable, total - allocated),
            .unusable_end_milli = unusable_end,
            .unusable_of_idle_end_ratio = part_of_whole(unusable_end, total - allocated_end)};
}

std::optional<time_figures> time_figures_of(const run_record& record) {
    const over_time& usage = record.result.usage;
    if (!record.pods_leave || !usage.has_span()) return std::nullopt;
    time_figures figures{.running_pods = usage.mean<&amounts_in_use::running>(),
                         .waiting_jobs = usage.mean<&amounts_in_use::waiting>(),
                         .active_gpus = usage.mean<&amounts_in_use::used_gpus>(),
                         .active_nodes = usage.mean<&amounts_in_use::used_nodes>(),
                         .memory_mib = usage.mean<&amounts_in_use::memory_mib>(),
                         .compute_milli = usage.mean<&amounts_in_use::compute_milli>(),
                         .watts = usage.mean<&amounts_in_use::watts>()};
    constexpr double watt_seconds_in_kwh = 3.6e6;
    figures.seconds = static_cast<double>(usage.span()) / static_cast<double>(ticks_per_second.count());
    figures.energy_kwh = figures.watts * figures.seconds / watt_seconds_in_kwh;
    for (const amount_over_time& slices : record.result.stranded_sums) {
        figures.stranded_slices.push_back(slices.mean(usage.span()));
    }
    return figures;
}

} // namespace vgpusim
