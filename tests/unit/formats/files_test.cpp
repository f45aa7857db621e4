#include "vgpuformats/files.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
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

std::string content_of(const std::string& path) { return read_file(path).value(); }

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

/// A process that replaces the same six files for ever, all with one content, until a signal ends it after `wait`.
void replace_until(const std::string& folder, int signal, std::chrono::microseconds wait) {
    const pid_t child = ::fork();
    if (child == 0) {
        for (char content = 'a';; content = content == 'z' ? 'a' : static_cast<char>(content + 1)) {
            const std::string text(1000, content);
            std::vector<output_file> all;
            for (const char* name : {"1", "2", "3", "4", "sub/5", "sub/6"}) all.push_back({name, text});
            static_cast<void>(write_files(folder, all));
        }
    }
    std::this_thread::sleep_for(wait);
    ::kill(child, signal);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
}

/// The first character of each of the files.
std::string contents_in(const std::string& folder) {
    std::string contents;
    for (const char* name : {"1", "2", "3", "4", "sub/5", "sub/6"}) contents += content_of(folder + "/" + name)[0];
    return contents;
}

TEST_F(files, an_interrupt_leaves_all_files_of_one_run) {
    for (int round = 0; round < 60; ++round) {
        replace_until(at("out"), SIGINT, std::chrono::milliseconds{20} + std::chrono::microseconds{37 * round});
        const std::string contents = contents_in(at("out"));
        EXPECT_EQ(contents, std::string(6, contents[0])) << round;
    }
    ASSERT_TRUE(
        write_files(at("out"), {{"1", "x"}, {"2", "x"}, {"3", "x"}, {"4", "x"}, {"sub/5", "x"}, {"sub/6", "x"}}));
    EXPECT_THAT(present(), ElementsAre("out", "out/1", "out/2", "out/3", "out/4", "out/sub", "out/sub/5", "out/sub/6"))
        << "what killed runs left is gone";
}

TEST_F(files, a_replacement_that_was_killed_is_completed_by_the_next_run) {
    for (int round = 0; round < 60; ++round) {
        replace_until(at("out"), SIGKILL, std::chrono::milliseconds{20} + std::chrono::microseconds{37 * round});
        ASSERT_TRUE(write_files(at("out"), {{"other", "x"}}));
        const std::string contents = contents_in(at("out"));
        EXPECT_EQ(contents, std::string(6, contents[0])) << round;
    }
    ASSERT_TRUE(
        write_files(at("out"), {{"1", "x"}, {"2", "x"}, {"3", "x"}, {"4", "x"}, {"sub/5", "x"}, {"sub/6", "x"}}));
    EXPECT_THAT(present(), ElementsAre("out", "out/1", "out/2", "out/3", "out/4", "out/other", "out/sub", "out/sub/5",
                                       "out/sub/6"));
}

/// What a run leaves in a folder that is killed while it replaces one file of two.
struct killed_run {
    std::string word = "0123456789abcdef";
    std::string first = "1";
    std::string second = "2";

    void leave_in(const std::string& folder) const {
        const std::string begin = folder + "/.vgpusim-" + word;
        const std::string temporary = ".vgpusim-" + word + ".1.tmp";
        std::ofstream(begin + ".run");
        std::ofstream(folder + "/" + first) << "killed";
        std::ofstream(folder + "/" + temporary) << "killed";
        std::ofstream(begin + ".2.old") << "old";
        std::ofstream journal(begin + ".journal", std::ios::binary);
        for (const std::string& path : {".vgpusim-" + word + ".0.tmp", first, temporary, second})
            journal << path << '\0';
    }
};

TEST_F(files, what_others_write_now_is_not_swept) {
    const killed_run other{.word = "fedcba9876543210"};
    fs::create_directory(at("out"));
    other.leave_in(at("out"));
    put("out/.file.notes.tmp", "of nobody's replacement");
    const int mark = ::open(at("out/.vgpusim-fedcba9876543210.run").c_str(), O_RDWR);
    ASSERT_EQ(::flock(mark, LOCK_EX), 0); // as a run holds it that is at work, in whatever container
    ASSERT_TRUE(write_files(at("out"), {{"file", "x"}}));
    EXPECT_THAT(present(), ElementsAre("out", "out/.file.notes.tmp", "out/.vgpusim-fedcba9876543210.1.tmp",
                                       "out/.vgpusim-fedcba9876543210.2.old", "out/.vgpusim-fedcba9876543210.journal",
                                       "out/.vgpusim-fedcba9876543210.run", "out/1", "out/file"));
    ::close(mark); // it has ended
    ASSERT_TRUE(write_files(at("out"), {{"file", "x"}}));
    EXPECT_THAT(present(), ElementsAre("out", "out/.file.notes.tmp", "out/1", "out/2", "out/file"));
    EXPECT_EQ(content_of(at("out/2")), "killed") << "its replacement is completed";
}

