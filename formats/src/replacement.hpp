// Files on their way to their names: written beside them, and swapped in together.
#pragma once

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "held_signals.hpp"
#include "run_marks.hpp"
#include "vgpuformats/files.hpp"
#include "vgpuformats/posix_io.hpp"
#include "write_failures.hpp"

namespace vgpuformats {

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

    /// Where the file goes. Error: a folder, a socket, a block device; what the system says.
    [[nodiscard]] tl::expected<void, write_failure> find_target();
    [[nodiscard]] bool is_stream() const noexcept { return is_stream_; }
    /// Writes beside the target; nothing for what is no regular file.
    [[nodiscard]] tl::expected<void, write_failure> write(const output_file& content, run_marks& marks,
                                                          const held_signals& signals);
    /// Writes into a pipe or a device, which cannot be undone; nothing for regular files.
    [[nodiscard]] tl::expected<void, write_failure> write_through(const output_file& content,
                                                                  const held_signals& signals);
    /// Keeps the old file, if any, under another name until finish(); without this swap_in() replaces it for good.
    [[nodiscard]] tl::expected<void, write_failure> keep_old(run_marks& marks);
    /// Puts the new file in place; nothing for what is no regular file.
    [[nodiscard]] tl::expected<void, write_failure> swap_in();
    void finish() noexcept;

    /// Empty for what is no regular file.
    [[nodiscard]] const std::string& temporary() const noexcept { return temporary_; }
    [[nodiscard]] const std::string& target() const noexcept { return target_; }

private:
    [[nodiscard]] tl::expected<void, write_failure> take_descriptor(const std::string& named);

    std::string target_;          // where links lead
    std::string temporary_;       // exists while not empty
    std::string backup_;          // exists while not empty
    posix::unique_fd descriptor_; // of what is open in this program already
    bool is_stream_ = false;
    bool appeared_ = false; // the target is new and not yet final
};

/// Holds the folder against other runs that replace files in it, and the signal that would stop this one in between.
class replacement_guard {
public:
    replacement_guard(const std::string& folder, const held_signals& signals);
    replacement_guard(const replacement_guard&) = delete;
    replacement_guard& operator=(const replacement_guard&) = delete;
    ~replacement_guard();

    /// Whether a signal came while another run had the folder.
    [[nodiscard]] bool is_interrupted() const noexcept { return is_interrupted_; }

private:
    posix::unique_fd folder_; // locked; by the system when no program is at it any more
    sigset_t before_{};
    bool is_interrupted_ = false;
};

/// Says, before the first of several files is swapped in, which ones are: a run that is killed then is completed by the
/// next one that writes into the folder.
class replacement_journal {
public:
    replacement_journal() = default;
    replacement_journal(const replacement_journal&) = delete;
    replacement_journal& operator=(const replacement_journal&) = delete;
    ~replacement_journal();

    [[nodiscard]] tl::expected<void, write_failure>
    write(const std::string& folder, const std::vector<replacement>& replacements, run_marks& marks);

private:
    std::string path_; // exists while not empty
};

} // namespace vgpuformats
