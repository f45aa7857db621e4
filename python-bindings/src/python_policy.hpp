// Policies that a caller has written in Python.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "score_memo.hpp"
#include "score_rows.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/policy/factory.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpupython {

namespace nb = nanobind;

/// Takes over what Python has raised; the run is to end. Called with the GIL.
using failure_sink = std::function<void(nb::python_error&&)>;

/// A compiled score(): of `rows` candidates, whose states are columns one after the other, and of the free parts of
/// their devices, rows × `width`. Writes a score for each.
using compiled_score = void (*)(std::int64_t rows, const std::int64_t* request, const std::int64_t* before,
                                const std::int64_t* after, std::int64_t width, const std::int64_t* gpus_before,
                                const std::int64_t* gpus_after, double* scores);

/// What outputs call a policy or discipline that a text or an object stands for.
[[nodiscard]] std::string label_of(nb::handle spelled);

/// A vgpualloc.Policy and what of it is called.
struct policy_object {
    nb::object subject;
    nb::object score;
    nb::object device_score; ///< None: score() decides that too
    nb::object arrived;      ///< None: it does not want to know
};
using policy_objects = std::vector<std::weak_ptr<policy_object>>;

/// Policies as Python gives them, each a text or a vgpualloc.Policy, or None.
struct given_policies {
    nb::object node;   ///< None: options name both
    nb::object device; ///< None: as the node's

    /// Makes them, weighted sums included; empty where both are texts or None. Where Python raises, `fail` gets it, and
    /// the error is stopped. Errors besides: those of vgpualloc::parse_policy(). `objects` gets what those hold that
    /// are made, while they are there; null: nobody wants to know.
    [[nodiscard]] vgpualloc::policies_maker maker(failure_sink fail, policy_objects* objects = nullptr) const;
};

/// Hands the states of candidates to Python, in the form "arrays" those of a whole decision at once, and keeps the
/// scores, which depend on request and states alone, until the policy's epoch rises. A compiled score costs less than
/// keeping it. After a failure it answers 0 and asks Python nothing more.
class python_policy final : public vgpualloc::policy {
public:
    /// `subject` is a vgpualloc.Policy. Has the GIL.
    python_policy(nb::handle subject, const vgpualloc::cluster& nodes, failure_sink fail);
    [[nodiscard]] const std::shared_ptr<policy_object>& object() const noexcept { return object_; }
    ~python_policy() override;
    python_policy(const python_policy&) = delete;
    python_policy& operator=(const python_policy&) = delete;

    [[nodiscard]] std::string_view name() const noexcept override { return name_; }
    [[nodiscard]] vgpualloc::policy_traits traits() const noexcept override;
    [[nodiscard]] double node_score(const vgpualloc::request_view& request, const vgpualloc::node_view& before,
                                    const vgpualloc::node_view& after) override;
    [[nodiscard]] double device_score(const vgpualloc::request_view& request, const vgpualloc::node_view& before,
                                      const vgpualloc::node_view& after, const vgpualloc::step_view& step) override;
    void begin_batch() override { is_collecting_ = form_ == policy_form::arrays; }
    [[nodiscard]] std::size_t end_batch() override;
    void note_arrival(const vgpualloc::pod_request& request, const vgpualloc::ledger& book) override;
    [[nodiscard]] std::uint64_t epoch() const noexcept override { return epoch_; }
    void forget_ids() override;

    /// Tells it the workload to expect. Has the GIL; raises what the policy raises.
    void begin(const vgpualloc::workload& typical);

private:
    enum class policy_form : std::uint8_t { arrays, rows, numba };

    /// States before and after, a row for each candidate of one request, and what Python sees of them.
    struct candidates {
        std::shared_ptr<score_rows> before;
        std::shared_ptr<score_rows> after;
        nb::object shown_before{};
        nb::object shown_after{};
        std::size_t request = 0;
        std::vector<score_key> keys{}; ///< by row; empty for one that is not kept

        /// Without rows; those that Python still holds are left to it. `is_asked`: Python is to see them, as numbers of
        /// a single row or as arrays. Has the GIL then.
        void begin(bool of_device, bool is_asked, bool single);
    };

    [[nodiscard]] std::size_t number_of(const vgpualloc::pod_request& request);
    template <class Add>
    [[nodiscard]] double score(bool of_device, std::size_t request, const std::optional<score_key>& key, Add add);
    /// What is free of each device, the most first, of a node before and after.
    struct free_devices {
        const std::int64_t* before = nullptr;
        const std::int64_t* after = nullptr;
        std::int64_t width = 0;
    };
    [[nodiscard]] double compiled_node_score(std::size_t request, const vgpualloc::node_view& before,
                                             const vgpualloc::node_view& after);
    [[nodiscard]] double call_compiled(bool of_device, std::size_t request, const std::int64_t* before,
                                       const std::int64_t* after, const free_devices& gpus);
    void fail(nb::python_error&& raised, const std::string& where);
    void call_python(bool of_device, candidates& wanted);
    void ask_python(bool of_device, candidates& wanted);
    void check(bool of_device) const;
    void read_epoch();
    void forget_scores();
    [[nodiscard]] std::string called(bool of_device) const;

    std::shared_ptr<policy_object> object_;
    bool has_device_score_ = false;
    failure_sink fail_;
    std::string name_;
    std::string class_name_;
    policy_form form_ = policy_form::arrays;
    bool wants_gpus_ = false; ///< of a compiled form
    compiled_score compiled_ = nullptr;
    compiled_score compiled_device_ = nullptr;
    std::uint64_t epoch_ = 0;
    bool has_failed_ = false;
    bool is_collecting_ = false;
    const vgpualloc::cluster* nodes_;
    std::vector<std::pair<vgpualloc::pod_request, nb::object>> requests_; ///< by number, as Python sees them
    std::vector<shown_request> shown_;
    std::unordered_multimap<std::uint64_t, std::size_t> numbers_; ///< by a hash of the request
    std::unordered_map<const vgpualloc::pod_request*, std::size_t> number_at_;
    request_describer describe_;
    /// Of number_at_. Until another pod arrives a request stays where it is; nobody says so where pods are not heard
    /// of.
    struct known_request {
        const vgpualloc::pod_request* request = nullptr;
        std::size_t number = 0;
        std::int64_t decision = 0;
    } last_;
    score_memo memo_[2];         ///< of nodes, of devices
    candidates single_[2];       ///< likewise: one that is scored by itself
    candidates wanted_[2];       ///< likewise, while it is collecting
    std::vector<double> scores_; ///< by row; none after a failure
    std::int64_t decisions_ = 0;
};

} // namespace vgpupython
