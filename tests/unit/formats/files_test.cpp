#include "vgpuformats/files.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using vgpualloc::error_code;
using vgpuformats::output_file;
using vgpuformats::read_file;
using vgpuformats::write_files;

class files : public testing::Test {
protected:
    [[nodiscard]] std::string at(const std::string& name) const { return folder_ / name; }

    /// Every file and folder below the root, sorted.
    [[nodiscard]] std::vector<std::string> present() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
            names.push_back(entry.path().lexically_relative(folder_.path()).string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    void put(const std::string& name, const std::string& content) const {
        std::ofstream(at(name), std::ios::binary) << content;
    }

    vga_test::temporary_folder folder_;
};

/// A disk that is full after `bytes`: writes are cut short there and then refused.
class file_size_limit {
public:
    explicit file_size_limit(rlim_t bytes) {
        former_handler_ = std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &former_);
        const rlimit limited{bytes, former_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limited);
    }
    file_size_limit(const file_size_limit&) = delete;
    file_size_limit& operator=(const file_size_limit&) = delete;
    ~file_size_limit() {
        ::setrlimit(RLIMIT_FSIZE, &former_);
        std::signal(SIGXFSZ, former_handler_);
    }

private:
    rlimit former_{};
    void (*former_handler_)(int) = nullptr;
};

TEST_F(files, reads_what_was_written) {
    const std::string binary("a\0b\r\n\xff", 6);
    const std::string large(3'000'000, 'x');
    ASSERT_TRUE(write_files(at("out"), {{"binary", binary}, {"empty", ""}, {"large", large}}));
    EXPECT_EQ(read_file(at("out/binary")), binary);
    EXPECT_EQ(read_file(at("out/empty")), "");
    EXPECT_EQ(read_file(at("out/large")), large);
    EXPECT_THAT(present(), ElementsAre("out", "out/binary", "out/empty", "out/large"));
}

TEST_F(files, reads_what_has_no_size) {
    const auto status = read_file("/proc/self/status");
    ASSERT_TRUE(status);
    EXPECT_THAT(*status, HasSubstr("Pid:"));

    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe(ends), 0);
    const std::string sent(200'000, 'p');
    std::thread writer([&] {
        for (std::size_t done = 0; done < sent.size();) {
            done += static_cast<std::size_t>(::write(ends[1], sent.data() + done, sent.size() - done));
        }
        ::close(ends[1]);
    });
    EXPECT_EQ(read_file("/dev/fd/" + std::to_string(ends[0])), sent);
    writer.join();
    ::close(ends[0]);
}

TEST_F(files, a_failed_read_names_the_path_and_the_reason) {
    const auto absent = read_file(at("absent"));
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, error_code::io);
    EXPECT_EQ(absent.error().message(), at("absent") + ": cannot open: No such file or directory");

    const auto folder = read_file(folder_.path());
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().message(), folder_.path() + ": cannot read: Is a directory");
}

TEST_F(files, makes_parents_and_subfolders) {
    ASSERT_TRUE(write_files(at("a/b/c/"), {{"fifo/x.csv", "1"}, {"sjf/x.csv", "2"}}));
    EXPECT_EQ(read_file(at("a/b/c/sjf/x.csv")), "2");
    EXPECT_THAT(present(),
                ElementsAre("a", "a/b", "a/b/c", "a/b/c/fifo", "a/b/c/fifo/x.csv", "a/b/c/sjf", "a/b/c/sjf/x.csv"));
}

TEST_F(files, replaces_old_files_and_leaves_others_alone) {
    put("x.csv", "old");
    put("other", "other");
    ASSERT_TRUE(write_files(folder_.path(), {{"x.csv", "new"}, {"y.csv", "new"}}));
    EXPECT_EQ(read_file(at("x.csv")), "new");
    EXPECT_THAT(present(), ElementsAre("other", "x.csv", "y.csv"));
}

