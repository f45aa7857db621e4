// A list whose copies have the same elements in memory until one of them is changed.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace vgpualloc {

/// Reads as a constant vector does. Not for several threads, of which one changes a copy.
template <class T>
class shared_list {
public:
    using value_type = T;
    using const_iterator = typename std::vector<T>::const_iterator;

    [[nodiscard]] const std::vector<T>& items() const noexcept { return *items_; }
    [[nodiscard]] const_iterator begin() const noexcept { return items_->begin(); }
    [[nodiscard]] const_iterator end() const noexcept { return items_->end(); }
    [[nodiscard]] std::size_t size() const noexcept { return items_->size(); }
    [[nodiscard]] bool empty() const noexcept { return items_->empty(); }
    [[nodiscard]] const T& operator[](std::size_t position) const noexcept { return (*items_)[position]; }
    [[nodiscard]] const T& front() const noexcept { return items_->front(); }
    [[nodiscard]] const T& back() const noexcept { return items_->back(); }
    [[nodiscard]] const T* data() const noexcept { return items_->data(); }

    /// The elements, to be changed: those of other copies stay as they are. They may have other addresses from now on.
    [[nodiscard]] std::vector<T>& own_items() {
        if (items_.use_count() > 1) items_ = std::make_shared<std::vector<T>>(*items_);
        return *items_;
    }
    void push_back(T item) { own_items().push_back(std::move(item)); }
    void pop_back() { own_items().pop_back(); }

private:
    std::shared_ptr<std::vector<T>> items_ = std::make_shared<std::vector<T>>();
};

} // namespace vgpualloc
