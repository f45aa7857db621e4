#include "compat.hpp"

#include <cstddef>
#include <cstdint>

namespace vgpuconformance {

using volcano::quirk_set;

namespace {

volcano::plugin_options options_with(const json& recorded_case, quirk_set quirks) {
    volcano::plugin_options options = options_from(recorded_case);
    options.quirks = quirks;
    return options;
}

} // namespace

compat_side::compat_side(const json& recorded_case, quirk_set quirks, footing within_sessions)
    : family_{recorded_case.at("family").get<std::string>()}, footing_{within_sessions},
      model_{std::make_unique<volcano::scheduler>(config_from(recorded_case), options_with(recorded_case, quirks))} {
    for (const json& node : recorded_case.at("nodes")) model_->add_node(node_from(node), npu_info_from(node));
    model_->open_session();
}

compat_side::~compat_side() = default;

outcome compat_side::attempt(volcano::pod pod, bool roll_back) {
    const auto answer = model_->try_in_session(pod, roll_back);
    json out = attempt_json(*model_, answer);
    if (answer.allocated && answer.allocated->ok && !roll_back) {
        for (const auto& [key, value] : answer.allocated->annotations) pod.annotations[key] = value;
        out["cache_state"] = state_json(model_->cache_state_with(pod, *answer.chosen), *answer.chosen, false);
    }
    return outcome_of(out, "add", family_);
}

outcome compat_side::add(const json& event) {
    if (event.value("new_session", false)) model_->open_session();
    const auto pod = pod_from(event.at("pod"));
    const bool roll_back = event.value("rollback", false);
    const bool bound = was_bound(event);
    const auto where = event.at("out").value("chosen", std::int64_t{-1});
    outcome result;
    if (footing_ == footing::own || !bound) {
        result = attempt(pod, roll_back);
    } else {
        auto before = model_->copy_session();
        result = attempt(pod, roll_back);
        model_->set_session(std::move(before));
        model_->take_in_session(bound_pod_from(event), static_cast<std::size_t>(where));
    }
    if (bound) model_->restore(bound_pod_from(event), static_cast<std::size_t>(where));
    return result;
}

outcome compat_side::step(const json& event) {
    const auto op = event.at("op").get<std::string>();
    if (op == "add") return add(event);
    const auto where = event.at("out").value("chosen", std::int64_t{-1});
    if (op == "restore") model_->restore(pod_from(event.at("pod")), static_cast<std::size_t>(where));
    if (op == "delete") static_cast<void>(model_->remove(event.at("pod_uid").get<std::string>()));
    if (op == "node_update") model_->update_node(static_cast<std::size_t>(where));
    json out{{"chosen", where}};
    if (where >= 0) {
        const auto node = static_cast<std::size_t>(where);
        out["cache_state"] = state_json(model_->cache_state(node), node, false);
    }
    return outcome_of(out, op, family_);
}

} // namespace vgpuconformance
