// The reference's integer FGD score without calling exp: thresholds of the truncated sigmoid.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace vgpualloc::compat {

/// sigmoid_thresholds[k - 1] is the smallest double d with trunc(100 * (1 / (1 + exp(-d)))) >= k. Found by bisection
/// over all doubles with glibc 2.36 on x86-64 and checked to be a clean step over 2000 neighbours on either side; kept
/// as hex floats so that no machine's libm decides a placement.
inline constexpr std::array<double, 100> sigmoid_thresholds{
    -0x1.2616719161d2bp+2, -0x1.f2272ae325a57p+1, -0x1.bcf0cd474166bp+1, -0x1.96ca77c922cf8p+1, -0x1.78e360604b32cp+1,
    -0x1.60324f23a6f31p+1, -0x1.4b18a2ece7fb3p+1, -0x1.389ed3e132574p+1, -0x1.28253079db672p+1, -0x1.193ea7aad030ap+1,
    -0x1.0b9d677dddea0p+1, -0x1.fe0fe73ce8885p+0, -0x1.e6a53bbe5e6a6p+0, -0x1.d0b6d7df77dcap+0, -0x1.bc0ed0947fbe9p+0,
    -0x1.a881a29e52373p+0, -0x1.95ebab1969313p+0, -0x1.842f595c35286p+0, -0x1.7333ddeaaa5d1p+0, -0x1.62e42fefa39efp+0,
    -0x1.532e4fddf686ap+0, -0x1.4402b6211ad15p+0, -0x1.3553e218d610fp+0, -0x1.2716011df4657p+0, -0x1.193ea7aad030bp+0,
    -0x1.0bc49861276d8p+0, -0x1.fd3f2b9036cf2p-1, -0x1.e39078d49916ap-1, -0x1.ca6fc71eebdccp-1, -0x1.b1d10670aae9ap-1,
    -0x1.99a93ca5c286fp-1, -0x1.81ee60afb501ap-1, -0x1.6a973b5e9a627p-1, -0x1.539b4cb6ce55fp-1, -0x1.3cf2b50617c96p-1,
    -0x1.269621134db93p-1, -0x1.107eb8e2da1e5p-1, -0x1.f54c21463c16ap-2, -0x1.ca0c36ce6521cp-2, -0x1.9f323ecbf984fp-2,
    -0x1.74b356ffd351ep-2, -0x1.4a851baf27b6fp-2, -0x1.209d96a324508p-2, -0x1.ede65f58845bep-3, -0x1.9af93cd23440bp-3,
    -0x1.4861ba31d0a04p-3, -0x1.ec1c712297e9ep-4, -0x1.47dadcbbdba94p-4, -0x1.47b9447a9aa07p-5, -0x1.7fffffffffffep-52,
    0x1.47b9447a9a9c4p-5,  0x1.47dadcbbdba7bp-4,  0x1.ec1c712297e7cp-4,  0x1.4861ba31d09fbp-3,  0x1.9af93cd234413p-3,
    0x1.ede65f58845bbp-3,  0x1.209d96a324507p-2,  0x1.4a851baf27b6dp-2,  0x1.74b356ffd3519p-2,  0x1.9f323ecbf9849p-2,
    0x1.ca0c36ce65216p-2,  0x1.f54c21463c167p-2,  0x1.107eb8e2da1e5p-1,  0x1.269621134db90p-1,  0x1.3cf2b50617c95p-1,
    0x1.539b4cb6ce55bp-1,  0x1.6a973b5e9a624p-1,  0x1.81ee60afb5015p-1,  0x1.99a93ca5c2867p-1,  0x1.b1d10670aae98p-1,
    0x1.ca6fc71eebdc9p-1,  0x1.e39078d499169p-1,  0x1.fd3f2b9036cf2p-1,  0x1.0bc49861276d8p+0,  0x1.193ea7aad030bp+0,
    0x1.2716011df4658p+0,  0x1.3553e218d610dp+0,  0x1.4402b6211ad15p+0,  0x1.532e4fddf686bp+0,  0x1.62e42fefa39edp+0,
    0x1.7333ddeaaa5cdp+0,  0x1.842f595c35285p+0,  0x1.95ebab196930fp+0,  0x1.a881a29e52371p+0,  0x1.bc0ed0947fbe6p+0,
    0x1.d0b6d7df77dc7p+0,  0x1.e6a53bbe5e6a5p+0,  0x1.fe0fe73ce8885p+0,  0x1.0b9d677dddea2p+1,  0x1.193ea7aad030cp+1,
    0x1.28253079db673p+1,  0x1.389ed3e132573p+1,  0x1.4b18a2ece7fb3p+1,  0x1.60324f23a6f2ep+1,  0x1.78e360604b32bp+1,
    0x1.96ca77c922cefp+1,  0x1.bcf0cd474166bp+1,  0x1.f2272ae325a49p+1,  0x1.2616719161d18p+2,  0x1.25e4f7b2737fbp+5,
};

namespace detail {

inline constexpr double sigmoid_cell_begin = -8.0;
inline constexpr double sigmoid_cells_per_unit = 64.0;
inline constexpr std::size_t sigmoid_cells = 1024;

/// Per cell of d the score at the cell's lower end, from which the score in the cell is a step or two away.
inline constexpr auto sigmoid_cell_scores = [] {
    std::array<std::uint8_t, sigmoid_cells> scores{};
    std::size_t score = 0;
    for (std::size_t cell = 0; cell < sigmoid_cells; ++cell) {
        const double begin = sigmoid_cell_begin + static_cast<double>(cell) / sigmoid_cells_per_unit;
        while (score < sigmoid_thresholds.size() && sigmoid_thresholds[score] <= begin) ++score;
        scores[cell] = static_cast<std::uint8_t>(score);
    }
    return scores;
}();

} // namespace detail

/// trunc(100 * (1 / (1 + exp(-d)))): 50 is neutral, higher means that fragmentation falls.
[[nodiscard]] inline double sigmoid_score(double d) noexcept {
    const double offset = (d - detail::sigmoid_cell_begin) * detail::sigmoid_cells_per_unit;
    std::size_t score = 0;
    if (offset >= 1.0) { // start one cell lower, so that rounding of the offset cannot skip a step
        const double last = static_cast<double>(detail::sigmoid_cells - 1);
        score = detail::sigmoid_cell_scores[static_cast<std::size_t>(std::min(offset, last)) - 1];
    }
    while (score < sigmoid_thresholds.size() && sigmoid_thresholds[score] <= d) ++score;
    return static_cast<double>(score);
}

} // namespace vgpualloc::compat
