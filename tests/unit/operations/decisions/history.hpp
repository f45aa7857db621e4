// Random histories of a scheduler on the C interface, with the decision log that it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "vgpualloc/c_api.h"
#include "vgpuformats/document.hpp"

namespace decisions_test {

struct history_options {
    std::uint64_t seed = 1;
    int steps = 500;
    std::string policy = "binpack";
    std::string device_config{}; ///< text
    bool restarts = true;        ///< the scheduler is killed now and then, also while it writes
    bool refuses = true;         ///< pods come that fit nowhere, and more than there is room for
};

/// A cluster of every dialect that schedulers serve, pods of each that come, are decided, annotated, bound, rolled
/// back, evicted on trial and gone, nodes that fail, go and come back, configurations that change. Whatever the core is
/// told or decides is a line of log().
class scheduler_history {
public:
    explicit scheduler_history(history_options options);

    /// Runs all steps and returns the log.
    [[nodiscard]] const std::string& run();

private:
    enum class phase : std::uint8_t { waiting, reserved, bound };
    struct known_pod {
        vgpuformats::document object;
        phase stage = phase::waiting;
        bool committed = false;
        std::string node{};
        std::map<std::string, std::string> annotations{};
    };
    struct cluster_deleter {
        void operator()(vga_cluster* cluster) const noexcept { vga_cluster_free(cluster); }
    };

    void write(vgpuformats::document event);
    void start();
    void configure();
    void tell(const vgpuformats::document& object);
    void tell_node(const std::string& name);
    void add_pod();
    void decide(const std::string& uid);
    void refuse(const std::string& uid, const std::vector<vga_answer>& answers, vgpuformats::document event);
    void go_on(const std::string& uid);
    void take_back(const std::string& uid);
    void end(const std::string& uid);
    void evict_on_trial();
    void change_node();
    void learn();
    void call(const char* event, const std::string& uid, vga_status (*function)(vga_cluster*, const char*, vga_text*));
    [[nodiscard]] vgpuformats::document options_document() const;
    [[nodiscard]] std::string node_name(std::uint32_t number) const; ///< empty: it has no node
    [[nodiscard]] vga_pod_state state_of(const std::string& uid) const;
    [[nodiscard]] bool lost_its_reservation(const std::string& uid);
    [[nodiscard]] std::string any_pod(phase stage); ///< empty: there is none
    [[nodiscard]] std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

    history_options options_;
    std::mt19937_64 random_;
    std::unique_ptr<vga_cluster, cluster_deleter> cluster_;
    std::map<std::string, vgpuformats::document> nodes_;    ///< as their objects are
    std::map<std::string, vgpuformats::document> absent_{}; ///< objects of nodes that are gone
    std::map<std::string, known_pod> pods_;                 ///< by uid
    std::int64_t time_ = 1'700'000'000'000'000'000;
    int pods_made_ = 0;
    std::string log_;
};

} // namespace decisions_test
