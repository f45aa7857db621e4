// Random histories of a scheduler.
#include "history.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "vgpuformats/json.hpp"

namespace decisions_test {

using vgpuformats::document;

namespace {

constexpr const char* a100 = "NVIDIA A100-SXM4-40GB";

/// Ends the program: the history is not what it means to be.
void require(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "history: %s\n", what.c_str());
    std::abort();
}

/// A text of the C interface.
class text_buffer {
public:
    text_buffer() : text_{.data = bytes_.data(), .capacity = bytes_.size(), .length = 0} {}
    [[nodiscard]] vga_text* out() { return &text_; }
    [[nodiscard]] std::string str() const { return {bytes_.data(), std::min(text_.length, bytes_.size() - 1)}; }
    /// Ends the program with these words if a call that writes them has failed.
    void require_ok(vga_status status, const std::string& call) const {
        require(status == VGA_OK, call + ": " + vga_status_name(status) + ": " + str());
    }

private:
    std::vector<char> bytes_ = std::vector<char>(std::size_t{1} << 16U);
    vga_text text_;
};

document node_object(const std::string& name, document annotations, document amounts, document labels = {}) {
    document allocatable = document::map({{"cpu", "32"}, {"memory", "128Gi"}, {"pods", "60"}});
    for (auto& [resource, amount] : amounts.members) allocatable[resource] = amount;
    if (labels.is_null()) labels = document::map();
    return document::map(
        {{"apiVersion", "v1"},
         {"kind", "Node"},
         {"metadata", document::map({{"name", name}, {"labels", std::move(labels)}, {"annotations", annotations}})},
         {"status", document::map({{"allocatable", allocatable}, {"capacity", allocatable}})}});
}

document vgpu_node(const std::string& name, int cards, const std::string& mode, bool healthy = true) {
    std::string words;
    for (int i = 0; i < cards; ++i) {
        words += "GPU-" + name + "-" + std::to_string(i) + ",10,40960," + a100 + "," +
                 (healthy || i > 0 ? "true" : "false") + "," + mode + ":";
    }
    return node_object(name, document::map({{"volcano.sh/node-vgpu-register", words}}),
                       document::map({{"volcano.sh/vgpu-number", std::to_string(10 * cards)},
                                      {"volcano.sh/vgpu-memory", std::to_string(40960 * cards)},
                                      {"volcano.sh/vgpu-cores", std::to_string(100 * cards)}}));
}

document ascend_node(const std::string& name) {
    document cards = document::list();
    for (int i = 0; i < 2; ++i) {
        cards.push_back(document::map({{"id", name + "-" + std::to_string(i)},
                                       {"index", i},
                                       {"count", 7},
                                       {"devmem", 21527},
                                       {"devcore", 8},
                                       {"type", "Ascend310P"},
                                       {"health", true}}));
    }
    return node_object(name, document::map({{"hami.io/node-register-Ascend310P", vgpuformats::print_json(cards)}}),
                       document::map({{"huawei.com/Ascend310P", "14"}}));
}

document mindcluster_node(const std::string& name) {
    return node_object(name, document::map({{"baseDeviceInfos", R"({"Ascend310P-0":{},"Ascend310P-1":{}})"}}),
                       document::map({{"huawei.com/npu-core", "16"}}),
                       document::map({{"accelerator", "huawei-Ascend310P"},
                                      {"servertype", "Ascend310P-8"},
                                      {"node.kubernetes.io/npu.chip.name", "310P3"}}));
}

document mindcluster_config_map(const std::string& node) {
    return document::map(
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", document::map({{"name", "mindx-dl-deviceinfo-" + node}, {"namespace", "kube-system"}})},
         {"data", document::map({{"DeviceInfoCfg", R"({"DeviceInfo":{"DeviceList":{"huawei.com/Ascend310P":)"
                                                   R"("Ascend310P-0,Ascend310P-1"}}})"}})}});
}

document gpushare_node(const std::string& name) {
    return node_object(name, document::map(),
                       document::map({{"volcano.sh/gpu-memory", "32768"}, {"volcano.sh/gpu-number", "2"}}));
}

/// What a pod asks for, and the words beside it.
struct pod_kind {
    document limits;
    document annotations = document::map();
    document labels = document::map();
};

