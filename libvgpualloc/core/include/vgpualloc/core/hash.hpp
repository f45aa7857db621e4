// 64-bit hashing that is the same on every platform and in every run (std::hash is not).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vgpualloc {

/// The finaliser of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

[[nodiscard]] constexpr std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value) noexcept {
    return mix64(seed + 0x9e3779b97f4a7c15ULL + value);
}

/// FNV-1a over the bytes, then mixed.
[[nodiscard]] constexpr std::uint64_t hash_text(std::string_view text) noexcept {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        h ^= static_cast<unsigned char>(c);
        h *= 0x100000001b3ULL;
    }
    return mix64(h);
}

struct text_hash {
    using is_transparent = void;
    [[nodiscard]] std::size_t operator()(std::string_view text) const noexcept { return hash_text(text); }
};

/// For what is looked up far more often than it is walked: in a map of thousands of names every step of a look-up is
/// a cache miss. Whoever walks it sorts what comes out.
template <class Value>
using hashed_by_text = std::unordered_map<std::string, Value, text_hash, std::equal_to<>>;

} // namespace vgpualloc
