// Spawning and measuring.
#include "child.hpp"

#include <chrono>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vgpubench {

namespace {

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

} // namespace

child_use run_child(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const auto begin = std::chrono::steady_clock::now();
    pid_t child = -1;
    const int failed = posix_spawn(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return {};
    int status = 0;
    rusage use{};
    if (wait4(child, &status, 0, &use) != child) return {};
    const auto end = std::chrono::steady_clock::now();
    return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .wall_s = std::chrono::duration<double>(end - begin).count(),
            .cpu_s = seconds(use.ru_utime) + seconds(use.ru_stime),
            .rss_mib = static_cast<double>(use.ru_maxrss) / 1024.0};
}

} // namespace vgpubench
