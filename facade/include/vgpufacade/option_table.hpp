// The options of a simulation as data.
#pragma once

#include <string>

namespace vgpufacade {

/// A line for each option: name, type, default, values, help.
[[nodiscard]] std::string option_table_text();
/// A list of objects: name, type, values, default, help, flag.
[[nodiscard]] std::string option_table_json();

} // namespace vgpufacade
