// What both implementations of SHA-256 have in common: any of them as a Hasher with add(bytes) and finish().
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>

#include "vgpuformats/posix_io.hpp"
#include "vgpuformats/sha256.hpp"

namespace vgpuformats {

[[nodiscard]] inline std::string hex_of(const std::array<std::uint8_t, 32>& digest) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(digest.size() * 2);
    for (const std::uint8_t byte : digest) {
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

template <class Hasher>
[[nodiscard]] std::string hashed_bytes(std::string_view bytes) {
    Hasher sum;
    sum.add(bytes);
    return hex_of(sum.finish());
}

template <class Hasher>
[[nodiscard]] vgpualloc::expected<std::string> hashed_file(const std::string& path) {
    const posix::unique_fd file = posix::open_file(path, O_RDONLY);
    if (!file) return vgpualloc::unexpected(posix::io_failure(path, "open", errno));
    Hasher sum;
    std::vector<char> piece(std::size_t{1} << 18U);
    while (true) {
        const ssize_t bytes = posix::read_some(file.get(), piece.data(), piece.size());
        if (bytes < 0) return vgpualloc::unexpected(posix::io_failure(path, "read", errno));
        if (bytes == 0) return hex_of(sum.finish());
        sum.add({piece.data(), static_cast<std::size_t>(bytes)});
    }
}

} // namespace vgpuformats