document vgpu_limits(int number, std::int64_t memory, int cores) {
    document limits = document::map({{"volcano.sh/vgpu-number", number}, {"volcano.sh/vgpu-memory", memory}});
    if (cores > 0) limits["volcano.sh/vgpu-cores"] = cores;
    return limits;
}

pod_kind kind_of(std::size_t number, std::size_t size) {
    const auto memory = static_cast<std::int64_t>(2000 * (size + 1));
    switch (number) {
    case 0:
    case 1:
        return {.limits = vgpu_limits(1, memory, static_cast<int>(10 * size))};
    case 2:
        return {.limits = vgpu_limits(2, memory, 20)};
    case 3:
        return {.limits = vgpu_limits(1, memory, 0), .annotations = document::map({{"volcano.sh/vgpu-mode", "mig"}})};
    case 4:
        return {.limits = vgpu_limits(1, memory, 30), .annotations = document::map({{"volcano.sh/vgpu-mode", "mps"}})};
    case 5:
        return {.limits = document::map(
                    {{"huawei.com/Ascend310P", 1}, {"huawei.com/Ascend310P-memory", size % 2 == 0 ? 3072 : 6144}})};
    case 6:
        return {.limits = document::map({{"huawei.com/npu-core", size % 3 == 0 ? 8 : size % 3}}),
                .labels = document::map({{"ring-controller.atlas", "ascend-310P"}, {"vnpu-level", "low"}})};
    case 7:
        return {.limits = document::map({{"volcano.sh/gpu-memory", memory}})};
    default:
        return {.limits = document::map({{"cpu", std::to_string(size + 1)}})};
    }
}

} // namespace

scheduler_history::scheduler_history(history_options options) : options_{std::move(options)}, random_{options_.seed} {
    for (const char* name : {"core-a", "core-b", "core-c", "core-d"}) nodes_[name] = vgpu_node(name, 2, "hami-core");
    for (const char* name : {"mig-a", "mig-b"}) nodes_[name] = vgpu_node(name, 2, "mig");
    for (const char* name : {"mps-a", "mps-b"}) nodes_[name] = vgpu_node(name, 2, "mps");
    for (const char* name : {"npu-a", "npu-b"}) nodes_[name] = ascend_node(name);
    for (const char* name : {"chip-a", "chip-b"}) nodes_[name] = mindcluster_node(name);
    for (const char* name : {"share-a", "share-b"}) nodes_[name] = gpushare_node(name);
    nodes_["host-a"] = node_object("host-a", document::map(), document::map());
}

void scheduler_history::write(document event) { log_ += vgpuformats::print_json(event) + "\n"; }

document scheduler_history::options_document() const {
    return document::map({{"policy", options_.policy},
                          {"device_policy", ""},
                          {"catalog", ""},
                          {"device_config", options_.device_config},
                          {"scheduler_config", ""}});
}

void scheduler_history::start() {
    const vga_options given{.struct_size = sizeof(vga_options),
                            .policy = options_.policy.c_str(),
                            .device_policy = nullptr,
                            .catalog = nullptr,
                            .device_config = options_.device_config.empty() ? nullptr : options_.device_config.c_str(),
                            .scheduler_config = nullptr};
    vga_cluster* cluster = nullptr;
    text_buffer why;
    why.require_ok(vga_cluster_new(&given, &cluster, why.out()), "vga_cluster_new");
    cluster_.reset(cluster);
    write(document::map({{"event", "start"},
                         {"log", "vgpualloc-decisions"},
                         {"version", 1},
                         {"library", vga_version()},
                         {"time", time_},
                         {"options", options_document()}}));
    // A watch shows objects in any order.
    std::vector<const document*> objects;
    for (const auto& [name, object] : nodes_) objects.push_back(&object);
    for (const auto& [uid, pod] : pods_) objects.push_back(&pod.object);
    const document map_a = mindcluster_config_map("chip-a");
    const document map_b = mindcluster_config_map("chip-b");
    objects.insert(objects.end(), {&map_a, &map_b});
    for (std::size_t i = objects.size(); i > 1; --i) std::swap(objects[i - 1], objects[below(i)]);
    for (const document* const object : objects) tell(*object);
    for (auto& [uid, pod] : pods_) {
        pod.committed = state_of(uid) == VGA_POD_COMMITTED;
        pod.stage = pod.committed ? phase::bound : phase::waiting; // what was only reserved is lost
        if (!pod.committed) pod.annotations.clear();
    }
}

