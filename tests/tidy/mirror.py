"""Tests mirror headers: a public header has a test file of its name, or an entry that says which tests hold it."""
from pathlib import PurePosixPath

from arrows import LAYERS
from source import Finding

# folder of public headers -> folder of their tests
TESTS = {
    **{f"libvgpualloc/{layer}/include/vgpualloc/": "tests/unit/" for layer in LAYERS},
    "libvgpualloc/solver/include/vgpualloc/": "tests/unit/",
    **{f"{folder}/include/vgpuformats/": "tests/unit/formats/" for folder in ("libvgpualloc/core", "formats/text", "formats")},
    "traces/include/vgputraces/": "tests/unit/traces/",
    "traces/fetch/include/vgpufetch/": "tests/unit/traces/",
    "conformance/include/vgpuconformance/": "tests/unit/conformance/",
    "operations/include/vgpuops/": "tests/unit/operations/",
    "simulator/include/vgpusim/": "tests/unit/simulator/",
    "simulator/report/include/vgpureport/": "tests/unit/report/",
    "facade/include/vgpufacade/": "tests/unit/facade/",
}

# test -> the headers (without their ending) that it holds beside or instead of one of its own name
HOLDS = {
    # values and interfaces without code of their own, which every test of their users holds
    "tests/unit/model/ledger_test.cpp": [
        "model/device", "model/partition", "model/placed_parts", "model/placement", "model/registration", "model/request"],
    "tests/unit/model/cluster_test.cpp": ["model/view"],
    "tests/unit/alloc/peers_test.cpp": ["model/peer_rules"],
    "tests/unit/kube/disruption_budgets_test.cpp": ["kube/policies"],
    "tests/unit/kube/peers_test.cpp": ["kube/peer_terms", "kube/pod_sets"],
    "tests/unit/formats/files_test.cpp": ["vgpuformats/posix_io"],
    "tests/unit/policy/adding_a_policy_test.cpp": ["policy/all", "policy/factory", "policy/policy"],
    "tests/property/annotations_test.cpp": ["dialect/decision"],
    "tests/unit/dialect/all_test.cpp": ["dialect/dialect"],
    # disciplines are held by what they do to whole workloads
    "tests/unit/simulator/discipline/pool_test.cpp": ["vgpusim/discipline/forecast"],
    "tests/unit/simulator/discipline/queue_test.cpp": [
        "vgpusim/discipline/whole_devices", "vgpusim/engine/cluster_service", "vgpusim/engine/empty_cluster",
        "vgpusim/engine/job_table"],
    "tests/unit/simulator/study/scenario_test.cpp": ["vgpusim/workload/settings"],
    "tests/unit/simulator/outputs/queue_figures_test.cpp": ["vgpusim/outputs/rows"],
    # held by the plans and prices made of them
    "tests/unit/packing/mode_packing_test.cpp": ["packing/next_states"],
    # need a solver
    "tests/unit/solver/consolidation_bound_test.cpp": ["plan/consolidation_bound"],
    "tests/unit/solver/packing_lp_test.cpp": ["plan/packing_lp"],
    "tests/unit/solver/price_program_test.cpp": ["plan/price_program"],
    "tests/unit/plan/defragment_test.cpp": ["plan/move_plan"],
    "tests/cli/prices_test.py": ["vgpusim/study/solver"],
    "tests/cli/bound_test.py": ["vgpusim/bound/bounds", "vgpusim/engine/bound_figures", "vgpusim/bound/words"],
    # the small vocabulary of one folder, in one file
    "tests/unit/core/vocabulary_test.cpp": [
        "core/config", "core/error", "core/expected", "core/hash", "core/ids", "core/units", "version", "vgpualloc"],
    "tests/unit/policy/places_test.cpp": [
        "policy/device_values", "policy/fgd_literal", "policy/fgd_stranded", "policy/first_fit", "policy/keep_idle",
        "policy/mcc", "policy/mecc", "policy/mfi", "policy/state_key",
        "policy/weighed_requests"],
    "tests/unit/policy/bid_price_test.cpp": ["policy/bid_demand", "policy/bid_slots", "policy/learned_prices"],
    "tests/unit/policy/dual_price_test.cpp": ["policy/rest_potential"],
    "tests/unit/policy/ssp_test.cpp": ["policy/priced", "policy/slot_scarcity"],
    "tests/unit/plan/slot_repack_test.cpp": ["plan/move_plan"],
    "tests/unit/policy/native_test.cpp": [
        "policy/best_fit", "policy/binpack", "policy/fgd", "policy/random", "policy/spread", "policy/worst_fit",
        "policy/usage", "policy/drawn_stream"],
    "tests/unit/policy/traits_test.cpp": ["policy/deviceshare", "policy/pair", "policy/positional", "policy/weighted"],
    "tests/unit/mode/modes_test.cpp": ["mode/all", "mode/budget", "mode/entry", "mode/exclusive", "mode/hami_core"],
    "tests/unit/alloc/allocator_test.cpp": ["alloc/answer"],
    # catalogs are read from texts, which the core does not know
    "tests/unit/catalog_text/ascend_test.cpp": [
        "catalog/ascend", "catalog/catalog", "catalog/mindcluster_310p", "catalog/provenance"],
    "tests/unit/catalog_text/mig_test.cpp": ["catalog/mig"],
    "tests/unit/catalog_text/mps_test.cpp": ["catalog/mps"],
    "tests/unit/catalog_text/power_test.cpp": ["catalog/power"],
    "tests/unit/dialect/mindcluster_test.cpp": ["dialect/kubernetes", "dialect/reading"],
    "tests/unit/dialect/volcano_config_test.cpp": ["dialect/config", "kube/device_config"],
    "tests/unit/compat/openb_test.cpp": ["dialect/openb"],
    "tests/unit/compat/policies_test.cpp": ["compat/all", "compat/fgd/policies"],
    # a model of another system is tested in the words of that system
    "tests/unit/compat/go_random_test.cpp": ["compat/fgd/go_random"],
    "tests/unit/compat/sigmoid_test.cpp": ["compat/fgd/sigmoid"],
    "tests/unit/compat/volcano_gpushare_test.cpp": ["compat/volcano/gpushare"],
    "tests/unit/compat/volcano_mindcluster_test.cpp": ["compat/volcano/mindcluster_310p"],
    "tests/unit/compat/volcano_scheduler_test.cpp": [
        "compat/volcano/config", "compat/volcano/device", "compat/volcano/quirks", "compat/volcano/scheduler"],
    "tests/unit/compat/volcano_vgpu_test.cpp": ["compat/volcano/vgpu"],
    # what users see of these is compared byte for byte on the command line
    "tests/cli/plan_test.py": ["vgpuops/whatif/idle_words", "vgpuops/whatif/moves", "vgpufacade/plan", "explain/named_place"],
    "tests/cli/transition_test.py": ["vgpuops/transition/transition_words"],
    "tests/cli/validate_test.py": ["explain/validate", "vgpufacade/validate"],
    "tests/cli/import_test.py": ["vgpufacade/import", "vgpuops/import/imported_workload"],
    "tests/cli/forecast_test.py": ["vgpufacade/forecast"],
    "tests/cli/purchase_test.py": ["vgpufacade/purchase"],
    "tests/cli/show_test.py": ["vgpufacade/show", "vgpuops/show/largest"],
    "tests/unit/operations/show/overview_test.cpp": ["vgpuops/show/headroom", "vgpuops/show/pod_use"],
    "tests/cli/whatif_test.py": ["vgpufacade/whatif"],
    "tests/unit/operations/whatif/layouts_test.cpp": ["vgpuops/whatif/cut_nodes", "vgpuops/whatif/find_layout"],
    "tests/cli/why_test.py": ["vgpufacade/why"],
    "tests/cli/compare_test.py": ["vgpufacade/compare"],
    "tests/cli/run_test.py": ["vgpufacade/words"],
    "python-bindings/tests/test_solver.py": ["vgpufacade/solver"],
    "python-bindings/tests/test_study.py": ["vgpufacade/study"],
    "tests/unit/facade/simulate_test.cpp": ["vgpufacade/columns", "vgpufacade/core_names", "vgpufacade/option_table"],
    "tests/unit/formats/column_table_test.cpp": ["vgpuformats/list_content"],
    "tests/cli/explain_test.py": ["explain/words", "kube/annotations", "kube/cluster_objects", "vgpufacade/explain"],
    "tests/cli/explain_nodes_test.py": ["explain/not_considered", "policy/hami"],
    "tests/cli/scheduler_config_test.py": ["explain/deviceshare", "kube/scheduler_config"],
    "tests/cli/fetch_test.py": ["vgpufetch/fetch"],
    "tests/cli/volcano_run_test.py": ["vgpusim/engine/placer"],
    "tests/conformance/cases_test.py": ["vgpuconformance/conformance"],
    "tests/conformance/run_cases_test.py": ["vgpusim/workload/kubernetes_objects"],
    "tests/unit/operations/whatif/answer_test.cpp": ["vgpuops/core_names"],
    "tests/unit/traces/sacct_test.cpp": ["vgputraces/accounting"],
    "tests/unit/traces/openb_test.cpp": ["vgputraces/core_names"],
    "tests/unit/simulator/engine/simulation_test.cpp": [
        "vgpusim/engine/discipline", "vgpusim/engine/scheduling_context", "vgpusim/workload/workload",
        "vgpusim/workload/core_names"],
    "tests/unit/simulator/outputs/output_test.cpp": [
        "vgpusim/outputs/pods_csv", "vgpusim/outputs/report", "vgpusim/outputs/run_files",
        "vgpusim/outputs/summary_json", "vgpusim/outputs/timeseries_csv", "vgpusim/engine/record", "vgpusim/workload/input", "vgpusim/study/run"],
}


