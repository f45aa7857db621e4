// What runs leave that are interrupted or killed while they replace files.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files_in_folder.hpp"
#include "vgpuformats/files.hpp"

namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using vga_test::content_of;
using vgpuformats::output_file;
using vgpuformats::write_files;
using replacements = vga_test::files_in_folder;

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

TEST_F(replacements, an_interrupt_leaves_all_files_of_one_run) {
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

TEST_F(replacements, a_replacement_that_was_killed_is_completed_by_the_next_run) {
    // There from the start: on a loaded machine a process may be killed before it has written anything.
    ASSERT_TRUE(
        write_files(at("out"), {{"1", "x"}, {"2", "x"}, {"3", "x"}, {"4", "x"}, {"sub/5", "x"}, {"sub/6", "x"}}));
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

TEST_F(replacements, what_others_write_now_is_not_swept) {
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

TEST_F(replacements, a_folder_that_moved_is_completed_as_well) { // a container has it at another place
    fs::create_directory(at("out"));
    killed_run{}.leave_in(at("out"));
    fs::rename(at("out"), at("moved"));
    ASSERT_TRUE(write_files(at("moved"), {{"file", "x"}}));
    EXPECT_THAT(present(), ElementsAre("moved", "moved/1", "moved/2", "moved/file"));
}

TEST_F(replacements, a_run_that_is_killed_while_another_writes_does_not_come_back_later) {
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

TEST_F(replacements, what_only_looks_like_a_left_file_stays) {
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

TEST_F(replacements, a_signal_while_files_are_written_leaves_nothing) {
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

TEST_F(replacements, a_signal_ends_the_wait_for_a_pipe) {
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

TEST_F(replacements, a_signal_that_is_ignored_ends_nothing) {
    const auto former = std::signal(SIGHUP, SIG_IGN); // as nohup does
    const auto some = [pieces = 0](std::string& piece) mutable {
        piece = "piece";
        ::raise(SIGHUP);
        return ++pieces < 10;
    };
    EXPECT_TRUE(write_files(at("."), {{"1", {}, some}}));
    std::signal(SIGHUP, former);
}

TEST_F(replacements, runs_that_replace_the_same_files_at_once_leave_those_of_one) {
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
