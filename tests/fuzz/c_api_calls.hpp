// How often the target of the C interface has called it.
#pragma once

#include <cstdint>

namespace fuzzing {

extern std::uint64_t calls_of_c_api;

} // namespace fuzzing
