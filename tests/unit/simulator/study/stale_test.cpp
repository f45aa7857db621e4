#include "vgpusim/study/stale.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.hpp"

namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;
using vgpusim::stale_outputs;

class stale : public testing::Test {
protected:
    void put(const std::string& name, const std::string& text) const {
        const std::filesystem::path path{folder_ / name};
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
    }
    [[nodiscard]] static std::string summary(const std::string& policy) {
        return R"({"version": "1", "policy": ")" + policy + R"(", "config": {}, "inputs": []})";
    }
    /// What a run leaves, without its report.
    void put_run(const std::string& folder, const std::string& policy) const {
        put(folder + "summary.json", summary(policy));
        put(folder + "pods.csv", "order,name,node\n");
        put(folder + "timeseries.csv", "event,time,arrived_milli\n");
    }

    vga_test::temporary_folder folder_;
};

TEST_F(stale, the_files_of_a_run_that_are_not_written_again) {
    put_run("", "fgd");
    EXPECT_THAT(stale_outputs(folder_.path(), {"summary.json"}), UnorderedElementsAre("pods.csv", "timeseries.csv"));
    EXPECT_THAT(stale_outputs(folder_.path(), {"summary.json", "pods.csv", "timeseries.csv"}), IsEmpty());
}

TEST_F(stale, the_runs_that_a_comparison_names) {
    put("compare.json", "[" + summary("fgd") + "," + summary("weighted:fgd=1") + "]");
    put_run("fgd/", "fgd");
    put_run("weighted-fgd-1/", "weighted:fgd=1");
    put_run("random/", "random"); // by itself: the comparison does not name it
    EXPECT_THAT(stale_outputs(folder_.path(), {"compare.json", "fgd/summary.json", "fgd/pods.csv"}),
                UnorderedElementsAre("fgd/timeseries.csv", "weighted-fgd-1/summary.json", "weighted-fgd-1/pods.csv",
                                     "weighted-fgd-1/timeseries.csv"));
}

// A study writes none, and that of the run before it would be taken for the study's.
TEST_F(stale, the_report_of_a_run) {
    const std::string page =
        "<!DOCTYPE html>\n<html><head><title>" + std::string(5000, 'x') + " · vgpusim report</title></head></html>\n";
    put("report.html", page); // no summary says that a run has written it
    EXPECT_THAT(stale_outputs(folder_.path(), {}), IsEmpty());
    put("summary.json", summary("fgd"));
    EXPECT_THAT(stale_outputs(folder_.path(), {}), UnorderedElementsAre("summary.json", "report.html"));
    EXPECT_THAT(stale_outputs(folder_.path(), {"summary.json", "report.html"}), IsEmpty());
    put("report.html", "<html><title>mine</title></html>");
    EXPECT_THAT(stale_outputs(folder_.path(), {}), UnorderedElementsAre("summary.json"));
}

TEST_F(stale, the_files_of_a_study) {
    const std::string table = "policy,list,load_pct,metric,mean,sd,n\nfgd,pods.csv,0,active_gpus,1.000000,,1\n";
    put("study.csv", table);
    put("study.json", R"({"version": "1", "config": {}, "policies": ["fgd"], "lists": [], "inputs": [], "runs": 1})");
    EXPECT_THAT(stale_outputs(folder_.path(), {}), IsEmpty()); // it says nothing of results
    put("study.json", R"({"version": "1", "config": {}, "policies": ["fgd"], "lists": [], "inputs": [], "runs": 1,
                          "headlines": []})");
    EXPECT_THAT(stale_outputs(folder_.path(), {"summary.json"}), UnorderedElementsAre("study.csv", "study.json"));
    EXPECT_THAT(stale_outputs(folder_.path(), {"study.csv", "study.json"}), IsEmpty());
    put("study.csv", "policy,mean\n"); // theirs, under a name of ours
    EXPECT_THAT(stale_outputs(folder_.path(), {}), UnorderedElementsAre("study.json"));
}

// What does not say that we wrote it is somebody else's.
TEST_F(stale, nothing_of_somebody_else) {
    EXPECT_THAT(stale_outputs(folder_ / "absent", {}), IsEmpty());
    put("pods.csv", "order,name,node\n"); // no summary says that a run has written it
    put("compare.json", "[]");
    put("fgd/summary.json", summary("fgd"));
    EXPECT_THAT(stale_outputs(folder_.path(), {}), IsEmpty());
    put("summary.json", "{\"policy\": \"fgd\"}");
    put("compare.json", "[" + summary("fgd") + ", {}]");
    EXPECT_THAT(stale_outputs(folder_.path(), {}), IsEmpty());
    put("summary.json", summary("fgd"));
    put("pods.csv", "name,cpu_milli\n"); // theirs, under a name of ours
    EXPECT_THAT(stale_outputs(folder_.path(), {}), UnorderedElementsAre("summary.json"));
    put("compare.json", "[" + summary("fgd") + "," + summary("..") + "]");
    put("fgd/report.html", ""); // the folder of a run by itself
    EXPECT_THAT(stale_outputs(folder_.path(), {"summary.json"}), UnorderedElementsAre("compare.json"));
}

} // namespace
