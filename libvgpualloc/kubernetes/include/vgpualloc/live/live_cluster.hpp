// A live cluster as a scheduler follows it: it receives objects as a watch delivers them, answers where pending pods
// fit, and records reservations before the objects show them. The C interface and replays of decision logs are built on
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/core/error.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/hash.hpp"
#include "vgpualloc/core/ids.hpp"
#include "vgpualloc/dialect/all.hpp"
#include "vgpualloc/dialect/volcano_config.hpp"
#include "vgpualloc/explain/answers.hpp"
#include "vgpualloc/kube/cluster_view.hpp"
#include "vgpualloc/kube/objects.hpp"
#include "vgpualloc/kube/snapshot.hpp"
#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/model/placement.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/model/trial.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc {

struct live_options {
    /// Expressions of parse_policies(); an empty device_policy is the same one. Randomised policies are rejected: the
    /// decisions of a live scheduler have to follow from the objects that it received.
    std::string policy = default_policy;
    std::string device_policy{};
    std::span<const policy_entry> policies = native_policies; ///< that may be named; outlives the cluster
    /// Brings the policies, which then are only called by those names. Empty: the names hold.
    policies_maker make_policies{};
    dialect_config config = make_dialect_config();
    /// Arguments of Volcano's plugin deviceshare: pods are refused whose dialect is one of its that it does not enable.
    /// None, or with nothing enabled: every dialect is served.
    std::optional<dialects::volcano::plugin_arguments> deviceshare{};
};

/// One node's answer to a pod.
struct node_opinion {
    double score = 0.0; ///< meaningful if it fits
    /// How far the best placement there falls short of what was asked; less of it goes before a higher score.
    int compromise = 0;
    std::uint64_t rank = 0; ///< of nodes with equal scores the lowest rank goes first
    /// Code none: the pod fits. Amounts are those of the device that comes closest, in `unit`.
    rejection_detail refusal{};
    std::string_view unit = ""; ///< a literal

    [[nodiscard]] bool fits() const noexcept { return refusal.code == rejection_code::none; }
};

enum class live_pod_state : std::uint8_t {
    unknown,   ///< there is no such pod
    waiting,   ///< it has nothing
    reserved,  ///< a scheduler decided, and may still take it back
    committed, ///< it has its devices
    suspended, ///< it runs, but counts for nothing until resume(): a scheduler tries out evicting it
};

/// A pod of which many are made, each under a name of its own: what a cluster has read of one it knows of all.
class live_template {
public:
    /// A pod as a manifest. Its name and uid do not count.
    explicit live_template(kube::manifest object);

private:
    friend class live_cluster;
    kube::manifest object_;
    std::shared_ptr<const int> identity_ = std::make_shared<int>(0); ///< no other one's, as long as anyone holds it
};

/// What a pod has, to be given to it again: devices by their uuids, as their positions may change.
struct live_holding {
    booking held;
    std::string node;
    std::vector<std::string> uuids; ///< by share
};

/// A pod that is to be explained, with the cluster as it was then. It has nothing in common with the cluster, which may
/// go on, or be gone, while this is explained.
struct live_question {
    kube::snapshot state;
    kube::snapshot_pod pod;
    explaining::explain_options options;

    /// Why the pod goes where it goes, or nowhere. Errors: those of explaining::explain().
    [[nodiscard]] expected<explaining::explanation> explain() const { return explaining::explain(state, pod, options); }
};

/// Pods are known by their uid (metadata.uid; where an object has none, "<namespace>/<name>"), nodes by their index in
/// the ledger, which a node keeps while it is there and another one may get afterwards.
///
/// A call that cannot be carried out returns a code and changes nothing: pod_not_known, pod_is_live (it has
/// something already, or the call does not go with what it has), node_not_known, node_gone. Not thread-safe.
class live_cluster {
public:
    /// Errors: those of parse_policies(), unsupported for a policy that draws.
    [[nodiscard]] static expected<std::unique_ptr<live_cluster>> make(live_options options);
    ~live_cluster();
    live_cluster(const live_cluster&) = delete;
    live_cluster& operator=(const live_cluster&) = delete;

    /// Other policies and another device configuration from now on; what runs and is reserved stays where it is, as far
    /// as the devices do. Errors: as above, and then nothing has changed.
    [[nodiscard]] expected<void> configure(live_options options);
    /// Reservations that the last configure() could not carry over, because it has no such devices; the pods wait
    /// again.
    [[nodiscard]] const std::vector<error>& dropped() const noexcept { return dropped_; }
    [[nodiscard]] const live_options& configured() const noexcept { return options_; }

    // ---- what the cluster is

