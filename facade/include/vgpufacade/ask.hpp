// Commands with options and inputs by name, and their answers as texts: what vgpu_ask is in C++.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/policy/parse.hpp"
#include "vgpufacade/core_names.hpp"
#include "vgpufacade/simulate.hpp"
#include "vgpuformats/input_source.hpp"
#include "vgpusim/outputs/run_files.hpp"

namespace vgpufacade {

inline constexpr int code_done = 0;
inline constexpr int code_failed = 1;
inline constexpr int code_bad_input = 2;
inline constexpr int code_stopped = 3;

/// An answer as vgpusim prints and writes it.
struct reply_texts {
    int code = code_done;        ///< the command line's exit code, or code_stopped
    std::vector<error> failures; ///< why there is no answer, or none to a part of the question
    std::string errors;          ///< these and warnings, as lines
    std::string text;
    std::string json;
    vgpusim::named_texts files;

    /// A line as the command line prints it on standard error.
    void add_line(const std::string& sentence) { errors += "vgpusim: " + sentence + "\n"; }
    void fail(const error& failure) {
        code = failure.code == error_code::stopped ? code_stopped : code_bad_input;
        failures.push_back(failure);
        add_line(failure.message());
    }
};

/// Answers a command of ask.h, whose options are listed there. `make_policies` brings the policies of explain and
/// whatif, which their options then only call by a name; empty: the names hold.
[[nodiscard]] reply_texts answer_to(std::string_view command, const named_options& options,
                                    const vgpuformats::input_source& source, const std::function<bool()>& stop,
                                    const vgpualloc::policies_maker& make_policies = {});

} // namespace vgpufacade
