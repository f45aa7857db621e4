#include "vgpusim/engine/volcano_placer.hpp"

#include <cstdint>
#include <fstream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.hpp"
#include "vgpusim/discipline/all.hpp"
#include "vgpusim/study/run.hpp"
#include "vgputraces/file_source.hpp"

namespace {

using testing::AllOf;

using testing::HasSubstr;

/// A node with cards of 40,960 MiB as Volcano's device plugin registers them.
std::string volcano_node(const std::string& name, int cards, const std::string& cpu = "16") {
    std::string registered;
    for (int i = 0; i < cards; ++i) {
        registered += "GPU-" + name + "-" + std::to_string(i) + ",10,40960,NVIDIA-Tesla V100,true,hami-core:";
    }
    return "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: " + name + "\n  labels: {zone: here}\n" +
           "  annotations: {volcano.sh/node-vgpu-register: '" + registered + "'}\nstatus:\n  allocatable: {cpu: '" +
           cpu + "', memory: 64Gi, pods: '110', volcano.sh/vgpu-number: '" + std::to_string(10 * cards) +
           "', volcano.sh/vgpu-memory: '" + std::to_string(40960 * cards) + "', volcano.sh/vgpu-cores: '" +
           std::to_string(100 * cards) + "'}\n";
}

/// What a pod asks for: MiB of one card, 0 for none, and of the host.
std::string spec_of(int memory, const std::string& cpu = "1", const std::string& extra = "") {
    const std::string devices =
        memory == 0 ? "" : ", volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: " + std::to_string(memory);
    return "{" + extra + " containers: [{name: main, resources: {limits: {cpu: '" + cpu + "', memory: 1Gi" + devices +
           "}}}]}";
}
std::string class_pod(const std::string& name, const std::string& spec) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: " + spec + "\n";
}
std::string class_gang(const std::string& name, int pods, int minimum, const std::string& spec) {
    return "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: " + name +
           "}\nspec:\n  minAvailable: " + std::to_string(minimum) +
           "\n  tasks: [{name: w, replicas: " + std::to_string(pods) + ", template: {spec: " + spec + "}}]\n";
}

/// A run that Volcano decides, of files as users write them.
class volcano_run {
public:
    volcano_run(const std::string& nodes, const std::string& classes, const std::string& rows,
                const std::string& discipline) {
        put("nodes.yaml", nodes);
        put("classes.yaml", classes);
        put("arrivals.csv", "name,class,arrival,duration\n" + rows);
        config.format = "kubernetes";
        config.nodes = folder_ / "nodes.yaml";
        config.classes = folder_ / "classes.yaml";
        config.pods = folder_ / "arrivals.csv";
        config.policy = vgpusim::volcano_policy;
        config.discipline = discipline;
    }

    volcano_run& with_events(const std::string& rows) {
        put("events.csv", rows);
        config.events = folder_ / "events.csv";
        return *this;
    }
    std::string refusal() {
        const auto done = replay();
        return done ? "none" : done.error().message();
    }
    /// Of every pod "node/device start-end", or why it never started.
    std::map<std::string, std::string> outcomes() {
        const auto record = replay();
        EXPECT_TRUE(record.has_value()) << record.error().message();
        std::map<std::string, std::string> result;
        if (!record) return result;
        record->ledger->check();
        EXPECT_EQ(record->ledger->live_count(), 0U) << "everybody leaves";
        EXPECT_EQ(record->result.given_beyond.devices_max, 0);
        EXPECT_TRUE(record->result.given_beyond.not_counted.empty());
        for (std::size_t i = 0; i < loaded_.input.pods.size(); ++i) {
            const auto& times = record->result.times[i];
            std::string& text = result[loaded_.input.name_of(loaded_.input.pods[i])];
            if (times.starts == 0) {
                text = to_string(record->result.pods[i].reason);
                continue;
            }
            const auto& where = record->ledger->bookings()[record->result.pods[i].booking].where;
            text = record->ledger->nodes().nodes[where.node.at()].name;
            for (const auto& share : where.shares) text += "/" + std::to_string(share.device.value());
            text += " " + std::to_string(times.start.count() / 1'000'000) + "-" +
                    std::to_string(times.end.count() / 1'000'000);
        }
        return result;
    }

