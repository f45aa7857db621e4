// Stock, demand and prices.
#include "vgpualloc/policy/slot_scarcity.hpp"

#include <algorithm>

#include "policy/exponential.hpp"
#include "vgpualloc/policy/weighed_requests.hpp"

namespace vgpualloc {

slot_scarcity::slot_scarcity(const workload& expected, slot_scarcity_options options) : options_{options} {
    const policies::weighed_requests weighed{expected};
    for (const auto& [request, weight] : weighed.entries()) {
        if (class_count() == options_.classes_max) break;
        put_class(class_count(), request);
        learned_.counts.back() = static_cast<double>(weight);
        learned_.arrived += static_cast<double>(weight);
    }
    learned_.accepted = learned_.arrived;
    number_classes();
}

/// Makes `request` the class of this number, which is an old one or the next.
void slot_scarcity::put_class(std::size_t number, const device_request& request) {
    auto list = std::make_shared<request_list>(*learned_.requests); // trials keep the list as it was
    list->resize(std::max(list->size(), number + 1));
    (*list)[number] = request;
    learned_.requests = std::move(list);
    learned_.counts.resize(learned_.requests->size(), 0.0);
    learned_.arrived -= learned_.counts[number];
    learned_.counts[number] = 0.0;
}

/// Everything that is kept by class is void.
void slot_scarcity::number_classes() {
    ++class_generation_;
    ++version_;
    row_numbers_.clear();
    rows_.clear();
    rows_of_devices_.clear();
    known_.clear();
    numbers_.clear();
    for (std::size_t c = 0; c < class_count(); ++c) numbers_.emplace(request_of(c), c);
    is_read_ = false;
    stock_.assign(class_count(), 0);
    prices_.assign(class_count(), 0.0);
}

/// The class of a container that has arrived; a new one takes the place of the least asked for where there are too
/// many.
std::size_t slot_scarcity::enter_class(const device_request& container) {
    const auto kept = known_.find(&container);
    if (kept != known_.end() && kept->second.request == container) return kept->second.number;
    const device_request wanted = policies::one_device_of(container);
    auto known = numbers_.find(wanted);
    if (known == numbers_.end()) {
        const auto least = std::ranges::min_element(learned_.counts);
        const bool is_full = class_count() >= options_.classes_max;
        put_class(is_full ? static_cast<std::size_t>(least - learned_.counts.begin()) : class_count(), wanted);
        number_classes();
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
    if (learned_.increment < increment_max) return;
    for (double& count : learned_.counts) count /= learned_.increment;
    learned_.arrived /= learned_.increment;
    learned_.accepted /= learned_.increment;
    learned_.increment = 1.0;
}

void slot_scarcity::note_arrival(const pod_request& request, const ledger& book) {
    const bool asks = std::ranges::any_of(request.containers, [](const device_request& c) { return c.count > 0; });
    if (!asks) return;
    if (book_ != &book) {
        book_ = &book;
        is_read_ = false;
    }
    if (!learned_.has_arrivals) { // what was expected has served its time
        learned_ = {.running = learned_.running, .has_arrivals = true};
        number_classes();
    }
    learned_.increment *= 1.0 / (1.0 - 1.0 / options_.window_arrivals);
    scale_down();
    for (const device_request& container : request.containers) {
        if (container.count <= 0) continue;
        const double weight = learned_.increment * static_cast<double>(container.count);
        learned_.counts[enter_class(container)] += weight;
        learned_.arrived += weight;
    }
    learned_.running_smoothed +=
        options_.smoothing * (static_cast<double>(learned_.running) - learned_.running_smoothed);
    ++version_;
}

void slot_scarcity::leave_trial(bool keep) {
    if (before_trials_.empty()) return;
    if (!keep) {
        const bool same_classes = before_trials_.back().requests == learned_.requests;
        learned_ = std::move(before_trials_.back());
        if (!same_classes) number_classes();
    }
    before_trials_.pop_back();
    ++version_;
}

void slot_scarcity::observe(const policy_event& event) {
    ++version_;
    const ledger& book = *event.book;
    if (book_ != &book) {
        book_ = &book;
        is_read_ = false;
    }
    if (event.entry != nullptr) {
        const auto parts = static_cast<std::int64_t>(event.entry->where.shares.size());
        const double weight = learned_.increment * static_cast<double>(parts);
        if (books(event.kind)) {
            learned_.running += parts;
            learned_.accepted += weight;
        } else if (gives_back(event.kind)) {
            learned_.running -= parts;
            if (event.kind == ledger_event_kind::rollback) learned_.accepted -= weight;
        }
    }
    if (!is_read_) return; // all of it will be read when prices are asked for
    if (event.entry == nullptr) {
        read_node(book, event.where);
    } else if (event.kind != ledger_event_kind::commit) {
        const std::size_t nodes = std::min(rows_of_devices_.size(), book.nodes().nodes.size());
        const bool as_known =
            event.where.at() < nodes && rows_of_devices_[event.where.at()].size() == book.devices(event.where).size();
        if (!as_known) {
            read_node(book, event.where);
            return;
        }
        for (const device_share& share : event.entry->where.shares) {
            if (share.device.at() < rows_of_devices_[event.where.at()].size()) {
                read_device(book, event.where, share.device.at());
            }
        }
    }
}

void slot_scarcity::read_ledger() {
    if (is_read_ || book_ == nullptr) return;
    follow(*book_);
}

/// Reads all nodes.
void slot_scarcity::follow(const ledger& book) {
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
    const std::size_t width = class_count();
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
        for (const device_request& wanted : *learned_.requests) {
            rows_.push_back(static_cast<std::int32_t>(policies::further_on(device, wanted)));
        }
    }
    return at->second;
}

std::span<const std::int32_t> slot_scarcity::counts_of(const device_view& device) {
    const std::size_t row = row_of(*device.spec, device.kind, device.state, device.service);
    return std::span{rows_}.subspan(row * class_count(), class_count());
}

double slot_scarcity::share_of(std::size_t number) const noexcept {
    return learned_.arrived > 0.0 ? learned_.counts[number] / learned_.arrived : 0.0;
}

double slot_scarcity::accepted_share() const noexcept {
    constexpr double accepted_min = 0.01; // nothing can be said of what a cluster offers that takes hardly anything
    return learned_.arrived > 0.0 ? std::clamp(learned_.accepted / learned_.arrived, accepted_min, 1.0) : 1.0;
}

double slot_scarcity::offered(std::size_t number) const noexcept {
    return share_of(number) * mean_running() / accepted_share();
}

std::span<const std::int64_t> slot_scarcity::stock() {
    read_ledger();
    return stock_;
}

std::span<const double> slot_scarcity::prices() {
    if (priced_version_ == version_) return prices_;
    read_ledger();
    const double running = mean_running();
    const double accepted = accepted_share();
    for (std::size_t c = 0; c < class_count(); ++c) {
        const double share = share_of(c);
        const double arrivals = options_.stock_time * (share * running / accepted); // offered(c)
        const double scarcity = arrivals > 0.0 ? exp_of_minus(static_cast<double>(stock_[c]) / arrivals) : 0.0;
        prices_[c] = scarcity + options_.floor * share;
    }
    priced_version_ = version_;
    return prices_;
}

} // namespace vgpualloc
