// Go's math/rand. The constants were printed by a Go program (go 1.15 language version, GODEBUG=randseednop=0).
#include "vgpualloc/compat/fgd/go_random.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace vgpualloc::compat {
namespace {

TEST(go_random, first_int63_of_seeds) {
    struct row {
        std::int64_t seed;
        std::vector<std::int64_t> first;
    };
    const std::vector<row> rows{
        {1, {5577006791947779410, 8674665223082153551, 6129484611666145821, 4037200794235010051}},
        {0, {8717895732742165505, 2259404117704393152}},
        {2147483647, {8717895732742165505, 2259404117704393152}}, // 2^31 - 1 is 0 modulo itself
        {42, {3440579354231278675, 608747136543856411}},
        {-5, {1811683815564572222, 4427849682616757295}},
        {1099511627783, {3978647029347767025, 4266504305799241910}}, // 2^40 + 7
    };
    for (const row& line : rows) {
        go_random drawn{line.seed};
        for (const std::int64_t value : line.first) EXPECT_EQ(drawn.int63(), value) << "seed " << line.seed;
    }
}

TEST(go_random, words_wrap_around_the_607_of_the_state) {
    go_random drawn{42};
    static_cast<void>(drawn.word());
    static_cast<void>(drawn.word());
    EXPECT_EQ(drawn.word(), 5571782338101878760U); // Go's Uint64
    go_random many{7};
    std::uint64_t hash = 0;
    for (int i = 0; i < 100000; ++i) hash = hash * 1000003 ^ many.word();
    EXPECT_EQ(hash, 6932475194708523293U);
}

TEST(go_random, int31_and_intn) {
    go_random drawn{42};
    for (const std::int32_t value : {801072305, 141734987, 1297281668, 448434750}) EXPECT_EQ(drawn.int31(), value);
    go_random bounded{42};
    const std::vector<std::int32_t> bounds{1, 2, 7, 10, 16, 100, 1000, 1 << 20, 1500000000, 2147483647};
    const std::vector<std::int32_t> values{0, 1, 4, 0, 15, 45, 357, 361864, 822582128, 1388082643};
    for (std::size_t i = 0; i < bounds.size(); ++i) EXPECT_EQ(bounded.intn(bounds[i]), values[i]);
    go_random redrawn{9}; // 30 % of these are drawn again
    std::uint64_t hash = 0;
    for (int i = 0; i < 2000; ++i) hash = hash * 1000003 ^ static_cast<std::uint64_t>(redrawn.intn(1500000000));
    EXPECT_EQ(hash, 16937865284932981559U);
    EXPECT_EQ(redrawn.int63(), 3227868515504308843);
}

TEST(go_random, shuffle_and_perm) {
    std::vector<std::uint32_t> items(12);
    std::iota(items.begin(), items.end(), 0U);
    go_random shuffler{42};
    shuffler.shuffle(items);
    EXPECT_EQ(items, (std::vector<std::uint32_t>{7, 9, 3, 5, 8, 11, 2, 10, 1, 6, 0, 4}));
    EXPECT_EQ(shuffler.int63(), 2010156224608899041) << "and the stream stands where Go's does";
    go_random permuter{42};
    EXPECT_EQ(permuter.perm(12), (std::vector<std::uint32_t>{7, 5, 8, 9, 2, 1, 6, 0, 10, 4, 3, 11}));
    EXPECT_EQ(permuter.int63(), 3335934666146214990);
    EXPECT_TRUE(permuter.perm(0).empty());
    std::vector<std::uint32_t> many(100000);
    std::iota(many.begin(), many.end(), 0U);
    go_random long_shuffler{9};
    long_shuffler.shuffle(many);
    std::uint64_t hash = 0;
    for (const std::uint32_t number : many) hash = hash * 1000003 ^ number;
    EXPECT_EQ(hash, 2159210777434197514U);
    EXPECT_EQ(long_shuffler.int63(), 6839557051274601760);
}

} // namespace
} // namespace vgpualloc::compat
