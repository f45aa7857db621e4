#include "vgpuformats/input.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "gunzip.hpp"
#include "vgpuformats/posix_io.hpp"
#include "vgpuformats/sha256.hpp"

namespace vgpuformats {

namespace {

using posix::io_failure;

[[nodiscard]] vgpualloc::expected<std::string> bytes_of(const std::string& path, std::size_t bytes_max) {
    if (path == standard_input) {
        auto bytes = posix::read_to_end(STDIN_FILENO, 0, bytes_max);
        if (!bytes) return vgpualloc::unexpected(io_failure(path, "read standard input", bytes.error()));
        return *std::move(bytes);
    }
    return posix::read_path(path, bytes_max);
}

} // namespace

vgpualloc::error detail::too_large(const std::string& name, std::size_t bytes_max, bool inflated) {
    return bad_input(vgpualloc::error_code::out_of_range, "",
                     std::string{inflated ? "gzip: " : ""} + "expected at most " + std::to_string(bytes_max >> 20U) +
                         " MiB of text")
        .at(name);
}

vgpualloc::expected<input_text> read_input(const std::string& path, const input_options& options) {
    auto bytes = bytes_of(path, options.bytes_max);
    if (!bytes) return vgpualloc::unexpected(bytes.error());
    return text_of_bytes(*std::move(bytes), path, options);
}

vgpualloc::expected<input_text> text_of_bytes(std::string bytes, const std::string& name,
                                              const input_options& options) {
    if (bytes.size() > options.bytes_max) {
        return vgpualloc::unexpected(detail::too_large(name, options.bytes_max, false));
    }
    input_text result{.name = name, .text = {}, .sha256 = {}};
    if (options.hashed) result.sha256 = sha256_hex(bytes);
    if (!detail::is_gzip(bytes)) {
        result.text = std::move(bytes);
        return result;
    }
    auto text = detail::gunzip(bytes, name, options);
    if (!text) return vgpualloc::unexpected(text.error());
    result.text = *std::move(text);
    return result;
}

} // namespace vgpuformats
