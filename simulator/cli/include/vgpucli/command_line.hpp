// The command line as a function, for the program in a terminal and for the module of the page (web/).
#pragma once

namespace vgpusim::cli {

/// What vgpusim does with these arguments, of which the first is its own name; prints, reads and writes. Returns the
/// exit code.
[[nodiscard]] int run_program(int argc, char** argv);

/// From now on run_program() keeps what it makes of a cluster's files for the next call that names the same ones.
void keep_inputs_between_calls();

} // namespace vgpusim::cli
