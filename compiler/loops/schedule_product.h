// Products in register tiles and panels of columns: how a contraction, or a product inside a larger
// kernel, divides rows, columns and sums among registers and caches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/loops/schedule_builder.h"

namespace fusemark::loops {

// Vectors and rows of a register tile for a product with `extent` columns or rows: as many
// accumulators as fit beside a row of the right operand and one element of the left.
int64_t TileVectors(const ScheduleBuilder& steps, int64_t extent, int64_t lanes);
int64_t TileRows(const ScheduleBuilder& steps, int64_t vectors, int64_t extent);

// What the end of a register tile reads and writes is asked for at its beginning: short pieces of
// far rows, which the hardware would fetch only when the sums are done. `rows`: the loop over the
// rows of a tile; `tile`: the loop over tiles of columns.
void PrefetchTile(ScheduleBuilder& steps, const std::string& rows, const std::string& tile);

// A large product, one panel of columns after the other: the panel of the right operand is copied
// to the stack, where its rows are neighbours, and all row tiles use it from there. `outer`: the
// loops over the result, outermost first. False: it would not pay, nothing was done.
bool ScheduleInPanels(ScheduleBuilder& steps, const std::vector<std::string>& outer);

}  // namespace fusemark::loops
