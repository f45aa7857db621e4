#include "vgpufacade/stepper.hpp"

#include <deque>
#include <utility>

#include "outcome.hpp"
#include "vgpualloc/core/config.hpp"
#include "vgpusim/outputs/answer.hpp"

namespace vgpufacade {

/// Jobs of the instant whose pass has been reached.
struct undecided_jobs {
    std::deque<std::uint32_t> jobs;
    bool pass_reached = false;
};

namespace {

/// Decides nothing in its passes: the caller does, after them.
class left_to_the_caller final : public vgpusim::discipline {
public:
    explicit left_to_the_caller(undecided_jobs& undecided) : undecided_{&undecided} {}

    [[nodiscard]] bool keeps_waiting() const noexcept override { return false; }
    void on_arrival(std::uint32_t job, vgpusim::scheduling_context& /*run*/) override {
        undecided_->jobs.push_back(job);
    }
    void pass(vgpusim::scheduling_context& /*run*/) override { undecided_->pass_reached = true; }

private:
    undecided_jobs* undecided_;
};

error not_in_steps(const char* field, std::string value) {
    return bad_value(error_code::unsupported, field, value, "none in a run that is decided step by step");
}

} // namespace

struct stepper::state {
    simulate_options options;
    std::shared_ptr<const vgpusim::loaded_input> loaded;
    undecided_jobs undecided;
    std::unique_ptr<vgpusim::started_run> run;

    [[nodiscard]] vgpusim::simulation& loop() const { return run->loop(); }
    [[nodiscard]] std::uint32_t current() const {
        VGA_ASSERT(undecided.pass_reached && !undecided.jobs.empty(), "next() has returned a job to decide");
        return undecided.jobs.front();
    }
    void decided() {
        undecided.jobs.pop_front();
        if (undecided.jobs.empty()) undecided.pass_reached = false;
        loop().note_events();
    }
};

stepper::stepper(std::unique_ptr<state> begun) : state_{std::move(begun)} {}
stepper::stepper(stepper&&) noexcept = default;
stepper& stepper::operator=(stepper&&) noexcept = default;
stepper::~stepper() = default;

expected<stepper> stepper::begin(prepared_simulation prepared) {
    simulate_options& options = prepared.options_;
    if (options.baseline) return unexpected(not_in_steps("baseline", ""));
    if (options.bound) return unexpected(not_in_steps("bound", "true"));
    if (options.make_discipline) return unexpected(not_in_steps("discipline", options.config.discipline));
    if (options.config.discipline != vgpusim::run_config{}.discipline) {
        return unexpected(not_in_steps("discipline", options.config.discipline));
    }
    auto begun_state = std::make_unique<state>();
    begun_state->options = std::move(options);
    begun_state->loaded = std::move(prepared.loaded_);
    auto run = vgpusim::started_run::begin(
        begun_state->options.config, *begun_state->loaded, std::move(prepared.nodes_),
        {.make_policies = begun_state->options.make_policies, .make_discipline = [&undecided = begun_state->undecided] {
             return std::make_unique<left_to_the_caller>(undecided);
         }});
    if (!run) return unexpected(std::move(run).error());
    begun_state->run = *std::move(run);
    begun_state->loop().begin();
    return stepper{std::move(begun_state)};
}

std::optional<pending_job> stepper::next() {
    undecided_jobs& undecided = state_->undecided;
    while (!undecided.pass_reached || undecided.jobs.empty()) {
        undecided.pass_reached = false;
        if (!state_->loop().advance()) return std::nullopt;
    }
    const auto& jobs = state_->loop().jobs();
    const std::uint32_t job = undecided.jobs.front();
    return pending_job{
        .job = job, .first_pod = jobs.pod(job, 0), .pods = jobs.pod_count(job), .time = state_->loop().now()};
}

bool stepper::decide() {
    const std::uint32_t job = state_->current();
    const bool started = state_->loop().try_start(job) == vgpusim::start_result::started;
    if (!started) state_->loop().give_up(job);
    state_->decided();
    return started;
}

bool stepper::place_on(std::span<const std::optional<vgpualloc::node_index>> nodes) {
    const std::uint32_t job = state_->current();
    VGA_ASSERT(nodes.size() == state_->loop().jobs().pod_count(job), "there is a node for every pod");
    if (state_->loop().start_on(job, nodes) != vgpusim::start_result::started) return false;
    state_->decided();
    return true;
}

void stepper::leave() {
    state_->loop().give_up(state_->current());
    state_->decided();
}

const vgpualloc::ledger& stepper::book() const noexcept { return state_->loop().book(); }
vgpualloc::allocator& stepper::alloc() noexcept { return state_->loop().alloc(); }
const vgpusim::simulation_input& stepper::input() const noexcept { return state_->loaded->input; }

expected<simulation_outcome> stepper::end() && {
    while (next()) leave();
    auto record = state_->run->end(state_->loop().end());
    if (!record) return unexpected(std::move(record).error());
    auto result = std::make_shared<simulation_outcome::finished>();
    result->run = {.loaded = std::move(state_->loaded), .record = *std::move(record)};
    result->answer = vgpusim::answer_of(result->run.record, nullptr);
    return simulation_outcome{std::move(result)};
}

} // namespace vgpufacade
