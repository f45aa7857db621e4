// What queues use of their quotas, and whether one may take more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

/// Counts use per queue. The rule is job_queue's: within the queue's own guarantee, or else within its limit and within
/// what all queues together are guaranteed. Guarantees lent out come back when the borrower's jobs end (or are
/// preempted), not before.
class quota_book {
public:
    explicit quota_book(std::span<const job_queue> queues);

    /// Whether anything is limited at all.
    [[nodiscard]] bool limits() const noexcept { return limits_; }
    [[nodiscard]] bool admits(std::uint32_t queue, const device_amounts& more) const noexcept;
    /// Likewise, if another job of `other_queue` ran beside what runs.
    [[nodiscard]] bool admits_beside(std::uint32_t queue, const device_amounts& more, std::uint32_t other_queue,
                                     const device_amounts& other) const noexcept;
    /// Whether the job could start in an otherwise idle cluster.
    [[nodiscard]] bool ever_admits(std::uint32_t queue, const device_amounts& more) const noexcept;
    void add(std::uint32_t queue, const device_amounts& amounts) noexcept;
    void remove(std::uint32_t queue, const device_amounts& amounts) noexcept;
    [[nodiscard]] const device_amounts& used(std::uint32_t queue) const noexcept { return used_[queue]; }
    /// Whether the queue has more than it is guaranteed in some dimension.
    [[nodiscard]] bool borrows(std::uint32_t queue) const noexcept;

private:
    [[nodiscard]] bool admits(std::uint32_t queue, const device_amounts& own, const device_amounts& all,
                              const device_amounts& more) const noexcept;

    std::span<const job_queue> queues_;
    std::vector<device_amounts> used_;
    device_amounts total_;        ///< over all queues
    device_quota guaranteed_all_; ///< sums; absent in a dimension in which no queue has a guarantee
    bool limits_ = false;
};

} // namespace vgpusim
