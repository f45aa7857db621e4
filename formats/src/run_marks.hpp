// What tells the files of a run that is at work from those that a killed one has left.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "vgpualloc/core/expected.hpp"
#include "vgpuformats/posix_io.hpp"

namespace vgpuformats {

/// Names of files are drawn, because neither the id of a process nor the time is one of its own: two containers have
/// the same ids. ".vgpusim-<drawn>.run" is the mark of a run in a folder: the run holds a lock on it, which the system
/// drops when the run ends in whatever way. All else that it puts there for a while is called
/// ".vgpusim-<drawn>.<rest>".
class run_marks {
public:
    run_marks() = default;
    run_marks(const run_marks&) = delete;
    run_marks& operator=(const run_marks&) = delete;
    /// Removes the marks. Whatever has a name of them has to be gone by then.
    ~run_marks();

    /// A path in `folder` that nobody else uses; puts a mark there before the first. Error: errno.
    [[nodiscard]] tl::expected<std::string, int> path_in(const std::string& folder, std::string_view suffix);
    /// The path of the run's journal in `folder`.
    [[nodiscard]] tl::expected<std::string, int> journal_in(const std::string& folder);

private:
    struct mark {
        std::string folder;
        std::string begin; // of the paths of all its files, with the '.'
        posix::unique_fd locked;
    };
    [[nodiscard]] tl::expected<const mark*, int> mark_in(const std::string& folder);

    std::vector<mark> marks_;
    std::size_t paths_ = 0;
};

/// Which file takes the place of which.
struct replacement {
    std::string temporary;
    std::string target;
};

/// The text of a journal in `folder`. Paths in the folder are written without it: containers have it at other places.
[[nodiscard]] std::string journal_text(const std::string& folder, const std::vector<replacement>& replacements);

/// Completes what killed runs of this user have begun to replace by a journal in `folder`, and removes what they have
/// left there and beside those targets.
void take_up_runs(const std::string& folder);

} // namespace vgpuformats
