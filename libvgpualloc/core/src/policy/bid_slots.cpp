// Slots by node, kept up to date node by node.
#include "vgpualloc/policy/bid_slots.hpp"

#include <utility>

#include "vgpualloc/policy/weighed_requests.hpp"

namespace vgpualloc {

void slot_stock::set_classes(std::shared_ptr<const bid_classes> classes) {
    const auto alike = [](const bid_class& a, const bid_class& b) { return a.is_alike(b); };
    const bool same_rows = classes && classes_ && std::ranges::equal(classes->classes, classes_->classes, alike);
    classes_ = std::move(classes);
    rules_.clear();
    if (classes_) {
        for (const bid_class& of : classes_->classes) rules_.emplace_back(of);
    }
    is_read_ = false;
    if (same_rows) return;
    row_numbers_.clear();
    rows_.clear();
    config_rows_.clear();
    config_offers_.clear();
}

void slot_stock::forget_ids() {
    row_numbers_.clear();
    rows_.clear();
    config_rows_.clear();
    config_offers_.clear();
}

void slot_stock::touch(node_index where) {
    if (!is_read_) return; // all of them will be read
    if (where.at() >= is_touched_.size()) is_touched_.resize(where.at() + 1, 0);
    if (is_touched_[where.at()] != 0) return;
    is_touched_[where.at()] = 1;
    touched_.push_back(where);
}

std::uint32_t slot_stock::row_of(const device_spec& spec, const policies::state_key& key) {
    constexpr std::size_t rows_max = std::size_t{1} << 14;
    if (row_numbers_.size() >= rows_max) {
        row_numbers_.clear();
        rows_.clear();
    }
    const auto next = static_cast<std::uint32_t>(row_numbers_.size());
    const auto [at, is_new] = row_numbers_.try_emplace(key, next);
    if (!is_new) return at->second;
    device_view device;
    device.spec = &spec;
    device.state = key.state;
    device.kind = key.kind;
    device.service = key.service;
    for (const bid_class& wanted : classes_->classes) {
        const std::int64_t further = policies::further_on(device, wanted.request);
        rows_.push_back(static_cast<std::int32_t>(wanted.devices == 1 ? further : std::min<std::int64_t>(further, 1)));
    }
    return at->second;
}

void slot_stock::add_row(std::uint32_t row, std::int32_t* sums) const noexcept {
    const std::size_t classes = width();
    const std::int32_t* const offers = rows_.data() + row * classes;
    for (std::size_t c = 0; c < classes; ++c) sums[c] += offers[c];
}

/// What a node offered counts no more, and what it offers now does.
void slot_stock::read_node(const ledger& book, node_index where) {
    const std::size_t classes = width();
    const std::size_t nodes = slots_.size() / std::max<std::size_t>(classes, 1);
    if (where.at() >= nodes) slots_.resize((where.at() + 1) * classes, 0);
    sums_.assign(classes, 0);
    std::int64_t cpu_left = 0;
    if (book.is_present(where)) {
        const node& described = book.nodes().nodes[where.at()];
        const auto states = book.devices(where);
        const auto services = book.services(where);
        for (std::size_t d = 0; d < states.size(); ++d) {
            const std::uint32_t kind = described.devices[d].kind;
            add_row(row_of(book.nodes().kinds[kind], {.kind = kind, .service = services[d], .state = states[d]}),
                    sums_.data());
        }
        cpu_left = (described.cpu - book.host(where).cpu).count();
    }
    std::int32_t* const slots = slots_.data() + where.at() * classes;
    for (std::size_t c = 0; c < classes; ++c) {
        const auto now = static_cast<std::int32_t>(rules_[c].slots(sums_[c], cpu_left));
        stock_[c] += now - slots[c];
        slots[c] = now;
    }
}

std::span<const std::int64_t> slot_stock::stock(const ledger& book) {
    if (!is_read_) {
        is_read_ = true;
        touched_.clear();
        is_touched_.assign(book.nodes().nodes.size(), 0);
        slots_.assign(book.nodes().nodes.size() * width(), 0);
        stock_.assign(width(), 0);
        for (std::size_t i = 0; i < book.nodes().nodes.size(); ++i) read_node(book, node_index{i});
        return stock_;
    }
    for (const node_index where : touched_) {
        is_touched_[where.at()] = 0;
        read_node(book, where); // of a node that a trial added and took back: nothing
    }
    touched_.clear();
    return stock_;
}

const std::int32_t* slot_stock::offers(const device_config& config) {
    const std::size_t classes = width();
    std::uint32_t* known = nullptr;
    if (config.id != not_interned) {
        if (config.id >= config_rows_.size()) config_rows_.resize(config.id + std::size_t{64}, 0);
        known = &config_rows_[config.id];
        if (*known != 0) return config_offers_.data() + (*known - std::size_t{1}) * classes;
    }
    passing_.assign(classes, 0);
    for (const device_view* device : config.devices) {
        add_row(row_of(*device->spec, {.kind = device->kind, .service = device->service, .state = device->state}),
                passing_.data());
    }
    if (known == nullptr) return passing_.data();
    constexpr std::size_t offers_max = std::size_t{1} << 22;
    if (config_offers_.size() > offers_max) {
        config_rows_.assign(config_rows_.size(), 0);
        config_offers_.clear();
    }
    *known = static_cast<std::uint32_t>(config_offers_.size() / std::max<std::size_t>(classes, 1)) + 1;
    config_offers_.insert(config_offers_.end(), passing_.begin(), passing_.end());
    return config_offers_.data() + (*known - std::size_t{1}) * classes;
}

} // namespace vgpualloc
