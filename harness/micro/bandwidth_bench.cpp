// Kernels that only move or add up numbers: what they reach of the bandwidth of the machine, in the
// L2 cache and in memory.
//
//   fusemark_bandwidth_bench --benchmark_filter='memory.*threads:1'
//
// of_bandwidth: bytes read once and written once per second over the measured bandwidth.
#include <fmt/format.h>

#include "harness/micro/kernel_case.h"

namespace fusemark {
namespace {

constexpr int64_t kRowBytes = 4;  // of an index

struct Size {
  const char* name;
  int64_t rows, columns;
};
constexpr Size kSizes[] = {{"l2", 128, 512}, {"memory", 16384, 1024}};

// {n}, {c}: rows and columns.
struct Kind {
  const char* name;
  const char* body;
};
constexpr Kind kKinds[] = {
    {"copy", "  x = f32[{n},{c}] parameter(0)\n  ROOT r = f32[{n},{c}] copy(x)\n"},
    {"add",
     "  x = f32[{n},{c}] parameter(0)\n  y = f32[{n},{c}] parameter(1)\n"
     "  ROOT r = f32[{n},{c}] add(x, y)\n"},
    {"transpose",
     "  x = f32[{n},{c}] parameter(0)\n"
     "  ROOT r = f32[{c},{n}] transpose(x), dimensions={{1,0}}\n"},
    {"transpose_heads",
     "  x = f32[{n},{heads},64] parameter(0)\n"
     "  ROOT r = f32[{heads},{n},64] transpose(x), dimensions={{1,0,2}}\n"},
    {"concatenate",
     "  x = f32[{n},{half}] parameter(0)\n  y = f32[{n},{half}] parameter(1)\n"
     "  ROOT r = f32[{n},{c}] concatenate(x, y), dimensions={{1}}\n"},
    {"roll",
     "  x = f32[{n},{c}] parameter(0)\n"
     "  a = f32[{n},{rest}] slice(x), slice={{[0:{n}], [3:{c}]}}\n"
     "  b = f32[{n},3] slice(x), slice={{[0:{n}], [0:3]}}\n"
     "  ROOT r = f32[{n},{c}] concatenate(a, b), dimensions={{1}}\n"},
    {"column_sum",
     "  x = f32[{n},{c}] parameter(0)\n  zero = f32[] constant(0)\n"
     "  ROOT r = f32[{c}] reduce(x, zero), dimensions={{0}}, to_apply=sum\n"},
    {"full_sum",
     "  x = f32[{n},{c}] parameter(0)\n  zero = f32[] constant(0)\n"
     "  ROOT r = f32[] reduce(x, zero), dimensions={{0,1}}, to_apply=sum\n"},
};

std::string Text(const char* body, const Size& size) {
  return "HloModule moves\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT r = f32[] add(a, b)\n}\nENTRY main {\n" +
         fmt::format(fmt::runtime(body), fmt::arg("n", size.rows), fmt::arg("c", size.columns),
                     fmt::arg("half", size.columns / 2), fmt::arg("rest", size.columns - 3),
                     fmt::arg("heads", size.columns / 64)) +
         "}\n";
}

KernelCase MoveCase(const Kind& kind, const Size& size) {
  return {.name = fmt::format("{}/{}", kind.name, size.name),
          .text = Text(kind.body, size),
          .elements = size.rows * size.columns};
}

// Rows of a table by index, as of an embedding; 64 numbers each, the table as large as the result.
KernelCase GatherCase(const Size& size) {
  const int64_t rows = size.rows * size.columns / 64;
  const std::string n = std::to_string(rows);
  return {.name = fmt::format("gather/{}", size.name),
          .text = "HloModule gather\nENTRY main {\n  table = f32[" + n +
                  ",64] parameter(0)\n  index = s32[" + n + "] parameter(1)\n  ROOT r = f32[" + n +
                  ",64] gather(table, index), offset_dims={1}, collapsed_slice_dims={0}, "
                  "start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}\n}\n",
          .inputs = {{}, {0, static_cast<double>(rows)}},
          .elements = rows * 64};
}

// The gradient of it: half as many rows are added to the table, which is copied first.
KernelCase ScatterCase(const Size& size) {
  const int64_t rows = size.rows * size.columns / 64, updates = rows / 2;
  const std::string n = std::to_string(rows), u = std::to_string(updates);
  return {.name = fmt::format("scatter_add/{}", size.name),
          .text =
              "HloModule scatter\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
              "  ROOT r = f32[] add(a, b)\n}\nENTRY main {\n  table = f32[" +
              n + ",64] parameter(0)\n  index = s32[" + u + "] parameter(1)\n  update = f32[" + u +
              ",64] parameter(2)\n  ROOT r = f32[" + n +
              ",64] scatter(table, index, update), update_window_dims={1}, "
              "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
              "index_vector_dim=1, to_apply=sum\n}\n",
          .inputs = {{}, {0, static_cast<double>(rows)}, {}},
          .elements = rows * 64,
          // The table once for the copy; the updates, and what they are added to, once more.
          .bytes_read = 4 * 64 * (rows + 2 * updates) + kRowBytes * updates,
          .bytes_written = 4 * 64 * (rows + updates)};
}

}  // namespace
}  // namespace fusemark

int main(int argc, char** argv) {
  using namespace fusemark;
  for (const Size& size : kSizes) {
    for (const Kind& kind : kKinds) RegisterCase(MoveCase(kind, size), true);
    RegisterCase(GatherCase(size), true);
    RegisterCase(ScatterCase(size), true);
  }
  return RunCases(argc, argv);
}
