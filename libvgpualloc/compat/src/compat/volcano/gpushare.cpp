// Volcano's legacy gpushare devices. Amounts are taken as the API server admits them: not negative.
#include "vgpualloc/compat/volcano/gpushare.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "go_text.hpp"

namespace vgpualloc::compat::volcano {

namespace {

const std::string memory_resource = "volcano.sh/gpu-memory";
const std::string number_resource = "volcano.sh/gpu-number";
const std::string unhealthy_ids = "volcano.sh/gpu-unhealthy-ids";
const std::string index_annotation = "volcano.sh/gpu-index";
const std::string time_annotation = "volcano.sh/predicate-time";

constexpr int unschedulable = 2;

/// Init containers run one after another and before the others, so of them only the largest counts.
std::int64_t limit_of(const pod& pending, const std::string& resource) {
    const auto amount_of = [&resource](const kubernetes::container& container) {
        const auto limit = container.limits.find(resource);
        return limit == container.limits.end() ? std::int64_t{0} : limit->second;
    };
    std::int64_t together = 0;
    for (const auto& container : pending.containers) together += amount_of(container);
    for (const auto& container : pending.init_containers) together = std::max(together, amount_of(container));
    return together;
}

std::optional<std::int64_t> capacity_of(const node& where, const std::string& resource) {
    const auto amount = where.capacity.find(resource);
    return amount == where.capacity.end() ? std::nullopt : go_text::quantity_value(amount->second);
}

/// The cards of a pod's annotation; none where it is missing or any item of it is no number.
std::vector<std::int64_t> annotated_cards(const pod& bound) {
    const auto annotation = bound.annotations.find(index_annotation);
    if (annotation == bound.annotations.end()) return {};
    std::vector<std::int64_t> ids;
    for (const std::string_view item : go_text::split(annotation->second, ',')) {
        const auto id = go_text::atoi(item);
        if (!id) return {};
        ids.push_back(*id);
    }
    return ids;
}

class gpushare_devices final : public device_object {
public:
    gpushare_devices(const node& where, std::int64_t number, std::int64_t memory_per_card,
                     const plugin_options& options)
        : node_{where.name}, options_{&options} {
        for (std::int64_t i = 0; i < number; ++i) cards_[i].memory = memory_per_card;
        const auto unhealthy = where.annotations.find(unhealthy_ids);
        if (unhealthy == where.annotations.end()) return;
        for (const std::string_view item : go_text::split(unhealthy->second, ',')) {
            if (const auto id = go_text::atoi(item)) cards_.erase(*id);
        }
    }

    [[nodiscard]] std::unique_ptr<device_object> copy() const override {
        return std::make_unique<gpushare_devices>(*this);
    }

    [[nodiscard]] bool requested_by(const pod& pending) const override {
        return (options_->gpushare_memory && limit_of(pending, memory_resource) > 0) ||
               (options_->gpushare_number && limit_of(pending, number_resource) > 0);
    }

    [[nodiscard]] filter_answer filter(const pod& pending, const std::string&) override {
        const std::int64_t memory = limit_of(pending, memory_resource);
        if (options_->gpushare_memory && memory > 0 && card_with(memory).empty()) {
            return rejected("GpuShare ", "no enough gpu memory on node " + node_, "not_enough_memory");
        }
        const std::int64_t number = limit_of(pending, number_resource);
        if (options_->gpushare_number && number > 0 && idle_cards(number).empty()) {
            return rejected("GpuNumber ", "no enough gpu number on node " + node_, "not_enough_number");
        }
        return {};
    }

    [[nodiscard]] double score(const pod&, const std::string&) override { return 0.0; }

    [[nodiscard]] allocate_answer allocate(const pod& pending, const std::string&) override {
        const std::int64_t memory = limit_of(pending, memory_resource);
        const std::int64_t number = limit_of(pending, number_resource);
        // Q25: memory goes first whatever is enabled, so in number mode a pod that names both gets one card.
        const bool by_memory = memory > 0 && (options_->gpushare_memory || options_->quirks.has(quirk::q25));
        allocate_answer answer;
        if (by_memory) {
            answer.chips = card_with(memory);
        } else if (number > 0) {
            answer.chips = idle_cards(number);
        } else {
            answer.ok = true;
            return answer;
        }
        if (answer.chips.empty()) {
            answer.error = "the node " + node_ + " can't place the pod " + pending.name + " in ns " + pending.ns;
            answer.reason = "cannot_place";
            return answer;
        }
        std::string& list = answer.annotations[index_annotation];
        for (const std::int64_t id : answer.chips) {
            if (!list.empty()) list += ',';
            list += std::to_string(id);
            cards_.at(id).pods[pending.uid] = memory;
        }
        answer.annotations[time_annotation] = "<time>";
        answer.ok = true;
        return answer;
    }

