#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "sha256_text.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpuformats {

namespace {

class openssl_sha256 {
public:
    openssl_sha256() {
        VGA_ASSERT(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "OpenSSL has SHA-256");
    }

    void add(std::string_view bytes) {
        VGA_ASSERT(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "SHA-256 takes any bytes");
    }

    [[nodiscard]] std::array<std::uint8_t, 32> finish() {
        std::array<std::uint8_t, 32> digest{};
        VGA_ASSERT(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1, "a SHA-256 digest has 32 bytes");
        return digest;
    }

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

} // namespace

std::string sha256_hex(std::string_view bytes) { return hashed_bytes<openssl_sha256>(bytes); }

vgpualloc::expected<std::string> sha256_of_file(const std::string& path) { return hashed_file<openssl_sha256>(path); }

} // namespace vgpuformats
