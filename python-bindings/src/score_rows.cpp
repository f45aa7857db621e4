#include "score_rows.hpp"

#include <algorithm>
#include <cmath>

#include <nanobind/ndarray.h>

#include "bind.hpp"
#include "errors.hpp"

namespace vgpupython {

std::array<std::int64_t, node_fields> fields_of(const vgpualloc::node_view& node, std::size_t devices) {
    const vgpualloc::device_config& config = *node.config;
    return {node.cpu_capacity.count(), node.cpu_left.count(), static_cast<std::int64_t>(devices),
            config.devices_free_whole, config.used.count(),   config.free.count()};
}

std::array<std::int64_t, device_fields> fields_of(const vgpualloc::device_view& device) {
    return {device.used.count(), device.free().count(), device.spec->memory.count(),
            (device.spec->memory - device.state.memory).count()};
}

void score_rows::add(const vgpualloc::node_view& node, std::size_t devices) {
    const auto row = fields_of(node, devices);
    for (std::size_t field = 0; field < row.size(); ++field) values_[field].push_back(row[field]);
    configs_.push_back(node.config->devices.size() == devices ? node.config : nullptr);
}

void score_rows::add(const vgpualloc::device_view& device) {
    const auto row = fields_of(device);
    for (std::size_t field = 0; field < row.size(); ++field) values_[field].push_back(row[field]);
}

void score_rows::add_nothing() {
    for (auto& column : values_) column.push_back(0);
    configs_.push_back(nullptr);
}

void score_rows::clear() noexcept {
    for (auto& column : values_) column.clear();
    configs_.clear();
    gpus_free_.clear();
    width_ = 0;
}

const std::vector<std::int64_t>& score_rows::gpus_free() {
    if (!gpus_free_.empty() || rows() == 0) return gpus_free_;
    if (configs_.size() != rows() || std::ranges::find(configs_, nullptr) != configs_.end()) {
        raise_state(configs_.empty() ? "gpu_free_milli is read while score() runs, not later"
                                     : "gpu_free_milli after a placement is not known to a policy with device_score()");
    }
    for (const auto* const config : configs_) width_ = std::max(width_, config->devices.size());
    gpus_free_.assign(std::max<std::size_t>(rows() * width_, 1), -1);
    for (std::size_t row = 0; row < configs_.size(); ++row) {
        auto* const first = gpus_free_.data() + row * width_;
        auto* const end = std::ranges::transform(configs_[row]->devices, first, [](const auto* device) {
                              return device->free().count();
                          }).out;
        std::sort(first, end, std::greater{});
    }
    return gpus_free_;
}

shown_request request_describer::of(const vgpualloc::pod_request& request, std::int64_t id,
                                    const vgpualloc::cluster* nodes) {
    shown_request shown{.id = id, .cpu_milli = request.cpu.count(), .memory_mib = vgpualloc::mib_up(request.memory)};
    for (const auto& container : request.containers) shown.gpus += container.count;
    if (nodes != nullptr) {
        if (nodes != nodes_ || nodes->nodes.size() != node_count_) {
            amounts_.emplace(*nodes);
            nodes_ = nodes;
            node_count_ = nodes->nodes.size();
        }
        shown.gpu_milli = std::llround(gpus_of(amounts_->of(request)).larger() * 1000.0);
        return shown;
    }
    for (const auto& container : request.containers) {
        const std::int64_t memory_milli =
            container.memory_percent.value_or(container.memory.count() == 0 ? 100 : 0) * 10;
        shown.gpu_milli += container.count * std::max(memory_milli, container.cores.count() * 10);
    }
    return shown;
}

namespace {

nb::capsule share_of(const std::shared_ptr<score_rows>& rows) {
    return nb::capsule{new std::shared_ptr<score_rows>{rows}, // NOLINT: Python deletes it
                       [](void* share) noexcept { delete static_cast<std::shared_ptr<score_rows>*>(share); }};
}

template <std::size_t Field, class State>
nb::object field_of(const State& state) {
    const auto& column = state.rows->column(Field);
    if (state.single) return nb::int_(column.front());
    return nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<1>>(column.data(), {column.size()}, share_of(state.rows))
        .cast();
}

nb::object gpus_of(const node_state& state) {
    const auto& numbers = state.rows->gpus_free();
    const std::size_t width = state.rows->width();
    if (!state.single) {
        return nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<2>>(numbers.data(), {state.rows->rows(), width},
                                                                       share_of(state.rows))
            .cast();
    }
    nb::list row;
    for (std::size_t device = 0; device < width; ++device) row.append(numbers[device]);
    return nb::tuple(row);
}

} // namespace

void bind_states(nb::module_& module) {
    nb::class_<shown_request>(module, "Request")
        .def_ro("id", &shown_request::id)
        .def_ro("cpu_milli", &shown_request::cpu_milli)
        .def_ro("memory_mib", &shown_request::memory_mib)
        .def_ro("gpus", &shown_request::gpus)
        .def_ro("gpu_milli", &shown_request::gpu_milli);
    nb::class_<node_state>(module, "NodeState")
        .def_prop_ro("cpu_milli", &field_of<0, node_state>)
        .def_prop_ro("cpu_free_milli", &field_of<1, node_state>)
        .def_prop_ro("gpus", &field_of<2, node_state>)
        .def_prop_ro("gpus_idle", &field_of<3, node_state>)
        .def_prop_ro("used_milli", &field_of<4, node_state>)
        .def_prop_ro("free_milli", &field_of<5, node_state>)
        .def_prop_ro("gpu_free_milli", &gpus_of)
        .def("__len__", [](const node_state& state) { return state.rows->rows(); });
    nb::class_<device_state>(module, "DeviceState")
        .def_prop_ro("used_milli", &field_of<0, device_state>)
        .def_prop_ro("free_milli", &field_of<1, device_state>)
        .def_prop_ro("memory_mib", &field_of<2, device_state>)
        .def_prop_ro("memory_free_mib", &field_of<3, device_state>)
        .def("__len__", [](const device_state& state) { return state.rows->rows(); });
}

} // namespace vgpupython
