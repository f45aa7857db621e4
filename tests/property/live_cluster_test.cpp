// Whatever a scheduler books, tries and takes back on a living cluster: nodes answer alike however they are asked, what
// is undone leaves no trace, and a restart that reads the annotations has what was booked.
#include "vgpualloc/live/live_cluster.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support.hpp"
#include "unit/kube/snapshots.hpp"
#include "vgpualloc/live/live_figures.hpp"

namespace vgpualloc::property {
namespace {

using kube_test::card;
using kube_test::gpu_node;

constexpr std::int64_t live_nodes_max = 3;
constexpr std::int64_t live_pods_max = 6;

std::string live_node_name(std::int64_t number) { return "n" + std::to_string(number); }
std::string live_pod_name(std::int64_t number) { return "p" + std::to_string(number); }

std::string draw_live_node(std::int64_t number) {
    std::string cards;
    for (std::int64_t i = property::number(1, 3); i > 0; --i) {
        const std::string mode = property::number(0, 2) > 0 ? "hami-core" : "mig";
        cards +=
            card(live_node_name(number) + "-" + std::to_string(i), mode, property::number(0, 5) > 0 ? "true" : "false");
    }
    return gpu_node(live_node_name(number), cards, std::to_string(property::number(2, 6)));
}

std::string draw_live_pod(std::int64_t number) {
    return kube_test::pod(live_pod_name(number), kube_test::vgpu(static_cast<int>(property::number(1, 2)),
                                                                 1000 * static_cast<int>(property::number(1, 25)),
                                                                 10 * static_cast<int>(property::number(0, 6))));
}

class live_story {
public:
    live_story() : live_{make()} {
        for (std::int64_t n = 0; n < live_nodes_max; ++n) tell(live_node_name(n), draw_live_node(n));
        for (std::int64_t p = 0; p < live_pods_max; ++p) tell(live_pod_name(p), draw_live_pod(p));
    }

    void step() {
        const std::string uid = "ns/" + live_pod_name(number(0, live_pods_max - 1));
        const node_index where{static_cast<std::size_t>(number(0, live_nodes_max - 1))};
        switch (number(0, 8)) {
        case 0:
        case 1:
        case 2:
            reserve(uid, where);
            break;
        case 3:
            static_cast<void>(live_->commit(uid));
            break;
        case 4:
            static_cast<void>(number(0, 1) == 0 ? live_->rollback(uid) : live_->release(uid));
            break;
        case 5:
            try_and_undo(uid, where);
            break;
        case 6:
            ask_without(uid, where);
            break;
        case 7:
            suspend_and_resume(uid);
            break;
        default:
            tell_anew();
        }
        live_->book().check();
        check_answers(uid);
        check_empty_answers(uid);
    }

