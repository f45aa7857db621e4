#include "vgpusim/outputs/run_files.hpp"

#include "vgpusim/outputs/pods_csv.hpp"
#include "vgpusim/outputs/summary_json.hpp"
#include "vgpusim/outputs/timeseries_csv.hpp"

namespace vgpusim {

named_texts run_files(const run_record& record, const loaded_input& loaded) {
    const auto& [pods, timeseries, summary] = run_file_names;
    return {{std::string{pods}, pods_csv(record, loaded.input)},
            {std::string{timeseries}, timeseries_csv(record)},
            {std::string{summary}, summary_json(record, loaded)}};
}

} // namespace vgpusim
