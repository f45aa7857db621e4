#include "vgpufacade/ask.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vgpualloc/version.hpp"
#include "vgpufacade/compare.hpp"
#include "vgpufacade/explain.hpp"
#include "vgpufacade/option_table.hpp"
#include "vgpufacade/plan.hpp"
#include "vgpufacade/show.hpp"
#include "vgpufacade/simulate.hpp"
#include "vgpufacade/validate.hpp"
#include "vgpufacade/whatif.hpp"
#include "vgpufacade/why.hpp"
#include "vgpufacade/words.hpp"
#include "vgpuformats/some_names.hpp"
#include "vgpuformats/yaml.hpp"

namespace vgpufacade {

namespace {

error unknown_option(const std::string& name, std::string known) {
    return bad_value(error_code::unknown_name, "", name, "one of the options " + std::move(known));
}

/// How an option of a question is set.
template <class Question>
struct option_of {
    std::string_view name;
    std::function<expected<void>(Question&, const std::string& value)> set;
};

template <class Question>
expected<Question> question_of(const named_options& options, const std::vector<option_of<Question>>& known) {
    Question question{};
    for (const auto& [name, value] : options) {
        const auto option = std::ranges::find(known, std::string_view{name}, &option_of<Question>::name);
        if (option == known.end()) {
            return unexpected(unknown_option(name, vgpuformats::joined(known, &option_of<Question>::name)));
        }
        if (auto set = option->set(question, value); !set) return unexpected(std::move(set).error());
    }
    return question;
}

/// An option that sets what `field` returns of the question: a text, or one more of a list.
template <class Question, class Field>
option_of<Question> text_option(std::string_view name, Field field) {
    return {name, [field](Question& question, const std::string& value) -> expected<void> {
                auto& to = field(question);
                if constexpr (requires { to.push_back(std::string{}); } && !requires { to.append(value); }) {
                    to.push_back(value);
                } else {
                    to = value;
                }
                return {};
            }};
}

template <class Question, class Field>
option_of<Question> truth_option(std::string_view name, Field field) {
    return {name, [name, field](Question& question, const std::string& value) -> expected<void> {
                if (value != "true" && value != "false") {
                    return unexpected(vgpusim::bad_setting(name, value, "true or false"));
                }
                field(question) = value == "true";
                return {};
            }};
}

/// A number of the type of the field, within a range.
template <class Question, class Number, class Field>
option_of<Question> number_option(std::string_view name, Number least, Number most, const char* expectation,
                                  Field field) {
    return {name, [=](Question& question, const std::string& value) -> expected<void> {
                Number number{};
                const char* const end = value.data() + value.size();
                const auto parsed = std::from_chars(value.data(), end, number);
                const bool fits = parsed.ec == std::errc{} && parsed.ptr == end && number >= least && number <= most;
                if (!fits) {
                    return unexpected(vgpusim::bad_number(name, value, expectation, std::is_integral_v<Number>));
                }
                field(question) = number;
                return {};
            }};
}

template <class Question, class Field>
option_of<Question> seed_option(Field field) {
    return {"seed", [field](Question& question, const std::string& value) -> expected<void> {
                const auto seed = vgpusim::parse_seed(value);
                if (!seed) return unexpected(vgpusim::bad_number("seed", value, vgpusim::seed_expected, true));
                field(question) = *seed;
                return {};
            }};
}

template <class Question>
void add_dialect_options(std::vector<option_of<Question>>& options) {
    options.push_back(text_option<Question>("config", [](Question& q) -> auto& { return q.dialects.config; }));
    options.push_back(text_option<Question>("catalog", [](Question& q) -> auto& { return q.dialects.catalog; }));
}

// ---- simulate, compare

void add_warnings(reply_texts& reply, const vgpusim::loaded_input& input) {
    for (const error& warning : input.warnings) reply.add_line("warning: " + warning.message());
}

std::string file_of(const vgpusim::named_texts& files, std::string_view name) {
    const auto file = std::ranges::find(files, name, [](const auto& named) { return std::string_view{named.first}; });
    return file == files.end() ? std::string{} : file->second;
}

void simulate_into(reply_texts& reply, const named_options& options, const vgpuformats::input_source& source,
                   const std::function<bool()>& stop) {
    auto chosen = options_from(options, source);
    if (!chosen) return reply.fail(chosen.error());
    const progress follow{.stop = stop};
    const auto outcome = simulate(source, *std::move(chosen), follow);
    if (!outcome) return reply.fail(outcome.error());
    auto files = outcome->files(follow);
    if (!files) return reply.fail(files.error());
    add_warnings(reply, outcome->input());
    reply.text = outcome_text(*outcome);
    reply.files = *std::move(files);
    reply.json = file_of(reply.files, "summary.json");
}

void compare_into(reply_texts& reply, const named_options& options, const vgpuformats::input_source& source,
                  const std::function<bool()>& stop) {
    auto chosen = options_from(options, source);
    if (!chosen) return reply.fail(chosen.error());
    std::vector<std::string> policies;
    for (const auto& [name, value] : options) {
        if (name == "policy") policies.push_back(value);
    }
    const progress follow{.stop = stop};
    auto prepared = prepared_comparison::prepare(source, std::move(chosen->config), std::move(policies), follow);
    if (!prepared) return reply.fail(prepared.error());
    const auto outcome = std::move(*prepared).run(follow);
    if (!outcome) return reply.fail(outcome.error());
    auto files = outcome->files(follow);
    if (!files) return reply.fail(files.error());
    add_warnings(reply, outcome->loaded);
    reply.text = comparison_text(outcome->records);
    reply.files = *std::move(files);
    reply.json = file_of(reply.files, vgpusim::summaries_name);
}

// ---- a cluster

/// How an answer is printed; JSON is beside it. `words`: the known ones, for people.
template <class Question>
option_of<Question> output_option(std::vector<std::string> known = {"table", "yaml"},
                                  const char* words = "table or yaml") {
    return {"output", [known = std::move(known), words](Question& q, const std::string& value) -> expected<void> {
                if (std::ranges::find(known, value) == known.end()) {
                    return unexpected(vgpusim::bad_setting("output", value, words));
                }
                q.output = value;
                return {};
            }};
}

template <class Question>
struct in_form : Question {
    std::string output = "table";
};

/// A question of `show`, and how its answer is printed.
struct shown : show_question {
    std::string output = "table";
    bool lists_all = false;
};

void show_into(reply_texts& reply, const named_options& options, const vgpuformats::input_source& source,
               const stop_signal& stop) {
    using question = shown;
    std::vector<option_of<question>> known{
        text_option<question>("cluster", [](question& q) -> auto& { return q.cluster; }),
        text_option<question>("nodes", [](question& q) -> auto& { return q.chosen.nodes; }),
        text_option<question>("namespace", [](question& q) -> auto& { return q.chosen.ns; }),
        text_option<question>("by", [](question& q) -> auto& { return q.chosen.by; }),
        text_option<question>("prices", [](question& q) -> auto& { return q.prices; }),
        output_option<question>({"table", "wide", "yaml", "html"}, "table, wide, yaml or html"),
        truth_option<question>("all", [](question& q) -> auto& { return q.lists_all; })};
    add_dialect_options(known);
    const auto chosen = question_of(options, known);
    if (!chosen) return reply.fail(chosen.error());
    if (chosen->output == "html") {
        auto page = show_page(*chosen, chosen->lists_all, source, stop);
        if (!page) return reply.fail(page.error());
        reply.text = page->sentence + "\n";
        reply.files = {{"show.html", std::move(page->html)}};
        return;
    }
    const auto seen = show(*chosen, source, stop);
    if (!seen) return reply.fail(seen.error());
    reply.text = chosen->output == "yaml" ? vgpuops::show::overview_yaml(*seen)
                                          : vgpuops::show::overview_text(*seen, {.is_wide = chosen->output == "wide",
                                                                                 .lists_all = chosen->lists_all});
    reply.json = vgpuops::show::overview_json(*seen);
}

void print_as(const std::string& output, reply_texts& reply) {
    if (output != "yaml") return;
    auto yaml = vgpuformats::yaml_of_json(reply.json);
    if (!yaml) return reply.fail(yaml.error());
    reply.text = *std::move(yaml);
}

/// A question of `why`, about one pod or owner or, where it is empty, all that wait.
struct about : why_question {
    about() = default; // GCC 12 warns of members that an aggregate's initialisation would leave out
    std::string pod;
    std::string output = "table";
    bool lists_all = false;
};

void why_into(reply_texts& reply, const named_options& options, const vgpuformats::input_source& source,
              const stop_signal& stop) {
    using question = about;
    std::vector<option_of<question>> known{
        text_option<question>("cluster", [](question& q) -> auto& { return q.cluster; }),
        text_option<question>("pod", [](question& q) -> auto& { return q.pod; }),
        text_option<question>("namespace", [](question& q) -> auto& { return q.ns; }),
        truth_option<question>("all", [](question& q) -> auto& { return q.lists_all; }), output_option<question>()};
    add_dialect_options(known);
    const auto chosen = question_of(options, known);
    if (!chosen) return reply.fail(chosen.error());
    if (chosen->pod.empty()) {
        const auto answer = why(*chosen, source, stop);
        if (!answer) return reply.fail(answer.error());
        reply.text = vgpuops::why::waiting_text(*answer, chosen->lists_all);
        reply.json = vgpuops::why::waiting_json(*answer);
        return print_as(chosen->output, reply);
    }
    const auto answer = why_one(*chosen, chosen->pod, source, stop);
    if (!answer) return reply.fail(answer.error());
    const std::vector<std::string> arguments = cluster_arguments(*chosen);
    reply.text = text_of(*answer, arguments);
    reply.json = json_of(*answer, arguments);
    print_as(chosen->output, reply);
}

void explain_into(reply_texts& reply, const named_options& options, const vgpuformats::input_source& source,
                  const stop_signal& stop, const vgpualloc::policies_maker& make_policies) {
    using question = explain_question;
    std::vector<option_of<question>> known{
        text_option<question>("cluster", [](question& q) -> auto& { return q.cluster; }),
        text_option<question>("pod", [](question& q) -> auto& { return q.pod; }),
        text_option<question>("policy", [](question& q) -> auto& { return q.explain.policy; }),
        text_option<question>("device_policy", [](question& q) -> auto& { return q.explain.device_policy; }),
        seed_option<question>([](question& q) -> auto& { return q.explain.seed; }),
        text_option<question>("scheduler_config", [](question& q) -> auto& { return q.scheduler_config; }),
        text_option<question>("node", [](question& q) -> auto& { return q.node; }),
        truth_option<question>("all", [](question& q) -> auto& { return q.all; })};
    add_dialect_options(known);
    auto chosen = question_of(options, known);
    if (!chosen) return reply.fail(chosen.error());
    chosen->explain.make_policies = make_policies;
    const auto failures = explain(*std::move(chosen), source,
                                  {.text = [&reply](std::string_view part) { reply.text += part; },
                                   .json = [&reply](std::string_view part) { reply.json += part; }},
                                  stop);
    if (!failures) {
        reply = {}; // what was said before an end was wanted is no answer
        return reply.fail(failures.error());
    }
    for (const error& failure : *failures) reply.fail(failure);
}

void whatif_into(reply_texts& reply, const named_options& options, const vgpuformats::input_source& source,
                 const stop_signal& stop, const vgpualloc::policies_maker& make_policies) {
    using question = in_form<whatif_question>;
    std::vector<option_of<question>> known{
        text_option<question>("cluster", [](question& q) -> auto& { return q.cluster; }),
        text_option<question>("add_nodes", [](question& q) -> auto& { return q.add_nodes; }),
        text_option<question>("add_pods", [](question& q) -> auto& { return q.add_pods; }),
        text_option<question>("node_template", [](question& q) -> auto& { return q.templates; }),
        text_option<question>("uncordon", [](question& q) -> auto& { return q.asked.wanted.uncordoned; }),
        text_option<question>("drain", [](question& q) -> auto& { return q.asked.wanted.drained; }),
        text_option<question>("fail", [](question& q) -> auto& { return q.failed; }),
        text_option<question>("set_mode", [](question& q) -> auto& { return q.modes; }),
        text_option<question>("policy", [](question& q) -> auto& { return q.asked.policy; }),
        text_option<question>("device_policy", [](question& q) -> auto& { return q.asked.device_policy; }),
        seed_option<question>([](question& q) -> auto& { return q.asked.seed; }),
        truth_option<question>("anew", [](question& q) -> auto& { return q.asked.wanted.anew; }),
        text_option<question>("find_layout", [](question& q) -> auto& { return q.layouts_of; }),
        truth_option<question>("all", [](question& q) -> auto& { return q.lists_all; }),
        text_option<question>("find_nodes", [](question& q) -> auto& { return q.asked.find_kind; }),
        output_option<question>()};
    add_dialect_options(known);
    auto chosen = question_of(options, known);
    if (!chosen) return reply.fail(chosen.error());
    chosen->asked.make_policies = make_policies;
    const bool lists_all = chosen->lists_all;
    const std::string output = chosen->output;
    if (!chosen->layouts_of.empty()) {
        const auto layouts = find_layouts(static_cast<whatif_question&&>(*chosen), source, stop);
        if (!layouts) return reply.fail(layouts.error());
        reply.text = vgpuops::whatif::layouts_text(*layouts, lists_all);
        reply.json = vgpuops::whatif::layouts_json(*layouts);
        return print_as(output, reply);
    }
    const auto answer = whatif(static_cast<whatif_question&&>(*chosen), source, stop);
    if (!answer) return reply.fail(answer.error());
    reply.text = vgpuops::whatif::answer_text(*answer, lists_all);
    reply.json = vgpuops::whatif::answer_json(*answer);
    reply.files = {{"whatif.json", reply.json}, {"whatif.txt", reply.text}};
    print_as(output, reply);
}

void plan_into(reply_texts& reply, const named_options& options, const vgpuformats::input_source& source,
               const stop_signal& stop) {
    using question = in_form<plan_question>;
    constexpr double seconds_max = 1e9;
    constexpr const char* seconds = "seconds from 0 to 1000000000";
    std::vector<option_of<question>> known{
        text_option<question>("cluster", [](question& q) -> auto& { return q.cluster; }),
        text_option<question>("pod", [](question& q) -> auto& { return q.pod; }),
        text_option<question>("add_pod", [](question& q) -> auto& { return q.added_pod; }),
        {"consolidate",
         [](question& q, const std::string& value) -> expected<void> {
             if (value != "devices" && value != "nodes") {
                 return unexpected(vgpusim::bad_setting("consolidate", value, "devices or nodes"));
             }
             q.consolidated = value;
             return {};
         }},
        number_option<question>("moves", std::int64_t{0}, std::int64_t{100'000}, "a whole number from 0 to 100000",
                                [](question& q) -> auto& { return q.asked.budget.moves_max; }),
        number_option<question>("downtime_s", 0.0, seconds_max, seconds,
                                [](question& q) -> auto& { return q.downtime_s; }),
        number_option<question>("move_s", 0.0, seconds_max, seconds, [](question& q) -> auto& { return q.move_s; }),
        number_option<question>("copy_s_per_gib", 0.0, seconds_max, seconds,
                                [](question& q) -> auto& { return q.copy_s_per_gib; }),
        number_option<question>("steps", std::int64_t{1}, std::int64_t{1'000'000'000},
                                "a whole number from 1 to 1000000000",
                                [](question& q) -> auto& {
                                    q.steps_given = true;
                                    return q.asked.budget.steps_max;
                                }),
        text_option<question>("keep_namespace", [](question& q) -> auto& { return q.asked.movable.namespaces_kept; }),
        text_option<question>("movable_label", [](question& q) -> auto& { return q.labels; }),
        truth_option<question>("move_bare_pods",
                               [](question& q) -> auto& { return q.asked.movable.without_controller; }),
        output_option<question>()};
    add_dialect_options(known);
    auto chosen = question_of(options, known);
    if (!chosen) return reply.fail(chosen.error());
    const std::string output = chosen->output;
    const auto answer = plan_moves(static_cast<plan_question&&>(*chosen), source, stop);
    if (!answer) return reply.fail(answer.error());
    reply.text = vgpuops::whatif::moves_text(*answer);
    reply.json = vgpuops::whatif::moves_json(*answer);
    print_as(output, reply);
}

void validate_into(reply_texts& reply, const named_options& options, const vgpuformats::input_source& source,
                   const stop_signal& stop) {
    using question = validate_question;
    std::vector<option_of<question>> known{
        text_option<question>("files", [](question& q) -> auto& { return q.files; }),
        text_option<question>("scheduler_config", [](question& q) -> auto& { return q.scheduler_config; })};
    add_dialect_options(known);
    const auto chosen = question_of(options, known);
    if (!chosen) return reply.fail(chosen.error());
    const auto result = validate(*chosen, source, stop);
    if (!result) return reply.fail(result.error());
    reply.text = validation_text(*result);
    reply.json = validation_json(*result);
    if (result->errors == 0) return;
    reply.code = code_bad_input;
    reply.add_line(complaint_of(*result));
}

} // namespace

reply_texts answer_to(std::string_view command, const named_options& options, const vgpuformats::input_source& source,
                      const std::function<bool()>& stop, const vgpualloc::policies_maker& make_policies) {
    reply_texts reply;
    if (command == "show") {
        show_into(reply, options, source, stop_signal{stop});
    } else if (command == "why") {
        why_into(reply, options, source, stop_signal{stop});
    } else if (command == "simulate") {
        simulate_into(reply, options, source, stop);
    } else if (command == "compare") {
        compare_into(reply, options, source, stop);
    } else if (command == "explain") {
        explain_into(reply, options, source, stop_signal{stop}, make_policies);
    } else if (command == "whatif") {
        whatif_into(reply, options, source, stop_signal{stop}, make_policies);
    } else if (command == "plan") {
        plan_into(reply, options, source, stop_signal{stop});
    } else if (command == "validate") {
        validate_into(reply, options, source, stop_signal{stop});
    } else if (command == "options") {
        reply.text = option_table_text();
        reply.json = option_table_json();
    } else {
        reply.fail(bad_value(error_code::unknown_name, "command", command,
                             "one of simulate, compare, show, why, explain, whatif, plan, validate, options"));
    }
    return reply;
}

} // namespace vgpufacade
