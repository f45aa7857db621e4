// The built-in MIG models: values that would be noticed if wrong, looking them up, merging, unknown values.
#include "vgpualloc/catalog/mig.hpp"

#include <string>

#include <gtest/gtest.h>

#include "catalog/example.hpp"
#include "catalog/models.hpp"
#include "texts.hpp"

namespace vgpualloc {
namespace {

using test::model;
using test::replaced;
using test::small_file;

const mig_profile& profile(std::string_view of, std::string_view name) { return **find_profile(model(of), name); }

TEST(mig_catalog, has_the_models_with_their_own_grids) {
    EXPECT_EQ(built_in_mig_catalog().models.size(), 18U);
    std::size_t profiles = 0;
    for (const mig_model& model : built_in_mig_catalog().models) profiles += model.profiles.size();
    EXPECT_EQ(profiles, 127U);
    EXPECT_EQ(model("H100-80GB").units, mig_units{8});
    EXPECT_EQ(model("A30-24GB").units, mig_units{4});
    EXPECT_EQ(model("RTX-PRO-6000-96GB").units, mig_units{12});
    EXPECT_EQ(model("A100-40GB").compute_slices, mig_compute{7});
    EXPECT_EQ(model("RTX-PRO-6000-96GB").compute_slices, mig_compute{4});
    EXPECT_EQ(model("A100-40GB").memory, mib{40960});
}

TEST(mig_catalog, has_the_profiles_of_an_a100) {
    const mig_profile& half = profile("A100-40GB", "3g.20gb");
    EXPECT_EQ(half.kind, mig_profile_kind::core);
    EXPECT_EQ(half.profile_id, 9);
    EXPECT_EQ(half.compute_slices, mig_compute{3});
    EXPECT_EQ(half.size, mig_units{4});
    EXPECT_EQ(half.starts, (std::vector{mig_units{0}, mig_units{4}}));
    EXPECT_EQ(half.max_instances, 2);
    EXPECT_EQ(half.memory, mib{19968});
    EXPECT_EQ(half.memory_shown, centi_gib{1950});
    EXPECT_EQ(half.memory_shown_other_driver, centi_gib{1962});
    EXPECT_EQ(half.sm, 42);
    EXPECT_EQ(half.engines, (mig_engines{.copy = 3, .decoder = 2, .encoder = 0, .jpeg = 0, .ofa = 0}));
    EXPECT_EQ(provenance_of(half.from, "sm"), "S:A100_40_LGIP");
    EXPECT_EQ(provenance_of(half.from, "starts"), "S:GUIDE580");
    EXPECT_EQ(profile("A100-40GB", "1g.10gb").kind, mig_profile_kind::double_memory);
    EXPECT_EQ(profile("A100-40GB", "1g.5gb+me").kind, mig_profile_kind::media);
}

// A pod that asks 22000 MiB must not get an instance that may have 20992.
TEST(mig_catalog, where_drivers_print_two_sizes_the_smaller_one_decides_and_both_are_kept) {
    struct row {
        const char* model;
        const char* name;
        std::int64_t shown;
        std::int64_t other;
        std::int64_t decides;
    };
    for (const row& is :
         {row{"B200-180GB", "1g.23gb", 2200, 2050, 20992}, row{"GB200-186GB", "1g.23gb", 2200, 2000, 20480},
          row{"H100-80GB", "1g.10gb", 975, 962, 9851}, row{"RTX-PRO-6000-96GB", "1g.24gb", 2362, 2312, 23675},
          row{"A100-80GB", "1g.10gb", 950, 975, 9728}}) {
        const mig_profile& part = profile(is.model, is.name);
        EXPECT_EQ(part.memory_shown, centi_gib{is.shown}) << is.model;
        EXPECT_EQ(part.memory_shown_other_driver, centi_gib{is.other}) << is.model;
        EXPECT_EQ(part.memory, mib{is.decides}) << is.model;
    }
    for (const mig_model& any : built_in_mig_catalog().models) {
        for (const mig_profile& part : any.profiles) {
            if (!part.memory || !part.memory_shown_other_driver) continue;
            const std::int64_t least = std::min(*part.memory_shown, *part.memory_shown_other_driver).count();
            EXPECT_NEAR(static_cast<double>(part.memory->count()), static_cast<double>(least) * 10.24, 1.0)
                << any.name << " " << part.name;
        }
    }
}

/// The guide says shares and counts of these and no memory, so that only what nobody could say is absent.
TEST(mig_catalog, has_the_small_blackwell_boards) {
    const mig_model& rtx = model("RTX-PRO-5000-48GB");
    EXPECT_EQ(rtx.compute_slices, mig_compute{2});
    EXPECT_EQ(rtx.engines, (mig_engines{.copy = 4, .decoder = 3, .encoder = 3, .jpeg = 1, .ofa = 1}));
    EXPECT_EQ(rtx.profiles.size(), 7U);
    const mig_profile& half = profile("RTX-PRO-5000-48GB", "1g.24gb+me.all");
    EXPECT_EQ(half.kind, mig_profile_kind::all_media);
    EXPECT_EQ(half.max_instances, 1);
    EXPECT_FALSE(half.memory);
    EXPECT_FALSE(half.sm);
    EXPECT_EQ(provenance_of(half.from, "decoder"), "S:GUIDE610");
    EXPECT_EQ(provenance_of(half.from, "starts"), "D:RULE_HALVES");
    EXPECT_EQ(profile("RTX-PRO-5000-48GB", "1g.24gb").max_instances, 2);
    EXPECT_EQ(model("RTX-PRO-4500-32GB").profiles.size(), 6U);
    EXPECT_FALSE(find_profile(model("RTX-PRO-4500-32GB"), "1g.16gb+me"));
    EXPECT_EQ(model("THOR-IGPU").units, mig_units{3});
    EXPECT_EQ(profile("THOR-IGPU", "1g.0gb").starts, std::vector{mig_units{2}});
    EXPECT_FALSE(model("THOR-IGPU").memory);
    EXPECT_FALSE(model("THOR-IGPU").memory_gb);
}

TEST(mig_catalog, does_not_take_the_figures_of_the_wrong_mock) {
    // go-nvml's mock of an H100 says 3g {0,4}:3 and 7g {0}:7; hardware says 4 and 8.
    EXPECT_EQ(profile("H100-80GB", "3g.40gb").size, mig_units{4});
    EXPECT_EQ(profile("H100-80GB", "7g.80gb").size, mig_units{8});
    EXPECT_EQ(profile("H100-80GB", "1g.20gb").sm, 26); // not 16: SM are not proportional to slices
}

TEST(mig_catalog, every_source_is_explained) {
    const auto& catalog = built_in_mig_catalog();
    const auto check = [&catalog](const provenance& from) {
        for (const auto& [field, text] : from) {
            EXPECT_TRUE(text.starts_with("S:") || text.starts_with("D:")) << field << ": " << text;
            if (text.substr(2, 5) == "name " || text.substr(2, 8) == "product " || text.starts_with("D:memory") ||
                text.starts_with("D:those") || text.starts_with("D:the smaller") || text.starts_with("D:same")) {
                continue; // said in words
            }
            const std::string code = text.substr(2, text.find_first_of(" ,/(", 2) - 2);
            EXPECT_TRUE(catalog.sources.contains(code)) << field << ": " << text;
        }
    };
    for (const mig_model& model : catalog.models) {
        check(model.from);
        for (const mig_profile& part : model.profiles) check(part.from);
    }
}

TEST(mig_catalog, known_values_have_a_source) {
    for (const mig_model& model : built_in_mig_catalog().models) {
        for (const mig_profile& part : model.profiles) {
            EXPECT_FALSE(provenance_of(part.from, "starts").empty()) << model.name << part.name;
        }
    }
    EXPECT_EQ(provenance_of({}, "sm"), "");
}

TEST(find_model, knows_what_the_driver_prints) {
    const auto& catalog = built_in_mig_catalog();
    const std::vector<std::pair<std::string, std::string>> rows{
        {"A100-40GB", "A100-40GB"},
        {"NVIDIA A100-SXM4-40GB", "A100-40GB"},
        {"NVIDIA A100-PCIE-40GB", "A100-40GB"},
        {"NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "A100-80GB"},
        {"NVIDIA A100 80GB PCIe", "A100-80GB"},
        {"NVIDIA H100 80GB HBM3", "H100-80GB"},
        {"NVIDIA-H100-80GB-HBM3", "H100-80GB"},
        {"NVIDIA H100 NVL", "H100-94GB"},
        {"NVIDIA-H100-NVL", "H100-94GB"},
        {"NVIDIA H800 NVL", "H100-94GB"},
        {"NVIDIA H800", "H100-80GB"},
        {"NVIDIA GH200 480GB", "H100-96GB"},
        {"NVIDIA GH200 144G HBM3e", "GH200-144GB"},
        {"NVIDIA H200", "H200-141GB"},
        {"NVIDIA H200 NVL", "H200-141GB"},
        {"NVIDIA H20", "H20-96GB"},
        {"NVIDIA H20-3e", "H20-141GB"},
        {"NVIDIA B200", "B200-180GB"},
        {"NVIDIA GB200", "GB200-186GB"},
        {"NVIDIA B300 SXM6 AC", "B300-269GB"},
        {"NVIDIA GB300", "GB300-278GB"},
        {"NVIDIA A30", "A30-24GB"},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000-96GB"},
        {"0x20B710DE", "A30-24GB"},
        {"NVIDIA RTX PRO 5000 Blackwell", "RTX-PRO-5000-48GB"},
        {"NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition", "RTX-PRO-4500-32GB"},
        {"NVIDIA Thor", "THOR-IGPU"},
        // as HAMi's configuration spells them
        {"H100-PCIE-80GB", "H100-80GB"},
        {"NVIDIA-H100-SXM5-80GB", "H100-80GB"},
        {"H100-PCIE-94GB", "H100-94GB"},
        {"H100-SXM5-94GB", "H100-94GB"},
        {"H100 on GH200", "H100-96GB"},
        {"H200-SXM5", "H200-141GB"},
    };
    for (const auto& [text, name] : rows) {
        const auto match = find_model(catalog, text);
        ASSERT_TRUE(match.has_value()) << text << ": " << match.error().message();
        EXPECT_EQ((*match)->name, name) << text;
    }
}

TEST(find_model, refuses_what_it_does_not_know) {
    for (const char* text :
         {"", "A100", "NVIDIA A100", "nvidia a30", "NVIDIA A300", "NVIDIA A30X", "Tesla V100", "GB"}) {
        const auto match = find_model(built_in_mig_catalog(), text);
        ASSERT_FALSE(match.has_value()) << text << " " << (*match)->name;
        EXPECT_EQ(match.error().code, error_code::unknown_name);
        EXPECT_NE(match.error().message().find("A100-40GB, A100-80GB, "), std::string::npos);
        EXPECT_NE(match.error().message().find("RTX-PRO-6000-96GB"), std::string::npos);
    }
}

TEST(find_model, refuses_a_text_that_names_two) {
    const auto match = find_model(built_in_mig_catalog(), "A30 and H20"); // equally long
    ASSERT_FALSE(match.has_value());
    EXPECT_EQ(match.error().code, error_code::mismatch);
    EXPECT_EQ(match.error().message(),
              "MIG model: got 'A30 and H20', expected a text that names one model, this names H20-96GB and A30-24GB");
    // A third text that is longer settles it, wherever it stands in the catalog.
    EXPECT_EQ((*find_model(built_in_mig_catalog(), "A30, H20, GB300"))->name, "GB300-278GB");
    EXPECT_EQ((*find_model(built_in_mig_catalog(), "A30, H20, RTX PRO 6000 Blackwell"))->name, "RTX-PRO-6000-96GB");
    EXPECT_EQ((*find_model(built_in_mig_catalog(), "A30, H20 or H200"))->name, "H200-141GB");
}

TEST(find_model, goes_by_the_longest_text_of_each_model) {
    mig_catalog two;
    two.models.resize(2);
    two.models[0].name = "first";
    two.models[0].card_types = {"X", "X 2 LONG"};
    two.models[1].name = "second";
    two.models[1].card_types = {"X 2"};
    EXPECT_EQ((*find_model(two, "an X"))->name, "first");
    EXPECT_EQ((*find_model(two, "an X 2"))->name, "second");
    EXPECT_EQ((*find_model(two, "an X 2 LONG"))->name, "first");
}

TEST(find_profile, lists_the_names) {
    const auto profile = find_profile(model("A30-24GB"), "3g.20gb");
    ASSERT_FALSE(profile.has_value());
    EXPECT_EQ(profile.error().message(), "MIG model 'A30-24GB': profile: got '3g.20gb', expected one of 1g.6gb, "
                                         "1g.6gb+me, 2g.12gb, 2g.12gb+me, 4g.24gb");
}

TEST(require, names_what_the_catalog_lacks) {
    const mig_model& h20 = model("H20-96GB");
    const mig_profile& small = h20.profiles.front();
    EXPECT_EQ(require(profile("A100-40GB", "1g.5gb").sm, model("A100-40GB"), small, "sm"), 14);
    const auto sm = require(small.sm, h20, small, "sm");
    ASSERT_FALSE(sm.has_value());
    EXPECT_EQ(sm.error().code, error_code::missing);
    EXPECT_EQ(sm.error().message(), "model 'H20-96GB': profile '1g.12gb': sm: unknown in the catalog");
    EXPECT_EQ(require(model("H20-141GB").memory, model("H20-141GB"), "memory_mib").error().message(),
              "model 'H20-141GB': memory_mib: unknown in the catalog");
    EXPECT_EQ(require(h20.memory, h20, "memory_mib"), mib{97871});
}

TEST(merge, adds_and_replaces) {
    const auto added = catalog_texts::parse_mig_catalog(small_file(), "x.json");
    ASSERT_TRUE(added.has_value()) << added.error().message();
    const auto with = merge(built_in_mig_catalog(), *added);
    ASSERT_TRUE(with.has_value());
    EXPECT_EQ(with->models.size(), 19U);
    EXPECT_EQ((*find_model(*with, "a NEW-1 card"))->name, "NEW-1-8GB");
    EXPECT_EQ(with->sources.at("ME"), "measured here");
    EXPECT_TRUE(with->sources.contains("A100_40_LGIP"));

    auto changed = *added;
    changed.models.front().name = "A30-24GB";
    const auto replacing = merge(built_in_mig_catalog(), changed);
    ASSERT_TRUE(replacing.has_value());
    EXPECT_EQ(replacing->models.size(), 18U);
    EXPECT_EQ(replacing->models[13], changed.models.front()); // in the place of the old one
}

TEST(merge, refuses_a_card_that_would_have_two_models) {
    auto added = *catalog_texts::parse_mig_catalog(small_file(), "x.json");
    added.models.front().card_types = {"A30"};
    auto refused = merge(built_in_mig_catalog(), added);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, error_code::duplicate);
    EXPECT_EQ(refused.error().field, "card_types");
    EXPECT_EQ(refused.error().value, "A30");
    added.models.front().card_types = {};
    added.models.front().pci_ids = {"0x20B710DE"};
    EXPECT_EQ(merge(built_in_mig_catalog(), added).error().field, "pci_device_ids");
    added.models.front().name = "A30-24GB"; // which replaces the model that had it
    EXPECT_TRUE(merge(built_in_mig_catalog(), added).has_value());
}

} // namespace
} // namespace vgpualloc
