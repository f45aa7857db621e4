// How a caller ends a long call early.
#pragma once

#include <cstdint>
#include <functional>

#include "vgpualloc/core/error.hpp"

namespace vgpualloc {

/// The caller's wish that a long call ends. Every long loop keeps a copy and polls it; the question itself is asked
/// once in 256 polls, so that it may look at a clock. A copy has a count of its own: loops of several threads share
/// nothing but the question. Empty: nobody ever wants an end.
class stop_signal {
public:
    stop_signal() = default;
    /// `wanted` must outlive every copy. Once it has answered true it has to go on doing so.
    explicit stop_signal(const std::function<bool()>& wanted) : wanted_{wanted ? &wanted : nullptr} {}

    /// Asks at every 256th call; true: the call is to end.
    [[nodiscard]] bool poll() {
        constexpr std::uint32_t polls_per_question = 256;
        return wanted_ != nullptr && ++polls_ % polls_per_question == 0 && (*wanted_)();
    }
    /// Asks now: before work that takes long and polls nothing.
    [[nodiscard]] bool raised() const { return wanted_ != nullptr && (*wanted_)(); }

    /// What a call that ends early returns.
    [[nodiscard]] static error stopped() {
        return bad_input(error_code::stopped, "", "stopped by the caller before it was done");
    }

private:
    const std::function<bool()>* wanted_ = nullptr;
    std::uint32_t polls_ = 0;
};

} // namespace vgpualloc
