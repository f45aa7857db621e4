#include "vgpusim/engine/mig_instances.hpp"

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

#include "../job_lists.hpp"
#include "vgpualloc/catalog/mig.hpp"
#include "vgpualloc/mode/mig.hpp"

namespace {

using vgpualloc::device_index;
using vgpualloc::mig_instance;
using vgpualloc::node_index;
using vgpualloc::pod_id;
using vgpusim_test::ruled;
using vgpusim_test::seconds;

/// A node with one A100-40GB that is cut by MIG.
class mig_instances : public testing::Test {
protected:
    mig_instances() {
        mode_ = vgpualloc::modes::make_mig(model_).value();
        nodes_.modes.push_back(mode_);
        const auto kind = nodes_.kind_of(
            mode_->adapted({.model = model_.name, .memory = vgpualloc::mib{40960}, .mode = mode_.get()}));
        vgpualloc::node node{.name = "n", .cpu = vgpualloc::milli_cpu{8000}, .memory = {}};
        node.devices.push_back({.uuid = "g", .kind = kind});
        nodes_.nodes.push_back(node);
    }

    [[nodiscard]] mig_instance at(std::string_view profile, std::uint32_t start) const {
        const auto named = std::ranges::find(model_.profiles, profile, &vgpualloc::mig_profile::name);
        return {.profile = static_cast<std::uint32_t>(named - model_.profiles.begin()), .start = start, .cores = {}};
    }
    static vgpualloc::placement placed(const mig_instance& instance) {
        vgpualloc::placement where{.node = node_index{0}, .shares = {}};
        where.shares.push_back({.container = 0, .device = device_index{0}, .part = instance});
        return where;
    }

    const vgpualloc::mig_model& model_ = **vgpualloc::find_model(vgpualloc::built_in_mig_catalog(), "A100-40GB");
    std::shared_ptr<const vgpualloc::modes::mig> mode_;
    vgpualloc::cluster nodes_;
};

TEST_F(mig_instances, stay_when_their_pod_ends_and_go_when_they_are_in_the_way) {
    vgpualloc::ledger book{nodes_};
    vgpusim::mig_instances instances;
    const auto book_and_provide = [&](int pod, const mig_instance& instance) {
        EXPECT_TRUE(book.reserve({.owner = pod_id{pod}, .where = placed(instance)}));
        book.commit(pod_id{pod});
        return instances.provide(book, placed(instance));
    };
    EXPECT_EQ(book_and_provide(0, at("1g.5gb", 0)), 1);
    EXPECT_EQ(book_and_provide(1, at("1g.5gb", 4)), 1);
    book.release(pod_id{0});
    EXPECT_EQ(book_and_provide(2, at("1g.5gb", 0)), 0) << "it is still there";
    book.release(pod_id{2});
    EXPECT_EQ(book_and_provide(3, at("2g.10gb", 0)), 1);
    book.release(pod_id{3});
    EXPECT_EQ(book_and_provide(4, at("1g.5gb", 0)), 1) << "it gave way to the larger one";
    book.release(pod_id{1});
    EXPECT_EQ(book_and_provide(5, at("1g.5gb", 4)), 0);
}

/// Pods of which each wants a whole A100 of its own as an instance, for 10 s.
vgpusim::simulation_input instance_pods(const vgpualloc::cluster& nodes, const std::vector<std::int64_t>& arrivals) {
    vgpusim::simulation_input input;
    input.nodes = nodes;
    vgpualloc::device_request wanted;
    wanted.count = 1;
    wanted.profile = "7g.40gb";
    input.requests = {{.cpu = {}, .memory = {}, .containers = {wanted}}};
    input.requested.add(vgpusim::requested_milli(1, vgpualloc::whole_gpu));
    for (std::uint32_t i = 0; i < arrivals.size(); ++i) {
        input.names.push_back("p" + std::to_string(i));
        input.pods.push_back({.name = i, .request = 0, .arrival = seconds(arrivals[i]), .duration = seconds(10)});
    }
    return input;
}

TEST_F(mig_instances, a_pod_runs_when_its_instance_has_been_made_and_its_slices_are_taken_meanwhile) {
    const ruled run{instance_pods(nodes_, {0, 1}), "fifo", {.layout_change = seconds(30)}};
    EXPECT_EQ(run.starts(), (std::vector<std::int64_t>{30, 40}));
    EXPECT_EQ(run.ends(), (std::vector<std::int64_t>{40, 50}));
    EXPECT_EQ(run.result().disturbed.layout_changes, 1);
}

TEST_F(mig_instances, the_pods_of_a_gang_begin_when_the_last_of_their_instances_has_been_made) {
    vgpualloc::cluster nodes = nodes_;
    nodes.nodes.push_back(nodes.nodes.front());
    nodes.nodes.back().name = "second";
    vgpusim::simulation_input input = instance_pods(nodes, {0, 50, 50});
    input.members = {0, 1, 2};
    input.jobs = {{.first = 0, .pods = 1, .minimum = 1}, {.first = 1, .pods = 2, .minimum = 2}};
    const ruled run{input, "fifo", {.layout_change = seconds(30)}};
    EXPECT_EQ(run.starts(), (std::vector<std::int64_t>{30, 80, 80})) << "one of the two instances is there";
    EXPECT_EQ(run.result().disturbed.layout_changes, 2);
}

} // namespace