    void add_resource(const pod& bound) override {
        const std::int64_t memory = limit_of(bound, memory_resource);
        if (memory <= 0 && limit_of(bound, number_resource) <= 0) return;
        for (const std::int64_t id : annotated_cards(bound)) {
            // Each card of the list is charged the whole memory, also where several are listed.
            if (const auto holder = cards_.find(id); holder != cards_.end()) holder->second.pods[bound.uid] = memory;
        }
    }

    void sub_resource(const pod& bound) override {
        if (limit_of(bound, memory_resource) <= 0 && limit_of(bound, number_resource) <= 0) return;
        const auto ids = annotated_cards(bound);
        for (auto& [id, holder] : cards_) {
            if (ids.empty() || std::ranges::find(ids, id) != ids.end()) holder.pods.erase(bound.uid);
        }
    }

    // The pod has no annotation yet, so it is taken from every card.
    void unallocate(const pod& pending) override { sub_resource(pending); }

    [[nodiscard]] ledger_state state() const override {
        ledger_state result;
        result.present = true;
        if (options_->gpushare_memory) {
            result.mode = "memory";
        } else if (options_->gpushare_number) {
            result.mode = "number";
        }
        for (const auto& [id, shown_card] : cards_) {
            card_state shown;
            shown.index = id;
            shown.memory = shown_card.memory;
            shown.used_num = static_cast<std::int64_t>(shown_card.pods.size());
            shown.used_mem = shown_card.used_memory();
            for (const auto& [uid, memory] : shown_card.pods) shown.pod_uids.push_back(uid);
            result.devices.push_back(std::move(shown));
        }
        return result;
    }

private:
    struct card {
        std::int64_t memory = 0;
        std::map<std::string, std::int64_t> pods; ///< uid -> memory

        [[nodiscard]] std::int64_t used_memory() const {
            std::int64_t sum = 0;
            for (const auto& [uid, amount] : pods) sum += amount;
            return sum;
        }
    };

    static filter_answer rejected(std::string_view prefix, std::string text, std::string reason) {
        filter_answer answer;
        answer.fits = false;
        answer.code = unschedulable;
        answer.message = std::string{prefix} + text;
        answer.error = std::move(text);
        answer.reason = std::move(reason);
        return answer;
    }

    /// The lowest card with that much free memory, or none; a card that holds more than it has counts as full.
    [[nodiscard]] std::vector<std::int64_t> card_with(std::int64_t memory) const {
        for (const auto& [id, candidate] : cards_) {
            if (std::max<std::int64_t>(candidate.memory - candidate.used_memory(), 0) >= memory) return {id};
        }
        return {};
    }

    /// That many cards without a pod, or none. Q13: upstream takes them in the order of a Go map, so any may come; here
    /// they come lowest first, which is one of upstream's outcomes and the order a corrected one would have.
    [[nodiscard]] std::vector<std::int64_t> idle_cards(std::int64_t number) const {
        std::vector<std::int64_t> ids;
        for (const auto& [id, candidate] : cards_) {
            if (static_cast<std::int64_t>(ids.size()) == number) break;
            if (candidate.pods.empty()) ids.push_back(id);
        }
        if (static_cast<std::int64_t>(ids.size()) < number) ids.clear();
        return ids;
    }

    std::string node_;
    const plugin_options* options_;
    std::map<std::int64_t, card> cards_;
};

} // namespace

std::optional<std::int64_t> gpushare_cards(const node& where) { return capacity_of(where, number_resource); }

std::unique_ptr<device_object> make_gpushare(const node& where, const plugin_options& options) {
    const auto memory = capacity_of(where, memory_resource);
    const auto number = gpushare_cards(where);
    if (!memory || !number || *number == 0) return nullptr;
    return std::make_unique<gpushare_devices>(where, *number, *memory / *number, options);
}

} // namespace vgpualloc::compat::volcano
