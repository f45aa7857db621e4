// Decision logs: followed, and run again under another policy. The ledgers check themselves after every step.
#include "fuzz.hpp"

#include "vgpuops/decisions/answer.hpp"

void fuzzing::fuzz(std::string_view input) {
    const auto compared = vgpuops::decisions::replay_log("input", input, {});
    if (!compared) return require_readable(compared.error());
    require_json(answer_json(*compared));
    require(!answer_text(*compared).empty(), "an answer has words");
    require(compared->figures.starts > 0, "a log begins with a start");
    const auto other = vgpuops::decisions::replay_log("input", input, {.texts = {.policy = "spread"}, .names = {}});
    if (!other) return require_readable(other.error());
    require_json(answer_json(*other));
    require(other->differences.size() == compared->differences.size(), "another policy does not change what was live");
    require(other->what_if->replay.policy == "spread", "the policy is the one that was asked for");
    for (const auto& fate : other->what_if->pods) {
        require(fate.node.empty() || !fate.waiting, "a pod that has a node does not wait");
    }
}
