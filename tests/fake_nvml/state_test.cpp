// The state file: what is read, what is written, who may write, and which fault a call meets.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.hpp"

namespace {

using namespace fake_nvml; // NOLINT(google-build-using-namespace)
using nlohmann::json;

class state_file : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("fake_nvml_" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path() const { return folder_ / "state.json"; }
    void write(const json& document) const {
        std::ofstream{path() + ".next"} << document;
        std::filesystem::rename(path() + ".next", path());
    }
    [[nodiscard]] json read() const { return json::parse(std::ifstream{path()}); }
    [[nodiscard]] std::string log() const {
        std::ifstream file{path() + ".calls"};
        return {std::istreambuf_iterator<char>{file}, {}};
    }

private:
    std::filesystem::path folder_;
};

[[nodiscard]] json a_gpu() {
    return {{"uuid", "GPU-0"}, {"name", "NVIDIA A30"}, {"mig_capable", true}, {"mig_enabled", true}, {"label", "kept"}};
}

TEST_F(state_file, is_read_again_when_it_has_changed) {
    write({{"gpus", {a_gpu()}}});
    store file{path()};
    const auto first = file.current();
    ASSERT_TRUE(first) << first.error();
    EXPECT_EQ((*first)->gpus[0].table->name, "A30-24GB") << "found by the GPU's name";
    EXPECT_EQ(file.current()->get(), first->get()) << "not read twice";
    json busy = a_gpu();
    busy["used_bytes"] = 5;
    write({{"gpus", {busy}}});
    const auto second = file.current();
    ASSERT_TRUE(second);
    EXPECT_EQ((*second)->gpus[0].used_bytes, 5U);
}

TEST_F(state_file, keeps_what_the_library_does_not_know) {
    write({{"gpus", {a_gpu()}},
           {"mig_instances", {{{"gpu", 0}, {"gi", 3}, {"profile_id", 14}, {"size", 1}}}},
           {"comment", "kept"}});
    store file{path()};
    const auto done = file.change([](machine& host) -> store::outcome {
        EXPECT_EQ(host.instances[0].compute, std::vector<compute_instance>({{0, 0}})) << "one that is all of it";
        host.instances.push_back(
            {.gpu = 0, .gi = 2, .profile_id = 5, .start = 2, .size = 2, .busy = true, .compute = {}});
        host.gpus[0].mig_pending = false;
        return {"CreateGpuInstance", true};
    });
    ASSERT_TRUE(done) << done.error();
    const json after = read();
    EXPECT_EQ(after["comment"], "kept");
    EXPECT_EQ(after["gpus"][0]["label"], "kept");
    EXPECT_EQ(after["gpus"][0]["mig_pending"], false);
    EXPECT_EQ(after["mig_instances"].size(), 2U);
    EXPECT_EQ(after["mig_instances"][1]["compute"], json::array());
    EXPECT_EQ(log(), "CreateGpuInstance\n");
    EXPECT_EQ((*file.current())->instances[1].busy, true);
}

TEST_F(state_file, is_not_written_where_nothing_changed) {
    write({{"gpus", {a_gpu()}}});
    const auto before = std::filesystem::last_write_time(path());
    store file{path()};
    ASSERT_TRUE(file.change([](machine&) -> store::outcome { return {"refused", false}; }));
    EXPECT_EQ(std::filesystem::last_write_time(path()), before);
    EXPECT_EQ(log(), "refused\n");
}

TEST_F(state_file, loses_no_change_of_many_threads) {
    write({{"gpus", {a_gpu()}}});
    std::vector<std::jthread> writers;
    for (std::uint32_t writer = 0; writer < 4; ++writer) {
        writers.emplace_back([this, writer] {
            for (std::uint32_t count = 0; count < 20; ++count) {
                store file{path()};
                EXPECT_TRUE(file.change([&](machine& host) -> store::outcome {
                    host.instances.push_back(
                        {.gpu = 0, .gi = writer * 100 + count, .profile_id = 14, .start = 0, .size = 1});
                    return {"added", true};
                }));
            }
        });
    }
    writers.clear();
    EXPECT_EQ(read()["mig_instances"].size(), 80U);
}

TEST_F(state_file, errors_name_the_field) {
    const std::vector<std::pair<json, std::string>> examples{
        {{{"gpus", {{{"name", "no uuid"}}}}}, "gpus[0]: "},
        {{{"gpus", {{{"uuid", "GPU-0"}, {"mig_capable", true}, {"mig_table", "a31"}}}}},
         "gpus[0]: mig_table \"a31\" is neither"},
        {{{"gpus", 3}}, "gpus is no list"},
        {{{"gpus", {a_gpu()}}, {"mig_instances", {{{"gpu", 1}, {"size", 1}}}}},
         "mig_instances[0]: gpu 1 is not among gpus"},
        {{{"xid_events", {{{"type", "thermal"}}}}}, "xid_events[0]: type \"thermal\""},
        {{{"nvml_faults", {{{"call", "nvmlInit"}, {"kill", "maybe"}}}}}, "nvml_faults[0]: kill \"maybe\""}};
    for (const auto& [document, text] : examples) {
        const auto host = read_machine(document);
        ASSERT_FALSE(host) << document;
        EXPECT_THAT(host.error(), testing::HasSubstr(text));
    }
    store file{path()};
    EXPECT_FALSE(file.current()) << "no file";
    std::ofstream{path()} << "{";
    EXPECT_THAT(file.current().error(), testing::HasSubstr("no JSON object"));
}

/// A machine with these faults, whose library is called by name.
class faults : public state_file {
protected:
    void SetUp() override {
        state_file::SetUp();
        setenv("VGPUALLOC_FAKE_NVML", path().c_str(), 1);
    }
    void start(const json& planned) {
        json other = a_gpu();
        other["uuid"] = "GPU-1";
        write({{"gpus", {a_gpu(), other}}, {"nvml_faults", planned}});
        ASSERT_EQ(process_.start("nvmlInit"), result::success);
        running_ = true;
    }
    void stop() {
        running_ = false;
        EXPECT_EQ(process_.stop(), result::success);
    }
    void TearDown() override {
        if (running_) stop();
        state_file::TearDown();
    }
    /// What a call answers that succeeds or fails by itself, unless it meets a fault.
    int call(std::string_view name, std::string_view uuid = "GPU-0", result itself = result::success) {
        const session::begun begun = process_.begin(name, uuid);
        if (!begun.carried_out) return static_cast<int>(begun.code);
        process_.end(begun, name, uuid, itself);
        return static_cast<int>(itself);
    }

