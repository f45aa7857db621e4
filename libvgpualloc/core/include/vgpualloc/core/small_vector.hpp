// A vector that keeps its first N elements in place: most pods use one device, and one heap block per pod is too dear.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

#include "vgpualloc/core/config.hpp"

namespace vgpualloc {

/// Sequence of trivially copyable elements, the first N without allocation. Iterators are invalidated by growth and
/// move.
template <class T, std::size_t N>
class small_vector {
    static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>);

public:
    small_vector() noexcept = default;
    small_vector(std::initializer_list<T> items) {
        for (const T& item : items) push_back(item);
    }
    small_vector(const small_vector& other) { append(other); }
    small_vector(small_vector&& other) noexcept
        : size_{std::exchange(other.size_, 0)},
          capacity_{std::exchange(other.capacity_, static_cast<std::uint32_t>(N))}, heap_{std::move(other.heap_)} {
        std::copy_n(other.local_, std::min<std::size_t>(size_, N), local_);
    }
    small_vector& operator=(const small_vector& other) {
        if (this != &other) {
            clear();
            append(other);
        }
        return *this;
    }
    small_vector& operator=(small_vector&& other) noexcept {
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(N));
        heap_ = std::move(other.heap_);
        std::copy_n(other.local_, std::min<std::size_t>(size_, N), local_);
        return *this;
    }
    ~small_vector() = default;

    void push_back(const T& item) {
        const T copy = item; // `item` may live in the storage that is about to move
        if (size_ == capacity_) grow();
        data()[size_++] = copy;
    }
    /// Both of a vector that is not empty.
    [[nodiscard]] const T& back() const noexcept { return data()[size_ - 1]; }
    void pop_back() noexcept { --size_; }
    void clear() noexcept { size_ = 0; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T* data() noexcept { return heap_ ? heap_.get() : local_; }
    [[nodiscard]] const T* data() const noexcept { return heap_ ? heap_.get() : local_; }
    [[nodiscard]] T* begin() noexcept { return data(); }
    [[nodiscard]] T* end() noexcept { return data() + size_; }
    [[nodiscard]] const T* begin() const noexcept { return data(); }
    [[nodiscard]] const T* end() const noexcept { return data() + size_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }

    [[nodiscard]] friend bool operator==(const small_vector& a, const small_vector& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    void append(const small_vector& other) {
        for (const T& item : other) push_back(item);
    }
    void grow() {
        const std::uint32_t wider = std::max<std::uint32_t>(capacity_ * 2, static_cast<std::uint32_t>(N) + 1);
        auto storage = std::make_unique<T[]>(wider);
        for (std::uint32_t i = 0; i < size_; ++i) storage[i] = data()[i];
        heap_ = std::move(storage);
        capacity_ = wider;
    }

    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = N;
    std::unique_ptr<T[]> heap_;
    T local_[N] = {};
};

} // namespace vgpualloc
