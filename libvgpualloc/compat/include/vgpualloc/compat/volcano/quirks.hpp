// The quirks of Volcano's deviceshare plugin (docs/compat.md), each a flag of its own. On: as upstream does. Off: that
// one behaviour is as the documentation would have it, and nothing else changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vgpualloc::compat::volcano {

enum class quirk : std::uint8_t {
    q1,
    q1a,
    q1b,
    q1c,
    q1d,
    q1e,
    q2,
    q2b,
    q3,
    q4,
    q5,
    q6,
    q7,
    q7b,
    q8,
    q9,
    q10,
    q11,
    q12,
    q13,
    q14,
    q15,
    q16,
    q17,
    q18,
    q19,
    q20,
    q21,
    q22,
    q23,
    q24,
    q25,
    q26,
    q27,
    q28,
    q29,
    q30,
    q31,
    q32,
};
inline constexpr std::size_t quirk_count = 39;

/// Spellings as in docs/compat.md, in the order of the enumeration.
inline constexpr std::array<std::string_view, quirk_count> quirk_names{
    "Q1",  "Q1a", "Q1b", "Q1c", "Q1d", "Q1e", "Q2",  "Q2b", "Q3",  "Q4",  "Q5",  "Q6",  "Q7",
    "Q7b", "Q8",  "Q9",  "Q10", "Q11", "Q12", "Q13", "Q14", "Q15", "Q16", "Q17", "Q18", "Q19",
    "Q20", "Q21", "Q22", "Q23", "Q24", "Q25", "Q26", "Q27", "Q28", "Q29", "Q30", "Q31", "Q32"};

class quirk_set {
public:
    [[nodiscard]] static constexpr quirk_set all() noexcept {
        quirk_set set;
        set.bits_ = (std::uint64_t{1} << quirk_count) - 1;
        return set;
    }
    [[nodiscard]] constexpr bool has(quirk which) const noexcept { return (bits_ & bit(which)) != 0; }
    [[nodiscard]] constexpr quirk_set without(quirk which) const noexcept {
        quirk_set set = *this;
        set.bits_ &= ~bit(which);
        return set;
    }

private:
    [[nodiscard]] static constexpr std::uint64_t bit(quirk which) noexcept {
        return std::uint64_t{1} << static_cast<unsigned>(which);
    }
    std::uint64_t bits_ = 0;
};

} // namespace vgpualloc::compat::volcano
