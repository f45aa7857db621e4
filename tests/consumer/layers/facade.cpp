// Two simulations, from texts in memory to columns, and every header of the layer.
#include <vgpufacade/ask.h>
#include <vgpufacade/columns.hpp>
#include <vgpufacade/compare.hpp>
#include <vgpufacade/core_names.hpp>
#include <vgpufacade/experiment.hpp>
#include <vgpufacade/explain.hpp>
#include <vgpufacade/option_table.hpp>
#include <vgpufacade/plan.hpp>
#include <vgpufacade/simulate.hpp>
#include <vgpufacade/stepper.hpp>
#include <vgpufacade/validate.hpp>
#include <vgpufacade/whatif.hpp>
#include <vgpufacade/words.hpp>

#include "../../embedding/simulate.cpp"
