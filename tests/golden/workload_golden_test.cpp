// The workload builder and the fragmentation measure against the reference simulator's records: arrival order, node
// tie ranks, typical pods to the last bit, F of recorded node states.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "vgpualloc/dialect/openb.hpp"
#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpuformats/files.hpp"
#include "vgpusim/workload/openb.hpp"
#include "vgputraces/openb.hpp"

namespace {

using record = std::map<std::string, std::string>;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

std::vector<std::string> split(const std::string& line, char at) {
    std::vector<std::string> parts{""};
    for (const char c : line) {
        if (c == at) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

/// What a shell command prints.
std::string output_of(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe{::popen(command.c_str(), "r"), ::pclose};
    if (!pipe) throw std::runtime_error("cannot run " + command);
    std::string text;
    std::array<char, 65536> buffer{};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
        text.append(buffer.data(), got);
    }
    return text;
}

class golden_workload : public testing::Test {
protected:
    void SetUp() override {
        golden_ = environment("VGPUALLOC_EVIDENCE") + "/golden/";
        traces_ = environment("VGPUALLOC_TRACES") + "/";
        if (std::filesystem::exists(golden_) && std::filesystem::exists(traces_ + node_list)) return;
        const char* why = "no recorded workloads: VGPUALLOC_EVIDENCE or VGPUALLOC_TRACES names no folder that has them";
        if (environment("CI") == "true") FAIL() << why;
        GTEST_SKIP() << why;
    }

    /// A recorded table, compressed or not, line by line.
    [[nodiscard]] std::vector<record> recorded(const std::string& name) const {
        std::istringstream text{output_of("gzip -dcf '" + golden_ + name + "'")};
        std::string line;
        std::getline(text, line);
        const auto header = split(line, ',');
        std::vector<record> rows;
        while (std::getline(text, line)) {
            const auto fields = split(line, ',');
            record& row = rows.emplace_back();
            for (std::size_t i = 0; i < header.size(); ++i) row[header[i]] = fields.at(i);
        }
        return rows;
    }

    [[nodiscard]] vgpusim::simulation_input built(std::int64_t seed) const {
        const auto nodes = vgputraces::read_openb_nodes(vgpuformats::read_file(traces_ + node_list).value(), node_list);
        auto pods = vgputraces::read_openb_pods(vgpuformats::read_file(traces_ + pod_list).value(), pod_list);
        auto input = vgpusim::build_openb_workload(
            nodes.value(), std::move(pods).value().pods,
            {.tune = 1.3, .seed = seed, .departures = false, .mode = *vgpualloc::find_mode("hami_core")});
        return std::move(input).value();
    }

    void expect_recorded_workload(std::int64_t seed, std::size_t pods_expected) const {
        const auto input = built(seed);
        const std::string base = "workloads/default_seed" + std::to_string(seed);
        const auto pods = recorded(base + "_pods.csv.gz");
        ASSERT_EQ(pods.size(), pods_expected);
        ASSERT_EQ(input.pods.size(), pods.size());
        for (std::size_t i = 0; i < pods.size(); ++i) {
            const auto& pod = input.pods[i];
            const auto& request = input.requests[pod.request];
            const std::int64_t count = request.containers.empty() ? 0 : request.containers.front().count;
            ASSERT_EQ(input.name_of(pod), pods[i].at("pod")) << i;
            ASSERT_EQ(std::to_string(request.cpu.count()), pods[i].at("cpu_milli")) << i;
            ASSERT_EQ(std::to_string(request.memory.count() >> 20U), pods[i].at("mem_mib")) << i;
            ASSERT_EQ(std::to_string(count), pods[i].at("num_gpu")) << i;
            const std::int64_t milli = count == 0 ? 0 : request.containers.front().memory.count();
            ASSERT_EQ(std::to_string(milli), pods[i].at("gpu_milli")) << i;
            ASSERT_EQ(input.requested[pod.request].larger(), count * milli) << i;
            ASSERT_EQ(pod.arrival.count(), static_cast<std::int64_t>(i) * 1'000'000) << i;
            ASSERT_FALSE(pod.duration) << i;
        }
        const auto nodes = recorded(base + "_nodes.csv.gz");
        ASSERT_EQ(nodes.size(), 1213U);
        ASSERT_EQ(input.nodes.nodes.size(), nodes.size());
        for (const record& node : nodes) {
            ASSERT_EQ(input.nodes.nodes[std::stoul(node.at("tie_rank"))].name, node.at("node"));
        }
    }

    static constexpr const char* node_list = "openb_node_list_gpu_node.csv";
    static constexpr const char* pod_list = "openb_pod_list_default.csv";
    std::string golden_;
    std::string traces_;
};

TEST_F(golden_workload, seed_42) { expect_recorded_workload(42, 10866); }
TEST_F(golden_workload, seed_43) { expect_recorded_workload(43, 10793); }

TEST_F(golden_workload, typical_pods_to_the_last_bit) {
    const auto typical = built(42).typical.typical;
    const auto rows = recorded("typical_pods_default.csv");
    ASSERT_EQ(rows.size(), 35U);
    ASSERT_EQ(typical.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& ours = typical[i];
        const bool uses_gpus = !ours.containers.empty();
        EXPECT_EQ(std::to_string(ours.cpu.count()), rows[i].at("cpu_milli")) << i;
        EXPECT_EQ(uses_gpus ? ours.containers[0].count : 0, std::stoll(rows[i].at("num_gpu"))) << i;
        EXPECT_EQ(uses_gpus ? ours.containers[0].memory.count() : 0, std::stoll(rows[i].at("gpu_milli"))) << i;
        EXPECT_EQ(rows[i].at("gpu_spec"), "") << i;
        // 17 digits name one double.
        EXPECT_EQ(ours.frequency, std::strtod(rows[i].at("frequency").c_str(), nullptr)) << i;
    }
}

TEST_F(golden_workload, fragmentation_of_recorded_node_states) {
    const auto workload = built(42);
    vgpualloc::fragmentation_model measure{workload.typical};
    const vgpualloc::sharing_mode& mode = **vgpualloc::find_mode("hami_core");
    const auto rows = recorded("fgd_unit_vectors_seed42.csv");
    ASSERT_GT(rows.size(), 100U);
    for (const record& row : rows) {
        SCOPED_TRACE(row.at("order") + " " + row.at("node"));
        // A cluster of the one node, filled until its GPUs have the recorded rests.
        vgpualloc::cluster one;
        const auto lefts = split(row.at("gpu_left"), '-');
        const vgpualloc::milli_cpu cpu_left{std::stoll(row.at("node_cpu_left"))};
        vgpualloc::openb::add_node(one, "n", cpu_left, {}, std::ssize(lefts), row.at("model"), mode);
        const auto& spec = one.kinds.front();
        std::vector<vgpualloc::device_view> devices(lefts.size());
        std::vector<const vgpualloc::device_view*> pointers;
        vgpualloc::device_config config;
        for (std::size_t i = 0; i < lefts.size(); ++i) {
            devices[i].spec = &spec;
            const std::int64_t used = 1000 - std::stoll(lefts[i]);
            if (used > 0) {
                const vgpualloc::slice share{.memory = vgpualloc::mib{used}, .cores = {}};
                devices[i].state = mode.with(spec, {}, vgpualloc::partition{share});
            }
            devices[i].used = mode.used(spec, devices[i].state);
            vgpualloc::add_to_totals(config, devices[i]);
            pointers.push_back(&devices[i]);
        }
        config.devices = pointers;
        const auto buckets = measure.buckets(config, cpu_left);
        const std::array names{"q1", "q2", "q3", "q4", "xl", "xr", "na"};
        for (std::size_t b = 0; b < names.size(); ++b) {
            EXPECT_EQ(buckets.milli[b], std::strtod(row.at(names[b]).c_str(), nullptr)) << names[b];
        }
        EXPECT_EQ(buckets.unusable(), std::strtod(row.at("F").c_str(), nullptr));
        EXPECT_EQ(measure.unusable(config, cpu_left), buckets.unusable());
    }
}

} // namespace
