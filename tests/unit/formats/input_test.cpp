// Inputs are read once, from anywhere, compressed or not, and never more of them than the limit.
#include "vgpuformats/input.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temporary_folder.hpp"
#include "vgpuformats/sha256.hpp"

namespace {

using testing::HasSubstr;
using testing::StartsWith;
using vgpualloc::error_code;
using vgpuformats::read_input;

/// What gzip makes of "one\n".
constexpr std::string_view gzip_one{
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\xcf\x4b\xe5\x02\x00\x9f\xa8\x17\xf8\x04"
    "\x00\x00\x00",
    24};

class input : public testing::Test {
protected:
    [[nodiscard]] std::string put(const std::string& name, std::string_view content) const {
        std::ofstream(folder_ / name, std::ios::binary) << content;
        return folder_ / name;
    }
    /// What gzip(1) makes of a text.
    [[nodiscard]] std::string zipped(std::string_view content) const {
        const std::string path = put("to-zip", content);
        const std::string command = "gzip -nc '" + path + "'";
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{::popen(command.c_str(), "r"), &::pclose};
        std::string bytes;
        std::array<char, 65536> piece{};
        while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe.get())) {
            bytes.append(piece.data(), got);
        }
        return bytes;
    }
    /// What is wrong with an input of these bytes, after its path.
    [[nodiscard]] std::string failure(std::string_view bytes, std::size_t bytes_max = 1U << 20U) const {
        const std::string path = put("failing", bytes);
        const auto read = read_input(path, {.bytes_max = bytes_max});
        return read ? "" : read.error().message().substr(path.size());
    }

    vga_test::temporary_folder folder_;
};

/// Puts a file in place of standard input.
class standard_input_from {
public:
    explicit standard_input_from(const std::string& path) : former_{::dup(STDIN_FILENO)} {
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "rb"), &std::fclose};
        ::dup2(::fileno(file.get()), STDIN_FILENO);
    }
    standard_input_from(const standard_input_from&) = delete;
    standard_input_from& operator=(const standard_input_from&) = delete;
    ~standard_input_from() {
        ::dup2(former_, STDIN_FILENO);
        ::close(former_);
    }

private:
    int former_;
};

TEST_F(input, a_file_is_what_it_holds) {
    const std::string path = put("plain", "one\n");
    const auto read = read_input(path);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->name, path);
    EXPECT_EQ(read->text, "one\n");
    EXPECT_EQ(read->sha256, "");
    EXPECT_EQ(read_input(path, {.hashed = true})->sha256, vgpuformats::sha256_hex("one\n"));
    EXPECT_EQ(read_input(put("empty", ""))->text, "");
}

TEST_F(input, a_dash_is_standard_input) {
    const standard_input_from text{put("text", "from standard input")};
    const auto read = read_input("-", {.hashed = true});
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->name, "-");
    EXPECT_EQ(read->text, "from standard input");
    EXPECT_EQ(read->sha256, vgpuformats::sha256_hex("from standard input"));
}

TEST_F(input, standard_input_may_be_compressed_and_may_be_unreadable) {
    {
        const standard_input_from text{put("zipped", gzip_one)};
        EXPECT_EQ(read_input("-")->text, "one\n");
    }
    const standard_input_from folder{folder_.path()};
    EXPECT_EQ(read_input("-").error().message(), "-: cannot read standard input: Is a directory");
}

// A pipe was opened a second time for its checksum, which was of nothing, or never came.
TEST_F(input, a_pipe_is_read_once_and_hashed_as_read) {
    const std::string path = folder_ / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const std::string sent(200'000, 'p');
    std::thread writer{[&] { std::ofstream(path, std::ios::binary) << sent; }};
    const auto read = read_input(path, {.hashed = true});
    writer.join();
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->text, sent);
    EXPECT_EQ(read->sha256, vgpuformats::sha256_hex(sent));
}

