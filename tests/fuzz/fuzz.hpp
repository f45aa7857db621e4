// What fuzz targets share. A target is one function, fuzz(), called with every input; it ends the process where
// something that has to hold does not, which libFuzzer reports with the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "vgpualloc/core/error.hpp"
#include "vgpuformats/document.hpp"
#include "vgpuformats/json.hpp"

namespace fuzzing {

/// Defined by every target.
void fuzz(std::string_view input);

/// Ends the process unless `holds`. `sentence` says what has to hold.
inline void require(bool holds, const char* sentence) {
    if (holds) return;
    std::fprintf(stderr, "fuzz: does not hold: %s\n", sentence);
    std::abort();
}

/// An error that users may see: it says what is wrong, in one line that changes no terminal.
inline void require_readable(const vgpualloc::error& failure) {
    const std::string message = failure.message();
    require(!message.empty() && !failure.reason().empty(), "an error says what was expected");
    for (const char letter : message) {
        const auto byte = static_cast<unsigned char>(letter);
        require(byte >= 0x20 && byte != 0x7f, "an error has no control characters");
    }
}

/// JSON that the project prints is JSON, and says the same again.
inline void require_json(const std::string& printed) {
    const auto read = vgpuformats::parse_json(printed, "printed");
    require(read.has_value(), "what is printed as JSON can be read");
    const auto again = vgpuformats::parse_json(vgpuformats::print_json(*read), "printed again");
    require(again.has_value() && *again == *read, "JSON says the same when it is printed again");
}

/// Draws values from an input, byte by byte; 0 where the input has ended, so that every input has a meaning.
class byte_reader {
public:
    explicit byte_reader(std::string_view input) : rest_{input} {}

    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
    [[nodiscard]] std::uint8_t byte() {
        if (rest_.empty()) return 0;
        const auto next = static_cast<std::uint8_t>(rest_.front());
        rest_.remove_prefix(1);
        return next;
    }
    [[nodiscard]] std::uint32_t word(int bytes) {
        std::uint32_t value = 0;
        for (int i = 0; i < bytes; ++i) value = value << 8U | byte();
        return value;
    }
    /// In [0, count); `count` at most 256.
    [[nodiscard]] std::size_t below(std::size_t count) { return byte() % count; }
    [[nodiscard]] bool chance(std::size_t one_in) { return below(one_in) == 1; } // 0, the end of the input, is no
    template <class Value>
    [[nodiscard]] Value one_of(const std::vector<Value>& values) {
        return values[below(values.size())];
    }

private:
    std::string_view rest_;
};

/// A file in memory with this content, for readers that take a path.
class memory_file {
public:
    explicit memory_file(std::string_view content)
        : descriptor_{memfd_create("fuzz", 0)}, path_{"/proc/self/fd/" + std::to_string(descriptor_)} {
        require(descriptor_ >= 0, "a file in memory can be made");
        const auto written = write(descriptor_, content.data(), content.size());
        require(written == static_cast<ssize_t>(content.size()), "a file in memory can be written");
    }
    ~memory_file() { close(descriptor_); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    int descriptor_;
    std::string path_;
};

} // namespace fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzzing::fuzz({reinterpret_cast<const char*>(data), size});
    return 0;
}
