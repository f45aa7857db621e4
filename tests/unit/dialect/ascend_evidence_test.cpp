// The ascend_hami and mindcluster dialects on recordings of the real scheduler: registrations, pods and annotations are
// read as Volcano itself read them, and written as it wrote them.
#include <cstdint>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "dialect/recorded.hpp"
#include "dialect/support.hpp"
#include "vgpualloc/dialect/ascend_hami.hpp"
#include "vgpualloc/dialect/mindcluster.hpp"

namespace vgpualloc::test::ascend {
namespace {

using nlohmann::json;
using test::recorded_node;
using test::recorded_pod;
using testing::IsEmpty;
namespace hami = dialects::ascend_hami;
namespace mindcluster = dialects::mindcluster;

hami::options options_of(const json& config) {
    hami::options result;
    result.soft_by_default = config.value("hami_vnpu_core", false);
    for (const json& item : config.value("vnpus", json::array())) {
        hami::kind& to = result.kinds.emplace_back();
        to.npu.name = item["common_word"];
        to.npu.memory_allocatable = mib{item.value("memory_allocatable", std::int64_t{0})};
        to.resource = item["resource_name"];
        to.resource_memory = item["resource_memory_name"];
        for (const json& part : item.value("templates", json::array())) {
            to.npu.templates.push_back(
                {.name = part["name"], .memory = mib{part["memory"].get<std::int64_t>()}, .ai_core = 0, .ai_cpu = 0});
        }
    }
    return result;
}

class ascend_evidence : public test::recorded_evidence {
protected:
    [[nodiscard]] std::vector<json> cases(const std::string& family) const {
        std::vector<json> result;
        std::ifstream file{file_of(family)};
        for (std::string line; std::getline(file, line);) result.push_back(json::parse(line));
        EXPECT_FALSE(result.empty()) << family;
        return result;
    }
};

void expect_as_loaded(const json& loaded, const dialects::node_reading& read) {
    // Some cases register what is no list: both read nothing, and it is a problem here.
    if (loaded.value("present", false)) {
        EXPECT_THAT(read.problems, IsEmpty());
    }
    const json devices = loaded.value("devices", json::array());
    ASSERT_EQ(read.devices.size(), devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const device_registration& have = read.devices[i];
        EXPECT_EQ(have.uuid, devices[i]["uuid"].get<std::string>());
        EXPECT_EQ(have.memory.count(), devices[i]["memory"]);
        EXPECT_EQ(have.slots, devices[i]["number"]);
        EXPECT_EQ(have.cores.count(), devices[i]["cores"]);
        EXPECT_EQ(have.model, devices[i]["type"].get<std::string>());
        EXPECT_EQ(have.healthy, devices[i].value("health", false));
        EXPECT_EQ(have.link_group, devices[i].value("network_id", -1));
    }
}

TEST_F(ascend_evidence, hami_registrations_are_read_as_volcano_read_them) {
    for (const json& recorded : cases("ascend-hami")) {
        SCOPED_TRACE(recorded["id"].get<std::string>());
        const auto options = options_of(recorded["config"]);
        for (const json& item : recorded["nodes"]) {
            expect_as_loaded(item["loaded"], test::spoken<hami::options>::read_node(recorded_node(item), options));
        }
    }
}

TEST_F(ascend_evidence, hami_annotations_are_read_and_written_as_volcano_wrote_them) {
    std::int64_t checked = 0;
    for (const json& recorded : cases("ascend-hami")) {
        const auto options = options_of(recorded["config"]);
        for (const json& event : recorded["events"]) {
            if (event["op"] != "add" || !event["out"].contains("alloc") || !event["out"]["alloc"].value("ok", false)) {
                continue;
            }
            SCOPED_TRACE(recorded["id"].get<std::string>() + " " + event["pod"]["name"].get<std::string>());
            const json& alloc = event["out"]["alloc"];
            const auto node = recorded_node(recorded["nodes"][event["out"]["chosen"].get<std::size_t>()]);
            const auto devices = test::spoken<hami::options>::read_node(node, options).devices;
            auto pod = recorded_pod(event["pod"]);
            const auto request = test::spoken<hami::options>::read_pod(pod, options);
            ASSERT_TRUE(request.has_value()) << request.error().message();
            ASSERT_EQ(request->containers.size(), alloc["containers"].size());
            for (const auto& [key, value] : test::map_at<kubernetes::text_map>(alloc, "annotations"))
                pod.annotations[key] = value;
            const auto read = test::spoken<hami::options>::read_assignment(pod, devices, options);
            bool none = false; // Q11: too much memory becomes 0 MiB, which is no template and counts as a slice
            std::size_t next = 0;
            for (std::uint32_t i = 0; i < alloc["containers"].size(); ++i) {
                for (const json& card : alloc["containers"][i]) {
                    const bool no_template = card.value("mem", 0) == 0 && !request->containers[i].soft;
                    none = none || no_template;
                    ASSERT_LT(next, read.shares.size());
                    const device_share& have = read.shares[next++];
                    EXPECT_EQ(have.container, i);
                    EXPECT_EQ(have.device.at(), card["index"]);
                    const auto* soft = std::get_if<slice>(&have.part);
                    ASSERT_EQ(soft != nullptr, request->containers[i].soft || no_template);
                    EXPECT_EQ(soft ? soft->memory.count() : std::get<vir_template>(have.part).memory.count(),
                              card.value("mem", 0));
                    EXPECT_EQ(soft ? soft->cores.count() : std::get<vir_template>(have.part).cores.count(),
                              card.value("cores", 0));
                }
            }
            EXPECT_EQ(next, read.shares.size());
            EXPECT_EQ(read.problems.empty(), !none);
            if (none) continue;
            EXPECT_EQ(test::spoken<hami::options>::write_assignment(pod, devices, {node.name, "<time>", read.shares},
                                                                    options),
                      test::map_at<kubernetes::text_map>(alloc, "annotations"));
            ++checked;
        }
    }
    EXPECT_GT(checked, 500);
}

TEST_F(ascend_evidence, mindcluster_nodes_annotations_and_requests) {
    std::int64_t checked = 0;
    std::int64_t nodes = 0;
    for (const json& recorded : cases("ascend-mindcluster-310p")) {
        SCOPED_TRACE(recorded["id"].get<std::string>());
        std::vector<std::vector<device_registration>> devices;
        for (const json& item : recorded["nodes"]) {
            const mindcluster::device_info info{.device_list = test::map_at<kubernetes::text_map>(item, "device_list"),
                                                .noded_status = item.value("noded_status", "")};
            const auto read = mindcluster::read_node(recorded_node(item), info, {}, {});
            const json& loaded = item["loaded"];
            // A node that offers no npu-core is valid upstream and refused at the next step.
            const bool offers = test::map_at<kubernetes::text_map>(item, "allocatable").contains("huawei.com/npu-core");
            std::vector<std::string> usable;
            for (const auto& device : read.devices) {
                if (device.healthy) usable.push_back(device.uuid);
            }
            std::vector<std::string> listed;
            for (const json& device : loaded.value("devices", json::array())) listed.push_back(device["type"]);
            if (info.noded_status != "PreSeparate" && offers) {
                EXPECT_THAT(usable, testing::UnorderedElementsAreArray(listed));
            } else {
                EXPECT_THAT(usable, IsEmpty());
            }
            EXPECT_EQ(read.devices.empty() && offers, !loaded.value("valid_vnode", false) && offers);
            devices.push_back(read.devices);
            ++nodes;
        }
        for (const json& event : recorded["events"]) {
            if (event["op"] != "add" || !event["out"].contains("alloc") || !event["out"]["alloc"].value("ok", false)) {
                continue;
            }
            const json& alloc = event["out"]["alloc"];
            const auto& on = devices[event["out"]["chosen"].get<std::size_t>()];
            auto pod = recorded_pod(event["pod"]);
            for (const auto& [key, value] : test::map_at<kubernetes::text_map>(alloc, "annotations"))
                pod.annotations[key] = value;
            const auto read = test::spoken<mindcluster::options>::read_assignment(pod, on, {});
            if (on.empty()) continue; // Q26: valid upstream only from its second session on
            EXPECT_THAT(read.problems, IsEmpty()) << pod.name;
            ASSERT_EQ(read.shares.size(), alloc["chips"].size()) << pod.name;
            for (std::size_t i = 0; i < read.shares.size(); ++i) {
                EXPECT_EQ(on[read.shares[i].device.at()].uuid,
                          "Ascend310P-" + std::to_string(alloc["chips"][i].get<int>()));
                EXPECT_EQ(std::holds_alternative<whole_device>(read.shares[i].part), !alloc.contains("template"));
            }
            EXPECT_EQ(test::spoken<mindcluster::options>::write_assignment({}, on, {"", "<time>", read.shares}, {}),
                      test::map_at<kubernetes::text_map>(alloc, "annotations"));
            ++checked;
        }
    }
    EXPECT_GT(checked, 300);
    EXPECT_GT(nodes, 100);
}

} // namespace
} // namespace vgpualloc::test::ascend
