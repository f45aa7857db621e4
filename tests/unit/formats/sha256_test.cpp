#include "vgpuformats/sha256.hpp"

#include <gtest/gtest.h>

#include "own_sha256.hpp"
#include "sha256_text.hpp"

namespace {

// The examples of FIPS 180-2, appendix B.
TEST(sha256, knows_the_published_examples) {
    EXPECT_EQ(vgpuformats::sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(vgpuformats::sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(vgpuformats::sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(vgpuformats::sha256_hex(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Every way in which a text may end within a block, and texts that come in pieces.
TEST(sha256, our_own_says_what_openssl_says) {
    std::string text;
    for (std::size_t length = 0; length <= 300; ++length) {
        vgpuformats::own_sha256 sum;
        sum.add(std::string_view{text}.substr(0, length / 3));
        sum.add(std::string_view{text}.substr(length / 3));
        EXPECT_EQ(vgpuformats::hex_of(sum.finish()), vgpuformats::sha256_hex(text)) << length;
        text += static_cast<char>(length * 37 % 256);
    }
}

TEST(sha256, takes_zero_bytes_within) {
    EXPECT_NE(vgpuformats::sha256_hex(std::string_view{"a\0b", 3}), vgpuformats::sha256_hex("a"));
}

} // namespace
