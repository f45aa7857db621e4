#include "vgpusim/workload/prices.hpp"

#include <string>

#include <gtest/gtest.h>

namespace {

using namespace vgpualloc;
using namespace vgpusim;

learned_prices some_prices() {
    learned_prices result;
    price_table& prices = result.rests;
    prices = {.devices = {}, .cpu_per_gpu = 10882, .models_named = true, .cpu_scarce = true};
    device_request share{.count = 1, .memory = mib{810}, .cores = core_percent{20}};
    share.memory_percent = 50;
    device_request instance{.count = 1, .memory = {}, .cores = {}, .profile = "3g.20gb"};
    device_request npu{.count = 1, .memory = {}, .cores = core_percent{4}};
    npu.dvpp = dvpp_use::no;
    npu.soft = true;
    npu.high_level = true;
    npu.pair = true;
    npu.mode = "ascend_vir";
    prices.devices.push_back({.model = "A",
                              .mode = "hami_core",
                              .memory = mib{1000},
                              .cores = core_percent{100},
                              .idle = 810'000,
                              .premium = 250,
                              .parts = {{share, 67'500}, {instance, 1}, {npu, 98'765'432}}});
    prices.devices.push_back({.model = "", .mode = "mig", .memory = mib{0}, .cores = core_percent{0}});
    device_request named{.count = 1, .memory = mib{470}, .cores = {}};
    named.family = "NVIDIA";
    named.models = {"A", "B"};
    named.types_allowed = {"A100"};
    named.types_denied = {"A10"};
    result.turnover = 0.875;
    result.slots = {{.of = {.request = named, .devices = 8, .milli = 3760, .cpu = 4321, .share = 1.0 / 3.0},
                     .price = 2.71,
                     .stock = 17},
                    {.of = {.request = instance, .devices = 1, .milli = 500, .cpu = 0, .share = 0.125}}};
    return result;
}

TEST(prices, are_read_as_they_were_written) {
    const std::string text = write_prices(some_prices());
    const auto again = read_prices(text, "prices.json");
    ASSERT_TRUE(again.has_value()) << again.error().message();
    EXPECT_EQ(*again, some_prices());
    EXPECT_EQ(write_prices(*again), text);
}

TEST(prices, of_before_the_keys_count_as_naming_models_and_as_not_short_of_cpu) {
    EXPECT_FALSE(read_prices(R"({"cpu_milli_per_gpu": 1, "devices": []})", "p.json")->rests.cpu_scarce);
    EXPECT_TRUE(read_prices(R"({"cpu_milli_per_gpu": 1, "devices": []})", "p.json")->rests.models_named);
    EXPECT_FALSE(
        read_prices(R"({"cpu_milli_per_gpu": 1, "models_named": false, "devices": []})", "p.json")->rests.models_named);
}

TEST(prices, what_is_wrong_is_named_with_its_line) {
    const auto refusal_of = [](const std::string& text) {
        const auto prices = read_prices(text, "p.json");
        return prices ? std::string{"nothing"} : prices.error().message();
    };
    EXPECT_NE(refusal_of("{\n\"devices\": []}").find("cpu_milli_per_gpu"), std::string::npos);
    EXPECT_NE(refusal_of("{\"cpu_milli_per_gpu\": -1, \"devices\": []}").find("-1"), std::string::npos);
    EXPECT_NE(refusal_of("{\"cpu_milli_per_gpu\": 1,\n\"devices\": [{\"model\": \"A\"}]}").find("p.json:2"),
              std::string::npos);
    EXPECT_NE(refusal_of("[]").find("p.json"), std::string::npos);
    const std::string device = R"({"model": "A", "mode": "mig", "memory_mib": 1, "compute": 1, "idle": 1,)"
                               R"( "premium": 0, "parts": []})";
    const std::string twice = refusal_of(R"({"cpu_milli_per_gpu": 1, "devices": [)" + device + ",\n" + device + "]}");
    EXPECT_NE(twice.find("p.json:2: devices[1].model: got 'A', expected every kind of device"), std::string::npos)
        << twice;
    const std::string other_mode = std::string{device}.replace(device.find("mig"), 3, "hami-core");
    const std::string unknown = refusal_of(R"({"cpu_milli_per_gpu": 1, "devices": [)" + other_mode + "]}");
    EXPECT_NE(unknown.find("devices[0].mode: got 'hami-core', expected one of"), std::string::npos) << unknown;
    EXPECT_NE(refusal_of("{\"cpu_milli_per_gpu\": 1, \"devices\": [], \"more\": 1}").find("more"), std::string::npos);
    const std::string slot =
        refusal_of("{\"cpu_milli_per_gpu\": 1, \"devices\": [],\n\"slots\": [{\"request\": {}, \"devices\": 0}]}");
    EXPECT_NE(slot.find("p.json:2: slots[0].devices: got '0'"), std::string::npos) << slot;
    EXPECT_NE(refusal_of("{\"cpu_milli_per_gpu\": 1, \"devices\": [], \"turnover\": 1.5}").find("turnover"),
              std::string::npos);
}

} // namespace