    enum class told : std::uint8_t { unchanged, changed, outdated };
    /// An object as it is now. outdated: a pod of that name was created after this one, which is passed over.
    told upsert(const kube::manifest& object);
    /// upsert() of a pod like others; its uid is "<namespace>/<name>", which is returned. No pod of that name is there.
    std::string add_like(live_template& like, std::string name);
    /// False if it was not there: an event that comes twice, or late.
    bool remove_node(std::string_view name);
    bool remove_pod(std::string_view uid);
    bool remove_config_map(std::string_view full_name); ///< "<namespace>/<name>"

    [[nodiscard]] const kube::cluster_view& view() const noexcept { return view_; }
    [[nodiscard]] const ledger& book() const noexcept { return view_.book(); }
    /// The present node of that name; not valid() if there is none.
    [[nodiscard]] node_index find_node(std::string_view name);
    /// The device of a present node by its uuid. Errors: unknown_name for a node or device that is not there.
    [[nodiscard]] expected<device_index> find_device(node_index where, std::string_view uuid) const;

    /// Takes a device out of service, or puts it back: draining keeps what it has and gets nothing new; reconfiguring
    /// is the same while its layout is changed. These two stay, whatever objects say, until this call ends them or the
    /// node goes; with in_service a device is as its node's object says, healthy or failed. That it has failed holds
    /// until the node's object changes. A device that its node registers no longer, or otherwise, and that pods keep,
    /// takes nothing new whatever is ordered. False if nothing has changed. Errors: those of find_device().
    [[nodiscard]] expected<bool> set_service(node_index where, std::string_view uuid, service_state service);

    // ---- pods

    [[nodiscard]] live_pod_state state_of(std::string_view uid) const;
    /// What a pod asks for, as the dialects of the moment read it; null if it is not known. Valid until the next
    /// change.
    [[nodiscard]] const kube::snapshot_pod* pod_of(std::string_view uid);
    /// "<namespace>/<name>"; empty if the pod is not known.
    [[nodiscard]] std::string full_name_of(std::string_view uid) const;
    /// What a pod has; null if that is nothing. Valid until the next change.
    [[nodiscard]] const booking* booking_of(std::string_view uid) const;
    /// Why the pod's request cannot be served by any scheduler: it cannot be read, or does not pass check_request().
    [[nodiscard]] std::optional<error> failure_of(std::string_view uid);
    /// Whether the pod asks for devices, also if its request cannot be read. False if it is not known.
    [[nodiscard]] bool wants_devices(std::string_view uid);

    /// Every node's opinion, by node index; of a pod with a failure_of() amount_not_valid. `numbers`: with what was
    /// wanted and available, which takes a closer look at every node that refuses. Code pod_not_known.
    [[nodiscard]] expected<std::vector<node_opinion>, rejection_detail> evaluate(std::string_view uid, bool numbers);
    /// The same, handed over one by one in that order, which must not change the cluster.
    [[nodiscard]] rejection_detail evaluate(std::string_view uid, bool numbers,
                                            const std::function<void(const node_opinion&)>& visit);
    /// One node's opinion, with numbers.
    [[nodiscard]] node_opinion ask_node(std::string_view uid, node_index where);
    /// Of candidates the one that the policy prefers; none if the pod fits on none of them.
    [[nodiscard]] expected<std::optional<node_index>, rejection_detail> choose(std::string_view uid,
                                                                               std::span<const node_index> candidates);
    /// What a node would say if these pods were not there; nothing has happened afterwards. Pods that have nothing do
    /// not count.
    [[nodiscard]] node_opinion ask_without(std::string_view uid, node_index where,
                                           std::span<const std::string> uids_without);

    /// Every node's opinion if no pod had anything there, with numbers, handed over in the order of the nodes: where
    /// evicting pods could help. Nodes that differ in nothing but names are asked once. Nothing has happened
    /// afterwards. Code pod_not_known; of a pod with a failure_of() every opinion is amount_not_valid.
    [[nodiscard]] rejection_detail evaluate_empty(std::string_view uid,
                                                  const std::function<void(const node_opinion&)>& visit);

    /// Books a waiting pod on the devices that the policy prefers there. Its opinion: if it does not fit, nothing is
    /// booked.
    [[nodiscard]] node_opinion reserve(std::string_view uid, node_index where);
    [[nodiscard]] rejection_detail commit(std::string_view uid);   ///< confirms a reserved pod
    [[nodiscard]] rejection_detail rollback(std::string_view uid); ///< removes a reserved pod
    [[nodiscard]] rejection_detail release(std::string_view uid);  ///< releases a committed pod
    [[nodiscard]] rejection_detail suspend(std::string_view uid);  ///< stops counting a committed pod
    /// Of a suspended pod. Code node_gone while its node is not there: it stays suspended. When the node is back the
    /// pod has what its object says, or may be resumed.
    [[nodiscard]] rejection_detail resume(std::string_view uid);
    /// What a committed pod has; none if that is nothing.
    [[nodiscard]] std::optional<live_holding> holding_of(std::string_view uid) const;
    /// Gives a pod what it once had, in the place of what it has now, whatever was given out meanwhile: it is committed
    /// then. Codes: pod_not_known, or node_gone where the node or one of the devices is not there.
    [[nodiscard]] rejection_detail give_again(std::string_view uid, const live_holding& holding);