void scheduler_history::configure() {
    const std::array<const char*, 4> policies{"binpack", "spread", "fgd", "best_fit"};
    options_.policy = policies[below(policies.size())];
    const vga_options given{.struct_size = sizeof(vga_options),
                            .policy = options_.policy.c_str(),
                            .device_policy = nullptr,
                            .catalog = nullptr,
                            .device_config = options_.device_config.empty() ? nullptr : options_.device_config.c_str(),
                            .scheduler_config = nullptr};
    text_buffer why;
    why.require_ok(vga_configure(cluster_.get(), &given, why.out()), "vga_configure");
    write(document::map({{"event", "configure"}, {"options", options_document()}}));
}

void scheduler_history::tell(const document& object) {
    const std::string text = vgpuformats::print_json(object);
    text_buffer why;
    why.require_ok(vga_upsert(cluster_.get(), text.data(), text.size(), nullptr, why.out()), "vga_upsert");
    write(document::map({{"event", "tell"}, {"object", object}}));
}

std::string scheduler_history::node_name(std::uint32_t number) const {
    text_buffer name;
    return vga_node_name(cluster_.get(), number, name.out()) == VGA_OK ? name.str() : std::string{};
}

vga_pod_state scheduler_history::state_of(const std::string& uid) const {
    vga_pod_state state = VGA_POD_UNKNOWN;
    require(vga_get_pod(cluster_.get(), uid.c_str(), &state, nullptr) == VGA_OK, "a pod has a state");
    return state;
}

/// Nodes and configurations that change may take a reservation away.
bool scheduler_history::lost_its_reservation(const std::string& uid) {
    known_pod& pod = pods_.at(uid);
    if (state_of(uid) != VGA_POD_WAITING) return false;
    pod.stage = phase::waiting;
    return true;
}

std::string scheduler_history::any_pod(phase stage) {
    std::vector<std::string> uids;
    for (const auto& [uid, pod] : pods_) {
        if (pod.stage == stage) uids.push_back(uid);
    }
    return uids.empty() ? std::string{} : uids[below(uids.size())];
}

// ---- the life of a pod

void scheduler_history::add_pod() {
    constexpr std::size_t kinds = 9;
    const bool is_huge = options_.refuses && below(12) == 0;
    const pod_kind kind = is_huge ? pod_kind{.limits = vgpu_limits(1, 100'000, 0)} : kind_of(below(kinds), below(8));
    const std::string number = std::to_string(++pods_made_);
    document limits = kind.limits;
    if (limits.find("cpu") == nullptr) limits["cpu"] = "1";
    known_pod pod;
    pod.object = document::map(
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata", document::map({{"name", "p" + number},
                                     {"namespace", "team"},
                                     {"uid", "uid-" + number},
                                     {"labels", kind.labels},
                                     {"annotations", kind.annotations}})},
         {"spec",
          document::map(
              {{"schedulerName", "volcano"},
               {"containers",
                document::list({document::map(
                    {{"name", "main"}, {"resources", document::map({{"limits", limits}, {"requests", limits}})}})})}})},
         {"status", document::map({{"phase", "Pending"}})}});
    tell(pod.object);
    pods_.emplace("uid-" + number, std::move(pod));
    decide("uid-" + number);
}

void scheduler_history::refuse(const std::string& uid, const std::vector<vga_answer>& answers, document event) {
    std::map<std::string, std::int64_t> reasons;
    for (std::uint32_t n = 0; n < answers.size(); ++n) {
        if (!node_name(n).empty() && answers[n].reason != VGA_FITS) ++reasons[vga_reason_name(answers[n].reason)];
    }
    event["event"] = "refuse";
    event["uid"] = uid;
    event["reasons"] = document::map_of(reasons);
    write(std::move(event));
}

