// Volcano's Ascend devices in HAMi mode: the ledger of one common word on one node.
#include "compat/volcano/ascend_hami.hpp"

#include <algorithm>
#include <utility>

#include "ascend_hami_parts.hpp"
#include "go_text.hpp"

namespace vgpualloc::compat::volcano {

namespace {

const std::string time_mark = "<time>";

class ascend_devices final : public device_object {
public:
    ascend_devices(const node& where, std::vector<ascend::card> cards, const vnpu_kind& kind, bool core_capable,
                   const plugin_options& options)
        : node_{where.name}, cards_{std::move(cards)}, kind_{&kind}, options_{&options}, core_capable_{core_capable} {}

    [[nodiscard]] std::unique_ptr<device_object> copy() const override {
        return std::make_unique<ascend_devices>(*this);
    }

    [[nodiscard]] bool requested_by(const pod& pending) const override {
        return options_->ascend_hami && std::ranges::any_of(pending.containers, [this](const auto& container) {
                   return container.limits.contains(kind_->resource_name) ||
                          container.limits.contains(kind_->resource_memory_name);
               });
    }

    [[nodiscard]] filter_answer filter(const pod& pending, const std::string& policy) override {
        ascend::selection chosen = ascend::select(view(), pending, policy);
        filter_answer answer;
        if (chosen.code == 0) return answer;
        answer.fits = false;
        answer.code = chosen.code;
        answer.message = "no ascend device available";
        answer.error = std::move(chosen.error);
        answer.reason = std::move(chosen.reason);
        return answer;
    }

    [[nodiscard]] double score(const pod& pending, const std::string& policy) override {
        scored_policy_ = policy;
        const ascend::selection chosen = ascend::select(view(), pending, policy);
        return chosen.code == 0 ? ascend::selection_score(view(), chosen, policy) : 0.0;
    }

    [[nodiscard]] allocate_answer allocate(const pod& pending, const std::string& policy) override {
        // Q15: the policy is that of the last ScoreNode, which is not called at weight 0: then it is none.
        const std::string& used = options_->quirks.has(quirk::q15) ? scored_policy_ : policy;
        ascend::selection chosen = ascend::select(view(), pending, used);
        allocate_answer answer;
        if (chosen.code != 0) {
            answer.error = "failed to select ascend devices for pod " + pending.name + ": " + chosen.error;
            answer.reason = std::move(chosen.reason);
            return answer;
        }
        answer.ok = true;
        answer.containers = containers_of(chosen);
        answer.annotations = annotations_of(pending, chosen);
        // The ledger is booked through the annotation's text, with what that loses (Q2b).
        pod bound;
        bound.uid = pending.uid;
        bound.annotations = answer.annotations;
        book(bound, ascend::asks_core_mode(pending));
        return answer;
    }

    void add_resource(const pod& bound) override { book(bound, ascend::asks_core_mode(bound)); }

    void sub_resource(const pod& bound) override {
        const auto text = bound.annotations.find(allocated_key());
        if (text == bound.annotations.end()) {
            for (ascend::card& card : cards_) remove(card, bound.uid);
            return;
        }
        for (const auto& entry : ascend::decode_devices(text->second, options_->quirks)) {
            if (ascend::card* const card = find(entry.uuid)) remove(*card, bound.uid);
        }
    }

    // Release has nothing left to do: without an annotation SubResource has freed by the pod's uid.
    void unallocate(const pod& pending) override { sub_resource(pending); }

    [[nodiscard]] ledger_state state() const override {
        ledger_state result;
        result.present = true;
        result.mode = kind_->common_word;
        for (const ascend::card& card : cards_) {
            card_state shown;
            shown.index = card.index;
            shown.used_num = card.used;
            shown.used_mem = card.used_memory;
            shown.used_core = card.used_cores;
            shown.pods = card.pods;
            shown.uuid = card.uuid;
            shown.memory = card.memory;
            shown.number = card.count;
            shown.cores = card.cores;
            shown.type = card.type;
            shown.health = card.health;
            if (card.place) shown.network_id = card.place->id;
            result.devices.push_back(std::move(shown));
        }
        return result;
    }

private:
    [[nodiscard]] ascend::node_view view() const {
        return {.cards = cards_, .kind = *kind_, .core_capable = core_capable_, .quirks = options_->quirks};
    }

