// Signals that end a program, held back while it has begun what is to be whole or not at all.
#pragma once

#include <csignal>
#include <string_view>

namespace vgpuformats {

/// Signals of this thread that would end the program wait until this goes, so that files that are half written can be
/// removed first. Whoever may take long looks at any_waits() and gives up.
class held_signals {
public:
    held_signals();
    held_signals(const held_signals&) = delete;
    held_signals& operator=(const held_signals&) = delete;
    ~held_signals();

    [[nodiscard]] bool any_waits() const noexcept;
    /// Sleeps: a signal that is held wakes nobody. EINTR if one waits, else 0.
    [[nodiscard]] int pause() const noexcept;
    /// Writes all of it, also where a pipe has to be waited for. 0 or errno; EINTR if a signal waits.
    [[nodiscard]] int write_all(int fd, std::string_view bytes) const noexcept;
    /// Opens a file, and of a pipe the end to write to as soon as there is a reader. -1 with errno set; EINTR if a
    /// signal waits.
    [[nodiscard]] int open_stream(const char* path) const noexcept;

private:
    sigset_t held_{};
    sigset_t before_{};
};

} // namespace vgpuformats
