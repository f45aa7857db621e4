#include "vgputraces/openb.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using vgputraces::openb_node;
using vgputraces::openb_pod;

class openb : public testing::Test {
protected:
    [[nodiscard]] static auto node_list(const std::string& text) {
        return vgputraces::read_openb_nodes(text, "list.csv");
    }
    [[nodiscard]] static vgpualloc::expected<std::vector<openb_pod>> pod_list(const std::string& text) {
        auto list = vgputraces::read_openb_pods(text, "list.csv");
        if (!list) return vgpualloc::unexpected(list.error());
        EXPECT_EQ(list->skipped.count, 0) << "bad rows end the reading";
        return std::move(list->pods);
    }
    [[nodiscard]] static auto nodes(const std::string& lines) {
        return node_list("sn,cpu_milli,memory_mib,gpu,model\n" + lines);
    }
    [[nodiscard]] static auto pods(const std::string& lines) {
        return pod_list("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
                        "creation_time,deletion_time,scheduled_time\n" +
                        lines);
    }
    /// What is wrong with the one pod line, after the file's name.
    [[nodiscard]] std::string pod_failure(const std::string& line) const {
        const auto list = pods(line);
        return list ? "" : list.error().message();
    }
    [[nodiscard]] std::string node_failure(const std::string& lines) const {
        const auto list = nodes(lines);
        return list ? "" : list.error().message();
    }
};

TEST_F(openb, reads_nodes) {
    const auto list = nodes("a,64000,262144,2,G2\nb,32000,131072,0,\n");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    ASSERT_THAT(*list, SizeIs(2));
    EXPECT_EQ((*list)[0], (openb_node{.name = "a",
                                      .cpu = vgpualloc::milli_cpu{64000},
                                      .memory = vgpualloc::mib{262144},
                                      .gpu_count = 2,
                                      .model = "G2"}));
    EXPECT_EQ((*list)[1].gpu_count, 0);
}

TEST_F(openb, passes_over_bad_rows_where_that_is_asked_for) {
    const std::string header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
    const auto list = vgputraces::read_openb_pods(
        header + "a,1,1,1,x\na,1,1,1,10\na,2,2,1,20\nb,1,1\n,1,1,0,0\n\"c\",1,1,0,0\nd,1,1,2,1000\n", "list.csv",
        {.skip_bad = true});
    ASSERT_TRUE(list.has_value()) << list.error().message();
    ASSERT_THAT(list->pods, SizeIs(2)); // a row that is bad does not keep its name from another one
    EXPECT_EQ(list->pods[0].name, "a");
    EXPECT_EQ(list->pods[0].cpu, vgpualloc::milli_cpu{1});
    EXPECT_EQ(list->pods[1].name, "d");
    EXPECT_EQ(list->skipped.count, 5);
    ASSERT_THAT(list->skipped.first, SizeIs(5));
    EXPECT_THAT(list->skipped.first[0].message(), HasSubstr("list.csv:2: gpu_milli: got 'x'"));
    EXPECT_THAT(list->skipped.first[1].message(), HasSubstr("list.csv:4: name: got 'a', expected a name that occurs"));
    EXPECT_THAT(list->skipped.first[4].message(), HasSubstr("list.csv:7: fields without quotes"));
    const auto none = vgputraces::read_openb_pods(header + "a,1,1,1,x\n", "list.csv", {.skip_bad = true});
    EXPECT_THAT(none.error().message(), HasSubstr("at least one pod"));
}

TEST_F(openb, reads_pods) {
    const auto list = pods("p,4000,16384,1,460,V100|T4,LS,Running,100,250,110\n");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    EXPECT_EQ(list->front(), (openb_pod{.name = "p",
                                        .cpu = vgpualloc::milli_cpu{4000},
                                        .memory = vgpualloc::mib{16384},
                                        .num_gpu = 1,
                                        .gpu_milli = vgpualloc::milli_gpu{460},
                                        .gpu_spec = "V100|T4",
                                        .creation_time = vgpualloc::ticks{100'000'000},
                                        .deletion_time = vgpualloc::ticks{250'000'000}}));
}

TEST_F(openb, five_columns_are_enough_and_may_come_in_any_order) {
    const auto list = pod_list("gpu_milli,extra,num_gpu,name,memory_mib,cpu_milli\n"
                               "500,x,1,p,2,3\n");
    ASSERT_TRUE(list.has_value()) << list.error().message();
    EXPECT_EQ(list->front().name, "p");
    EXPECT_EQ(list->front().cpu.count(), 3);
    EXPECT_EQ(list->front().memory.count(), 2);
    EXPECT_EQ(list->front().gpu_milli.count(), 500);
    EXPECT_FALSE(list->front().creation_time);
}

