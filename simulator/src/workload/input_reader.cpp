#include "vgpusim/workload/input_reader.hpp"

namespace vgpusim {

using vgpuformats::input_text;

expected<input_text> input_reader::take(const std::string& name, std::size_t bytes_max) {
    if (stop_.raised()) return unexpected(stop_signal::stopped());
    auto input = source_->read(name, {.bytes_max = bytes_max, .hashed = kept_ == records_kept::all, .stop = stop_});
    if (input && kept_ == records_kept::all) records_.push_back({.path = input->name, .sha256 = input->sha256});
    return input;
}

expected<input_text> input_reader::read(const std::string& name, std::size_t bytes_max) {
    auto input = take(name, bytes_max);
    if (input && input->table != nullptr) return unexpected(vgpuformats::columns_not_taken(name));
    return input;
}

} // namespace vgpusim
