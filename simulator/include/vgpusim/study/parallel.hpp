// Independent pieces of work on several threads, with results that do not depend on how many there are.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "vgpusim/workload/core_names.hpp"

namespace vgpusim {

inline constexpr std::size_t jobs_max = 1024;

/// The hardware threads of this machine; 1 where they are not known.
[[nodiscard]] std::size_t hardware_jobs() noexcept;

/// Calls `work` once for every number below `count`, on so many threads at once, and starts them in ascending order.
/// What a call writes must be its own. After a failure no further piece is started; of several failures that of the
/// smallest number is returned, which is the same for any number of threads. `tell` is called after each piece with how
/// many are done, never by two threads at once; may be empty. An exception of `work` is thrown again here.
[[nodiscard]] expected<void> for_each_parallel(std::size_t count, std::size_t jobs,
                                               const std::function<expected<void>(std::size_t)>& work,
                                               const std::function<void(std::size_t)>& tell = {});

/// What one thread has at a time, for std::lock_guard. Where there are no threads it holds nothing.
class turn {
public:
    turn();
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn();
    void lock();
    void unlock() noexcept;

private:
    struct holder;
    std::unique_ptr<holder> holder_;
};

/// A value that several threads share: the first that asks makes it, and it is dropped when the last has done with it.
template <class Value>
class shared_while_used {
public:
    explicit shared_while_used(std::size_t uses) : uses_left_{uses} {}

    /// `make` returns the value, or throws, and then the next that asks makes it.
    template <class Make>
    [[nodiscard]] const Value& get(const Make& make) {
        std::call_once(is_made_, [&] { value_.emplace(make()); });
        return *value_;
    }
    /// To be called once for each of the uses, also where the value was not asked for.
    void done() {
        if (uses_left_.fetch_sub(1) == 1) value_.reset();
    }
    [[nodiscard]] bool holds_value() const noexcept { return value_.has_value(); }

private:
    std::once_flag is_made_;
    std::optional<Value> value_;
    std::atomic<std::size_t> uses_left_;
};

} // namespace vgpusim
