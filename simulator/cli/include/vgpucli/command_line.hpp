// The command line as a function, for the program in a terminal and for the module of the page (web/).
#pragma once

namespace vgpusim::cli {

/// What vgpusim does with these arguments, of which the first is its own name; prints, reads and writes. Returns the
/// exit code.
[[nodiscard]] int run_program(int argc, char** argv);

} // namespace vgpusim::cli
