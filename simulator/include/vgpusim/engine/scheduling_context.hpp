// What a queue discipline reads of a run, and what it may do in it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpusim/engine/job_table.hpp"
#include "vgpusim/engine/quota_book.hpp"
#include "vgpusim/workload/workload.hpp"

namespace vgpusim {

enum class start_result : std::uint8_t { started, does_not_fit, over_quota, not_approved };

/// Jobs and pods are positions, as job_table and simulation_input number them.
class scheduling_context {
public:
    /// Whether a job may start where it would be placed. The ledger has the placements of its pods while it is asked.
    using approval = std::function<bool(std::span<const vgpualloc::placement>)>;

    virtual ~scheduling_context() = default;
    scheduling_context(const scheduling_context&) = delete;
    scheduling_context& operator=(const scheduling_context&) = delete;

    // ---- reading

    [[nodiscard]] ticks now() const noexcept { return now_; }
    [[nodiscard]] const job_table& jobs() const noexcept { return jobs_; }
    [[nodiscard]] const quota_book& quotas() const noexcept { return quotas_; }
    [[nodiscard]] const simulation_input& input() const noexcept { return *input_; }
    /// For trials (model/trial.hpp): a discipline leaves the ledger as it was.
    [[nodiscard]] vgpualloc::ledger& book() noexcept { return *ledger_; }
    /// For questions: a discipline places nothing itself.
    [[nodiscard]] vgpualloc::allocator& alloc() noexcept { return *allocator_; }
    /// How much later than it has its devices a job may begin.
    [[nodiscard]] ticks layout_change() const noexcept { return layout_change_; }
    /// Whether something else than the allocator places pods.
    [[nodiscard]] bool has_placer() const noexcept { return has_placer_; }
    [[nodiscard]] vgpualloc::request_id request_id_of(std::uint32_t pod) const noexcept {
        return requests_[input_->pods[pod].request];
    }
    [[nodiscard]] const pod_request& request_of(std::uint32_t pod) const noexcept {
        return input_->requests[input_->pods[pod].request];
    }
    /// Whether the caller wants an end. Passes that take long ask this in their loops and return: what they leave
    /// undone does not matter any more.
    [[nodiscard]] virtual bool wants_stop() = 0;
    /// Whether the pod will not be tried again.
    [[nodiscard]] virtual bool is_given_up(std::uint32_t pod) const noexcept = 0;
    /// What keeps the job from starting even if nothing else ran; none: it would start.
    [[nodiscard]] virtual rejection_code why_never(std::uint32_t job) = 0;

    // ---- acting

    /// Starts a job: at least its minimum of pods at once, or nothing. With an approval, only if that agrees. Pods
    /// beyond the minimum that do not fit start later, when they do; without a waiting queue they have failed.
    virtual start_result try_start(std::uint32_t job, const approval* approve = nullptr) = 0;
    /// Starts the pods of a job on these nodes, those without a node later; which devices, the policy says. Or nothing.
    virtual start_result start_on(std::uint32_t job, std::span<const std::optional<node_index>> nodes) = 0;
    /// Starts a job exactly there: `places` is by its pods, all of which have to fit together; those without a place
    /// start later. The job's queue has to have quota.
    virtual void start_at(std::uint32_t job, std::span<const std::optional<vgpualloc::placement>> places) = 0;
    /// A waiting job will not be tried again: for what its attempts have shown, or for `why`.
    virtual void give_up(std::uint32_t job, rejection_code why = rejection_code::none) = 0;
    /// Stops a running job for another one; it waits again.
    virtual void preempt(std::uint32_t job) = 0;
    /// A node that is out of service takes pods from then on.
    virtual void add_node_at(node_index node, ticks time) = 0;

protected:
    scheduling_context(const simulation_input& input, vgpualloc::ledger& book, vgpualloc::allocator& alloc,
                       ticks layout_change, bool has_placer)
        : input_{&input}, ledger_{&book}, allocator_{&alloc}, jobs_{input}, quotas_{input.queues},
          layout_change_{layout_change}, has_placer_{has_placer} {}

    const simulation_input* input_;
    vgpualloc::ledger* ledger_;
    vgpualloc::allocator* allocator_;
    job_table jobs_;
    quota_book quotas_;
    std::vector<vgpualloc::request_id> requests_{}; ///< by position in simulation_input::requests
    ticks now_{};

private:
    ticks layout_change_;
    bool has_placer_;
};

} // namespace vgpusim