TEST_F(files, a_folder_that_moved_is_completed_as_well) { // a container has it at another place
    fs::create_directory(at("out"));
    killed_run{}.leave_in(at("out"));
    fs::rename(at("out"), at("moved"));
    ASSERT_TRUE(write_files(at("moved"), {{"file", "x"}}));
    EXPECT_THAT(present(), ElementsAre("moved", "moved/1", "moved/2", "moved/file"));
}

TEST_F(files, a_run_that_is_killed_while_another_writes_does_not_come_back_later) {
    const auto killed_meanwhile = [this, pieces = 0](std::string& piece) mutable {
        if (pieces == 0) killed_run{}.leave_in(at("."));
        piece = "n";
        return pieces++ == 0;
    };
    ASSERT_TRUE(write_files(at("."), {{"1", {}, killed_meanwhile}, {"2", "n"}}));
    for (int run = 0; run < 2; ++run) {
        EXPECT_EQ(content_of(at("1")) + content_of(at("2")), "nn") << run;
        EXPECT_THAT(present(), testing::Not(testing::Contains(HasSubstr(".vgpusim"))));
        ASSERT_TRUE(write_files(at("."), {{"other", "x"}}));
    }
}

TEST_F(files, what_only_looks_like_a_left_file_stays) {
    ASSERT_EQ(::mkfifo(at(".vgpusim-0123456789abcdef.run").c_str(), 0600), 0);
    ASSERT_EQ(::mkfifo(at(".vgpusim-0123456789abcdef.journal").c_str(), 0600), 0);
    put(".vgpusim-0123456789abcde.run", "too short");
    put(".vgpusim-0123456789ABCDEF.run", "capitals");
    const auto before = present();
    ASSERT_TRUE(write_files(at("."), {{"x", "x"}}));
    auto after = present();
    std::erase(after, "x");
    EXPECT_EQ(after, before);
}

/// How a process ended that wrote the files; it is sent the signal after `wait`, if that is not 0.
int status_of(const std::string& folder, const std::vector<output_file>& all, int signal,
              std::chrono::milliseconds wait) {
    const pid_t child = ::fork();
    if (child == 0) {
        const auto written = write_files(folder, all);
        ::_exit(written ? 0 : 1);
    }
    if (wait.count() > 0) {
        std::this_thread::sleep_for(wait);
        ::kill(child, signal);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

TEST_F(files, a_signal_while_files_are_written_leaves_nothing) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const auto endless = [signal, pieces = 0](std::string& piece) mutable {
            piece = "piece";
            if (++pieces == 10) ::kill(::getpid(), signal);
            return true;
        };
        const int status = status_of(at("a/b"), {{"1", "x"}, {"sub/2", "x"}, {"3", {}, endless}}, signal, {});
        EXPECT_TRUE(WIFSIGNALED(status));
        EXPECT_EQ(WTERMSIG(status), signal);
        EXPECT_THAT(present(), IsEmpty());
    }
}

TEST_F(files, a_signal_ends_the_wait_for_a_pipe) {
    ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
    const std::string large(1'000'000, 'x'); // more than a pipe holds
    for (const bool has_reader : {false, true}) {
        const int reader = has_reader ? ::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK) : -1;
        const int status = status_of(at("."), {{"file", "x"}, {"pipe", large}}, SIGINT, std::chrono::milliseconds{200});
        EXPECT_TRUE(WIFSIGNALED(status));
        EXPECT_EQ(WTERMSIG(status), SIGINT);
        EXPECT_THAT(present(), testing::Not(testing::Contains(HasSubstr(".vgpusim"))));
        if (has_reader) ::close(reader);
    }
}

TEST_F(files, a_signal_that_is_ignored_ends_nothing) {
    const auto former = std::signal(SIGHUP, SIG_IGN); // as nohup does
    const auto some = [pieces = 0](std::string& piece) mutable {
        piece = "piece";
        ::raise(SIGHUP);
        return ++pieces < 10;
    };
    EXPECT_TRUE(write_files(at("."), {{"1", {}, some}}));
    std::signal(SIGHUP, former);
}

TEST_F(files, runs_that_replace_the_same_files_at_once_leave_those_of_one) {
    std::vector<std::thread> runs;
    for (const char content : {'a', 'b', 'c', 'd'}) {
        runs.emplace_back([this, content] {
            const std::string text(1000, content);
            for (int i = 0; i < 30; ++i) {
                std::vector<output_file> all;
                for (const char* name : {"1", "2", "3", "4", "sub/5", "sub/6"}) all.push_back({name, text});
                EXPECT_TRUE(write_files(at("out"), all));
            }
        });
    }
    for (std::thread& run : runs) run.join();
    const std::string contents = contents_in(at("out"));
    EXPECT_EQ(contents, std::string(6, contents[0]));
}

} // namespace
