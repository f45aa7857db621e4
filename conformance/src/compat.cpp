#include "compat.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace vgpuconformance {

using volcano::quirk_set;

namespace {

volcano::plugin_options options_with(volcano::plugin_options options, quirk_set quirks) {
    options.quirks = quirks;
    return options;
}

} // namespace

compat_side::compat_side(const recorded_case& recorded, quirk_set quirks)
    : family_{recorded.family},
      model_{std::make_unique<volcano::scheduler>(recorded.config, options_with(recorded.options, quirks))} {
    for (const recorded_node& node : recorded.nodes) model_->add_node(node.node, node.npu);
    model_->open_session();
}

compat_side::~compat_side() = default;

outcome compat_side::add(const recorded_event& event) {
    if (event.new_session) model_->open_session();
    auto answer = model_->try_in_session(event.pod, event.roll_back);
    event_result result;
    for (const volcano::node_answer& node : answer.nodes) result.fits.push_back(node.fits());
    if (answer.chosen) result.chosen = static_cast<std::int64_t>(*answer.chosen);
    if (answer.allocated) {
        result.session = model_->session_state(*answer.chosen);
        if (answer.allocated->ok && !event.roll_back) {
            volcano::pod bound = event.pod;
            for (const auto& [key, value] : answer.allocated->annotations) bound.annotations[key] = value;
            result.cache = model_->cache_state_with(bound, *answer.chosen);
        }
        if (family_ == "ascend-hami")
            result.templates = templates_of(*answer.allocated).value_or(std::vector<std::string>{});
        result.allocated = std::move(answer.allocated);
    }
    if (event.bound_a_pod()) {
        model_->restore(event.bound_pod(), static_cast<std::size_t>(event.result.chosen));
    }
    return outcome_of(result, family_);
}

outcome compat_side::step(const recorded_event& event) {
    if (event.kind == event_kind::add) return add(event);
    if (event.kind == event_kind::restore) model_->restore(event.pod, event.node);
    if (event.kind == event_kind::remove) static_cast<void>(model_->remove(event.pod_uid));
    if (event.kind == event_kind::node_update) model_->update_node(event.node);
    event_result result;
    result.chosen = event.result.chosen;
    if (result.chosen >= 0) result.cache = model_->cache_state(static_cast<std::size_t>(result.chosen));
    return outcome_of(result, family_);
}

} // namespace vgpuconformance
