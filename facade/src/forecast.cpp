#include "vgpufacade/forecast.hpp"

#include <utility>

#include "cluster_objects.hpp"

namespace vgpufacade {

namespace {

expected<vgpuops::forecast::usage_trend> trend_of(const std::string& history, vgpusim::input_reader& from) {
    return from.read_list(history,
                          [](const vgpuformats::list_content& content,
                             const std::string& name) -> expected<vgpuops::forecast::usage_trend> {
                              const auto points = vgputraces::read_usage(content, name);
                              if (!points) return unexpected(points.error());
                              auto trend = vgpuops::forecast::fit_trend(*points);
                              if (!trend) return unexpected(std::move(trend).error().at(name));
                              return trend;
                          });
}

} // namespace

expected<vgpuops::forecast::cluster_forecast>
forecast(const forecast_question& question, const vgpuformats::input_source& source, const stop_signal& stop) {
    vgpusim::input_reader from{source, vgpusim::records_kept::none, stop};
    auto config = load_dialects(question.dialects, from);
    if (!config) return unexpected(std::move(config).error());
    const auto trend = trend_of(question.history, from);
    if (!trend) return unexpected(trend.error());
    const auto objects = objects_with_nodes(question.cluster, from);
    if (!objects) return unexpected(objects.error());
    const auto seen = vgpuops::show::overview_of(**objects, vgpualloc::dialect_set{*std::move(config)},
                                                 {.nodes = question.nodes}, stop);
    if (!seen) return unexpected(seen.error());
    return vgpuops::forecast::forecast_of(*seen, *trend);
}

} // namespace vgpufacade