    /// What the device plugins are told of a reserved or committed pod, which is decided at `unix_ns`, nanoseconds of
    /// Unix time. Errors: those of kube::annotations_of(), missing for a pod that has nothing.
    [[nodiscard]] expected<kubernetes::text_map> annotations_of(std::string_view uid, std::int64_t unix_ns);

    /// What explaining a pod takes, on the cluster as it is. Error unknown_name.
    [[nodiscard]] expected<live_question> question(std::string_view uid);

    /// Updates the policies' typical workload to the current pods if it has changed by more than 5 %. True if so; not
    /// where live_options::make_policies fails. What policies have learned by themselves stays.
    bool learn_workload();
    /// Makes the policies again, with what is known. Errors: those of live_options::make_policies; the policies are as
    /// they were then.
    [[nodiscard]] expected<void> renew_policies();
    /// Tells the policies that a pod is to be decided. Policies that learn (policy_traits::learns) hear of every pod
    /// when it is first there, if the cluster makes them itself; those of live_options::make_policies only so.
    void note_arrival(std::string_view uid);
    [[nodiscard]] const workload& learned() const noexcept { return learned_; }
    /// Policies that know what the cluster's have learned of arrivals, to go back to; null where none learns
    /// (policy_traits::learns).
    [[nodiscard]] std::shared_ptr<const owned_policies> copy_learning();
    /// The policies know again what copy_learning() gave, whatever they have heard since.
    void restore_learning(const owned_policies& copy);
    /// A present node as policies see it now. Valid until the next call.
    [[nodiscard]] node_view view_of(node_index where);
    /// All pods, by uid.
    [[nodiscard]] std::vector<std::string> pods() const;

    // ---- trials: a scope in which anything may be tried; they nest

    void begin_trial();
    /// Ends the innermost trial. False if there is none.
    bool end_trial(bool keep);
    [[nodiscard]] std::size_t trials() const noexcept { return trials_.size(); }

private:
    struct deciders;
    struct known_pod;
    struct open_trial {
        std::unique_ptr<trial> scope;
        std::map<std::string, live_holding, std::less<>> suspended{}; ///< as they were
    };

    explicit live_cluster(live_options options);
    [[nodiscard]] expected<std::unique_ptr<deciders>> make_deciders(const live_options& options,
                                                                    const workload& typical, const ledger& book);
    void replace_deciders(std::unique_ptr<deciders> next);
    [[nodiscard]] bool hears_arrivals() const;
    void note_present_pods();
    /// What an object has changed. `arrived`: the uid of a pod that is there for the first time and that the policies
    /// are to hear of, valid until the next change; null: none.
    struct applied {
        told result = told::unchanged;
        const std::string* arrived = nullptr;
    };
    applied apply(const kube::manifest& object);
    [[nodiscard]] const std::string* name_of(std::string_view uid) const;
    [[nodiscard]] pod_id id_of(std::string_view uid) const;
    [[nodiscard]] known_pod* read(std::string_view uid);
    [[nodiscard]] std::optional<request_id> intern(known_pod& known);
    /// Why a node cannot be asked about a pod; none if it can.
    [[nodiscard]] rejection_code why_not_asked(const known_pod* known, node_index where) const;
    [[nodiscard]] node_decision decide_on(std::string_view uid, node_index where);
    [[nodiscard]] node_opinion ask_empty(std::string_view uid, node_index where);
    [[nodiscard]] node_opinion opinion_of(const known_pod* known, const node_decision& decision,
                                          node_index where) const;
    void count_requests();
    void forget(const std::string& full_name);
    void forget_reading();
    void forget_resumed();
    void trim_log();

    std::vector<error> dropped_;
    live_options options_;
    kube::cluster_view view_;
    workload learned_;
    std::unique_ptr<deciders> deciders_;
    std::uint64_t deciders_number_ = 0;                    ///< the last that was given to any
    hashed_by_text<std::string> names_;                    ///< full name by uid
    std::map<std::string, std::string, std::less<>> uids_; ///< uid by full name
    hashed_by_text<known_pod> pods_;                       ///< what was read of pods, by full name; never walked
    std::unordered_map<std::shared_ptr<const int>, known_pod> readings_; ///< of one pod of each template; never walked
    std::uint64_t read_as_ = 0;                                  ///< cluster_view::dialects_version() of these two
    kube::request_counts counts_;                                ///< what pods of pods_ ask for that are counted
    std::set<std::string, std::less<>> uncounted_;               ///< full names of pods that are not
    std::map<std::string, live_holding, std::less<>> suspended_; ///< by full name
    std::uint64_t changes_ = 0;                                  ///< of pods, since the workload was learned
    std::vector<open_trial> trials_;                             ///< the innermost last
};

} // namespace vgpualloc
