// For systems whose files are in memory, as a page has them: nothing interrupts a program there, no other one writes,
// and no disk is full, so that a file is written in its place.
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

#include "paths.hpp"
#include "write_failures.hpp"

namespace vgpuformats {

namespace {

/// 0 or errno.
int write_content(int fd, const output_file& file) {
    if (!file.pieces) return posix::write_all(fd, file.content);
    std::string piece;
    while (file.pieces(piece)) {
        if (const int why = posix::write_all(fd, piece); why != 0) return why;
    }
    return 0;
}

} // namespace

tl::expected<void, write_failure> write_files(const std::string& folder, const std::vector<output_file>& files) {
    if (auto named = check_folder_name(folder); !named) return named;
    posix::created_folders folders;
    if (auto created = create_folder(folders, folder); !created) return created;
    for (const output_file& file : files) {
        const std::string target = folder + "/" + file.name;
        if (auto created = create_folder(folders, folder_of(target)); !created) return created;
        struct stat place{};
        if (::stat(target.c_str(), &place) == 0 && S_ISDIR(place.st_mode)) return failed_to("write", target, EISDIR);
    }
    for (const output_file& file : files) {
        const std::string target = folder + "/" + file.name;
        posix::unique_fd stream = posix::open_file(target, O_WRONLY | O_CREAT | O_TRUNC);
        if (!stream) return failed_to("write", target, errno);
        int why = write_content(stream.get(), file);
        if (const int closing = stream.close(); why == 0) why = closing;
        if (why != 0) return failed_to("write", target, why);
    }
    folders.keep();
    return {};
}

} // namespace vgpuformats
