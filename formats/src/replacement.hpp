// Files on their way to their names: written beside them, swapped in together, and taken up again where a run before
// was killed meanwhile.
#pragma once

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "posix_io.hpp"
#include "vgpuformats/files.hpp"

namespace vgpuformats {

[[nodiscard]] tl::unexpected<write_failure> failed_to(std::string_view action, const std::string& path,
                                                      int error_number);

/// One output. A regular file is written beside its name and swapped in; what a link names is written and the link
/// stays; pipes and character devices get the content as it is.
class staged_file {
public:
    explicit staged_file(std::string target) : target_{std::move(target)} {}
    staged_file(staged_file&& other) noexcept;
    staged_file& operator=(staged_file&&) = delete;
    staged_file(const staged_file&) = delete;
    staged_file& operator=(const staged_file&) = delete;
    /// What was not finished is as before.
    ~staged_file();

    /// `file`, whose name does not count here, must outlive this where the target is no regular file. Error: a folder,
    /// a socket, a block device; what the system says.
    [[nodiscard]] tl::expected<void, write_failure> write(const output_file& file);
    /// Puts the new file in place and keeps the old one, if any, under another name until finish(). Nothing for what is
    /// no regular file.
    [[nodiscard]] tl::expected<void, write_failure> swap_in();
    /// Writes into a pipe or a device, which cannot be undone; nothing for regular files.
    [[nodiscard]] tl::expected<void, write_failure> write_through();
    void finish() noexcept;

    /// Empty for what is no regular file.
    [[nodiscard]] const std::string& temporary() const noexcept { return temporary_; }
    [[nodiscard]] const std::string& target() const noexcept { return target_; }

private:
    [[nodiscard]] tl::expected<void, write_failure> find_target();
    [[nodiscard]] tl::expected<void, write_failure> take_descriptor(const std::string& named);

    std::string target_;                   // where links lead
    std::string temporary_;                // exists while not empty
    std::string backup_;                   // exists while not empty
    const output_file* content_ = nullptr; // of what is no regular file
    posix::unique_fd descriptor_;          // of what is open in this program already
    bool is_stream_ = false;
    bool appeared_ = false; // the target is new and not yet final
};

/// Holds the folder against other runs that replace files in it, and signals that would end this one in between.
class replacement_guard {
public:
    explicit replacement_guard(const std::string& folder);
    replacement_guard(const replacement_guard&) = delete;
    replacement_guard& operator=(const replacement_guard&) = delete;
    ~replacement_guard();

private:
    posix::unique_fd folder_; // locked; by the system when no program is at it any more
    sigset_t before_{};
};

/// Says, before the first of several files is swapped in, which ones are: a run that is killed then is completed by the
/// next one that writes into the folder.
class replacement_journal {
public:
    replacement_journal() = default;
    replacement_journal(const replacement_journal&) = delete;
    replacement_journal& operator=(const replacement_journal&) = delete;
    ~replacement_journal();

    [[nodiscard]] tl::expected<void, write_failure> write(const std::string& folder,
                                                          const std::vector<staged_file>& files);

private:
    std::string path_; // exists while not empty
};

/// Completes the replacements of killed runs in `folder`, and removes what they left beside these targets.
void take_up_replacements(const std::string& folder, const std::vector<output_file>& files);

} // namespace vgpuformats