TEST_F(files, replacing_a_link_leaves_what_it_names) {
    put("real", "old");
    fs::create_symlink("real", at("x.csv"));
    ASSERT_TRUE(write_files(folder_.path(), {{"x.csv", "new"}}));
    EXPECT_EQ(read_file(at("real")), "old");
    EXPECT_EQ(read_file(at("x.csv")), "new");
}

TEST_F(files, a_folder_that_is_a_file_is_refused) {
    put("taken", "a file");
    for (const std::string folder : {"taken", "taken/below"}) {
        const auto written = write_files(at(folder), {{"x.csv", "1"}});
        ASSERT_FALSE(written);
        EXPECT_EQ(written.error().code, error_code::io);
        EXPECT_EQ(written.error().message(), at("taken") + ": cannot use it as a folder: Not a directory");
    }
    EXPECT_EQ(read_file(at("taken")), "a file");
}

TEST_F(files, places_that_take_no_files_are_refused) { // also for root, whom permissions do not stop
    for (const std::string folder : {"/proc/vga/x", "/dev/null/x", "/proc", "/sys/kernel"}) {
        const auto written = write_files(folder, {{"x.csv", "1"}});
        ASSERT_FALSE(written) << folder;
        EXPECT_EQ(written.error().code, error_code::io);
        EXPECT_THAT(written.error().where, testing::StartsWith(folder.substr(0, 4)));
    }
}

TEST_F(files, a_full_disk_leaves_nothing) {
    const std::string large(200'000, 'x');
    const file_size_limit full{100'000};
    const auto written = write_files(at("a/b"), {{"small.csv", "1"}, {"large.csv", large}});
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message(), at("a/b/large.csv") + ": cannot write: File too large");
    EXPECT_THAT(present(), IsEmpty());
}

TEST_F(files, a_full_disk_keeps_what_was_there) {
    put("small.csv", "old");
    put("large.csv", "old");
    const std::string large(200'000, 'x');
    const file_size_limit full{100'000};
    ASSERT_FALSE(write_files(folder_.path(), {{"small.csv", "new"}, {"large.csv", large}}));
    EXPECT_EQ(read_file(at("small.csv")), "old");
    EXPECT_EQ(read_file(at("large.csv")), "old");
    EXPECT_THAT(present(), ElementsAre("large.csv", "small.csv"));
}

TEST_F(files, a_target_that_is_a_folder_stops_everything) {
    put("a.csv", "old");
    fs::create_directory(at("z.csv"));
    const auto written = write_files(folder_.path(), {{"a.csv", "new"}, {"b.csv", "new"}, {"z.csv", "new"}});
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message(), at("z.csv") + ": cannot write: Is a directory");
    EXPECT_EQ(read_file(at("a.csv")), "old");
    EXPECT_THAT(present(), ElementsAre("a.csv", "z.csv"));
}

TEST_F(files, a_late_failure_undoes_the_renames_before_it) {
    // The fourth file is written through the link "link", which the third file replaces: its rename then fails.
    fs::create_directory(at("real"));
    fs::create_directory_symlink("real", at("link"));
    put("a.csv", "old");
    ASSERT_FALSE(
        write_files(folder_.path(), {{"a.csv", "new"}, {"b.csv", "new"}, {"link", "new"}, {"link/z.csv", "new"}}));
    EXPECT_EQ(read_file(at("a.csv")), "old");
    EXPECT_TRUE(fs::is_symlink(at("link")));
    EXPECT_THAT(present(), ElementsAre("a.csv", "link", "real"));
}

TEST_F(files, two_writers_at_once_do_not_mix) {
    const std::string first(100'000, '1');
    const std::string second(100'000, '2');
    const auto write_often = [&](const std::string& content) {
        for (int i = 0; i < 50; ++i) ASSERT_TRUE(write_files(at("out"), {{"x.csv", content}}));
    };
    std::thread other([&] { write_often(first); });
    write_often(second);
    other.join();
    const auto content = read_file(at("out/x.csv"));
    ASSERT_TRUE(content);
    EXPECT_TRUE(*content == first || *content == second);
    EXPECT_THAT(present(), ElementsAre("out", "out/x.csv"));
}

} // namespace
