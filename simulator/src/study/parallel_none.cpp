// For systems without threads: the pieces one after another.
#include "vgpusim/study/parallel.hpp"

namespace vgpusim {

struct turn::holder {};

turn::turn() = default;
turn::~turn() = default;
void turn::lock() {}
void turn::unlock() noexcept {}

std::size_t hardware_jobs() noexcept { return 1; }

expected<void> for_each_parallel(std::size_t count, std::size_t, const std::function<expected<void>(std::size_t)>& work,
                                 const std::function<void(std::size_t)>& tell) {
    for (std::size_t piece = 0; piece < count; ++piece) {
        auto result = work(piece);
        if (tell) tell(piece + 1);
        if (!result) return result;
    }
    return {};
}

} // namespace vgpusim