    vgpusim::run_config config;

private:
    void put(const std::string& name, const std::string& text) {
        std::ofstream(folder_ / name, std::ios::binary) << text;
    }
    vgpualloc::expected<vgpusim::run_record> replay() {
        auto loaded = vgpusim::load_input(config, vgputraces::file_source{});
        if (!loaded) return vgpualloc::unexpected(loaded.error());
        loaded_ = *std::move(loaded);
        return vgpusim::replay(config, loaded_, loaded_.input.nodes, {});
    }

    vga_test::temporary_folder folder_;
    vgpusim::loaded_input loaded_;
};

using outcome_map = std::map<std::string, std::string>;

TEST(volcano_placer, what_a_pod_had_is_free_when_it_ends) {
    volcano_run run{volcano_node("n1", 1), class_pod("card", spec_of(40960)) + class_pod("half", spec_of(20480)),
                    "a,card,0,10\nb,card,1,10\nc,half,2,5\nd,half,3,7\ne,card,4,1\n", "fifo"};
    EXPECT_EQ(
        run.outcomes(),
        (outcome_map{
            {"a", "n1/0 0-10"}, {"b", "n1/0 10-20"}, {"c", "n1/0 20-25"}, {"d", "n1/0 20-27"}, {"e", "n1/0 27-28"}}));
}

// Within its session it does, as upstream (Q3): a pod of the same instant does not find the card.
TEST(volcano_placer, a_gang_that_is_undone_leaves_no_trace_in_later_sessions) {
    const std::string classes = class_pod("card", spec_of(40960)) + class_gang("two", 2, 2, spec_of(40960));
    volcano_run run{volcano_node("n1", 2), classes, "first,card,0,10\npair,two,1,5\nnow,card,1,3\nlater,card,4,2\n",
                    "try_once"};
    EXPECT_EQ(run.outcomes(), (outcome_map{{"first", "n1/0 0-10"},
                                           {"now", "too_few_devices"},
                                           {"later", "n1/1 4-6"},
                                           {"pair-w-0", "gang_not_complete"},
                                           {"pair-w-1", "too_few_devices"}}));
}

TEST(volcano_placer, a_gang_that_was_undone_many_times_starts_when_all_of_it_fits) {
    const std::string classes =
        class_pod("card", spec_of(40960)) + class_pod("host", spec_of(0)) + class_gang("two", 2, 2, spec_of(40960));
    volcano_run run{volcano_node("n1", 2), classes, "first,card,0,10\npair,two,1,5\na,host,2,1\nb,host,4,1\n", "gang"};
    EXPECT_EQ(run.outcomes(), (outcome_map{{"first", "n1/0 0-10"},
                                           {"a", "n1 2-3"},
                                           {"b", "n1 4-5"},
                                           {"pair-w-0", "n1/0 10-15"},
                                           {"pair-w-1", "n1/1 10-15"}}));
}

TEST(volcano_placer, a_gang_of_pods_with_and_without_devices_is_undone_whole) {
    // The pods without devices fit and are never told to the model, which is not to hear of their end either.
    const std::string job =
        "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: mixed}\nspec:\n  minAvailable: 3\n"
        "  tasks: [{name: h, replicas: 1, template: {spec: " +
        spec_of(0) + "}}, {name: w, replicas: 2, template: {spec: " + spec_of(40960) + "}}]\n";
    volcano_run run{volcano_node("n1", 2), class_pod("card", spec_of(40960)) + job, "a,card,0,4\nm,mixed,1,3\n",
                    "fifo"};
    EXPECT_EQ(run.outcomes(),
              (outcome_map{{"a", "n1/0 0-4"}, {"m-h-0", "n1 4-7"}, {"m-w-0", "n1/0 4-7"}, {"m-w-1", "n1/1 4-7"}}));
}

// They were placed by the allocator behind the model's back, which then gave their card away a second time.
TEST(volcano_placer, pods_beyond_the_minimum_are_placed_by_volcano_when_they_start_late) {
    const std::string classes = class_pod("card", spec_of(40960)) + class_gang("some", 2, 1, spec_of(40960));
    volcano_run run{volcano_node("n1", 1), classes, "j,some,0,10\nx,card,12,3\n", "fifo"};
    EXPECT_EQ(run.outcomes(), (outcome_map{{"j-w-0", "n1/0 0-10"}, {"j-w-1", "n1/0 10-20"}, {"x", "n1/0 20-23"}}));
}