def headers_of(texts):
    """(path, name in HOLDS, test of its own name) of every public header."""
    for path in texts:
        for folder, tests in TESTS.items():
            if path.startswith(folder) and path.endswith(".hpp"):
                inside = path.removeprefix(folder).removesuffix(".hpp")
                prefix = "" if tests == "tests/unit/" else PurePosixPath(folder).name + "/"
                yield path, prefix + inside, f"{tests}{inside}_test.cpp"


def check(texts, holds=None):
    holds = HOLDS if holds is None else holds
    headers = list(headers_of(texts))
    if not headers:
        return []
    listed = {name: test for test, names in holds.items() for name in names}
    findings = [Finding(test, 1, "mirror", "named in HOLDS of tests/tidy/mirror.py, and not there")
                for test in holds if test not in texts]
    for path, name, test in headers:
        if test in texts and name in listed:
            findings.append(Finding(path, 1, "mirror", f"has {test}: take it out of HOLDS of tests/tidy/mirror.py"))
        elif test not in texts and name not in listed:
            findings.append(Finding(path, 1, "mirror", f"no {test}, and no test holds it in tests/tidy/mirror.py"))
    known = {name for _, name, _ in headers}
    return findings + [Finding("tests/tidy/mirror.py", 1, "mirror", f"HOLDS names {name}, which is no public header")
                       for name in listed if name not in known]
