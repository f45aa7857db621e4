#include "vgpuformats/files.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "files_in_folder.hpp"

namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using vga_test::content_of;
using vgpualloc::error_code;
using vgpuformats::read_file;
using vgpuformats::write_files;

using files = vga_test::files_in_folder;

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
    EXPECT_EQ(absent.error().error_number, ENOENT);

    const auto folder = read_file(folder_.path());
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().message(), folder_.path() + ": cannot read: Is a directory");
    EXPECT_EQ(folder.error().error_number, EISDIR);
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

TEST_F(files, a_folder_that_is_a_file_is_refused) {
    put("taken", "a file");
    for (const std::string folder : {"taken", "taken/below"}) {
        const auto written = write_files(at(folder), {{"x.csv", "1"}});
        ASSERT_FALSE(written);
        EXPECT_EQ(written.error().code, error_code::io);
        EXPECT_EQ(written.error().message(), at("taken") + ": cannot use it as a folder: Not a directory");
        EXPECT_EQ(written.error().error_number, ENOTDIR);
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
    EXPECT_EQ(written.error().error_number, EFBIG);
    EXPECT_THAT(present(), IsEmpty());
}

TEST_F(files, a_file_in_pieces_is_written_as_they_come) {
    const auto pieces_of = [](int pieces) -> vgpuformats::piece_source {
        return [pieces, next = 0](std::string& piece) mutable {
            piece = std::to_string(next) + "\n";
            return next++ < pieces;
        };
    };
    ASSERT_TRUE(write_files(at("out"), {{"some", {}, pieces_of(3)}, {"none", {}, pieces_of(0)}}));
    EXPECT_EQ(read_file(at("out/some")), "0\n1\n2\n");
    EXPECT_EQ(read_file(at("out/none")), "");
    const file_size_limit full{100'000};
    ASSERT_FALSE(write_files(at("out"), {{"some", {}, pieces_of(100'000)}, {"none", "new"}}));
    EXPECT_EQ(read_file(at("out/some")), "0\n1\n2\n");
    EXPECT_EQ(read_file(at("out/none")), "");
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

TEST_F(files, a_link_stays_and_what_it_names_is_replaced) {
    fs::create_directory(at("there"));
    put("there/real.csv", "old");
    fs::create_symlink("there/real.csv", at("pods.csv"));
    fs::create_symlink("new.csv", at("dangling.csv"));
    ASSERT_TRUE(write_files(at("."), {{"pods.csv", "new"}, {"dangling.csv", "made"}}));
    EXPECT_TRUE(fs::is_symlink(at("pods.csv")));
    EXPECT_EQ(content_of(at("there/real.csv")), "new");
    EXPECT_TRUE(fs::is_symlink(at("dangling.csv")));
    EXPECT_EQ(content_of(at("new.csv")), "made");
    fs::create_symlink("loop", at("loop"));
    EXPECT_FALSE(write_files(at("."), {{"loop", "x"}}));
}

TEST_F(files, pipes_and_devices_are_written_into) {
    ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
    std::string received;
    std::thread reader{[&] { received = content_of(at("pipe")); }};
    ASSERT_TRUE(write_files(at("."), {{"pipe", "into the pipe"}, {"file", "x"}}));
    reader.join();
    EXPECT_EQ(received, "into the pipe");
    EXPECT_TRUE(fs::is_fifo(at("pipe")));
    fs::create_symlink("/dev/null", at("nowhere"));
    ASSERT_TRUE(write_files(at("."), {{"nowhere", "lost"}}));
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_TRUE(fs::is_symlink(at("nowhere")));
}

TEST_F(files, a_device_that_takes_nothing_stops_everything) {
    put("old.csv", "old");
    fs::create_symlink("/dev/full", at("full"));
    const auto written = write_files(at("."), {{"old.csv", "new"}, {"full", "x"}, {"new.csv", "new"}});
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message(), HasSubstr("full: cannot write: No space left on device"));
    EXPECT_EQ(content_of(at("old.csv")), "old");
    EXPECT_THAT(present(), ElementsAre("full", "old.csv"));
}

TEST_F(files, what_is_open_already_gets_the_content_at_its_place) {
    for (const int flags : {O_RDWR, O_RDWR | O_APPEND}) {
        const int open_file = ::open(at("open").c_str(), flags | O_CREAT | O_TRUNC, 0600);
        ASSERT_GE(open_file, 0);
        const std::string descriptor = std::to_string(open_file);
        ASSERT_EQ(::write(open_file, "head\n", 5), 5);
        fs::create_symlink("/proc/self/fd/" + descriptor, at("link"));
        ASSERT_TRUE(write_files(at("."), {{"link", "first\n"}, {"file", "x"}}));
        ASSERT_TRUE(write_files("/dev/fd", {{descriptor, "second\n"}}));
        ASSERT_TRUE(write_files("/proc/thread-self/fd", {{descriptor, "third\n"}}));
        ASSERT_EQ(::write(open_file, "tail\n", 5), 5);
        EXPECT_EQ(content_of(at("open")), "head\nfirst\nsecond\nthird\ntail\n");
        EXPECT_THAT(present(), ElementsAre("file", "link", "open"));
        ::close(open_file);
        fs::remove(at("link"));
    }
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_TRUE(write_files("/dev/fd", {{std::to_string(ends[1]), "into the pipe"}}));
    ::close(ends[1]);
    EXPECT_EQ(content_of("/dev/fd/" + std::to_string(ends[0])), "into the pipe");
    const auto into_reading_end = write_files("/dev/fd", {{std::to_string(ends[0]), "x"}});
    ASSERT_FALSE(into_reading_end);
    EXPECT_THAT(into_reading_end.error().message(), HasSubstr("cannot write: Bad file descriptor"));
    ::close(ends[0]);
}

TEST_F(files, a_link_below_a_folder_of_proc_is_followed) {
    put("real", "old");
    fs::create_symlink("real", at("link"));
    const int folder = ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_TRUE(write_files("/proc/self/fd/" + std::to_string(folder), {{"link", "new"}}));
    EXPECT_EQ(content_of(at("real")), "new");
    ::close(folder);
}

TEST_F(files, sockets_and_folders_are_refused_and_nothing_is_written) {
    const int endpoint = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    at("socket").copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(endpoint, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const auto written = write_files(at("."), {{"file", "x"}, {"socket", "x"}});
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message(), HasSubstr("cannot write: it is a socket"));
    EXPECT_THAT(present(), ElementsAre("socket"));
    ::close(endpoint);
}

TEST_F(files, a_file_that_is_replaced_keeps_its_permissions) {
    put("file", "old");
    fs::permissions(at("file"), fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
    ASSERT_TRUE(write_files(at("."), {{"file", "new"}}));
    EXPECT_EQ(fs::status(at("file")).permissions(),
              fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
}

} // namespace
