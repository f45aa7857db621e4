// A solver that stops between two programs.
#include <string_view>
#include <utility>

#include "vgpusim/study/solver.hpp"

namespace vgpusim {

using vgpualloc::expected;
using vgpualloc::unexpected;
namespace plan = vgpualloc::plan;

namespace {

class stopping_solver final : public plan::lp_solver {
public:
    stopping_solver(std::unique_ptr<plan::lp_solver> solver, vgpualloc::stop_signal stop)
        : solver_{std::move(solver)}, stop_{stop} {}

    [[nodiscard]] std::string_view name() const noexcept override { return solver_->name(); }
    [[nodiscard]] expected<plan::lp_solution> solve(const plan::linear_program& program, const plan::lp_limits& limits,
                                                    const plan::lp_basis* start) override {
        if (stop_.raised()) return unexpected(vgpualloc::stop_signal::stopped());
        return solver_->solve(program, limits, start);
    }

private:
    std::unique_ptr<plan::lp_solver> solver_;
    vgpualloc::stop_signal stop_;
};

} // namespace

expected<std::unique_ptr<plan::lp_solver>> find_solver(const char* user, const vgpualloc::stop_signal& stop) {
    auto solver = find_solver(user);
    if (!solver) return unexpected(std::move(solver).error());
    return std::make_unique<stopping_solver>(*std::move(solver), stop);
}

} // namespace vgpusim
