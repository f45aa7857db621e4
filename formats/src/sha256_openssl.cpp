#include "vgpuformats/sha256.hpp"

#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <openssl/evp.h>

#include "vgpualloc/core/config.hpp"
#include "vgpuformats/posix_io.hpp"

namespace vgpuformats {

namespace {

class hasher {
public:
    hasher() {
        VGA_ASSERT(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "OpenSSL has SHA-256");
    }

    void add(std::string_view bytes) {
        VGA_ASSERT(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "SHA-256 takes any bytes");
    }

    [[nodiscard]] std::string finish() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
        unsigned int digest_bytes = 0;
        VGA_ASSERT(EVP_DigestFinal_ex(context_.get(), digest.data(), &digest_bytes) == 1 && digest_bytes == 32,
                   "a SHA-256 digest has 32 bytes");
        constexpr std::string_view digits = "0123456789abcdef";
        std::string text;
        text.reserve(std::size_t{digest_bytes} * 2);
        for (unsigned int i = 0; i < digest_bytes; ++i) {
            text += digits[digest[i] >> 4U];
            text += digits[digest[i] & 15U];
        }
        return text;
    }

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

} // namespace

std::optional<std::string> sha256_hex(std::string_view bytes) {
    hasher sum;
    sum.add(bytes);
    return sum.finish();
}

vgpualloc::expected<std::string> sha256_of_file(const std::string& path) {
    const posix::unique_fd file = posix::open_file(path, O_RDONLY);
    if (!file) return vgpualloc::unexpected(posix::io_failure(path, "open", errno));
    hasher sum;
    std::vector<char> piece(std::size_t{1} << 18U);
    while (true) {
        const ssize_t bytes = posix::read_some(file.get(), piece.data(), piece.size());
        if (bytes < 0) return vgpualloc::unexpected(posix::io_failure(path, "read", errno));
        if (bytes == 0) return sum.finish();
        sum.add({piece.data(), static_cast<std::size_t>(bytes)});
    }
}

} // namespace vgpuformats