void scheduler_history::decide(const std::string& uid) {
    if (state_of(uid) == VGA_POD_COMMITTED) { // its object showed a decision, and its node is there now
        pods_.at(uid).stage = phase::bound;
        return;
    }
    std::vector<vga_answer> answers(64);
    std::size_t count = 0;
    text_buffer why;
    why.require_ok(vga_evaluate(cluster_.get(), uid.c_str(), 0, answers.data(), answers.size(), &count, why.out()),
                   "vga_evaluate");
    answers.resize(count);
    std::vector<std::uint32_t> fitting;
    for (std::uint32_t n = 0; n < answers.size(); ++n) {
        if (answers[n].reason == VGA_FITS) fitting.push_back(n);
    }
    document event = document::map({{"event", "decide"}, {"uid", uid}});
    event["pod"] = "team/p" + uid.substr(4);
    document names = document::list();
    const std::size_t luck = options_.refuses ? below(6) : 2;
    if (luck == 0) { // other plugins refuse some nodes
        std::erase_if(fitting, [&](std::uint32_t n) {
            if (below(2) == 0) return false;
            names.push_back(node_name(n));
            return true;
        });
        event["except"] = names;
    } else if (luck == 1) {
        std::erase_if(fitting, [&](std::uint32_t) { return below(2) == 0; });
        for (const std::uint32_t n : fitting) names.push_back(node_name(n));
        event["only"] = names;
    }
    std::uint32_t chosen = 0;
    int found = 0;
    why.require_ok(vga_choose(cluster_.get(), uid.c_str(), fitting.data(), fitting.size(), &chosen, &found, why.out()),
                   "vga_choose");
    if (found == 0) {
        why.require_ok(vga_evaluate(cluster_.get(), uid.c_str(), VGA_WITH_NUMBERS, answers.data(), answers.size(),
                                    &count, why.out()),
                       "vga_evaluate");
        return refuse(uid, answers, std::move(event));
    }
    vga_answer answer{};
    why.require_ok(vga_reserve(cluster_.get(), uid.c_str(), chosen, &answer, why.out()), "vga_reserve");
    require(answer.reason == VGA_FITS, "what fits can be reserved");
    time_ += 1'000'000'000 + static_cast<std::int64_t>(below(1'000'000'000));
    text_buffer annotations;
    why.require_ok(vga_annotations(cluster_.get(), uid.c_str(), time_, annotations.out(), why.out()),
                   "vga_annotations");
    const document written = *vgpuformats::parse_json(annotations.str(), "annotations");
    known_pod& pod = pods_.at(uid);
    pod.stage = phase::reserved;
    pod.node = node_name(chosen);
    for (const auto& [key, text] : written.members) pod.annotations[key] = text.text;
    event["node"] = pod.node;
    event["time"] = time_;
    event["annotations"] = written;
    write(std::move(event));
}

/// One step of a reserved pod: it is committed, annotated, or bound.
void scheduler_history::go_on(const std::string& uid) {
    if (lost_its_reservation(uid)) return;
    known_pod& pod = pods_.at(uid);
    const std::size_t step = below(3);
    if (step == 0 && state_of(uid) == VGA_POD_RESERVED) {
        call("commit", uid, vga_commit);
        pod.committed = true;
    }
    if (step == 0) return;
    for (const auto& [key, text] : pod.annotations) pod.object["metadata"]["annotations"][key] = text;
    if (step == 2) pod.object["spec"]["nodeName"] = pod.node;
    tell(pod.object);
    pod.committed = state_of(uid) == VGA_POD_COMMITTED;
    if (step == 2) {
        require(pod.committed || nodes_.count(pod.node) == 0, "what is bound has its devices");
        pod.stage = phase::bound;
    }
}

void scheduler_history::call(const char* event, const std::string& uid,
                             vga_status (*function)(vga_cluster*, const char*, vga_text*)) {
    text_buffer why;
    why.require_ok(function(cluster_.get(), uid.c_str(), why.out()), event);
    write(document::map({{"event", event}, {"uid", uid}}));
}

/// Binding failed: the annotations are taken off again.
void scheduler_history::take_back(const std::string& uid) {
    if (lost_its_reservation(uid) || state_of(uid) == VGA_POD_COMMITTED) return;
    known_pod& pod = pods_.at(uid);
    call("rollback", uid, vga_rollback);
    pod.stage = phase::waiting;
    auto& annotations = pod.object["metadata"]["annotations"].members;
    const bool is_annotated = std::erase_if(annotations, [&pod](const auto& entry) {
                                  const auto written = pod.annotations.find(entry.first);
                                  return written != pod.annotations.end() && written->second == entry.second.text;
                              }) > 0;
    pod.annotations.clear();
    if (is_annotated) tell(pod.object);
}

