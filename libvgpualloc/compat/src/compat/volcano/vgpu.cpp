// The device object: selection, ledger and exclusive rules of one node together.
#include "vgpualloc/compat/volcano/vgpu.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "vgpu_annotation.hpp"
#include "vgpu_cards.hpp"
#include "vgpu_exclusive.hpp"
#include "vgpu_ledger.hpp"
#include "vgpu_mig.hpp"
#include "vgpu_request.hpp"
#include "vgpu_select.hpp"

namespace vgpualloc::compat::volcano {

namespace {

using namespace vgpu;

std::string id_of(const card_spec& card, const selected_card& selected) {
    return selected.instance ? mig_id(card, *selected.instance) : card.uuid;
}

picked_card picked(const card_spec& card, const selected_card& selected) {
    picked_card result{.index = card.index,
                       .uuid = card.uuid,
                       .id = {},
                       .type = vendor_word,
                       .memory = selected.need,
                       .cores = selected.cores,
                       .mig = {}};
    if (selected.instance) {
        result.id = mig_id(card, *selected.instance);
        result.mig = described(card, *selected.instance);
    }
    return result;
}

card_state state_of(const card_spec& card, const card_use& use, const pod_map& pods) {
    card_state state;
    state.index = card.index;
    state.used_num = use.num;
    state.used_mem = use.memory;
    state.used_core = use.cores;
    for (const auto& [uid, share] : pods) state.pods[uid] = {share.memory, share.cores};
    state.uuid = card.uuid;
    state.memory = card.memory;
    state.number = card.number;
    state.type = card.type;
    state.health = card.health;
    if (card.groups != nullptr && !card.groups->empty()) {
        state.mig_index = use.group;
        state.usage = use.usage;
        std::ranges::sort(state.usage, {}, &mig_usage::name);
        for (const mig_group& group : *card.groups) state.mig_groups.push_back(group.name);
    }
    return state;
}

class vgpu_object final : public device_object {
public:
    vgpu_object(node_spec registered, settings setup, std::shared_ptr<exclusive_memory> memory)
        : ledger_{make_ledger(std::move(registered))}, setup_{setup}, memory_{std::move(memory)} {}

    [[nodiscard]] std::unique_ptr<device_object> copy() const override { return std::make_unique<vgpu_object>(*this); }

    [[nodiscard]] bool requested_by(const pod& pending) const override {
        return asks_for_vgpu(pending, *setup_.config);
    }

    [[nodiscard]] filter_answer filter(const pod& pending, const std::string& policy) override {
        filter_answer answer;
        selection selected;
        if (requested_by(pending)) {
            auto snapshot = ledger_.uses;
            selected = select_cards(ledger_, snapshot, request_of(pending, policy), setup_);
        }
        if (selected.fits()) {
            score_ = selected.score;
            return answer;
        }
        return {.fits = false,
                .code = 2,
                .message = "hami-vgpuDeviceSharing error",
                .error = std::move(selected.error),
                .reason = std::move(selected.reason)};
    }

    [[nodiscard]] double score(const pod& /*pending*/, const std::string& /*policy*/) override { return score_; }

    [[nodiscard]] allocate_answer allocate(const pod& pending, const std::string& /*policy*/) override {
        allocate_answer answer;
        if (!requested_by(pending)) {
            answer.ok = true;
            return answer;
        }
        // The session has put the pod on the node before it calls Allocate.
        if (exclusive_) exclusive_->track(pending, ledger_);
        // Upstream's Allocate takes no policy: it reads the plugin's.
        selection selected = select_cards(ledger_, ledger_.uses, request_of(pending, setup_.options->policy), setup_);
        if (!selected.fits()) {
            answer.error = std::move(selected.error);
            answer.reason = std::move(selected.reason);
            return answer;
        }
        answer.ok = true;
        describe(selected, answer);
        add_to_pod_maps(ledger_, pending, answer.annotations[ids_annotation], setup_);
        if (!setup_.has(quirk::q3)) taken_[pending.uid] = std::move(selected.bookings);
        if (exclusive_) exclusive_->track_allocated(pending, ledger_);
        return answer;
    }

