// Stock, demand and prices.
#include "vgpualloc/policy/slot_scarcity.hpp"

#include <algorithm>

#include "vgpualloc/core/exponential.hpp"
#include "vgpualloc/policy/weighed_requests.hpp"

namespace vgpualloc {

slot_scarcity::slot_scarcity(const workload& expected, slot_scarcity_options options) : options_{options} {
    const policies::weighed_requests weighed{expected};
    for (const auto& [request, weight] : weighed.entries()) {
        if (classes_.size() == options_.classes_max) break;
        classes_[add_class(request)].count = static_cast<double>(weight);
        arrived_ += static_cast<double>(weight);
    }
    accepted_ = arrived_;
    number_anew();
}

std::size_t slot_scarcity::add_class(const device_request& request) {
    numbers_.emplace(request, classes_.size());
    classes_.push_back({.request = request, .count = 0.0});
    return classes_.size() - 1;
}

/// Everything that is kept by class is void.
void slot_scarcity::number_anew() {
    ++class_generation_;
    ++version_;
    row_numbers_.clear();
    rows_.clear();
    rows_of_devices_.clear();
    known_.clear();
    is_read_ = false;
    stock_.assign(classes_.size(), 0);
    prices_.assign(classes_.size(), 0.0);
}

std::size_t slot_scarcity::class_of(const device_request& request) const {
    const auto known = numbers_.find(policies::one_device_of(request));
    return known == numbers_.end() ? classes_.size() : known->second;
}

/// The class of a container that has arrived; a new one takes the place of the least asked for where there are too
/// many.
std::size_t slot_scarcity::enter_class(const device_request& container, const ledger& book) {
    const auto kept = known_.find(&container);
    if (kept != known_.end() && kept->second.request == container) return kept->second.number;
    const device_request wanted = policies::one_device_of(container);
    auto known = numbers_.find(wanted);
    if (known == numbers_.end()) {
        if (classes_.size() >= options_.classes_max) {
            const auto least = std::ranges::min_element(classes_, {}, &request_kind::count);
            const auto number = static_cast<std::size_t>(least - classes_.begin());
            numbers_.erase(least->request);
            arrived_ -= least->count;
            *least = {.request = wanted, .count = 0.0};
            numbers_.emplace(wanted, number);
        } else {
            static_cast<void>(add_class(wanted));
        }
        number_anew();
        follow(book);
        known = numbers_.find(wanted);
    }
    constexpr std::size_t known_max = 4096;
    if (known_.size() >= known_max) known_.clear();
    known_[&container] = {.request = container, .number = known->second};
    return known->second;
}

/// Keeps the growing weights far from where a double ends.
void slot_scarcity::scale_down() {
    constexpr double increment_max = 1e100;
    if (increment_ < increment_max) return;
    for (request_kind& kind : classes_) kind.count /= increment_;
    arrived_ /= increment_;
    accepted_ /= increment_;
    for (double& accepted : before_trials_) accepted /= increment_;
    increment_ = 1.0;
}

void slot_scarcity::note_arrival(const pod_request& request, const ledger& book) {
    const bool asks = std::ranges::any_of(request.containers, [](const device_request& c) { return c.count > 0; });
    if (!asks) return;
    if (!has_arrivals_) { // what was expected has served its time
        has_arrivals_ = true;
        classes_.clear();
        numbers_.clear();
        arrived_ = 0.0;
        accepted_ = 0.0;
        number_anew();
    }
    increment_ *= 1.0 / (1.0 - 1.0 / options_.window_arrivals);
    scale_down();
    for (const device_request& container : request.containers) {
        if (container.count <= 0) continue;
        const double weight = increment_ * static_cast<double>(container.count);
        classes_[enter_class(container, book)].count += weight;
        arrived_ += weight;
    }
    running_smoothed_ += options_.smoothing * (static_cast<double>(running_) - running_smoothed_);
    ++version_;
}

void slot_scarcity::leave_trial(bool keep) {
    if (before_trials_.empty()) return;
    if (!keep) accepted_ = before_trials_.back();
    before_trials_.pop_back();
    ++version_;
}

void slot_scarcity::observe(const policy_event& event) {
    ++version_;
    const ledger& book = *event.book;
    const bool was_read = is_read_ && book_ == &book;
    if (event.entry != nullptr) {
        const auto parts = static_cast<std::int64_t>(event.entry->where.shares.size());
        const double weight = increment_ * static_cast<double>(parts);
        if (books(event.kind)) {
            running_ += parts;
            accepted_ += weight;
        } else if (gives_back(event.kind)) {
            running_ -= parts;
            if (event.kind == ledger_event_kind::rollback) accepted_ = std::max(0.0, accepted_ - weight);
        }
    }
    if (!was_read) {
        follow(book);
    } else if (event.entry == nullptr) {
        read_node(book, event.where);
    } else if (event.kind != ledger_event_kind::commit) {
        const std::size_t devices =
            rows_of_devices_.size() > event.where.at() ? rows_of_devices_[event.where.at()].size() : std::size_t{0};
        if (event.where.at() >= book.nodes().nodes.size() || devices != book.devices(event.where).size()) {
            read_node(book, event.where);
            return;
        }
        for (const device_share& share : event.entry->where.shares) {
            if (share.device.at() < devices) read_device(book, event.where, share.device.at());
        }
    }
}

/// Reads all nodes.
void slot_scarcity::follow(const ledger& book) {
    book_ = &book;
    is_read_ = true;
    rows_of_devices_.clear();
    std::ranges::fill(stock_, 0);
    for (std::size_t i = 0; i < book.nodes().nodes.size(); ++i) read_node(book, node_index{i});
}

void slot_scarcity::read_node(const ledger& book, node_index where) {
    const std::size_t nodes = book.nodes().nodes.size();
    for (std::size_t i = nodes; i < rows_of_devices_.size(); ++i) { // a trial that added nodes was undone
        for (std::uint32_t& row : rows_of_devices_[i]) set_row(row, no_row);
    }
    rows_of_devices_.resize(nodes);
    if (where.at() >= nodes) return;
    std::vector<std::uint32_t>& rows = rows_of_devices_[where.at()];
    const std::size_t devices = book.is_present(where) ? book.devices(where).size() : 0;
    for (std::size_t d = devices; d < rows.size(); ++d) set_row(rows[d], no_row);
    rows.resize(devices, no_row);
    for (std::size_t d = 0; d < devices; ++d) read_device(book, where, d);
}

void slot_scarcity::read_device(const ledger& book, node_index where, std::size_t device) {
    const std::uint32_t kind = book.nodes().nodes[where.at()].devices[device].kind;
    const std::uint32_t row =
        row_of(book.nodes().kinds[kind], kind, book.devices(where)[device], book.services(where)[device]);
    set_row(rows_of_devices_[where.at()][device], row);
}

void slot_scarcity::set_row(std::uint32_t& kept, std::uint32_t row) {
    if (kept == row) return;
    const std::size_t width = classes_.size();
    for (std::size_t c = 0; c < width; ++c) {
        if (kept != no_row) stock_[c] -= rows_[kept * width + c];
        if (row != no_row) stock_[c] += rows_[row * width + c];
    }
    kept = row;
}

std::uint32_t slot_scarcity::row_of(const device_spec& spec, std::uint32_t kind, const device_state& state,
                                    service_state service) {
    const auto next = static_cast<std::uint32_t>(row_numbers_.size());
    const auto [at, is_new] = row_numbers_.try_emplace({.kind = kind, .service = service, .state = state}, next);
    if (is_new) {
        device_view device;
        device.spec = &spec;
        device.state = state;
        device.kind = kind;
        device.service = service;
        for (const request_kind& wanted : classes_) {
            rows_.push_back(static_cast<std::int32_t>(policies::further_on(device, wanted.request)));
        }
    }
    return at->second;
}

std::span<const std::int32_t> slot_scarcity::counts_of(const device_view& device) {
    const std::size_t row = row_of(*device.spec, device.kind, device.state, device.service);
    return std::span{rows_}.subspan(row * classes_.size(), classes_.size());
}

double slot_scarcity::offered(std::size_t number) const noexcept {
    if (arrived_ <= 0.0) return 0.0;
    constexpr double accepted_min = 0.01; // nothing can be said of what a cluster offers that takes hardly anything
    const double ratio = std::clamp(accepted_ / arrived_, accepted_min, 1.0);
    const double running = has_arrivals_ ? running_smoothed_ : static_cast<double>(running_);
    return classes_[number].count / arrived_ * running / ratio;
}

std::span<const double> slot_scarcity::prices() {
    if (priced_version_ != version_) {
        for (std::size_t c = 0; c < classes_.size(); ++c) {
            const double expected_arrivals = options_.stock_time * offered(c);
            const double scarcity =
                expected_arrivals > 0.0 ? exp_of_minus(static_cast<double>(stock_[c]) / expected_arrivals) : 0.0;
            const double share = arrived_ > 0.0 ? classes_[c].count / arrived_ : 0.0;
            prices_[c] = scarcity + options_.floor * share;
        }
        priced_version_ = version_;
    }
    return prices_;
}

} // namespace vgpualloc