TEST_F(openb, every_required_column_is_asked_for) {
    const std::vector<std::string> node_columns{"sn", "cpu_milli", "memory_mib", "gpu", "model"};
    const std::vector<std::string> pod_columns{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"};
    const auto without = [](const std::vector<std::string>& columns, const std::string& left_out) {
        std::string header = "other";
        for (const auto& column : columns) {
            if (column != left_out) header += "," + column;
        }
        return header + "\n";
    };
    for (const auto& column : node_columns) {
        const auto list = node_list(without(node_columns, column));
        ASSERT_FALSE(list.has_value());
        EXPECT_EQ(list.error().field, column);
    }
    for (const auto& column : pod_columns) {
        const auto list = pod_list(without(pod_columns, column));
        ASSERT_FALSE(list.has_value());
        EXPECT_EQ(list.error().field, column);
    }
}

TEST_F(openb, shares_above_a_whole_gpu_count_as_one) {
    EXPECT_EQ(pods("p,1,1,1,1500,,,,,,\n").value().front().gpu_milli.count(), 1000);
}

TEST_F(openb, a_pod_without_gpus_keeps_nothing_of_them) {
    for (const char* line : {"p,1,1,0,1000,V100,,,,,\n", "p,1,1,2,0,V100,,,,,\n"}) {
        const auto pod = pods(line).value().front();
        EXPECT_EQ(pod.num_gpu, 0);
        EXPECT_EQ(pod.gpu_milli.count(), 0);
        EXPECT_EQ(pod.gpu_spec, "");
    }
}

TEST_F(openb, numbers_that_are_none) {
    for (const char* number : {"-1", "1.5", "1e3", "x", "", " 1", "+1", "0x10", "1 ", "9223372036854775808",
                               "99999999999999999999999", "1000000000001"}) {
        const std::string bad = number;
        EXPECT_THAT(pod_failure("p," + bad + ",1,1,100,,,,,,\n"), StartsWith("list.csv:2: cpu_milli: ")) << bad;
        EXPECT_THAT(pod_failure("p,1," + bad + ",1,100,,,,,,\n"), StartsWith("list.csv:2: memory_mib: ")) << bad;
        EXPECT_THAT(pod_failure("p,1,1," + bad + ",100,,,,,,\n"), StartsWith("list.csv:2: num_gpu: ")) << bad;
        EXPECT_THAT(pod_failure("p,1,1,1," + bad + ",,,,,,\n"), StartsWith("list.csv:2: gpu_milli: ")) << bad;
        EXPECT_THAT(node_failure("n," + bad + ",1,1,G\n"), StartsWith("list.csv:2: cpu_milli: ")) << bad;
        EXPECT_THAT(node_failure("n,1," + bad + ",1,G\n"), StartsWith("list.csv:2: memory_mib: ")) << bad;
        EXPECT_THAT(node_failure("n,1,1," + bad + ",G\n"), StartsWith("list.csv:2: gpu: ")) << bad;
    }
    EXPECT_THAT(node_failure("n,1,1,1025,G\n"), HasSubstr("from 0 to 1024"));
}

TEST_F(openb, times_may_be_absent_but_not_wrong) {
    EXPECT_EQ(pod_failure("p,1,1,1,100,,,,,,\n"), "");
    EXPECT_THAT(pod_failure("p,1,1,1,100,,,,-5,,\n"), StartsWith("list.csv:2: creation_time: got '-5'"));
    EXPECT_THAT(pod_failure("p,1,1,1,100,,,,5,x,\n"), StartsWith("list.csv:2: deletion_time: got 'x'"));
    EXPECT_THAT(pod_failure("p,1,1,1,100,,,,5,4,\n"), StartsWith("list.csv:2: deletion_time: got '4'"));
    EXPECT_EQ(pod_failure("p,1,1,1,100,,,,5,5,\n"), "");
}

TEST_F(openb, names_are_given_and_unique) {
    EXPECT_THAT(pod_failure("p,1,1,1,100,,,,,,\np,1,1,1,100,,,,,,\n"), StartsWith("list.csv:3: name: got 'p'"));
    EXPECT_THAT(node_failure("n,1,1,1,G\nm,1,1,1,G\nn,1,1,1,G\n"), StartsWith("list.csv:4: sn: got 'n'"));
    EXPECT_THAT(pod_failure(",1,1,1,100,,,,,,\n"), StartsWith("list.csv:2: name: "));
}

TEST_F(openb, names_hold_no_control_characters) {
    for (const char c : {'\0', '\r', '\x1b', '\t', '\x7f'}) {
        EXPECT_THAT(pod_failure("p" + std::string(1, c) + "q,1,1,1,100,,,,,,\n"), StartsWith("list.csv:2: name: "))
            << static_cast<int>(c);
        EXPECT_THAT(node_failure("n" + std::string(1, c) + "m,1,1,1,G\n"), StartsWith("list.csv:2: sn: "))
            << static_cast<int>(c);
    }
}

// "sn: a name" read like a glossary.
TEST_F(openb, what_is_missing_is_called_missing) {
    EXPECT_EQ(node_failure(",1,1,1,G\n"), "list.csv:2: sn: missing; expected a name");
    EXPECT_EQ(node_failure("n,1,1,1,\n"),
              "list.csv:2: model: missing; expected a GPU model, because the node has GPUs");
    EXPECT_EQ(node_failure("n,,1,1,G\n"),
              "list.csv:2: cpu_milli: missing; expected a whole number from 0 to 1000000000000");
}

// Found by fuzzing: what the reader passes, check_request() has to pass too, or a run stops at a broken invariant.
TEST_F(openb, memory_is_within_the_limit_of_the_core) {
    EXPECT_EQ(pod_failure("p,1,274877906944,1,1000,,,,,,\n"), "");
    EXPECT_THAT(
        pod_failure("p,1,274877906945,1,1000,,,,,,\n"),
        StartsWith("list.csv:2: memory_mib: got '274877906945', expected a whole number from 0 to 274877906944"));
    EXPECT_EQ(node_failure("n,1,274877906944,1,G\n"), "");
    EXPECT_THAT(node_failure("n,1,274877906945,1,G\n"), StartsWith("list.csv:2: memory_mib: got '274877906945'"));
}

TEST_F(openb, a_gpu_node_has_a_model) {
    EXPECT_THAT(node_failure("n,1,1,1,\n"), StartsWith("list.csv:2: model: "));
    EXPECT_EQ(node_failure("n,1,1,0,\n"), "");
}

TEST_F(openb, lists_are_not_empty) {
    EXPECT_THAT(node_failure(""), HasSubstr("at least one node"));
    EXPECT_THAT(pod_failure(""), HasSubstr("at least one pod"));
    EXPECT_FALSE(node_list("").has_value());
    EXPECT_FALSE(pod_list("").has_value());
}

TEST_F(openb, a_list_cut_anywhere_within_its_last_line_is_refused) {
    const std::string whole = "n,1,1,1,G\nm,1000,2000,2,G\n";
    const std::size_t line = whole.find('m');
    for (std::size_t end = line + 1; end <= whole.rfind(','); ++end) {
        EXPECT_THAT(node_failure(whole.substr(0, end)), StartsWith("list.csv:3: ")) << end;
    }
}

TEST_F(openb, what_is_written_reads_back) {
    const auto some_nodes = nodes("a,64000,262144,2,G2\nb,32000,131072,0,\n").value();
    EXPECT_EQ(node_list(write_openb_nodes(some_nodes)).value(), some_nodes);
    const auto some_pods = pods("p,4000,16384,1,460,V100|T4,LS,Running,100,250,110\n"
                                "q,0,0,0,0,,LS,Running,0,,\nr,1,1,8,1000,,LS,Running,,,\n")
                               .value();
    EXPECT_EQ(pod_list(write_openb_pods(some_pods)).value(), some_pods);
}

TEST_F(openb, a_name_occurs_once_however_many_there_are) {
    std::string lines;
    for (int node = 0; node < 5000; ++node) lines += "n" + std::to_string(node) + ",1000,1,0,\n";
    const auto all = nodes(lines);
    ASSERT_TRUE(all.has_value());
    EXPECT_THAT(*all, SizeIs(5000));
    for (const char* const name : {"n0", "n17", "n511", "n512", "n4999"}) {
        const auto twice = nodes(lines + name + ",1000,1,0,\n");
        ASSERT_FALSE(twice.has_value()) << name;
        EXPECT_THAT(twice.error().message(), StartsWith("list.csv:5002")) << name;
        EXPECT_EQ(twice.error().value, name);
        EXPECT_EQ(twice.error().expected, "a name that occurs once");
    }
}

} // namespace
