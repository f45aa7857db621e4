#include "vgpusim/engine/quota_book.hpp"

#include <array>
#include <optional>

namespace vgpusim {

namespace {

/// One dimension of a quota and of what it limits.
struct quota_dimension {
    std::int64_t device_amounts::* amount;
    std::optional<std::int64_t> device_quota::* quota;
};

constexpr std::array quota_dimensions{quota_dimension{&device_amounts::devices, &device_quota::devices},
                                      quota_dimension{&device_amounts::memory_mib, &device_quota::memory_mib},
                                      quota_dimension{&device_amounts::cores_percent, &device_quota::cores_percent}};

} // namespace

quota_book::quota_book(std::span<const job_queue> queues) : queues_{queues}, used_(queues.size()) {
    for (const job_queue& queue : queues) {
        for (const auto& [amount, quota] : quota_dimensions) {
            if (const auto& guaranteed = queue.guaranteed.*quota) {
                guaranteed_all_.*quota = (guaranteed_all_.*quota).value_or(0) + *guaranteed;
                limits_ = true;
            }
            limits_ = limits_ || (queue.limit.*quota).has_value();
        }
    }
}

bool quota_book::admits(std::uint32_t queue, const device_amounts& own, const device_amounts& all,
                        const device_amounts& more) const noexcept {
    if (!limits_) return true;
    const job_queue& terms = queues_[queue];
    for (const auto& [amount, quota] : quota_dimensions) {
        if (more.*amount == 0) continue;
        const std::int64_t after = own.*amount + more.*amount;
        if (const auto& limit = terms.limit.*quota; limit && after > *limit) return false;
        const auto& lendable = guaranteed_all_.*quota;
        if (!lendable || after <= (terms.guaranteed.*quota).value_or(0)) continue;
        if (all.*amount + more.*amount > *lendable) return false;
    }
    return true;
}

bool quota_book::admits(std::uint32_t queue, const device_amounts& more) const noexcept {
    return !limits_ || admits(queue, used_[queue], total_, more);
}

bool quota_book::admits_beside(std::uint32_t queue, const device_amounts& more, std::uint32_t other_queue,
                               const device_amounts& other) const noexcept {
    device_amounts own = used_[queue];
    device_amounts all = total_;
    for (const auto& [amount, quota] : quota_dimensions) {
        if (other_queue == queue) own.*amount += other.*amount;
        all.*amount += other.*amount;
    }
    return !limits_ || admits(queue, own, all, more);
}

bool quota_book::ever_admits(std::uint32_t queue, const device_amounts& more) const noexcept {
    return admits(queue, {}, {}, more);
}

void quota_book::add(std::uint32_t queue, const device_amounts& amounts) noexcept {
    for (const auto& [amount, quota] : quota_dimensions) {
        used_[queue].*amount += amounts.*amount;
        total_.*amount += amounts.*amount;
    }
}

void quota_book::remove(std::uint32_t queue, const device_amounts& amounts) noexcept {
    for (const auto& [amount, quota] : quota_dimensions) {
        used_[queue].*amount -= amounts.*amount;
        total_.*amount -= amounts.*amount;
    }
}

bool quota_book::borrows(std::uint32_t queue) const noexcept {
    for (const auto& [amount, quota] : quota_dimensions) {
        if (guaranteed_all_.*quota && used_[queue].*amount > (queues_[queue].guaranteed.*quota).value_or(0))
            return true;
    }
    return false;
}

} // namespace vgpusim
