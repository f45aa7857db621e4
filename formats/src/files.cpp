#include "vgpuformats/files.hpp"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix_io.hpp"

namespace vgpuformats {

namespace {

using posix::io_failure;

/// Names that no other process and no other thread of this one uses.
[[nodiscard]] std::string temporary_name(const std::string& target, std::string_view suffix) {
    static std::atomic<unsigned> counter{0};
    const std::size_t base = target.rfind('/') + 1; // npos + 1 is 0
    return target.substr(0, base) + "." + target.substr(base) + "." + std::to_string(::getpid()) + "-" +
           std::to_string(counter.fetch_add(1)) + std::string{suffix};
}

[[nodiscard]] bool exists(const std::string& path) noexcept {
    struct stat found{};
    return ::lstat(path.c_str(), &found) == 0;
}

/// One file on its way to its name: written beside it, swapped in, and swapped out again if a later file fails.
class staged_file {
public:
    explicit staged_file(std::string target) : target_{std::move(target)} {}
    staged_file(staged_file&&) = default;
    staged_file& operator=(staged_file&&) = delete;
    staged_file(const staged_file&) = delete;
    staged_file& operator=(const staged_file&) = delete;

    ~staged_file() {
        if (!temporary_.empty()) ::unlink(temporary_.c_str());
        if (appeared_) ::unlink(target_.c_str());
        if (!backup_.empty() && ::rename(backup_.c_str(), target_.c_str()) == 0) {
            ::unlink(backup_.c_str()); // renaming one of two links to the same file does nothing and leaves both
        }
    }

    [[nodiscard]] vgpualloc::expected<void> write(std::string_view content) {
        struct stat found{};
        if (::stat(target_.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
            return vgpualloc::unexpected(io_failure(target_, "write", EISDIR));
        }
        posix::unique_fd file;
        do { // a name can be taken only by the leftovers of a killed process with the same id
            temporary_ = temporary_name(target_, ".tmp");
            file = posix::open_file(temporary_, O_WRONLY | O_CREAT | O_EXCL);
        } while (!file && errno == EEXIST);
        if (!file) {
            const int why = errno;
            temporary_.clear();
            return vgpualloc::unexpected(io_failure(target_, "write", why));
        }
        int why = posix::write_all(file.get(), content);
        if (const int closing = file.close(); why == 0) why = closing;
        if (why != 0) return vgpualloc::unexpected(io_failure(target_, "write", why));
        return {};
    }

    /// Puts the new file in place and keeps the old one, if any, under another name until finish().
    [[nodiscard]] vgpualloc::expected<void> swap_in() {
        if (exists(target_)) {
            std::string backup = temporary_name(target_, ".old");
            // A second link leaves no moment without a file; where links are not supported, moving has to do.
            if (::link(target_.c_str(), backup.c_str()) != 0 && ::rename(target_.c_str(), backup.c_str()) != 0) {
                return vgpualloc::unexpected(io_failure(target_, "replace", errno));
            }
            backup_ = std::move(backup);
        }
        if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
            return vgpualloc::unexpected(io_failure(target_, "write", errno));
        }
        temporary_.clear();
        appeared_ = backup_.empty();
        return {};
    }

    void finish() noexcept {
        if (!backup_.empty()) ::unlink(backup_.c_str());
        backup_.clear();
        appeared_ = false;
    }

private:
    std::string target_;
    std::string temporary_; // exists while not empty
    std::string backup_;    // exists while not empty
    bool appeared_ = false; // the target is new and not yet final
};

} // namespace

vgpualloc::expected<std::string> read_file(const std::string& path) {
    const posix::unique_fd file = posix::open_file(path, O_RDONLY);
    if (!file) return vgpualloc::unexpected(io_failure(path, "open", errno));
    struct stat found{};
    if (::fstat(file.get(), &found) != 0) return vgpualloc::unexpected(io_failure(path, "read", errno));
    if (S_ISDIR(found.st_mode)) return vgpualloc::unexpected(io_failure(path, "read", EISDIR));
    if (S_ISCHR(found.st_mode)) return vgpualloc::unexpected(io_failure(path, "read", ENODEV)); // some never end

    // The size is a hint: pipes and /proc have none. One byte more than it, so that the end shows without growing.
    constexpr std::size_t step_bytes = 65536;
    std::string content;
    content.resize(found.st_size > 0 ? static_cast<std::size_t>(found.st_size) + 1 : step_bytes);
    std::size_t filled = 0;
    while (true) {
        if (filled == content.size()) content.resize(content.size() * 2);
        const ssize_t got = posix::read_some(file.get(), content.data() + filled, content.size() - filled);
        if (got < 0) return vgpualloc::unexpected(io_failure(path, "read", errno));
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    content.resize(filled);
    return content;
}

vgpualloc::expected<void> keep_inputs(const std::string& folder, const std::vector<std::string>& names,
                                      const std::vector<std::string>& inputs) {
    for (const std::string& name : names) {
        const std::filesystem::path output = std::filesystem::path{folder} / name;
        for (const std::string& input : inputs) {
            std::error_code absent; // an output that does not exist yet is no input
            if (!std::filesystem::equivalent(output, input, absent)) continue;
            return vgpualloc::unexpected(vgpualloc::error{.code = vgpualloc::error_code::unsupported,
                                                          .where = "",
                                                          .field = "out",
                                                          .value = folder,
                                                          .expected = "a folder whose " + name + " is not an input"});
        }
    }
    return {};
}

vgpualloc::expected<void> write_files(const std::string& folder, const std::vector<output_file>& files) {
    using vgpualloc::error_code;
    if (folder.empty()) {
        return vgpualloc::unexpected(
            vgpualloc::error{error_code::missing, {}, "out", {}, "needed: the path of a folder to write to"});
    }
    posix::created_folders folders; // declared first: emptied of our files before it goes away
    std::vector<staged_file> staged;
    staged.reserve(files.size());

    if (auto created = folders.create(folder); !created) return created;
    for (const output_file& file : files) {
        const std::string target = folder + "/" + file.name;
        if (file.name.find('/') != std::string::npos) {
            if (auto created = folders.create(target.substr(0, target.rfind('/'))); !created) return created;
        }
        if (auto written = staged.emplace_back(target).write(file.content); !written) return written;
    }
    for (staged_file& file : staged) {
        if (auto swapped = file.swap_in(); !swapped) return swapped;
    }
    for (staged_file& file : staged) file.finish();
    folders.keep();
    return {};
}

} // namespace vgpuformats
