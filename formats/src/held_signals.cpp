#include "held_signals.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vgpuformats {

namespace {

constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
constexpr int pause_ms = 5;

} // namespace

held_signals::held_signals() {
    sigemptyset(&held_);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before_);
    for (const int signal : ending_signals) {
        struct sigaction action{};
        // One that is ignored would wait as well, and end nothing. One that the caller holds is the caller's.
        const bool is_ignored = ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
        if (!is_ignored && sigismember(&before_, signal) == 0) sigaddset(&held_, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &held_, nullptr);
}

held_signals::~held_signals() {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); // what came meanwhile comes now
}

bool held_signals::any_waits() const noexcept {
    sigset_t pending{};
    if (::sigpending(&pending) != 0) return false;
    return std::ranges::any_of(ending_signals, [&](int signal) {
        return sigismember(&held_, signal) == 1 && sigismember(&pending, signal) == 1;
    });
}

int held_signals::pause() const noexcept {
    ::poll(nullptr, 0, pause_ms);
    return any_waits() ? EINTR : 0;
}

int held_signals::write_all(int fd, std::string_view bytes) const noexcept {
    struct stat found{};
    constexpr std::size_t file_step = std::size_t{1} << 20U;
    // A pipe that poll() calls ready takes so much without waiting.
    const std::size_t step = ::fstat(fd, &found) == 0 && S_ISREG(found.st_mode) ? file_step : PIPE_BUF;
    while (!bytes.empty()) {
        pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
        const int count = ::poll(&ready, 1, pause_ms);
        if (any_waits()) return EINTR;
        if (count == 0) continue;
        const ssize_t written = ::write(fd, bytes.data(), std::min(step, bytes.size()));
        if (written < 0) {
            if (errno == EINTR || errno == EAGAIN) continue;
            return errno;
        }
        // A disk that fills up takes a part first and says ENOSPC to the next call.
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

int held_signals::open_stream(const char* path) const noexcept {
    for (;;) {
        // O_APPEND: a file that is open in another program keeps what it has. O_NONBLOCK: to wait here for a reader
        // could not be interrupted.
        const int fd = ::open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0) return fd;
        int why = errno;
        struct stat found{};
        const bool lacks_reader = why == ENXIO && ::stat(path, &found) == 0 && S_ISFIFO(found.st_mode);
        if (why == EINTR || lacks_reader) why = pause();
        if (why != 0) {
            errno = why;
            return -1;
        }
    }
}

} // namespace vgpuformats
