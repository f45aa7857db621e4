// Catalog files of GPUs: every mistake is one error that names file, model, profile, field and value.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "catalog/example.hpp"
#include "texts.hpp"
#include "vgpualloc/catalog/mig.hpp"

namespace vgpualloc {
namespace {

using test::replaced;
using test::small_file;

struct mistake {
    std::string from;
    std::string to;
    error_code code;
    std::string message;
};

void expect_refused(const std::vector<mistake>& rows) {
    for (const mistake& row : rows) {
        SCOPED_TRACE(row.from + " -> " + row.to);
        const auto parsed = catalog_texts::parse_mig_catalog(replaced(small_file(), row.from, row.to), "f.json");
        ASSERT_FALSE(parsed.has_value());
        EXPECT_EQ(parsed.error().code, row.code);
        EXPECT_EQ(parsed.error().message(), row.message);
    }
}

const std::string in_model = "f.json: model 'NEW-1-8GB': ";
const std::string in_profile = in_model + "profile '1g.2gb': ";

TEST(parse_mig_catalog, reads_values_and_leaves_the_unknown_empty) {
    const auto parsed = catalog_texts::parse_mig_catalog(small_file(), "f.json");
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message();
    const mig_model& model = parsed->models.at(0);
    EXPECT_EQ(model.name, "NEW-1-8GB");
    EXPECT_EQ(model.memory_gb, 8);
    EXPECT_EQ(model.memory, mib{8000});
    EXPECT_EQ(model.units, mig_units{3});
    EXPECT_EQ(model.card_types, std::vector<std::string>{"NEW-1"});
    EXPECT_EQ(model.engines, (mig_engines{.copy = 2}));
    const mig_profile& small = model.profiles.at(0);
    EXPECT_EQ(small.memory_shown, centi_gib{200});
    EXPECT_EQ(small.sm, std::nullopt);
    EXPECT_EQ(small.engines, (mig_engines{.copy = 1, .jpeg = 5})); // the GPU's own count is unknown
    EXPECT_EQ(provenance_of(small.from, "starts"), "D:guess");
    EXPECT_EQ(provenance_of(small.from, "size"), "S:ME");
    EXPECT_EQ(model.profiles.at(1).memory, std::nullopt);
    EXPECT_TRUE(model.profiles.at(1).from.empty());
}

TEST(parse_mig_catalog, refuses_text_that_is_no_catalog) {
    const auto message = [](const std::string& text) {
        return catalog_texts::parse_mig_catalog(text, "f.json").error().message();
    };
    EXPECT_EQ(message("{"), "f.json:1:2: the text ends inside a map; was the download cut off?");
    EXPECT_EQ(message("[]"), "f.json: got 'a list', expected an object");
    EXPECT_EQ(message("{}"), "f.json: schema: missing; expected this key");
    EXPECT_EQ(message(R"({"schema": "vgpualloc-catalog/1"})"), "f.json: mig: missing; expected this key");
    EXPECT_EQ(message(R"({"schema": "vgpualloc-catalog/1", "mig": []})"),
              "f.json: mig: got 'a list', expected at least 1 entry");
    EXPECT_EQ(message(R"({"schema": "vgpualloc-catalog/1", "mig": [3]})"),
              "f.json: mig[0]: got '3', expected an object");
    EXPECT_EQ(message(R"({"schema": 1, "schema": 1})"), "f.json:1:15: schema: the key is given twice");
    std::string deep(200'000, '[');
    EXPECT_FALSE(catalog_texts::parse_mig_catalog(deep, "f.json").has_value());
}

TEST(parse_mig_catalog, refuses_mistakes_in_a_model) {
    expect_refused({
        {"vgpualloc-catalog/1", "vgpualloc-catalog/2", error_code::unknown_name,
         "f.json: schema: got 'vgpualloc-catalog/2', expected one of vgpualloc-catalog/1"},
        {R"("sources")", R"("source")", error_code::unknown_name,
         "f.json: source: unknown key, the keys here are schema, sources, left_out, mig, ascend, mindcluster, power"},
        {R"("key": "NEW-1-8GB")", R"("key": "")", error_code::missing, "f.json: mig[0].key: a text that is not empty"},
        {R"("key": "NEW-1-8GB")", R"("key": "a\u001b[2J")", error_code::malformed,
         R"(f.json: mig[0].key: got 'a\x1b[2J', expected a text without control characters)"},
        {R"("memory_gb": 8)", R"("memory_gb": 8.5)", error_code::malformed,
         in_model + "memory_gb: got '8.5', expected a whole number from 1 to 1000000"},
        {R"("memory_slices": 3, "compute)", R"("memory_slices": 65, "compute)", error_code::out_of_range,
         in_model + "memory_slices: got '65', expected a whole number from 1 to 64"},
        {R"("compute_slices": 2,
   "card)",
         R"("compute_slices": 0,
   "card)",
         error_code::out_of_range, in_model + "compute_slices: got '0', expected a whole number from 1 to 64"},
        {R"(["NEW-1"])", R"(["NEW-1", "NEW-1"])", error_code::duplicate,
         in_model + "card_types[1]: got 'NEW-1', expected every text once"},
        {"0x123410DE", "0x123410dE", error_code::malformed,
         in_model +
             "pci_device_ids[0]: got '0x123410dE', expected 0x and eight digits of 0-9A-F, device before vendor"},
        {R"("copy": 2)", R"("copy": -1)", error_code::out_of_range,
         in_model + "engines.copy: got '-1', expected a whole number from 0 to 1000000"},
        {R"("copy": 2)", R"("kopy": 2)", error_code::unknown_name,
         in_model + "engines.kopy: unknown key, the keys here are copy, decoder, encoder, jpeg, ofa"},
        {R"("provenance": {"*": "S:ME"},
   "profiles")",
         R"("provenance": {"starts": "S:ME"},
   "profiles")",
         error_code::unknown_name,
         in_model + "provenance.starts: got 'S:ME', expected a field of this entry or * before the source"},
        {R"("profiles": [)", R"("profile": [)", error_code::unknown_name,
         in_model + "profile: unknown key, the keys here are key, description, architecture, memory_gb, memory_mib, "
                    "memory_slices, compute_slices, card_types, pci_device_ids, engines, provenance, notes, profiles"},
    });
}

TEST(parse_mig_catalog, refuses_mistakes_in_a_profile) {
    expect_refused({
        {R"("kind": "core")", R"("kind": "Core")", error_code::unknown_name,
         in_profile + "kind: got 'Core', expected one of core, double_memory, media, all_media, no_media, graphics"},
        {R"("profile_id": 19, )", "", error_code::missing, in_profile + "profile_id: missing; expected this key"},
        {R"("compute_slices": 1)", R"("compute_slices": 3)", error_code::out_of_range,
         in_profile + "compute_slices: got '3', expected a whole number from 1 to 2"},
        {R"("memory_slices": 1)", R"("memory_slices": 2)", error_code::mismatch,
         in_profile + "memory_slices: got '2', expected the size, 1"},
        {"[0, 2]", "[0, 3]", error_code::out_of_range,
         in_profile + "starts[1]: got '3', expected a start from 0 to 2: an instance takes 1 of the 3 units"},
        {"[0, 2]", "[-1]", error_code::out_of_range,
         in_profile + "starts[0]: got '-1', expected a whole number from 0 to 64"},
        {"[0, 2]", "[2, 0]", error_code::malformed,
         in_profile + "starts[1]: got '0', expected starts in ascending order"},
        {"[0, 2]", "[0, 0]", error_code::malformed,
         in_profile + "starts[1]: got '0', expected starts in ascending order"},
        {"[0, 2]", "[]", error_code::missing, in_profile + "starts: got 'a list', expected at least 1 entry"},
        {R"("size": 1)", R"("size": 4)", error_code::out_of_range,
         in_profile + "size: got '4', expected a whole number from 1 to 3"},
        {R"("max_instances": 2)", R"("max_instances": 3)", error_code::out_of_range,
         in_profile + "max_instances: got '3', expected at most one for each of the 2 starts"},
        {R"("memory_mib": 2048)", R"("memory_mib": "2048")", error_code::malformed,
         in_profile + "memory_mib: got '2048', expected a whole number from 1 to 1000000000"},
        {R"("memory_mib": 2048)", R"("memory_mib": 2055)", error_code::mismatch,
         in_profile + "memory_mib: got '2055', expected about the 2048 MiB that memory_gib_shown stands for"},
        {"2.00", "2.005", error_code::malformed,
         in_profile +
             "memory_gib_shown: got '2.005', expected a number from 1 to 1000000000 with at most two decimals"},
        {"2.00", "18446744073709551616", error_code::out_of_range,
         in_profile + "memory_gib_shown: got '18446744073709551616', expected a number from 1 to 1000000000 with at "
                      "most two decimals"},
        {R"("copy": 1)", R"("copy": 3)", error_code::out_of_range,
         in_profile + "copy: got '3', expected at most the 2 of the whole GPU"},
        {R"("sm": null)", R"("sm": 18446744073709551615)", error_code::out_of_range,
         in_profile + "sm: got '18446744073709551615', expected a whole number from 1 to 1000000"},
        {R"("starts": "D:guess")", R"("start": "D:guess")", error_code::unknown_name,
         in_profile + "provenance.start: got 'D:guess', expected a field of this entry or * before the source"},
        {"2g.8gb", "1g.2gb", error_code::duplicate,
         in_model + "profiles[1].name: got '1g.2gb', expected every name once in a model"},
        {R"("profile_id": 0)", R"("profile_id": 19)", error_code::duplicate,
         in_model + "profile '2g.8gb': profile_id: got '19', expected an id of its own, this one is that of 1g.2gb"},
    });
}

TEST(parse_mig_catalog, refuses_less_memory_on_more_units) {
    const std::string size = R"("compute_slices": 2, "starts": [0], "size": 3,)";
    const auto with = [&](const std::string& memory) {
        return replaced(small_file(), size, size + R"( "memory_mib": )" + memory + ",");
    };
    EXPECT_TRUE(catalog_texts::parse_mig_catalog(with("2048"), "f.json").has_value());
    EXPECT_EQ(catalog_texts::parse_mig_catalog(with("2047"), "f.json").error().message(),
              in_model + "profile '2g.8gb': memory_mib: got '2047', expected no less than the 2048 of 1g.2gb, which "
                         "takes fewer units");
    const std::string small = R"({"name": "s", "kind": "core", "profile_id": 7, "compute_slices": 1, "starts": [0],
                                  "size": 1, "max_instances": 1, "memory_mib": 3000})";
    const std::string after = replaced(with("2500"), "\"max_instances\": 1}", "\"max_instances\": 1}, " + small);
    EXPECT_EQ(catalog_texts::parse_mig_catalog(after, "f.json").error().message(),
              in_model + "profile 's': memory_mib: got '3000', expected no more than the 2500 of 2g.8gb, which takes "
                         "more units");
}

TEST(parse_mig_catalog, refuses_two_models_for_one_card) {
    const auto with_second = [](const std::string& model) {
        const std::string text = replaced(small_file(), "\"ascend\": {\n  \"chips\"", "\"ascend\": {\n  \"chips\"");
        const std::string profiles =
            R"("profiles": [{"name": "p", "kind": "core", "profile_id": 0, "compute_slices": 1, "starts": [0], "size": 1,
               "max_instances": 1}]},)";
        return catalog_texts::parse_mig_catalog(
            replaced(text, "\"mig\": [",
                     "\"mig\": [{" + model + R"(, "memory_slices": 1, "compute_slices": 1, )" + profiles),
            "f.json");
    };
    EXPECT_TRUE(with_second(R"("key": "OTHER")").has_value());
    EXPECT_EQ(with_second(R"("key": "NEW-1-8GB")").error().message(),
              in_model + "key: got 'NEW-1-8GB', expected every model once");
    EXPECT_EQ(with_second(R"("key": "OTHER", "card_types": ["NEW-1"])").error().message(),
              in_model + "card_types: got 'a list', expected card types of its own: 'NEW-1' is one of OTHER");
    EXPECT_EQ(with_second(R"("key": "OTHER", "pci_device_ids": ["0x123410DE"])").error().code, error_code::duplicate);
}

} // namespace
} // namespace vgpualloc
