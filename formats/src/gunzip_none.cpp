// A build without zlib.
#include "gunzip.hpp"

namespace vgpuformats::detail {

vgpualloc::expected<std::string> gunzip(std::string_view /*bytes*/, const std::string& name,
                                        const input_options& /*options*/) {
    return vgpualloc::unexpected(bad_value(vgpualloc::error_code::unsupported, "", "a gzip file",
                                           "a vgpusim built with zlib, or a file that is not compressed")
                                     .at(name));
}

} // namespace vgpuformats::detail