    [[nodiscard]] std::string allocated_key() const { return "hami.io/" + kind_->common_word + "-devices-allocated"; }

    /// Upstream looks cards up by their whole id here: Q22 is one of the vGPU ledger alone.
    [[nodiscard]] ascend::card* find(std::string_view uuid) {
        const auto card = std::ranges::find(cards_, uuid, &ascend::card::uuid);
        return card == cards_.end() ? nullptr : &*card;
    }

    void book(const pod& bound, bool core_mode) {
        const auto text = bound.annotations.find(allocated_key());
        if (text == bound.annotations.end()) return;
        for (const auto& entry : ascend::decode_devices(text->second, options_->quirks)) {
            ascend::card* const card = find(entry.uuid);
            if (card == nullptr || !card->pods.try_emplace(bound.uid, entry.memory, entry.cores).second) continue;
            ++card->used;
            card->used_memory += entry.memory;
            card->used_cores += entry.cores;
            if (!core_mode) add_units(*card, bound.uid, ascend::units_of(*kind_, entry.memory));
        }
    }

    static void add_units(ascend::card& card, const std::string& uid, const ascend::ai_units& units) {
        card.units.emplace(uid, units);
        card.used_units.cores += units.cores;
        card.used_units.cpus += units.cpus;
    }

    static void remove(ascend::card& card, const std::string& uid) {
        const auto entry = card.pods.find(uid);
        if (entry == card.pods.end()) return;
        --card.used;
        card.used_memory -= entry->second.first;
        card.used_cores -= entry->second.second;
        card.pods.erase(entry);
        const auto units = card.units.extract(uid);
        if (units.empty()) return;
        card.used_units.cores -= units.mapped().cores;
        card.used_units.cpus -= units.mapped().cpus;
    }

    [[nodiscard]] std::vector<std::vector<picked_card>> containers_of(const ascend::selection& chosen) const {
        std::vector<std::vector<picked_card>> containers;
        for (const auto& part : chosen.parts) {
            if (!part.wish.asks) continue;
            auto& list = containers.emplace_back();
            for (const std::size_t at : part.cards) {
                picked_card& card = list.emplace_back();
                card.index = cards_[at].index;
                card.uuid = cards_[at].uuid;
                card.type = kind_->common_word;
                card.memory = part.wish.memory;
                card.cores = part.wish.cores;
            }
        }
        return containers;
    }

    [[nodiscard]] kubernetes::text_map annotations_of(const pod& pending, const ascend::selection& chosen) const {
        const std::string devices = ascend::encode_devices(view(), chosen);
        return {{"hami.io/" + kind_->common_word + "-devices-to-allocate", devices},
                {allocated_key(), devices},
                {"huawei.com/" + kind_->common_word,
                 ascend::encode_runtime(view(), chosen, ascend::asks_core_mode(pending))},
                {"predicate-time", time_mark},
                {"hami.io/vgpu-node", node_},
                {"hami.io/vgpu-time", time_mark},
                {"hami.io/bind-time", time_mark},
                {"hami.io/bind-phase", "allocating"}};
    }

    std::string node_;
    std::vector<ascend::card> cards_; ///< by index, never empty
    const vnpu_kind* kind_;
    const plugin_options* options_;
    bool core_capable_;
    std::string scored_policy_;
};

bool is_core_capable(const node& where, const device_config& config) {
    const auto said = where.annotations.find("hami-vnpu-core");
    return said == where.annotations.end() ? config.hami_vnpu_core : said->second == "true";
}

} // namespace

std::unique_ptr<device_object> make_ascend_hami(const node& where, const vnpu_kind& kind, const device_config& config,
                                                const plugin_options& options) {
    const auto offered = where.allocatable.find(kind.resource_name);
    if (offered == where.allocatable.end() || go_text::quantity_value(offered->second).value_or(0) == 0) return nullptr;
    const auto registered = where.annotations.find("hami.io/node-register-" + kind.common_word);
    if (registered == where.annotations.end()) return nullptr;
    auto cards = ascend::parse_register(registered->second);
    if (cards.empty()) return nullptr;
    return std::make_unique<ascend_devices>(where, std::move(cards), kind, is_core_capable(where, config), options);
}

} // namespace vgpualloc::compat::volcano
