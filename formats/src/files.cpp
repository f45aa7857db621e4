#include "vgpuformats/files.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix_io.hpp"
#include "vgpuformats/input.hpp"

namespace vgpuformats {

namespace {

/// Nothing that the user wrote is wrong; with room, or another disk, the same command would have done.
[[nodiscard]] bool is_of_system(int error_number) noexcept {
    constexpr std::array of_system{ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOMEM};
    return std::ranges::find(of_system, error_number) != of_system.end();
}

[[nodiscard]] tl::unexpected<write_failure> failure(const std::string& path, std::string_view action,
                                                    int error_number) {
    return tl::unexpected(write_failure{posix::io_failure(path, action, error_number), is_of_system(error_number)});
}

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

    [[nodiscard]] tl::expected<void, write_failure> write(std::string_view content) {
        struct stat found{};
        if (::stat(target_.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
            return failure(target_, "write", EISDIR);
        }
        posix::unique_fd file;
        do { // a name can be taken only by the leftovers of a killed process with the same id
            temporary_ = temporary_name(target_, ".tmp");
            file = posix::open_file(temporary_, O_WRONLY | O_CREAT | O_EXCL);
        } while (!file && errno == EEXIST);
        if (!file) {
            const int why = errno;
            temporary_.clear();
            return failure(target_, "write", why);
        }
        int why = posix::write_all(file.get(), content);
        if (const int closing = file.close(); why == 0) why = closing;
        if (why != 0) return failure(target_, "write", why);
        return {};
    }

    /// Puts the new file in place and keeps the old one, if any, under another name until finish().
    [[nodiscard]] tl::expected<void, write_failure> swap_in() {
        if (exists(target_)) {
            std::string backup = temporary_name(target_, ".old");
            // A second link leaves no moment without a file; where links are not supported, moving has to do.
            if (::link(target_.c_str(), backup.c_str()) != 0 && ::rename(target_.c_str(), backup.c_str()) != 0) {
                return failure(target_, "replace", errno);
            }
            backup_ = std::move(backup);
        }
        if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
            return failure(target_, "write", errno);
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
    return posix::read_path(path, std::numeric_limits<std::size_t>::max());
}

vgpualloc::expected<void> keep_inputs(const std::string& folder, const std::vector<std::string>& names,
                                      const std::vector<std::string>& inputs) {
    for (const std::string& name : names) {
        const std::filesystem::path output = std::filesystem::path{folder} / name;
        for (const std::string& input : inputs) {
            if (input == standard_input) continue; // and not a file of this name
            std::error_code absent;                // an output that does not exist yet is no input
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

tl::expected<void, write_failure> write_files(const std::string& folder, const std::vector<output_file>& files) {
    if (folder.empty()) {
        return tl::unexpected(write_failure{
            {vgpualloc::error_code::missing, {}, "out", {}, "missing; expected the path of a folder to write to"}});
    }
    posix::created_folders folders; // declared first: emptied of our files before it goes away
    std::vector<staged_file> staged;
    staged.reserve(files.size());

    const auto not_created = [&folders](const vgpualloc::error& problem) {
        return tl::unexpected(write_failure{problem, is_of_system(folders.error_number())});
    };
    if (const auto created = folders.create(folder); !created) return not_created(created.error());
    for (const output_file& file : files) {
        const std::string target = folder + "/" + file.name;
        if (file.name.find('/') != std::string::npos) {
            const auto created = folders.create(target.substr(0, target.rfind('/')));
            if (!created) return not_created(created.error());
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

tl::expected<void, write_failure> remove_files(const std::string& folder, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        const std::string path = folder + "/" + name;
        if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failure(path, "remove", errno);
        // rmdir refuses what is not empty.
        for (std::size_t slash = name.rfind('/'); slash != std::string::npos && slash > 0;
             slash = name.rfind('/', slash - 1)) {
            if (::rmdir((folder + "/" + name.substr(0, slash)).c_str()) != 0) break;
        }
    }
    return {};
}

} // namespace vgpuformats