// A job that fits no host held up the queue for ever.
TEST(volcano_placer, a_job_that_no_host_can_run_is_given_up_at_once) {
    const std::string classes = class_pod("card", spec_of(40960)) + class_pod("cpu", spec_of(4096, "17")) +
                                class_pod("host", spec_of(0, "17")) + class_gang("gang", 3, 3, spec_of(4096, "6")) +
                                class_gang("hosts", 3, 3, spec_of(0, "6")) +
                                class_pod("there", spec_of(4096, "1", "nodeSelector: {zone: there},"));
    volcano_run run{volcano_node("n1", 4), classes,
                    "a,cpu,0,1\nb,host,0,1\nc,gang,0,1\nd,hosts,0,1\ne,there,0,1\nlast,card,1,5\n", "fifo"};
    const auto outcomes = run.outcomes();
    EXPECT_EQ(outcomes.at("last"), "n1/0 1-6");
    EXPECT_EQ(outcomes.at("a"), "insufficient_cpu");
    EXPECT_EQ(outcomes.at("b"), "insufficient_cpu");
    EXPECT_EQ(outcomes.at("c-w-2"), "insufficient_cpu");
    EXPECT_EQ(outcomes.at("d-w-0"), "insufficient_cpu");
    EXPECT_EQ(outcomes.at("e"), "node_selector_differs");
}

TEST(volcano_placer, whoever_waits_for_the_host_alone_waits_and_starts) {
    const std::string classes = class_pod("wide", spec_of(4096, "12")) + class_pod("slim", spec_of(4096, "4"));
    volcano_run run{volcano_node("n1", 1), classes, "a,wide,0,10\nb,wide,1,2\nc,slim,1,1\n", "gang"};
    EXPECT_EQ(run.outcomes(), (outcome_map{{"a", "n1/0 0-10"}, {"b", "n1/0 10-12"}, {"c", "n1/0 1-2"}}));
}

TEST(volcano_placer, pods_of_a_node_that_fails_start_again_and_what_they_had_is_free) {
    volcano_run run{volcano_node("m1", 1) + volcano_node("n1", 1), class_pod("card", spec_of(40960)),
                    "a,card,0,10\nb,card,0,4\n", "fifo"};
    run.with_events("time,what,node\n2,fails,m1\n3,repaired,m1\n");
    const auto outcomes = run.outcomes();
    EXPECT_EQ(outcomes.at("a"), "m1/0 0-13");
    EXPECT_EQ(outcomes.at("b"), "n1/0 0-4");
}

TEST(volcano_placer, what_it_cannot_decide_is_refused_by_flag_and_value) {
    const std::string nodes = volcano_node("n1", 1);
    const std::string classes = class_pod("card", spec_of(40960));
    const std::string rows = "a,card,0,10\n";
    for (const auto& entry : vgpusim::all_disciplines) {
        const std::string name{entry.name};
        const std::string refusal = volcano_run{nodes, classes, rows, name}.refusal();
        if (entry.only_tries) {
            EXPECT_EQ(refusal, "none") << name;
        } else {
            EXPECT_THAT(refusal, AllOf(HasSubstr("discipline: got '" + name + "'"), HasSubstr("try_once, fifo, gang")));
        }
    }
    volcano_run with_device_policy{nodes, classes, rows, "fifo"};
    with_device_policy.config.device_policy = "binpack";
    EXPECT_THAT(with_device_policy.refusal(), HasSubstr("device_policy: got 'binpack', expected none with policy"));
    volcano_run with_device_events{nodes, classes, rows, "fifo"};
    with_device_events.with_events("time,what,node,device\n2,fails,n1,0\n");
    EXPECT_THAT(with_device_events.refusal(), HasSubstr("events: got 'device 0 of node n1', expected events of whole"));
    volcano_run as_device_policy{nodes, classes, rows, "fifo"};
    as_device_policy.config.policy = "binpack";
    as_device_policy.config.device_policy = vgpusim::volcano_policy;
    EXPECT_THAT(as_device_policy.refusal(), HasSubstr("device_policy: got 'compat:volcano'"));
}

} // namespace
