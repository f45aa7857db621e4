#include "store.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace fake_nvml {

namespace {

[[nodiscard]] std::string failed(const std::string& what) {
    return what + ": " + std::error_code{errno, std::generic_category()}.message();
}

/// Holds <path>.lock, which tests that edit the file hold too.
class file_lock {
public:
    explicit file_lock(const std::string& path) : file_{open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)} {
        if (file_ < 0) return;
        while (flock(file_, LOCK_EX) != 0) {
            if (errno != EINTR) return;
        }
        held_ = true;
    }
    file_lock(const file_lock&) = delete;
    file_lock& operator=(const file_lock&) = delete;
    ~file_lock() {
        if (file_ >= 0) close(file_);
    }
    [[nodiscard]] bool held() const noexcept { return held_; }

private:
    int file_;
    bool held_ = false;
};

[[nodiscard]] vgpualloc::expected<nlohmann::json, std::string> read_document(const std::string& path) {
    std::ifstream file{path};
    if (!file) return vgpualloc::unexpected(failed(path));
    nlohmann::json document = nlohmann::json::parse(file, nullptr, false);
    if (!document.is_object()) return vgpualloc::unexpected(path + ": no JSON object");
    return document;
}

[[nodiscard]] vgpualloc::expected<void, std::string> write_document(const std::string& path,
                                                                    const nlohmann::json& document) {
    const std::string next = path + ".new." + std::to_string(getpid());
    {
        std::ofstream file{next, std::ios::trunc};
        file << document.dump(1) << '\n';
        file.close();
        if (!file) return vgpualloc::unexpected(failed(next));
    }
    if (std::rename(next.c_str(), path.c_str()) != 0) return vgpualloc::unexpected(failed(path));
    return {};
}

} // namespace

vgpualloc::expected<std::shared_ptr<const machine>, std::string> store::current() {
    struct stat status{};
    if (stat(path_.c_str(), &status) != 0) return vgpualloc::unexpected(failed(path_));
    const file_stamp now{status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size};
    if (machine_ != nullptr && now == stamp_) return machine_;
    const auto document = read_document(path_);
    if (!document) return vgpualloc::unexpected(document.error());
    auto host = read_machine(*document);
    if (!host) return vgpualloc::unexpected(path_ + ": " + host.error());
    machine_ = std::make_shared<const machine>(std::move(*host));
    stamp_ = now;
    return machine_;
}

vgpualloc::expected<void, std::string> store::change(const std::function<outcome(machine&)>& change) {
    const file_lock lock{path_ + ".lock"};
    if (!lock.held()) return vgpualloc::unexpected(failed(path_ + ".lock"));
    auto document = read_document(path_);
    if (!document) return vgpualloc::unexpected(document.error());
    auto host = read_machine(*document);
    if (!host) return vgpualloc::unexpected(path_ + ": " + host.error());
    const outcome done = change(*host);
    if (done.write) {
        write_changes(*host, *document);
        if (const auto written = write_document(path_, *document); !written) return written;
    }
    if (!done.line.empty()) {
        std::ofstream log{path_ + ".calls", std::ios::app};
        log << done.line + '\n';
        log.close();
        if (!log) return vgpualloc::unexpected(failed(path_ + ".calls"));
    }
    return {};
}

} // namespace fake_nvml
