// HiGHS as a library that is loaded while the program runs.
#include <string>
#include <utility>

#include <dlfcn.h>

#include "highs_functions.hpp"
#include "vgpualloc/solver/highs.hpp"

namespace vgpualloc::solver {

namespace {

error not_loaded(const std::string& library, std::string expected) {
    return bad_value(error_code::unsupported, "HiGHS", library, std::move(expected));
}

} // namespace

expected<std::unique_ptr<plan::lp_solver>> load_highs(const std::string& library, const stop_signal& stop) {
    // Its names are kept from other libraries, which may bring a HiGHS of their own. It stays loaded: solvers are in
    // use.
    void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) return unexpected(not_loaded(library, std::string{"a library that loads: "} + ::dlerror()));
    highs_functions functions;
    const char* absent = nullptr;
#define VGA_HIGHS_FIND(result, name, parameters)                                                                       \
    functions.name = reinterpret_cast<decltype(functions.name)>(::dlsym(loaded, "Highs_" #name)); /* NOLINT: dlsym */  \
    if (functions.name == nullptr) absent = "Highs_" #name;
    VGA_HIGHS_FUNCTIONS(VGA_HIGHS_FIND)
#undef VGA_HIGHS_FIND
    if (absent != nullptr) return unexpected(not_loaded(library, std::string{"a HiGHS with the function "} + absent));
    void* const instance = functions.create();
    const auto width = functions.getSizeofHighsInt(instance);
    functions.destroy(instance);
    if (width != sizeof(HighsInt)) return unexpected(not_loaded(library, "a HiGHS with integers of 32 bits"));
    return make_highs(functions, stop);
}

} // namespace vgpualloc::solver