void scheduler_history::end(const std::string& uid) {
    known_pod& pod = pods_.at(uid);
    const std::size_t way = below(3);
    if (way == 0 && state_of(uid) == VGA_POD_COMMITTED) call("release", uid, vga_release);
    if (way == 1) {
        pod.object["status"]["phase"] = below(2) == 0 ? "Succeeded" : "Failed";
        tell(pod.object);
    } else {
        text_buffer why;
        why.require_ok(vga_remove_pod(cluster_.get(), uid.c_str(), why.out()), "vga_remove_pod");
        write(document::map({{"event", "remove_pod"}, {"uid", uid}}));
    }
    pods_.erase(uid);
}

/// A running pod is suspended, one that waits is tried, and either the first one goes or all is as before.
void scheduler_history::evict_on_trial() {
    const std::string victim = any_pod(phase::bound);
    const std::string waits = any_pod(phase::waiting);
    if (victim.empty() || state_of(victim) != VGA_POD_COMMITTED) return;
    if (!nodes_.contains(pods_.at(victim).node)) return; // there is nothing to win on a node that is gone
    call("suspend", victim, vga_suspend);
    if (!waits.empty()) decide(waits);
    const bool is_placed = !waits.empty() && pods_.at(waits).stage == phase::reserved;
    if (is_placed && below(2) == 0) {
        text_buffer why;
        why.require_ok(vga_remove_pod(cluster_.get(), victim.c_str(), why.out()), "vga_remove_pod");
        write(document::map({{"event", "remove_pod"}, {"uid", victim}}));
        pods_.erase(victim);
        return;
    }
    if (is_placed) take_back(waits);
    // A node that was told with other devices meanwhile has ended the trial.
    if (state_of(victim) == VGA_POD_SUSPENDED) call("resume", victim, vga_resume);
}

// ---- the cluster

void scheduler_history::tell_node(const std::string& name) { tell(nodes_.at(name)); }

void scheduler_history::change_node() {
    const std::size_t what = below(4);
    if (what == 0 && !absent_.empty()) {
        nodes_.insert(absent_.extract(absent_.begin()));
        for (const auto& [name, object] : nodes_) tell_node(name);
    } else if (what == 1 && absent_.size() < 2) {
        const auto victim = std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(below(nodes_.size())));
        const std::string name = victim->first;
        absent_.insert(nodes_.extract(victim));
        text_buffer why;
        why.require_ok(vga_remove_node(cluster_.get(), name.c_str(), why.out()), "vga_remove_node");
        write(document::map({{"event", "remove_node"}, {"node", name}}));
    } else if (nodes_.contains("core-a")) {
        nodes_["core-a"] = vgpu_node("core-a", 2, "hami-core", what == 2);
        tell_node("core-a");
    }
}

void scheduler_history::learn() {
    int learned = 0;
    text_buffer why;
    why.require_ok(vga_learn_workload(cluster_.get(), &learned, why.out()), "vga_learn_workload");
    if (learned != 0) write(document::map({{"event", "learn"}}));
}

const std::string& scheduler_history::run() {
    start();
    const std::size_t pods_max = options_.refuses ? 120 : 25;
    for (int step = 0; step < options_.steps; ++step) {
        const std::size_t luck = below(100);
        if (luck < 35) {
            if (pods_.size() < pods_max) add_pod();
        } else if (luck < 42) {
            if (const std::string uid = any_pod(phase::waiting); !uid.empty()) decide(uid);
        } else if (luck < 68) {
            if (const std::string uid = any_pod(phase::reserved); !uid.empty()) go_on(uid);
        } else if (luck < 72) {
            if (const std::string uid = any_pod(phase::reserved); !uid.empty()) take_back(uid);
        } else if (luck < 84) {
            if (const std::string uid = any_pod(phase::bound); !uid.empty()) end(uid);
        } else if (luck < 86) {
            if (const std::string uid = any_pod(phase::waiting); !uid.empty()) end(uid);
        } else if (luck < 92) {
            if (options_.refuses) evict_on_trial();
        } else if (luck < 95) {
            if (options_.refuses) change_node();
        } else if (luck < 97) {
            learn();
        } else if (luck < 98) {
            configure();
        } else if (luck < 99 && options_.restarts && below(3) == 0) {
            if (below(2) == 0) log_ += "{\"event\":\"tell\",\"object\":{\"kind\":\"Po\n"; // killed while it wrote
            start();
        }
    }
    return log_;
}

} // namespace decisions_test
