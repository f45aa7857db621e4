// The volcano_vgpu and gpushare dialects on recordings of the real scheduler: every registration, pod and annotation is
// read as Volcano itself read it, and written as Volcano itself wrote it.
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "dialect/recorded.hpp"
#include "dialect/support.hpp"
#include "vgpualloc/dialect/gpushare.hpp"
#include "vgpualloc/dialect/volcano_vgpu.hpp"

namespace vgpualloc::test::volcano {
namespace {

using nlohmann::json;
using test::containers_of;
using test::map_at;
using test::recorded_node;
using test::recorded_pod;
using testing::IsEmpty;
namespace vgpu = dialects::volcano_vgpu;
namespace gpushare = dialects::gpushare;

vgpu::options options_of(const json& config) {
    vgpu::options result;
    result.count_name = config.value("count_name", "");
    result.memory_name = config.value("memory_name", "");
    result.cores_name = config.value("core_name", "");
    result.memory_percentage_name = config.value("percent_name", "");
    result.memory_factor = config.value("gpu_memory_factor", 1);
    for (const json& entry : config.value("mig_geometries", json::array())) {
        vgpu::geometry& geometry = result.geometries.emplace_back();
        geometry.models = entry["models"].get<std::vector<std::string>>();
        for (const json& group : entry["geometries"]) {
            mig_group& to = geometry.groups.emplace_back(mig_group{.name = group["group"], .kinds = {}});
            for (const json& kind : group["instances"]) {
                to.kinds.push_back({kind["name"], mib{kind["memory"].get<std::int64_t>()}, kind["count"]});
            }
        }
    }
    return result;
}

class volcano_evidence : public test::recorded_evidence {
protected:
    template <class Act>
    void for_each_case(const std::string& family, const Act& act) const {
        std::ifstream file{file_of(family)};
        std::string line;
        std::size_t cases = 0;
        while (std::getline(file, line)) {
            const json item = json::parse(line);
            SCOPED_TRACE(item["id"].get<std::string>());
            act(item);
            ++cases;
            if (HasFailure()) return; // one case says enough
        }
        EXPECT_GT(cases, 10U) << family;
    }
};

/// One recorded case of the vGPU families.
class vgpu_case {
public:
    explicit vgpu_case(const json& from) : with_{options_of(from["config"])} {
        with_.positions_of_containers = false; // as upstream writes
        with_.mps_as_hami_core = true;
        with_.unknown_as_hami_core = true;
        for (const json& item : from["nodes"]) add_node(item);
        for (const json& item : from["events"]) check_event(item);
    }
    std::size_t assignments = 0; ///< compared

private:
    void add_node(const json& from) {
        const auto read = test::spoken<vgpu::options>::read_node(recorded_node(from), with_);
        const json& loaded = from["loaded"];
        const json cards = loaded.value("devices", json::array());
        // Q6: upstream has one mode a node, that of its last card; its ids then are not those of the other cards'
        // modes.
        bool one_mode = true;
        for (const device_registration& item : read.devices) one_mode = one_mode && item.mode == read.devices[0].mode;
        one_mode_.push_back(one_mode);
        devices_.push_back(read.devices);
        names_.push_back(from["name"]);
        ASSERT_EQ(loaded.value("present", false), !read.devices.empty());
        ASSERT_EQ(cards.size(), read.devices.size());
        for (std::size_t i = 0; i < cards.size(); ++i) {
            EXPECT_EQ(read.devices[i].uuid, cards[i].value("uuid", ""));
            EXPECT_EQ(read.devices[i].slots, cards[i].value("number", 0));
            EXPECT_EQ(read.devices[i].memory.count(), cards[i].value("memory", std::int64_t{0}));
            EXPECT_EQ(read.devices[i].model, cards[i].value("type", ""));
            EXPECT_EQ(read.devices[i].healthy, cards[i].value("health", false));
            if (one_mode && i == 0) {
                EXPECT_EQ(read.devices[i].mode == "mig" ? "mig" : "hami-core", loaded.value("mode", ""));
            }
        }
    }

    void check_event(const json& event) {
        if (!event.contains("pod")) return;
        kubernetes::pod pod = recorded_pod(event["pod"]);
        SCOPED_TRACE(pod.name);
        const json& out = event["out"];
        if (event["op"] == "add") {
            bool req = false;
            for (const json& item : out["nodes"]) req = req || item.value("req", false);
            if (req) {
                EXPECT_TRUE(test::spoken<vgpu::options>::requests(pod, with_));
            }
        }
        EXPECT_TRUE(test::spoken<vgpu::options>::read_pod(pod, with_));
        if (event["op"] == "restore") {
            const auto node = event["node"].get<std::size_t>();
            const auto read = test::spoken<vgpu::options>::read_assignment(pod, devices_[node], with_);
            for (const error& item : read.problems) EXPECT_FALSE(item.message().empty());
        }
        if (!out.contains("alloc") || !out["alloc"].value("ok", false)) return;
        const json& alloc = out["alloc"];
        const auto node = out["chosen"].get<std::size_t>();
        if (!one_mode_[node]) return;
        auto written = alloc["annotations"].get<kubernetes::text_map>();
        pod.annotations.insert(written.begin(), written.end());
        const auto read = test::spoken<vgpu::options>::read_assignment(pod, devices_[node], with_);
        for (const error& item : read.problems) ADD_FAILURE() << item.message();
        check_shares(alloc.value("containers", json::array()), read.shares, devices_[node]);
        EXPECT_EQ(test::spoken<vgpu::options>::write_assignment(
                      pod, devices_[node], {.node = names_[node], .time = "<time>", .shares = read.shares}, with_),
                  written);
        ++assignments;
    }

