// SHA-256 (FIPS 180-4, section 6.2) for builds that link no OpenSSL. OpenSSL's is five times as fast.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vgpuformats {

class own_sha256 {
public:
    using digest = std::array<std::uint8_t, 32>;

    void add(std::string_view bytes) noexcept {
        length_ += bytes.size();
        while (!bytes.empty()) {
            const std::size_t taken = std::min(block_.size() - filled_, bytes.size());
            for (std::size_t i = 0; i < taken; ++i) block_[filled_ + i] = static_cast<std::uint8_t>(bytes[i]);
            filled_ += taken;
            bytes.remove_prefix(taken);
            if (filled_ == block_.size()) mix_block();
        }
    }

    /// Of all bytes that were added; call it once.
    [[nodiscard]] digest finish() noexcept {
        const std::uint64_t bits = length_ * 8;
        add(std::string_view{"\x80", 1});
        while (filled_ != block_.size() - 8) add(std::string_view{"\0", 1});
        for (std::size_t i = 0; i < 8; ++i) block_[56 + i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
        mix_block();
        digest result{};
        for (std::size_t i = 0; i < result.size(); ++i) {
            result[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
        }
        return result;
    }

private:
    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    static constexpr std::array<std::uint32_t, 64> constants{
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

    /// Mixes the full block into the state and begins the next one.
    void mix_block() noexcept {
        std::array<std::uint32_t, 64> schedule{};
        for (std::size_t i = 0; i < 16; ++i) {
            schedule[i] = static_cast<std::uint32_t>(block_[4 * i]) << 24U |
                          static_cast<std::uint32_t>(block_[4 * i + 1]) << 16U |
                          static_cast<std::uint32_t>(block_[4 * i + 2]) << 8U | block_[4 * i + 3];
        }
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t far = schedule[i - 15];
            const std::uint32_t near = schedule[i - 2];
            schedule[i] = schedule[i - 16] + (std::rotr(far, 7) ^ std::rotr(far, 18) ^ far >> 3U) + schedule[i - 7] +
                          (std::rotr(near, 17) ^ std::rotr(near, 19) ^ near >> 10U);
        }
        auto [a, b, c, d, e, f, g, h] = state_;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                        ((e & f) ^ (~e & g)) + constants[i] + schedule[i];
            const std::uint32_t second =
                (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g;
            g = f;
            f = e;
            e = d + first;
            d = c;
            c = b;
            b = a;
            a = first + second;
        }
        const std::array<std::uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += mixed[i];
        filled_ = 0;
    }

    /// At first: of the square roots of the first 8 primes.
    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::uint8_t, 64> block_{};
    std::size_t filled_ = 0;
    std::uint64_t length_ = 0;
};

} // namespace vgpuformats
