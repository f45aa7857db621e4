#include "vgpusim/study/parallel.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

namespace vgpusim {

namespace {

/// What the threads have in common.
class work_queue {
public:
    work_queue(std::size_t count, const std::function<expected<void>(std::size_t)>& work,
               const std::function<void(std::size_t)>& tell)
        : count_{count}, work_{&work}, tell_{&tell} {}

    /// Takes pieces until none is left or one has failed.
    void run() noexcept {
        while (!stopped_.load()) {
            const std::size_t piece = next_.fetch_add(1);
            if (piece >= count_) return;
            try {
                auto result = (*work_)(piece);
                note(piece, result ? std::nullopt : std::optional{std::move(result).error()});
            } catch (...) {
                const std::lock_guard lock{mutex_};
                stopped_ = true;
                if (!thrown_) thrown_ = std::current_exception();
            }
        }
    }

    /// After all threads have ended.
    [[nodiscard]] expected<void> result() {
        if (thrown_) std::rethrow_exception(thrown_);
        if (failure_) return unexpected(*std::move(failure_));
        return {};
    }

private:
    void note(std::size_t piece, std::optional<error> failure) {
        const std::lock_guard lock{mutex_};
        ++done_;
        if (failure && piece < failed_piece_) {
            stopped_ = true;
            failed_piece_ = piece;
            failure_ = std::move(failure);
        }
        if (*tell_) (*tell_)(done_);
    }

    std::size_t count_;
    const std::function<expected<void>(std::size_t)>* work_;
    const std::function<void(std::size_t)>* tell_;
    std::atomic<std::size_t> next_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_; ///< of all below
    std::size_t done_ = 0;
    std::size_t failed_piece_ = std::numeric_limits<std::size_t>::max();
    std::optional<error> failure_;
    std::exception_ptr thrown_;
};

} // namespace

struct turn::holder {
    std::mutex mutex;
};

turn::turn() : holder_{std::make_unique<holder>()} {}
turn::~turn() = default;
void turn::lock() { holder_->mutex.lock(); }
void turn::unlock() noexcept { holder_->mutex.unlock(); }

std::size_t hardware_jobs() noexcept {
    return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, jobs_max);
}

expected<void> for_each_parallel(std::size_t count, std::size_t jobs,
                                 const std::function<expected<void>(std::size_t)>& work,
                                 const std::function<void(std::size_t)>& tell) {
    work_queue queue{count, work, tell};
    std::vector<std::thread> helpers;
    const std::size_t threads = std::min({std::max<std::size_t>(jobs, 1), count, jobs_max});
    helpers.reserve(threads);
    for (std::size_t i = 1; i < threads; ++i) {
        try {
            helpers.emplace_back([&queue] { queue.run(); });
        } catch (const std::system_error&) {
            break; // the system gives no more threads: those that are there do all of the work
        }
    }
    queue.run();
    for (std::thread& helper : helpers) helper.join();
    return queue.result();
}

} // namespace vgpusim
