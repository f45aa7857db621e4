// Making the synthetic cluster.
#include "synthetic.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "vgpualloc/compat/all.hpp"
#include "vgpualloc/mode/hami_core.hpp"
#include "vgpuformats/files.hpp"
#include "vgputraces/generator.hpp"

namespace vgpubench {

namespace {

template <class T>
T or_exit(vgpualloc::expected<T> value) {
    if (value) return std::move(*value);
    std::fprintf(stderr, "bench: %s\n", value.error().message().c_str());
    std::exit(2);
}

} // namespace

vgpusim::simulation_input make_input(std::int64_t nodes, double load) {
    constexpr int gpus_per_node = 8;
    static const vgpualloc::modes::hami_core mode;
    const std::string path = VGA_SOURCE_DIR "/traces/models/openb-like.json";
    auto model = or_exit(vgputraces::parse_trace_model(or_exit(vgpuformats::read_file(path)), path));
    for (auto& kind : model.kinds) kind.gpu_count = gpus_per_node;
    const auto trace = or_exit(vgputraces::generate(model, {.seed = 1, .nodes = nodes, .pods = {}, .load = load}));
    return or_exit(vgpusim::build_openb_workload(trace.nodes, trace.pods,
                                                 {.tune = 0.0, .seed = 1, .departures = false, .mode = &mode}));
}

void add_host_rules(vgpusim::simulation_input& input) {
    const auto zone = [](std::size_t number) { return "region-a-zone-" + std::to_string(number % 8); };
    for (std::size_t i = 0; i < input.nodes.nodes.size(); ++i) {
        vgpualloc::host_facts& host = input.nodes.nodes[i].host;
        for (int label = 0; label < 12; ++label) {
            host.labels.emplace_back("feature.example.com/cpu-" + std::string(1, static_cast<char>('a' + label)),
                                     "true");
        }
        host.labels.emplace_back("kubernetes.io/hostname", input.nodes.nodes[i].name);
        host.labels.emplace_back("node.kubernetes.io/instance-type", "gpu-" + std::to_string(i % 3));
        host.labels.emplace_back("topology.kubernetes.io/zone", zone(i));
        if (i % 10 == 0) host.taints.push_back({.key = "dedicated", .value = i % 20 == 0 ? "training" : "serving"});
    }
    for (std::size_t i = 0; i < input.requests.size(); ++i) {
        vgpualloc::host_rules& rules = input.requests[i].rules;
        rules.has_affinity = true;
        rules.affinity = {{.labels = {{.key = "topology.kubernetes.io/zone",
                                       .values = {zone(i), zone(i + 1), zone(i + 2), zone(i + 3)}}}}};
        rules.tolerations = {{.key = "dedicated", .value = "training"}};
    }
}

std::unique_ptr<vgpualloc::policy> make_policy(std::string_view name, const vgpusim::simulation_input& input) {
    vgpualloc::policy_parameters parameters;
    parameters.target = input.typical;
    parameters.seed = 1;
    return or_exit(vgpualloc::make_policy(name, parameters));
}

void filled_cluster::fill(vgpualloc::policy& by) {
    vgpualloc::allocator index{book, {.node = &by, .device = &by}};
    std::vector<vgpualloc::request_id> requests;
    for (const auto& request : input_->requests) requests.push_back(index.intern(request).value());
    for (std::size_t i = 0; i < input_->pods.size(); ++i) {
        if (index.place(book, free_id(), requests[next_request()])) placed();
    }
}

void filled_cluster::placed() {
    if (free_.empty()) {
        live_.push_back(live_.size());
    } else {
        live_.push_back(free_.back());
        free_.pop_back();
    }
}

void filled_cluster::release_one() {
    const auto which = static_cast<std::size_t>(draw_.below(live_.size()));
    std::swap(live_[which], live_.back());
    book.release(vgpualloc::pod_id{live_.back()});
    free_.push_back(live_.back());
    live_.pop_back();
}

} // namespace vgpubench