    static void check_shares(const json& containers, const std::vector<device_share>& shares,
                             const std::vector<device_registration>& devices) {
        std::size_t at = 0;
        for (std::size_t c = 0; c < containers.size(); ++c) {
            for (const json& card : containers[c]) {
                ASSERT_LT(at, shares.size());
                const device_share& share = shares[at++];
                EXPECT_EQ(share.container, c);
                EXPECT_EQ(share.device.at(), card.value("index", 0U));
                const core_percent cores{card.value("cores", 0)};
                if (!card.contains("mig")) {
                    EXPECT_EQ(share.part, (partition{slice{mib{card.value("mem", 0)}, cores}}));
                    continue;
                }
                const json& mig = card["mig"];
                std::uint32_t profile = 0;
                const auto& groups = devices[share.device.at()].geometry;
                const auto group = mig.value("group_index", std::size_t{0});
                for (std::size_t g = 0; g < group; ++g) profile += static_cast<std::uint32_t>(groups[g].kinds.size());
                profile += mig.value("instance_index", 0U);
                EXPECT_EQ(share.part, (partition{mig_instance{profile, mig.value("slot", 0U), cores}}));
            }
        }
        EXPECT_EQ(at, shares.size());
    }

    vgpu::options with_;
    std::vector<std::string> names_;
    std::vector<std::vector<device_registration>> devices_;
    std::vector<bool> one_mode_;
};

TEST_F(volcano_evidence, vgpu_registrations_and_assignments) {
    for (const char* const family : {"hamicore", "hamicore-exclusive", "mig", "mixed"}) {
        std::size_t assignments = 0;
        for_each_case(family, [&](const json& item) { assignments += vgpu_case{item}.assignments; });
        EXPECT_GT(assignments, 100U) << family;
        RecordProperty(std::string{"assignments_"} + family, static_cast<int>(assignments));
    }
}

TEST_F(volcano_evidence, gpushare_nodes_and_assignments) {
    std::size_t assignments = 0;
    for_each_case("gpushare", [&](const json& item) {
        gpushare::options with;
        with.number_enabled = item["gpushare_mode"] == "number";
        with.memory_enabled = !with.number_enabled;
        std::vector<std::vector<device_registration>> devices;
        bool present = false; // a node without cards says of no pod that it asks for them
        for (const json& node : item["nodes"]) {
            const auto read = test::spoken<gpushare::options>::read_node(recorded_node(node), with);
            devices.push_back(read.devices);
            present = present || node["loaded"].value("present", false);
            EXPECT_EQ(node["loaded"].value("present", false), !read.devices.empty());
            for (const json& card : node["loaded"].value("devices", json::array())) {
                const auto i = card.value("i", std::size_t{0});
                ASSERT_LT(i, read.devices.size());
                EXPECT_TRUE(read.devices[i].healthy);
                EXPECT_EQ(read.devices[i].memory.count(), card.value("memory", std::int64_t{0}));
            }
        }
        for (const json& event : item["events"]) {
            if (!event.contains("pod")) continue;
            kubernetes::pod pod = recorded_pod(event["pod"]);
            const json& out = event["out"];
            const auto request = test::spoken<gpushare::options>::read_pod(pod, with);
            EXPECT_TRUE(request);
            if (event["op"] == "add") {
                EXPECT_EQ(present && test::spoken<gpushare::options>::requests(pod, with),
                          out.value("has_request", false));
            }
            if (!out.contains("alloc") || !out["alloc"].value("ok", false)) continue;
            const auto annotations = out["alloc"]["annotations"].get<kubernetes::text_map>();
            pod.annotations.insert(annotations.begin(), annotations.end());
            const auto read =
                test::spoken<gpushare::options>::read_assignment(pod, devices[out["chosen"].get<std::size_t>()], with);
            std::vector<std::size_t> chips;
            for (const device_share& share : read.shares) chips.push_back(share.device.at());
            EXPECT_EQ(chips, out["alloc"]["chips"].get<std::vector<std::size_t>>());
            EXPECT_EQ(test::spoken<gpushare::options>::write_assignment(
                          {}, {}, {.node = "", .time = "<time>", .shares = read.shares}, {}),
                      annotations);
            // Q25: upstream gives a pod with both resources one card, also where the number counts.
            if (chips.size() == static_cast<std::size_t>(request->containers[0].count)) {
                EXPECT_THAT(read.problems, IsEmpty());
            }
            ++assignments;
        }
    });
    EXPECT_GT(assignments, 100U);
    RecordProperty("assignments", static_cast<int>(assignments));
}

} // namespace
} // namespace vgpualloc::test::volcano
