// What a free place for one more request of a kind is worth: little while there are many, and 1 when none is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/model/view.hpp"
#include "vgpualloc/policy/policy.hpp"
#include "vgpualloc/policy/state_key.hpp"

namespace vgpualloc {

/// Constants of the prices; the defaults were chosen on other random seeds than those of docs/mig.md.
struct slot_scarcity_options {
    double stock_time = 0.125;     ///< T: the part of a mean lifetime whose arrivals the stock of slots should cover
    double floor = 1e-6;           ///< of a price, times the share of the demand
    double window_arrivals = 1000; ///< in which the weight of an arrival falls to 1/e
    double smoothing = 0.01;       ///< of the number of running parts, per arrival
    std::size_t classes_max = 64;  ///< kinds of requests that have prices; the least asked for go
};

/// Counts, for every kind of device request that arrives (a class), how often it does and how many more of it the
/// cluster could take, and makes prices of the two:
///
///     w_c = exp(-N_c / (T a_c)) + floor q_c
///
/// N_c: how many further requests of class c fit, summed over all devices, each by itself (sharing_mode::further; for
/// MIG the free starts of the profile). a_c: offered Erlangs of c. Neither rates nor lifetimes are known, and there is
/// no clock: with counts that decay with every arrival, q_c is the share of c among them and r the share of requests
/// that were accepted; R is the number of parts that run, smoothed. By Little's law all requests together offer R / r
/// Erlangs, so a_c = q_c R / r. T a_c then is the number of requests of c that arrive within T mean lifetimes.
///
/// Requests of any mode and GPU model are classes, so a cluster may have all of them. All sums are added up in a fixed
/// order, and no libm takes part.
class slot_scarcity {
public:
    explicit slot_scarcity(const workload& expected, slot_scarcity_options options = {});

    /// Learns from a pod that has arrived. Until the first one the demand is that of the expected workload.
    void note_arrival(const pod_request& request, const ledger& book);
    /// Follows the ledger.
    void observe(const policy_event& event);
    void enter_trial() { before_trials_.push_back(learned_); }
    void leave_trial(bool keep);

    [[nodiscard]] std::size_t class_count() const noexcept { return learned_.counts.size(); }
    [[nodiscard]] const device_request& request_of(std::size_t number) const noexcept {
        return (*learned_.requests)[number];
    }
    /// By class, at the state of now. Valid until the next event or arrival.
    [[nodiscard]] std::span<const double> prices();
    /// By class: how many more of it the cluster could take.
    [[nodiscard]] std::span<const std::int64_t> stock();
    /// The Erlangs of a class that are offered.
    [[nodiscard]] double offered(std::size_t number) const noexcept;
    /// How many more of each class a device could take.
    [[nodiscard]] std::span<const std::int32_t> counts_of(const device_view& device);
    /// Another one whenever classes are numbered anew, which voids what was kept by class.
    [[nodiscard]] std::uint64_t class_generation() const noexcept { return class_generation_; }
    /// Rises whenever prices may have moved.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

private:
    using request_list = std::vector<device_request>;
    /// What arrivals have taught. A trial that is undone leaves it as it was.
    struct learned_demand {
        std::shared_ptr<const request_list> requests = std::make_shared<request_list>(); ///< one device's worth each
        std::vector<double> counts{}; ///< by class, decayed, in units of `increment`
        double increment = 1.0;       ///< what an arrival weighs now; it grows instead of all counts decaying
        double arrived = 0.0;
        double accepted = 0.0;
        double running_smoothed = 0.0;
        std::int64_t running = 0;
        bool has_arrivals = false;
    };
    struct known_request {
        device_request request;
        std::size_t number = 0;
    };
    static constexpr std::uint32_t no_row = ~std::uint32_t{0};

    std::size_t enter_class(const device_request& container);
    void put_class(std::size_t number, const device_request& request);
    void number_classes();

    [[nodiscard]] double share_of(std::size_t number) const noexcept; ///< of the arrivals
    [[nodiscard]] double accepted_share() const noexcept;             ///< of all arrivals
    [[nodiscard]] double mean_running() const noexcept {
        return learned_.has_arrivals ? learned_.running_smoothed : static_cast<double>(learned_.running);
    }

    void read_ledger();
    void follow(const ledger& book);
    void read_node(const ledger& book, node_index where);
    void read_device(const ledger& book, node_index where, std::size_t device);
    void set_row(std::uint32_t& kept, std::uint32_t row);
    [[nodiscard]] std::uint32_t row_of(const device_spec& spec, std::uint32_t kind, const device_state& state,
                                       service_state service);
    void scale_down();

    slot_scarcity_options options_;
    learned_demand learned_;
    std::vector<learned_demand> before_trials_;     ///< for every open trial
    std::map<device_request, std::size_t> numbers_; ///< of classes
    /// By address of a container, what it was and its class: requests come again and again.
    std::unordered_map<const device_request*, known_request> known_;

    const ledger* book_ = nullptr;                            ///< which one is followed; compared, never read
    bool is_read_ = false;                                    ///< whether rows_of_devices_ are those of the ledger
    std::vector<std::vector<std::uint32_t>> rows_of_devices_; ///< by node and device
    std::unordered_map<policies::state_key, std::uint32_t, policies::state_key_hash> row_numbers_;
    std::vector<std::int32_t> rows_;  ///< [row][class]
    std::vector<std::int64_t> stock_; ///< by class
    std::vector<double> prices_;
    std::uint64_t class_generation_ = 0;
    std::uint64_t version_ = 0;
    std::uint64_t priced_version_ = ~std::uint64_t{0};
};

} // namespace vgpualloc
