// The stream of random numbers of a policy that draws, which a trial can take back, and a policy that does nothing
// else.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc::policies {

class drawn_stream {
public:
    drawn_stream(std::uint64_t seed, std::string_view name) : numbers_{rng{seed}.fork(name)} {}

    /// Uniform in [0, count), `count` >= 1.
    [[nodiscard]] std::uint64_t draw(std::uint64_t count) { return numbers_.below(count); }

    /// As policy::enter_trial() and policy::leave_trial(). The end of a trial that was begun where the log was cut, and
    /// so was never heard of, changes nothing.
    void enter_trial() { before_trials_.push_back(numbers_); }
    void leave_trial(bool keep) {
        if (before_trials_.empty()) return;
        if (!keep) numbers_ = before_trials_.back();
        before_trials_.pop_back();
    }

private:
    rng numbers_;
    std::vector<rng> before_trials_; ///< one per trial that is open, the innermost last
};

/// Every candidate scores 0, and ties are drawn.
class drawing_policy : public policy {
public:
    drawing_policy(std::uint64_t seed, std::string_view stream) : stream_{seed, stream} {}

    [[nodiscard]] policy_traits traits() const noexcept final {
        return {.view = looks_at::totals, .nodes = ties::drawn, .devices = ties::drawn};
    }
    [[nodiscard]] double node_score(const request_view&, const node_view&, const node_view&) final { return 0.0; }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&, const step_view&) final {
        return 0.0;
    }
    [[nodiscard]] std::uint64_t draw(std::uint64_t count) final { return stream_.draw(count); }
    void enter_trial() final { stream_.enter_trial(); }
    void leave_trial(bool keep) final { stream_.leave_trial(keep); }

private:
    drawn_stream stream_;
};

} // namespace vgpualloc::policies