    /// A scheduler that begins with what this one has written has the same use of every device.
    void restart() {
        const auto restarted = make();
        for (const auto& [name, text] : texts_) {
            auto object = kube_test::objects(text).at(0);
            const booking* const held = live_->booking_of("ns/" + name);
            if (held != nullptr) {
                const auto annotations = live_->annotations_of("ns/" + name, 17);
                RC_ASSERT(annotations.has_value());
                for (const auto& [key, value] : *annotations) object.pod->annotations[key] = value;
                object.node_name = live_->book().nodes().nodes[held->where.node.at()].name;
            }
            restarted->upsert(object);
        }
        const auto before = figures_of(*live_);
        const auto after = figures_of(*restarted);
        RC_ASSERT(before.nodes.size() == after.nodes.size());
        for (std::size_t n = 0; n < before.nodes.size(); ++n) {
            RC_ASSERT(before.nodes[n].pods == after.nodes[n].pods);
            for (std::size_t d = 0; d < before.nodes[n].devices.size(); ++d) {
                const live_device& was = before.nodes[n].devices[d];
                const live_device& is = after.nodes[n].devices[d];
                RC_ASSERT(was.uuid == is.uuid);
                RC_ASSERT(was.memory_used == is.memory_used);
                RC_ASSERT(was.cores_used == is.cores_used);
                RC_ASSERT(was.slots_used == is.slots_used);
                RC_ASSERT(was.shares.size() == is.shares.size());
            }
        }
    }

private:
    static std::unique_ptr<live_cluster> make() {
        live_options options{.policy = "binpack"};
        options.config = kube_test::dialects().config();
        return live_cluster::make(std::move(options)).value();
    }
    void tell(const std::string& name, const std::string& text) {
        texts_[name] = text;
        live_->upsert(kube_test::objects(text).at(0));
    }
    /// Everything that can be asked: of all pods, all nodes.
    [[nodiscard]] std::vector<std::vector<std::pair<rejection_code, double>>> all_answers() {
        std::vector<std::vector<std::pair<rejection_code, double>>> all;
        for (const std::string& uid : live_->pods()) {
            auto& answers = all.emplace_back();
            const auto opinions = live_->evaluate(uid, false);
            for (const node_opinion& opinion : *opinions) {
                answers.emplace_back(opinion.refusal.code, opinion.fits() ? opinion.score : 0.0);
            }
        }
        return all;
    }
    void check_answers(const std::string& uid) {
        const auto quick = live_->evaluate(uid, false);
        const auto close = live_->evaluate(uid, true);
        RC_ASSERT(quick.has_value());
        std::vector<node_index> fitting;
        for (std::size_t n = 0; n < quick->size(); ++n) {
            const node_opinion asked = live_->ask_node(uid, node_index{n});
            RC_ASSERT((*quick)[n].refusal.code == asked.refusal.code);
            RC_ASSERT((*close)[n].refusal == asked.refusal);
            RC_ASSERT((*quick)[n].rank == asked.rank);
            if (!asked.fits()) continue;
            RC_ASSERT((*quick)[n].score == asked.score);
            fitting.emplace_back(n);
        }
        const auto best = live_->choose(uid, fitting);
        RC_ASSERT((best.has_value() && best->has_value() == !fitting.empty()));
        for (const node_index other : fitting) RC_ASSERT((*quick)[(*best)->at()].score >= (*quick)[other.at()].score);
    }
    /// As if nobody had anything: what each node says when it is asked without all pods that have something there.
    void check_empty_answers(const std::string& uid) {
        const auto before = all_answers();
        const std::uint64_t kept = live_->book().events().size();
        std::vector<node_opinion> opinions;
        const auto refused = live_->evaluate_empty(uid, [&](const node_opinion& o) { opinions.push_back(o); });
        RC_ASSERT(refused.code == rejection_code::none);
        RC_ASSERT(opinions.size() == live_->book().nodes().nodes.size());
        RC_ASSERT(live_->book().events().size() <= kept);
        for (std::size_t n = 0; n < opinions.size(); ++n) {
            const node_opinion asked = live_->ask_without(uid, node_index{n}, live_->pods());
            RC_ASSERT(opinions[n].refusal == asked.refusal);
            RC_ASSERT(opinions[n].unit == asked.unit);
            RC_ASSERT(opinions[n].compromise == asked.compromise);
            RC_ASSERT(opinions[n].rank == asked.rank);
            RC_ASSERT(opinions[n].score == asked.score);
        }
        RC_ASSERT(all_answers() == before);
    }
    void reserve(const std::string& uid, node_index where) {
        const bool waits = live_->state_of(uid) == live_pod_state::waiting;
        const bool fits = live_->ask_node(uid, where).fits();
        RC_ASSERT(live_->reserve(uid, where).fits() == (waits && fits));
        RC_ASSERT((live_->state_of(uid) == live_pod_state::reserved) == (waits ? fits : is_reserved(uid)));
    }
    [[nodiscard]] bool is_reserved(const std::string& uid) const {
        return live_->state_of(uid) == live_pod_state::reserved;
    }
    void try_and_undo(const std::string& uid, node_index where) {
        const auto before = all_answers();
        live_->begin_trial();
        static_cast<void>(live_->suspend("ns/" + live_pod_name(number(0, live_pods_max - 1))));
        static_cast<void>(live_->reserve(uid, where));
        live_->begin_trial();
        static_cast<void>(live_->release("ns/" + live_pod_name(number(0, live_pods_max - 1))));
        RC_ASSERT(live_->end_trial(number(0, 1) == 0));
        RC_ASSERT(live_->end_trial(false));
        RC_ASSERT(all_answers() == before);
    }
    void ask_without(const std::string& uid, node_index where) {
        const auto before = all_answers();
        std::vector<std::string> without;
        for (std::int64_t i = number(0, 2); i > 0; --i)
            without.push_back("ns/" + live_pod_name(number(0, live_pods_max - 1)));
        const bool fits = live_->ask_without(uid, where, without).fits();
        RC_ASSERT((fits || !live_->ask_node(uid, where).fits()));
        RC_ASSERT(all_answers() == before);
    }
    void suspend_and_resume(const std::string& uid) {
        const auto before = all_answers();
        if (live_->suspend(uid).code != rejection_code::none) return;
        RC_ASSERT(live_->resume(uid).code == rejection_code::none);
        RC_ASSERT(all_answers() == before);
    }
    /// A node registers again, perhaps with other cards, while nothing is booked there.
    void tell_anew() {
        const std::int64_t changed = number(0, live_nodes_max - 1);
        const node_index where = live_->find_node(live_node_name(changed));
        if (live_->book().live_on(where).empty()) tell(live_node_name(changed), draw_live_node(changed));
    }

    std::unique_ptr<live_cluster> live_;
    std::map<std::string, std::string> texts_; ///< of the objects, by name: nodes before pods
};

TEST(live_cluster, answers_agree_and_what_is_undone_leaves_no_trace) {
    hold("every way to ask gives one answer, and undoing is exact", [] {
        live_story told;
        for (std::int64_t step = number(1, 25); step > 0; --step) told.step();
        told.restart();
    });
}

} // namespace
} // namespace vgpualloc::property
