// The commands behind vgpu_ask.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpufacade/core_names.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpusim/outputs/run_files.hpp"

namespace vgpufacade {

inline constexpr int code_done = 0;
inline constexpr int code_failed = 1;
inline constexpr int code_bad_input = 2;
inline constexpr int code_stopped = 3;

struct reply_texts {
    int code = code_done;
    std::string errors;
    std::string text;
    std::string json;
    vgpusim::named_texts files;

    /// A line as the command line prints it on standard error.
    void add_line(const std::string& sentence) { errors += "vgpusim: " + sentence + "\n"; }
    void fail(const error& failure) {
        code = failure.code == error_code::stopped ? code_stopped : code_bad_input;
        add_line(failure.message());
    }
};

using named_options = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] reply_texts answer_to(std::string_view command, const named_options& options,
                                    const vgpuformats::input_source& source, const std::function<bool()>& stop);

} // namespace vgpufacade
