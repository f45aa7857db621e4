// What a cluster held over time: sums in which each state counts for as long as it lasts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

/// Amounts that are in use at one moment.
struct amounts_in_use {
    std::int64_t allocated_milli = 0; ///< milli-GPU that nobody else can have
    std::int64_t served = 0;          ///< requested_units that the running pods ask for: the larger of the next two
    std::int64_t served_memory = 0;
    std::int64_t served_compute = 0;
    std::int64_t unusable_micro = 0; ///< fragmentation F, millionths of a milli-GPU
    std::int64_t used_nodes = 0;
    std::int64_t used_gpus = 0;
    std::int64_t running = 0; ///< pods
    std::int64_t waiting = 0; ///< jobs in the queue
    std::int64_t memory_mib = 0;
    std::int64_t compute_milli = 0;
    std::int64_t watts = 0;
};

/// The exact sum of one amount over time.
class amount_over_time {
public:
    void hold(std::int64_t amount, std::int64_t span) noexcept { sum_ += wide{amount} * span; }
    /// Over so many ticks; 0 over none.
    [[nodiscard]] double mean(std::int64_t span) const noexcept {
        return span > 0 ? static_cast<double>(sum_) / static_cast<double>(span) : 0.0;
    }
    /// The sum in decimal digits. It may pass 64 bits, and amounts are not negative.
    [[nodiscard]] std::string digits() const {
        std::string text;
        for (wide rest = sum_; rest > 0 || text.empty(); rest /= 10) text += static_cast<char>('0' + rest % 10);
        return {text.rbegin(), text.rend()};
    }

private:
    __extension__ using wide = __int128;
    wide sum_ = 0;
};

/// The sums are exact: amounts to 2^50 over times to 2^60 ticks pass 64 bits, and a sum of rounded products would
/// depend on how often the state was looked at.
class over_time {
public:
    /// These amounts were held until `now`, which is not before the moment of the call before. The first call says only
    /// when the run begins.
    void hold(const amounts_in_use& amounts, ticks now) noexcept {
        if (begun_ && now != last_) {
            const std::int64_t span = (now - last_).count();
            for (std::size_t i = 0; i < fields.size(); ++i) sums_[i].hold(amounts.*fields[i], span);
            span_ += span;
        }
        begun_ = true;
        last_ = now;
    }

    [[nodiscard]] bool has_begun() const noexcept { return begun_; }
    [[nodiscard]] ticks end() const noexcept { return last_; } ///< of the last call of hold()
    /// Whether any time has passed; without it there are no means.
    [[nodiscard]] bool has_span() const noexcept { return span_ > 0; }
    [[nodiscard]] std::int64_t span() const noexcept { return span_; } ///< ticks that have passed
    /// The mean of an amount over the time that has passed, in its unit.
    template <std::int64_t amounts_in_use::* Amount>
    [[nodiscard]] double mean() const noexcept {
        return sum_of<Amount>().mean(span_);
    }
    template <std::int64_t amounts_in_use::* Amount>
    [[nodiscard]] const amount_over_time& sum_of() const noexcept {
        constexpr auto position = std::ranges::find(fields, Amount) - fields.begin();
        return sums_[position];
    }
    /// Likewise of fragmentation, in milli-GPU.
    [[nodiscard]] double unusable_milli() const noexcept { return mean<&amounts_in_use::unusable_micro>() / 1e6; }

private:
    static constexpr std::array fields{
        &amounts_in_use::allocated_milli, &amounts_in_use::served,         &amounts_in_use::served_memory,
        &amounts_in_use::served_compute,  &amounts_in_use::unusable_micro, &amounts_in_use::used_nodes,
        &amounts_in_use::used_gpus,       &amounts_in_use::running,        &amounts_in_use::waiting,
        &amounts_in_use::memory_mib,      &amounts_in_use::compute_milli,  &amounts_in_use::watts};

    std::array<amount_over_time, fields.size()> sums_;
    std::int64_t span_ = 0; ///< in ticks
    ticks last_;
    bool begun_ = false;
};

} // namespace vgpusim
