// A repack with the instances that have to be created and destroyed for it.
#include <algorithm>

#include "vgpualloc/core/bits.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpualloc/plan/device_repack.hpp"

namespace vgpualloc::plan {

namespace {

class carrying_out {
public:
    carrying_out(const mig_transitions& costs, const mig_live_state& live) : costs_{&costs}, states_{&costs.states()} {
        result_.after = live;
    }

    /// An instance at `place` exists afterwards.
    void have(std::size_t place) {
        while ((result_.after.instances & bit_at(place)) == 0) {
            if ((states_->joinable(state()) & bit_at(place)) != 0) {
                add(mig_step_kind::create, place, costs_->costs().create);
                result_.after.instances |= bit_at(place);
                return;
            }
            const mig_places idle = result_.after.instances & ~result_.after.busy;
            const mig_places in_the_way = idle & states_->overlapping(place);
            VGA_ASSERT(idle != 0, "what a repack creates may stand beside all pods");
            const std::size_t gone = lowest_bit(in_the_way != 0 ? in_the_way : idle);
            add(mig_step_kind::destroy, gone, costs_->costs().destroy);
            result_.after.instances &= ~bit_at(gone);
        }
    }

    void move(const instance_move& step) {
        const std::size_t profile = states_->profile_of(step.to ? *step.to : *step.from);
        const ticks whole = costs_->move_cost(profile);
        const ticks saving{whole.count() / 2};
        if (step.to) have(*step.to);
        if (step.from) {
            result_.after.busy &= ~bit_at(*step.from);
            ++result_.moves;
        }
        if (step.to) result_.after.busy |= bit_at(*step.to);
        if (step.from && step.to) {
            add(mig_step_kind::move, *step.to, whole);
            result_.steps.back().from = states_->places()[*step.from].slot.start;
            result_.downtime += whole;
        } else if (step.from) {
            stopped_ += result_.cost;
            add(mig_step_kind::save, *step.from, saving);
        } else if (step.to) {
            add(mig_step_kind::restore, *step.to, whole - saving);
            went_on_ += result_.cost;
        }
    }

    [[nodiscard]] mig_transition finish(std::size_t place) {
        have(place);
        result_.place = place;
        result_.downtime += went_on_ - stopped_;
        return std::move(result_);
    }

private:
    [[nodiscard]] std::size_t state() const { return states_->find(result_.after.instances).value_or(0); }
    void add(mig_step_kind kind, std::size_t place, ticks takes) {
        const mig_place& where = states_->places()[place];
        result_.steps.push_back({.kind = kind,
                                 .profile = where.slot.profile,
                                 .profile_id = states_->model().profiles[where.slot.profile].profile_id,
                                 .start = where.slot.start,
                                 .size = where.size,
                                 .from = std::nullopt,
                                 .takes = takes});
        result_.cost += takes;
    }

    const mig_transitions* costs_;
    const gpu_layouts* states_;
    mig_transition result_;
    ticks stopped_; ///< sums over pods that waited, of the times at which they stopped and went on
    ticks went_on_;
};

} // namespace

mig_transition steps_of(const mig_transitions& costs, const mig_live_state& live,
                        const std::vector<held_instance>& instances, const device_repack& repack) {
    mig_places held = 0;
    for (const held_instance& instance : instances) held |= bit_at(instance.place);
    VGA_ASSERT(held == live.busy, "a repack is one of the GPU's pods");
    carrying_out carrying{costs, live};
    for (const instance_move& step : repack.steps) carrying.move(step);
    return carrying.finish(repack.place);
}

} // namespace vgpualloc::plan
