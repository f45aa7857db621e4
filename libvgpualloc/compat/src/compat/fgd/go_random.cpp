// Go's math/rand, from its published algorithm.
#include "vgpualloc/compat/fgd/go_random.hpp"

#include "go_random_table.hpp"

namespace vgpualloc::compat {

namespace {

constexpr std::int64_t modulus = 2147483647; // 2^31 - 1

constexpr std::int64_t lehmer(std::int64_t x) noexcept { return 48271 * x % modulus; }

} // namespace

go_random::go_random(std::int64_t seed) {
    std::int64_t x = seed % modulus;
    if (x < 0) x += modulus;
    if (x == 0) x = 89482311;
    for (int i = 0; i < 20; ++i) x = lehmer(x);
    for (std::size_t i = 0; i < length; ++i) {
        std::uint64_t mixed = 0;
        for (const unsigned shift : {40U, 20U, 0U}) {
            x = lehmer(x);
            mixed ^= static_cast<std::uint64_t>(x) << shift;
        }
        words_[i] = mixed ^ go_seed_words[i];
    }
}

std::uint64_t go_random::word() noexcept {
    tap_ = tap_ == 0 ? length - 1 : tap_ - 1;
    feed_ = feed_ == 0 ? length - 1 : feed_ - 1;
    return words_[feed_] += words_[tap_];
}

std::int32_t go_random::intn(std::int32_t n) noexcept {
    if ((n & (n - 1)) == 0) return int31() & (n - 1);
    const auto excess = static_cast<std::int32_t>((std::uint32_t{1} << 31U) % static_cast<std::uint32_t>(n));
    const std::int32_t highest = 2147483647 - excess;
    std::int32_t drawn = int31();
    while (drawn > highest) drawn = int31();
    return drawn % n;
}

std::uint32_t go_random::bounded(std::uint32_t n) noexcept {
    const auto draw = [this] { return static_cast<std::uint32_t>(int63() >> 31); };
    std::uint64_t product = std::uint64_t{draw()} * n;
    if (static_cast<std::uint32_t>(product) < n) {
        const std::uint32_t threshold = (0 - n) % n;
        while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{draw()} * n;
    }
    return static_cast<std::uint32_t>(product >> 32);
}

std::vector<std::uint32_t> go_random::perm(std::size_t n) {
    std::vector<std::uint32_t> result(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto j = static_cast<std::size_t>(intn(static_cast<std::int32_t>(i + 1)));
        result[i] = result[j];
        result[j] = static_cast<std::uint32_t>(i);
    }
    return result;
}

} // namespace vgpualloc::compat