// The checksum is of the file as it lies there, so that sha256sum gives the same.
TEST_F(input, gzip_is_inflated_whatever_the_name) {
    const auto read = read_input(put("list.csv", gzip_one), {.hashed = true});
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->text, "one\n");
    EXPECT_EQ(read->sha256, vgpuformats::sha256_hex(gzip_one));

    std::string text;
    for (std::int64_t i = 0; i < 300'000; ++i) text += std::to_string(i * 7919);
    EXPECT_TRUE(read_input(put("large", zipped(text)))->text == text);
    EXPECT_EQ(read_input(put("empty", zipped("")))->text, "");
}

TEST_F(input, gzip_streams_are_joined) {
    const std::string several = zipped("one\n") + zipped("") + zipped("two\n");
    EXPECT_EQ(read_input(put("several", several))->text, "one\ntwo\n");
}

TEST_F(input, zeros_behind_gzip_fill_up_a_block_and_nothing_else_may_follow) {
    const std::string filled = std::string{gzip_one} + std::string(500, '\0');
    const auto read = read_input(put("tape.gz", filled));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->text, "one\n");
    EXPECT_FALSE(read_input(put("more.gz", filled + "x")));
}

TEST_F(input, gzip_that_is_not_whole_is_refused) {
    const std::string whole = zipped(std::string(1000, 'a') + "some text");
    for (std::size_t bytes = 2; bytes < whole.size(); ++bytes) {
        EXPECT_EQ(failure(whole.substr(0, bytes)), ": gzip: expected a whole gzip stream: this one is cut off")
            << bytes;
    }
    EXPECT_EQ(failure(whole + "x"), ": gzip: expected the end of the file after the gzip stream");
    EXPECT_EQ(failure(whole + whole.substr(0, 12)), ": gzip: expected a whole gzip stream: this one is cut off");
}

TEST_F(input, gzip_that_is_damaged_is_refused) {
    const std::string whole = zipped("some text that is long enough for a few bytes");
    for (std::size_t at = 10; at < whole.size(); ++at) { // what stands before is a header, of which little matters
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
        EXPECT_THAT(failure(damaged), StartsWith(": gzip: expected a ")) << at;
    }
    std::string damaged = whole;
    damaged[whole.size() - 8] = static_cast<char>(damaged[whole.size() - 8] ^ 1); // of the checksum
    EXPECT_EQ(failure(damaged), ": gzip: expected a sound gzip stream: this one is damaged (incorrect data check)");
}

// Limits hold while a text is read, not afterwards.
TEST_F(input, nothing_is_larger_than_the_limit) {
    EXPECT_EQ(failure(std::string(1U << 20U, 'x')), "");
    EXPECT_EQ(failure(std::string((1U << 20U) + 1, 'x')), ": expected at most 1 MiB of text");
    EXPECT_EQ(failure(zipped(std::string(1U << 20U, 'x'))), "");
    EXPECT_EQ(failure(zipped(std::string((1U << 20U) + 1, 'x'))), ": gzip: expected at most 1 MiB of text");
    std::string bomb;
    const std::string stream = zipped(std::string(1U << 20U, '\0'));
    for (int i = 0; i < 500; ++i) bomb += stream; // half a megabyte that would become 500
    EXPECT_EQ(failure(bomb), ": gzip: expected at most 1 MiB of text");
    const auto endless = [] {
        const standard_input_from zeros{"/dev/zero"};
        return read_input("-", {.bytes_max = 1U << 20U});
    }();
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error().code, error_code::out_of_range);
}

TEST_F(input, what_cannot_be_read_says_why) {
    EXPECT_THAT(read_input(folder_ / "absent").error().message(), HasSubstr("absent: cannot open: No such file"));
    EXPECT_THAT(read_input(folder_.path()).error().message(), HasSubstr("cannot read: Is a directory"));
    EXPECT_THAT(read_input("/dev/zero").error().message(), HasSubstr("/dev/zero: cannot read"));
}

} // namespace