    session process_;

private:
    bool running_ = false;
};

TEST_F(faults, come_after_so_many_good_calls_and_so_often) {
    start({{{"call", "nvmlDeviceGetName"}, {"nvml_return", 15}, {"after_calls", 2}, {"times", 1}},
           {{"call", "nvmlDeviceGetName"}, {"nvml_return", 999}, {"after_calls", 4}}});
    EXPECT_EQ(call("nvmlDeviceGetName", "GPU-0", result::not_found), 6) << "not a good one";
    std::vector<int> codes;
    for (int number = 0; number < 7; ++number) codes.push_back(call("nvmlDeviceGetName"));
    EXPECT_THAT(codes, testing::ElementsAre(0, 0, 15, 0, 0, 999, 999));
    EXPECT_EQ(call("nvmlDeviceGetUUID"), 0);
}

TEST_F(faults, are_counted_where_programs_share_them) {
    start({{{"call", "nvmlDeviceGetName"}, {"nvml_return", 15}, {"after_calls", 1}, {"times", 1}}});
    EXPECT_EQ(call("nvmlDeviceGetName"), 0);
    stop();
    session other;
    ASSERT_EQ(other.start("nvmlInit"), result::success);
    EXPECT_EQ(other.begin("nvmlDeviceGetName", "GPU-0").code, result::gpu_is_lost) << "the other program's call counts";
    EXPECT_EQ(other.begin("nvmlDeviceGetName", "GPU-0").code, result::success);
    EXPECT_EQ(other.stop(), result::success);
    EXPECT_EQ(read()["nvml_faults"][0]["met"], 1);
}

TEST_F(faults, are_of_one_gpu_or_of_all) {
    start({{{"call", "nvmlDeviceGetName"}, {"nvml_return", 15}, {"gpu_uuid", "GPU-1"}}});
    EXPECT_EQ(call("nvmlDeviceGetName", "GPU-0"), 0);
    EXPECT_EQ(call("nvmlDeviceGetName", "GPU-1"), 15);
}

TEST_F(faults, of_making_a_gpu_instance_hit_both_functions) {
    start({{{"call", "nvmlDeviceCreateGpuInstance"}, {"nvml_return", 23}, {"after_calls", 1}}});
    EXPECT_EQ(call("nvmlDeviceCreateGpuInstanceWithPlacement"), 0);
    EXPECT_EQ(call("nvmlDeviceCreateGpuInstance"), 23);
}

TEST_F(faults, make_a_call_slow) {
    start({{{"call", "nvmlDeviceGetName"}, {"delay_ms", 30}}});
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(call("nvmlDeviceGetName"), 0);
    EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds{30});
}

TEST_F(faults, of_the_start_end_it) {
    write({{"gpus", json::array()}, {"nvml_faults", {{{"call", "nvmlInit"}, {"nvml_return", 999}}}}});
    EXPECT_EQ(process_.start("nvmlInit"), result::unknown);
    EXPECT_EQ(process_.begin("nvmlDeviceGetCount", {}).code, result::uninitialized);
}

} // namespace
