// How Volcano's deviceshare plugin ranks cards and nodes, without its mistakes (docs/dialects/volcano.md): what its
// arguments SchedulePolicy and ScheduleWeight mean. For conformance runs and for those who want exactly that ranking.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/policy/positional.hpp"

namespace vgpualloc::policies {

/// deviceshare.SchedulePolicy; `none` is any other text, also none at all.
enum class deviceshare_order : std::uint8_t { none, binpack, spread };

[[nodiscard]] constexpr deviceshare_order deviceshare_order_of(std::string_view text) noexcept {
    if (text == "binpack") return deviceshare_order::binpack;
    return text == "spread" ? deviceshare_order::spread : deviceshare_order::none;
}

/// The plugin's contribution to a node: its score rounded to a whole number, times deviceshare.ScheduleWeight.
[[nodiscard]] inline double deviceshare_contribution(double score, std::int64_t weight) {
    return weight <= 0 ? 0.0 : std::floor(score + 0.5) * static_cast<double>(weight);
}

/// What they have in common: which card it is matters, and a node is scored by the placement on it.
class deviceshare_policy : public positional_policy {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "deviceshare"; }
};

/// NVIDIA vGPU. Cards: binpack the fullest by memory, spread the one with the fewest containers, else the one with the
/// highest index. Nodes: 100 x the memory share of every card taken, with the new container; spread 100 for every card
/// that was empty.
class deviceshare_vgpu final : public deviceshare_policy {
public:
    deviceshare_vgpu(deviceshare_order order, std::int64_t weight) : order_{order}, weight_{weight} {}

    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view& step) override {
        switch (order_) {
        case deviceshare_order::binpack:
            return static_cast<double>(step.before->state.memory.count());
        case deviceshare_order::spread:
            return -static_cast<double>(step.before->state.slots);
        case deviceshare_order::none:
            break;
        }
        return static_cast<double>(step.index);
    }
    [[nodiscard]] double placement_score(const request_view&, const placement_view& chosen) override {
        double sum = 0.0;
        for (std::size_t i = 0; i < chosen.shares.size(); ++i) sum += score_of(*chosen.taken[i], *chosen.became[i]);
        return deviceshare_contribution(sum, weight_);
    }

private:
    [[nodiscard]] double score_of(const device_view& before, const device_view& after) const {
        if (order_ == deviceshare_order::spread) return before.state.slots == 0 ? 100.0 : 0.0;
        if (order_ == deviceshare_order::none) return 0.0;
        const auto used = static_cast<double>(after.state.memory.count());
        return 100.0 * (used / static_cast<double>(after.spec->memory.count()));
    }

    deviceshare_order order_;
    std::int64_t weight_;
};

/// Ascend in HAMi mode. Cards: binpack 100 x the memory share, spread 100 if unused. Nodes: that of the first card of
/// every container, before the pod; where link groups count, 10 x the share of these cards in one group on top.
class deviceshare_ascend final : public deviceshare_policy {
public:
    deviceshare_ascend(deviceshare_order order, std::int64_t weight) : order_{order}, weight_{weight} {}

    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view& step) override {
        return score_of(*step.before);
    }
    [[nodiscard]] double placement_score(const request_view& request, const placement_view& chosen) override {
        double sum = 0.0;
        std::vector<device_index> firsts;
        for (std::size_t i = 0; i < chosen.shares.size(); ++i) {
            if (i > 0 && chosen.shares[i].container == chosen.shares[i - 1].container) continue;
            firsts.push_back(chosen.shares[i].device);
            sum += score_of(*chosen.taken[i]);
        }
        if (request.request->one_link_group) sum += 10.0 * share_in_one_group(*chosen.described, firsts);
        return deviceshare_contribution(sum, weight_);
    }

private:
    [[nodiscard]] double score_of(const device_view& card) const {
        if (order_ == deviceshare_order::spread) return card.state.slots == 0 ? 100.0 : 0.0;
        if (order_ == deviceshare_order::none) return 0.0;
        return 100.0 * static_cast<double>(card.state.memory.count()) / static_cast<double>(card.spec->memory.count());
    }
    [[nodiscard]] static double share_in_one_group(const node& described, std::span<const device_index> cards) {
        std::int64_t most = 0;
        for (const device_index one : cards) {
            const std::int32_t group = described.devices[one.at()].link_group;
            if (group == no_link_group) return 0.0;
            std::int64_t same = 0;
            for (const device_index other : cards) {
                same += static_cast<int>(described.devices[other.at()].link_group == group);
            }
            most = same > most ? same : most;
        }
        return cards.empty() ? 0.0 : static_cast<double>(most) / static_cast<double>(cards.size());
    }

    deviceshare_order order_;
    std::int64_t weight_;
};

/// Ascend 310P in MindCluster mode. Chips: best fit by free AI cores, then by free AI CPUs. Nodes: the one with the
/// fewest idle AI cores; a node that can only give a lesser template than asked comes after all others.
class deviceshare_310p final : public deviceshare_policy {
public:
    /// `capacity`: AI cores that each node offers, by node. `booked` says what a booking takes of them, which
    /// Kubernetes counts for all containers of a pod, also for those that get no chip; empty: they are booked as host
    /// memory.
    deviceshare_310p(std::int64_t weight, std::vector<std::int64_t> capacity,
                     std::function<std::int64_t(const booking&)> booked = {})
        : weight_{weight}, idle_{std::move(capacity)}, booked_{std::move(booked)} {}

    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view& step) override {
        constexpr std::int64_t cpus_max = 1000; // more than a chip has
        const use_vector use = step.before->spec->mode->use(*step.before->spec, step.before->state);
        return static_cast<double>(use.compute.count() * cpus_max + use.ai_cpus);
    }
    [[nodiscard]] double placement_score(const request_view&, const placement_view& chosen) override {
        if (weight_ <= 0) return 0.0;
        if (chosen.compromised) return -1e9; // all of these alike: upstream gives each the same
        return -static_cast<double>(idle_[chosen.before.node.at()]);
    }
    [[nodiscard]] policy_traits traits() const noexcept override {
        return {.view = looks_at::positions, .history = true};
    }
    void observe(const policy_event& event) override {
        if (event.where.at() >= idle_.size()) idle_.resize(event.where.at() + 1, 0); // a node that came later
        if (event.entry == nullptr) return;
        std::int64_t& idle = idle_[event.where.at()];
        const std::int64_t cores = booked_ ? booked_(*event.entry) : event.entry->memory.count();
        if (books(event.kind)) idle -= cores;
        if (gives_back(event.kind)) idle += cores;
    }

private:
    std::int64_t weight_;
    std::vector<std::int64_t> idle_;
    std::function<std::int64_t(const booking&)> booked_;
};

/// Legacy gpushare: the first cards that fit, on the first node.
class first_devices final : public deviceshare_policy {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "first_fit"; }
    [[nodiscard]] double device_score(const request_view&, const node_view&, const node_view&,
                                      const step_view&) override {
        return 0.0;
    }
    [[nodiscard]] double placement_score(const request_view&, const placement_view&) override { return 0.0; }
};

} // namespace vgpualloc::policies
