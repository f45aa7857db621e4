#include "run_prices.hpp"

#include <utility>

#include "vgpusim/study/solver.hpp"

namespace vgpusim {

expected<void> run_prices::begin(const run_config& config, const loaded_input& loaded, const vgpualloc::cluster& nodes,
                                 const stop_signal& stop) {
    used_ = uses_prices(config);
    if (!used_) return {};
    if (loaded.prices) {
        book_->replace(loaded.prices->rests);
        if (config.price_demand == price_demand::known) return {};
    }
    if (prices_from(config) == prices_online) return {};
    devices_ = nodes;
    for (vgpualloc::node& node : devices_.nodes) {
        for (vgpualloc::device& device : node.devices) device.service = vgpualloc::service_state::in_service;
    }
    auto solver = find_solver(config.prices == prices_solved ? "prices=lp" : "policy dual_price", stop);
    if (!solver) return unexpected(std::move(solver.error()));
    solver_ = *std::move(solver);
    if (config.price_demand == price_demand::learned) {
        learner_.emplace(devices_, *solver_, *book_,
                         vgpualloc::plan::price_learning{.window_arrivals = static_cast<double>(config.price_window),
                                                         .every = config.price_every});
        return {};
    }
    const vgpualloc::workload& demand =
        loaded.input.demand.typical.empty() ? loaded.input.typical : loaded.input.demand;
    auto prices = vgpualloc::plan::solve_prices(devices_, demand, *solver_);
    if (!prices) return unexpected(std::move(prices.error()));
    book_->replace(*std::move(prices));
    return {};
}

void run_prices::note_arrival(const pod_request& request) {
    if (failure_) return;
    if (auto learned = learner_->note_arrival(request); !learned) failure_ = std::move(learned.error());
}

expected<std::optional<vgpualloc::learned_prices>> run_prices::at_end(const vgpualloc::policy& scorer) {
    if (failure_) return unexpected(*failure_);
    if (!used_) return std::nullopt;
    if (const auto learned = scorer.learned()) return *learned;
    return vgpualloc::learned_prices{.rests = book_->table};
}

} // namespace vgpusim
