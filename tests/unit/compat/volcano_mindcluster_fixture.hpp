// A node of 310P chips in MindCluster mode, the pods on it, and sessions over it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/compat/volcano/mindcluster_310p.hpp"

namespace vgpualloc::compat::volcano {

inline const std::string npu_core = "huawei.com/npu-core";

class volcano_mindcluster : public testing::Test {
protected:
    volcano_mindcluster() {
        options.ascend_mindcluster = true;
        options.weight = 1;
        where.name = "n";
        where.labels = {{"accelerator", "huawei-Ascend310P"},
                        {"servertype", "Ascend310P-8"},
                        {"node.kubernetes.io/npu.chip.name", "310P3"}};
        chips(1);
    }

    /// The node has so many chips, with cores as its servertype says.
    void chips(int number, int cores = 8) {
        std::string infos;
        std::string names;
        for (int i = 0; i < number; ++i) {
            const std::string name = "Ascend310P-" + std::to_string(i);
            infos += (infos.empty() ? "\"" : ",\"") + name + "\":{}";
            names += (names.empty() ? "" : ",") + name;
        }
        where.labels["servertype"] = "Ascend310P-" + std::to_string(cores);
        where.annotations["baseDeviceInfos"] = "{" + infos + "}";
        where.capacity[npu_core] = where.allocatable[npu_core] = std::to_string(number * cores);
        info.device_list = {{"huawei.com/Ascend310P", names}, {"huawei.com/Ascend310P-Unhealthy", ""}};
    }

    static pod asks(const std::string& uid, std::int64_t cores, const std::string& level = {},
                    const std::string& dvpp = {}) {
        pod pending;
        pending.name = pending.uid = uid;
        pending.labels = {{"ring-controller.atlas", "ascend-310P"}};
        if (!level.empty()) pending.labels["vnpu-level"] = level;
        if (!dvpp.empty()) pending.labels["vnpu-dvpp"] = dvpp;
        pending.containers.push_back({.name = "c", .limits = {{npu_core, cores}}, .requests = {{npu_core, cores}}});
        return pending;
    }
    static pod named(pod of, const std::string& name) {
        of.name = name;
        return of;
    }

    /// A pod on the node whose chips are seen by session inits. Without the label it is in no template cache, and
    /// without a request it lowers no idle amount.
    void holds(const std::string& annotation, const std::string& real = "Ascend310P-1c-100-0_0") {
        pod pending;
        pending.uid = "h" + std::to_string(on_node.size());
        pending.annotations[npu_core] = annotation;
        if (!real.empty()) pending.annotations["huawei.com/AscendReal"] = real;
        on_node.push_back(std::move(pending));
    }

    /// The next session. The first one of a cache object is the one that finds the device info new.
    std::unique_ptr<device_object> session() {
        if (!cache) cache = make_mindcluster_310p(where, info, options);
        auto fresh = cache->copy();
        std::vector<const pod*> pods;
        for (const pod& bound : on_node) pods.push_back(&bound);
        fresh->open_session(where, pods);
        return fresh;
    }
    static const mindcluster_object& npu(const device_object& of) {
        return dynamic_cast<const mindcluster_object&>(of);
    }

    /// What is free of each chip: cores, CPUs.
    static std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> free(const device_object& of) {
        std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> result;
        for (const auto& shown : of.state().devices) result[shown.index] = {shown.npu_free->core, shown.npu_free->cpu};
        return result;
    }
    using amounts = std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>>;
    using numbers = std::vector<std::int64_t>;

    /// Why a fresh session refuses; empty when it does not.
    std::string refusal(const pod& pending) { return session()->filter(pending, "").reason; }
    /// What a fresh session gives: the annotation, or the reason why not.
    std::string annotation_for(const pod& pending) {
        const auto fresh = session();
        if (const auto answer = fresh->filter(pending, ""); !answer.fits) return answer.reason;
        const auto answer = fresh->allocate(pending, "");
        return answer.ok ? answer.annotations.at(npu_core) : answer.reason;
    }

    void turn_off(quirk which) { options.quirks = options.quirks.without(which); }

    node where;
    npu_node_info info;
    plugin_options options;
    std::vector<pod> on_node;
    std::unique_ptr<mindcluster_object> cache;
};

} // namespace vgpualloc::compat::volcano
