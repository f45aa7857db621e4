#include <algorithm>

#include <zlib.h>

#include "gunzip.hpp"
#include "vgpualloc/core/config.hpp"

namespace vgpuformats::detail {
namespace {

using vgpualloc::error;
using vgpualloc::error_code;
using vgpualloc::unexpected;

/// zlib's state for one text of one or more gzip streams.
class inflater {
public:
    inflater(std::string_view bytes, const std::string& name, const input_options& options)
        : rest_{bytes}, name_{&name}, bytes_max_{options.bytes_max}, stop_{options.stop} {
        constexpr int gzip_and_largest_window = 16 + MAX_WBITS;
        VGA_ASSERT(inflateInit2(&state_, gzip_and_largest_window) == Z_OK, "zlib has memory for one stream");
    }
    ~inflater() { inflateEnd(&state_); }
    inflater(const inflater&) = delete;
    inflater& operator=(const inflater&) = delete;
    inflater(inflater&&) = delete;
    inflater& operator=(inflater&&) = delete;

    [[nodiscard]] vgpualloc::expected<std::string> all() {
        // Text becomes a fifth to a tenth of its size; a first guess that is too small doubles.
        constexpr std::size_t usual_ratio = 6;
        constexpr std::size_t least_bytes = 65536;
        text_.resize(std::min(bytes_max_ + 1, std::max(least_bytes, rest_.size() * usual_ratio)));
        while (!rest_.empty()) {
            // Tapes and some object stores fill up their last block; gzip -d passes the zeros by, too.
            if (filled_ > 0 && rest_.find_first_not_of('\0') == std::string_view::npos) break;
            if (!is_gzip(rest_)) return unexpected(failure("the end of the file after the gzip stream"));
            if (auto inflated = one_stream(); !inflated) return unexpected(inflated.error());
            inflateReset(&state_);
        }
        text_.resize(filled_);
        return std::move(text_);
    }

private:
    [[nodiscard]] vgpualloc::expected<void> one_stream() {
        while (true) {
            if (stop_.raised()) return unexpected(vgpualloc::stop_signal::stopped());
            if (filled_ == text_.size()) {
                if (filled_ > bytes_max_) return unexpected(too_large(*name_, bytes_max_, true));
                text_.resize(std::min(bytes_max_ + 1, text_.size() * 2));
            }
            const int result = step();
            if (result == Z_STREAM_END) break;
            if (result == Z_BUF_ERROR || (result == Z_OK && rest_.empty() && filled_ < text_.size())) {
                return unexpected(failure("a whole gzip stream: this one is cut off"));
            }
            if (result != Z_OK) {
                const std::string what = state_.msg == nullptr ? "" : std::string{" ("} + state_.msg + ")";
                return unexpected(failure("a sound gzip stream: this one is damaged" + what));
            }
        }
        if (filled_ > bytes_max_) return unexpected(too_large(*name_, bytes_max_, true));
        return {};
    }

    /// One call of zlib, whose numbers have 32 bits, for what takes no more than milliseconds.
    int step() {
        constexpr std::size_t offered_max = std::size_t{1} << 16U;
        constexpr std::size_t room_max = std::size_t{1} << 30U;
        const std::size_t offered = std::min(rest_.size(), offered_max);
        const std::size_t room = std::min(text_.size() - filled_, room_max);
        // zlib's interface: it reads only.
        state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
        state_.avail_in = static_cast<uInt>(offered);
        state_.next_out = reinterpret_cast<Bytef*>(text_.data() + filled_);
        state_.avail_out = static_cast<uInt>(room);
        const int result = inflate(&state_, Z_NO_FLUSH);
        rest_.remove_prefix(offered - state_.avail_in);
        filled_ += room - state_.avail_out;
        return result;
    }

    [[nodiscard]] error failure(std::string expected) const {
        return bad_input(error_code::malformed, "", "gzip: expected " + std::move(expected)).at(*name_);
    }

    z_stream state_{};
    std::string_view rest_; ///< what zlib has not taken yet
    const std::string* name_;
    std::size_t bytes_max_;
    vgpualloc::stop_signal stop_;
    std::string text_; ///< with room for more
    std::size_t filled_ = 0;
};

} // namespace

vgpualloc::expected<std::string> gunzip(std::string_view bytes, const std::string& name, const input_options& options) {
    return inflater{bytes, name, options}.all();
}

} // namespace vgpuformats::detail
