// The state file: read when it has changed, rewritten at once under a lock, with a log of what changed it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "machine.hpp"

namespace fake_nvml {

/// Tells one version of a file from another.
struct file_stamp {
    std::uint64_t inode = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    std::int64_t bytes = -1;

    bool operator==(const file_stamp&) const = default;
};

/// One state file. Not for several threads at once.
class store {
public:
    explicit store(std::string path) : path_{std::move(path)} {}

    /// The machine as the file has it now. Errors: the file cannot be read.
    [[nodiscard]] vgpualloc::expected<std::shared_ptr<const machine>, std::string> current();

    /// Changes the machine while no other program does. `change` answers the line of the log and whether the machine is
    /// to be written. Errors: the file cannot be read or written; then nothing has changed.
    struct outcome {
        std::string line = {};
        bool write = false;
    };
    [[nodiscard]] vgpualloc::expected<void, std::string> change(const std::function<outcome(machine&)>& change);

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
    file_stamp stamp_;
    std::shared_ptr<const machine> machine_;
};

} // namespace fake_nvml
