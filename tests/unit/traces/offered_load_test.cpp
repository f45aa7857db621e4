// The load that a generated trace offers, where its pods leave.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "generator_models.hpp"

namespace vgputraces {
namespace {

/// GPU time asked for by the pods that leave, over the time of arrivals, of all GPUs.
double offered_by(const generated_trace& trace) {
    double asked = 0.0;
    for (const auto& pod : trace.pods) {
        if (!pod.deletion_time) continue;
        asked += static_cast<double>((pod.num_gpu * pod.gpu_milli).count()) *
                 static_cast<double>((*pod.deletion_time - *pod.creation_time).count());
    }
    const auto span =
        static_cast<double>((*trace.pods.back().creation_time - *trace.pods.front().creation_time).count());
    return asked / span / static_cast<double>(trace.capacity.count());
}

TEST(generator, an_offered_load_is_met_by_the_interval_alone) {
    const std::string weights = R"(, "hourly_weights": [1,1,1,1,1,1,1,2,4,6,8,8,8,8,8,8,6,4,2,1,1,1,1,1]})";
    const std::string daily = R"({"process": "poisson", "mean_interarrival_s": 100)" + weights;
    for (const std::string& arrivals :
         {arrivals_json, std::string{R"({"process": "fixed", "interval_s": 7})"}, daily}) {
        const std::string json = model_json(kinds_json, pods_json, arrivals, durations_json);
        const auto plain = generated(json);
        EXPECT_DOUBLE_EQ(plain.offered_load.value(), offered_by(plain));
        for (const double target : {0.002, 0.25, 1.5}) {
            generate_options options;
            options.offered_load = target;
            const auto trace = generated(json, options);
            EXPECT_NEAR(offered_by(trace) / target, 1.0, 0.001) << arrivals << target;
            EXPECT_DOUBLE_EQ(trace.offered_load.value(), offered_by(trace));
            ASSERT_EQ(trace.pods.size(), plain.pods.size());
            for (std::size_t i = 0; i < plain.pods.size(); ++i) {
                EXPECT_EQ(trace.pods[i].gpu_milli, plain.pods[i].gpu_milli);
                EXPECT_EQ(*trace.pods[i].deletion_time - *trace.pods[i].creation_time,
                          *plain.pods[i].deletion_time - *plain.pods[i].creation_time);
            }
            EXPECT_EQ(bytes_of(generated(write_trace_model(trace.effective))), bytes_of(trace));
        }
    }
}

TEST(generator, an_offered_load_that_cannot_be_is_refused) {
    const auto problem = [](const std::string& arrivals, const std::string& durations, double target) {
        const auto model = parse_trace_model(model_json(kinds_json, pods_json, arrivals, durations), "m.json");
        generate_options options;
        options.offered_load = target;
        const auto trace = generate(model.value(), options);
        return trace ? "" : trace.error().where + ": " + trace.error().expected;
    };
    EXPECT_EQ(problem(R"({"process": "batch"})", durations_json, 1.0).substr(0, 40),
              "--offered-load: arrivals over time; thos");
    for (const double target : {0.0, -1.0, 1001.0, std::strtod("nan", nullptr)}) {
        EXPECT_EQ(problem(arrivals_json, durations_json, target), "--offered-load: a number from 0.000001 to 1000");
    }
    EXPECT_EQ(problem(arrivals_json, durations_json, 999.0).substr(0, 27), "--offered-load: a load that");
}

} // namespace
} // namespace vgputraces
