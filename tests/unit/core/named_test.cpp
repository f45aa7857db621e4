// Classes with a name: it is a constant of the class and an answer of the object.
#include "vgpualloc/core/named.hpp"

#include <gtest/gtest.h>

namespace vgpualloc {
namespace {

class animal {
public:
    explicit animal(int legs) : legs_{legs} {}
    virtual ~animal() = default;
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    [[nodiscard]] int legs() const noexcept { return legs_; }

private:
    int legs_;
};

class water_bear final : public named<"water_bear", animal> {
public:
    using named::named;
};

static_assert(water_bear::id == "water_bear", "without the zero that closes the text");

TEST(named, the_object_says_what_its_class_is_called) {
    const water_bear bear{8};
    const animal& known_as = bear;
    EXPECT_EQ(known_as.name(), water_bear::id);
}

TEST(named, the_base_is_constructed_as_it_would_be_without_a_name) { EXPECT_EQ(water_bear{8}.legs(), 8); }

} // namespace
} // namespace vgpualloc
