// The one function of the module: the command line with the arguments, files and streams that JavaScript has put behind
// the interface of WASI (web/module.js).
#include <vector>

#include <wasi/api.h>

#include "vgpucli/command_line.hpp"

/// The exit code. An instance may be asked any number of times.
extern "C" __attribute__((export_name("answer"))) int answer() {
    __wasi_size_t count = 0;
    __wasi_size_t bytes = 0;
    if (__wasi_args_sizes_get(&count, &bytes) != __WASI_ERRNO_SUCCESS) return -1;
    std::vector<unsigned char> texts(bytes + 1);
    std::vector<unsigned char*> arguments(count + 1);
    if (__wasi_args_get(arguments.data(), texts.data()) != __WASI_ERRNO_SUCCESS) return -1;
    vgpusim::cli::keep_inputs_between_calls();
    return vgpusim::cli::run_program(static_cast<int>(count), reinterpret_cast<char**>(arguments.data()));
}
