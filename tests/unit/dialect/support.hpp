// What tests of several dialects need.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/dialect/dialect.hpp"
#include "vgpualloc/dialect/kubernetes.hpp"

namespace vgpualloc::test {

/// The functions of the dialect whose options these are, made for one call: many cases differ in an option only.
template <class Options>
struct spoken {
    static bool requests(const kubernetes::pod& pod, const Options& configured) {
        return make(configured)->requests(pod);
    }
    static expected<pod_request> read_pod(const kubernetes::pod& pod, const Options& configured) {
        return make(configured)->read_pod(pod);
    }
    static dialects::node_reading read_node(const kubernetes::node& node, const Options& configured) {
        return make(configured)->read_node({.object = node});
    }
    static void write_node(std::span<const device_registration> devices, const Options& configured,
                           kubernetes::node& node) {
        kubernetes::text_map config_map;
        make(configured)->write_node(devices, node, config_map);
    }
    static dialects::assignment_reading read_assignment(const kubernetes::pod& pod,
                                                        std::span<const device_registration> devices,
                                                        const Options& configured) {
        return make(configured)->read_assignment(pod, devices);
    }
    static kubernetes::text_map write_assignment(const kubernetes::pod& pod,
                                                 std::span<const device_registration> devices,
                                                 const dialects::decision& decided, const Options& configured) {
        return make(configured)->write_assignment(pod, devices, decided);
    }
    static std::vector<std::string> tags_of(const kubernetes::pod& pod, std::span<const device_share> shares,
                                            const Options& configured) {
        return make(configured)->tags_of(pod, {}, shares);
    }
};

[[nodiscard]] inline kubernetes::container limited(kubernetes::amount_map limits) {
    return {.name = "c", .limits = std::move(limits), .requests = {}};
}

[[nodiscard]] inline kubernetes::pod pod_of(std::vector<kubernetes::container> containers) {
    kubernetes::pod pod;
    pod.name = "p";
    pod.ns = "default";
    pod.containers = std::move(containers);
    return pod;
}

} // namespace vgpualloc::test
