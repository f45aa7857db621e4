// Decision logs: followed, and run again under another policy; nothing is given out there that a device does not have.
#include "fuzz.hpp"

#include "vgpusim/decisions/answer.hpp"

namespace {

/// Both clusters after every event. What objects say is given out is counted also where it is too much, so that a
/// cluster that is not sound says nothing about the other one.
void follow_both(std::string_view input) {
    vgpusim::decisions::log_reader reader{"input", input};
    vgpusim::decisions::follower live;
    vgpusim::decisions::rerun other{{.texts = {.policy = "spread"}, .names = {}}};
    while (true) {
        const auto more = reader.next();
        if (!more || !*more || !live.apply(reader.event())) return;
        if (!other.apply(reader.event(), live.cluster())) return;
        live.cluster().book().check();
        other.cluster().book().check();
    }
}

} // namespace

void fuzzing::fuzz(std::string_view input) {
    follow_both(input);
    const auto compared = vgpusim::decisions::replay_log("input", input, {});
    if (!compared) return require_readable(compared.error());
    require_json(answer_json(*compared));
    require(!answer_text(*compared).empty(), "an answer has words");
    require(compared->figures.starts > 0, "a log begins with a start");
    const auto other = vgpusim::decisions::replay_log("input", input, {.texts = {.policy = "spread"}, .names = {}});
    if (!other) return require_readable(other.error());
    require_json(answer_json(*other));
    require(other->differences.size() == compared->differences.size(), "another policy does not change what was live");
    require(other->what_if->replay.policy == "spread", "the policy is the one that was asked for");
    for (const auto& fate : other->what_if->pods) {
        require(fate.node.empty() || !fate.waiting, "a pod that has a node does not wait");
    }
}