    void add_resource(const pod& bound) override {
        add_pod(ledger_, bound, setup_);
        if (exclusive_) exclusive_->track(bound, ledger_);
    }

    void sub_resource(const pod& bound) override {
        sub_pod(ledger_, bound, setup_);
        if (exclusive_) exclusive_->untrack(bound, ledger_);
    }

    void unallocate(const pod& pending) override {
        // Q3: upstream frees what the pod's annotations name, and a pod of the session has none yet.
        if (auto taken = taken_.extract(pending.uid); !taken.empty()) {
            for (const card_booking& booking : taken.mapped())
                undo_booking(*ledger_.spec, ledger_.uses, booking, setup_);
            for (pod_map& on_card : ledger_.pods) on_card.erase(pending.uid);
        } else {
            sub_pod(ledger_, pending, setup_);
        }
        if (exclusive_) exclusive_->untrack(pending, ledger_);
    }

    void open_session(const node& /*where*/, std::span<const pod* const> on_node) override {
        exclusive_.reset();
        const auto& rules = setup_.options->exclusive_rules;
        const bool any = std::ranges::any_of(rules, [](const kubernetes::text_map& rule) { return !rule.empty(); });
        if (any && !ledger_.spec->mig && memory_) exclusive_.emplace(rules, ledger_, on_node, memory_, setup_);
    }

    [[nodiscard]] ledger_state state() const override {
        ledger_state result;
        result.present = true;
        result.mode = mode_name(ledger_.spec->mig);
        for (std::size_t i = 0; i < ledger_.uses.size(); ++i) {
            result.devices.push_back(state_of(ledger_.spec->cards[i], ledger_.uses[i], ledger_.pods[i]));
        }
        if (exclusive_) result.rule_gpus = exclusive_->reserved();
        return result;
    }

private:
    [[nodiscard]] selection_request request_of(const pod& pending, const std::string& policy) const {
        selection_request request{.pending = &pending, .policy = policy, .blocked = {}};
        if (exclusive_) request.blocked = exclusive_->blocked_for(pending);
        return request;
    }

    /// Writes the selection into the answer, as annotations and taken apart.
    void describe(const selection& selected, allocate_answer& answer) const {
        std::vector<std::vector<assigned_card>> assigned;
        for (const auto& container : selected.containers) {
            auto& ids = assigned.emplace_back();
            auto& cards = answer.containers.emplace_back();
            for (const selected_card& chosen : container) {
                const card_spec& card = ledger_.spec->cards[chosen.card];
                ids.push_back({.id = id_of(card, chosen), .memory = chosen.need, .cores = chosen.cores});
                cards.push_back(picked(card, chosen));
            }
        }
        const std::string text = encode_assignment(assigned);
        // A reader of an empty annotation finds no container, not one without cards (a single record of count 0).
        if (text.empty()) answer.containers.clear();
        answer.annotations = {{"volcano.sh/vgpu-node", ledger_.spec->name}, {"volcano.sh/vgpu-time", "<time>"},
                              {"volcano.sh/bind-time", "<time>"},           {ids_annotation, text},
                              {"volcano.sh/devices-to-allocate", text},     {"volcano.sh/bind-phase", "allocating"}};
    }

    node_ledger ledger_;
    settings setup_;
    std::shared_ptr<exclusive_memory> memory_;
    double score_ = 0.0; ///< of the last filter that fitted
    std::optional<exclusive_rules> exclusive_;
    std::map<std::string, std::vector<card_booking>> taken_; ///< by pod uid; only with Q3 off
};

} // namespace

std::unique_ptr<device_object> make_vgpu(const node& where, const device_config& config, const plugin_options& options,
                                         std::shared_ptr<exclusive_memory> memory) {
    auto registered = read_registration(where, config);
    if (!registered) return nullptr;
    return std::make_unique<vgpu_object>(std::move(*registered), settings{.config = &config, .options = &options},
                                         std::move(memory));
}

} // namespace vgpualloc::compat::volcano
