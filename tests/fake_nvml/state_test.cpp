// The state file: what is read, what is written, who may write, and which fault a call meets.
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

[[nodiscard]] fault planned(std::string call, int code, std::int64_t after, std::int64_t times, std::string uuid = {}) {
    return {.call = std::move(call), .gpu_uuid = std::move(uuid), .code = code, .after_calls = after, .times = times};
}

TEST(faults, come_after_so_many_calls_and_so_often) {
    fault_counter counter;
    const std::vector<fault> faults{planned("nvmlDeviceGetName", 15, 2, 1), planned("nvmlDeviceGetName", 999, 4, 0)};
    std::vector<int> codes;
    for (int call = 0; call < 7; ++call) {
        const auto met = counter.meet(faults, "nvmlDeviceGetName", "GPU-0");
        codes.push_back(met ? met->code : 0);
    }
    EXPECT_THAT(codes, testing::ElementsAre(0, 0, 15, 0, 0, 999, 999))
        << "the second does not count the call that the first took";
    EXPECT_FALSE(counter.meet(faults, "nvmlDeviceGetUUID", "GPU-0"));
    counter.forget();
    EXPECT_FALSE(counter.meet(faults, "nvmlDeviceGetName", "GPU-0"));
}

TEST(faults, are_of_one_gpu_or_of_all) {
    fault_counter counter;
    const std::vector<fault> faults{planned("nvmlDeviceGetName", 15, 0, 0, "GPU-1")};
    EXPECT_FALSE(counter.meet(faults, "nvmlDeviceGetName", "GPU-0"));
    EXPECT_TRUE(counter.meet(faults, "nvmlDeviceGetName", "GPU-1"));
}

TEST(faults, of_making_a_gpu_instance_hit_both_functions) {
    fault_counter counter;
    const std::vector<fault> faults{planned("nvmlDeviceCreateGpuInstance", 23, 1, 0)};
    EXPECT_FALSE(counter.meet(faults, "nvmlDeviceCreateGpuInstanceWithPlacement", ""));
    EXPECT_TRUE(counter.meet(faults, "nvmlDeviceCreateGpuInstance", ""));
}

TEST(faults, keep_their_counts_while_others_come_and_go) {
    fault_counter counter;
    std::vector<fault> faults{planned("nvmlDeviceGetName", 15, 2, 0)};
    EXPECT_FALSE(counter.meet(faults, "nvmlDeviceGetName", ""));
    faults.insert(faults.begin(), planned("nvmlDeviceGetUUID", 3, 0, 0));
    EXPECT_FALSE(counter.meet(faults, "nvmlDeviceGetName", ""));
    EXPECT_TRUE(counter.meet(faults, "nvmlDeviceGetName", ""));
    EXPECT_FALSE(counter.meet({}, "nvmlDeviceGetName", ""));
    EXPECT_FALSE(counter.meet({planned("nvmlDeviceGetName", 15, 2, 0)}, "nvmlDeviceGetName", "")) << "seen anew";
}

} // namespace
