// A list that nearly always is empty, in the room of one pointer: a cluster keeps a million bookings.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace vgpualloc {

/// Sequence of elements that can only grow; no allocation while it is empty.
template <class T>
class rare_list {
public:
    rare_list() noexcept = default;
    rare_list(std::initializer_list<T> items) {
        if (items.size() > 0) items_ = std::make_unique<std::vector<T>>(items);
    }
    rare_list(const rare_list& other) : items_{other.copied()} {}
    rare_list& operator=(const rare_list& other) {
        if (this != &other) items_ = other.copied();
        return *this;
    }
    rare_list(rare_list&& other) noexcept = default;
    rare_list& operator=(rare_list&& other) noexcept = default;
    ~rare_list() = default;

    void push_back(const T& item) {
        if (!items_) items_ = std::make_unique<std::vector<T>>();
        items_->push_back(item);
    }
    [[nodiscard]] bool empty() const noexcept { return items_ == nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return items_ ? items_->size() : 0; }
    [[nodiscard]] const T* begin() const noexcept { return items_ ? items_->data() : nullptr; }
    [[nodiscard]] const T* end() const noexcept { return begin() + size(); }

    [[nodiscard]] friend bool operator==(const rare_list& a, const rare_list& b) {
        return a.items_ && b.items_ ? *a.items_ == *b.items_ : a.empty() && b.empty();
    }

private:
    [[nodiscard]] std::unique_ptr<std::vector<T>> copied() const {
        return items_ ? std::make_unique<std::vector<T>>(*items_) : nullptr;
    }

    std::unique_ptr<std::vector<T>> items_;
};

} // namespace vgpualloc
