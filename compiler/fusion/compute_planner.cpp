#include "compiler/fusion/compute_planner.h"

#include <algorithm>
#include <map>
#include <queue>

#include "compiler/fusion/attention.h"
#include "compiler/fusion/cost.h"
#include "compiler/loops/load_analysis.h"

namespace fusemark {
namespace {

// Costs are counted in loads of one element from memory: so many flops take as long as one load.
constexpr double kFlopsPerLoad = 8;
// What a further kernel costs, in the same unit.
constexpr double kLaunchLoads = 2000;
// Recomputing less than this per element is not worth a buffer.
constexpr double kFreeFlops = 16;
// Arrays an inlined value may read.
constexpr size_t kMaxReads = 16;
// Instructions after a contraction in its kernel: their code is repeated for every vector of the
// register tile.
constexpr size_t kMaxEpilogue = 24;
// Instructions one kernel may hold: compile time grows faster than the gain.
constexpr size_t kMaxMembers = 400;

// Costs nothing where it is inlined: what to keep in memory is the question of its operand.
bool MovesOnly(Op op) {
  return op == Op::kBroadcast || op == Op::kReshape || op == Op::kTranspose || op == Op::kSlice ||
         op == Op::kIota;
}

bool UpdatesInPlace(Op op) {
  return op == Op::kDynamicUpdateSlice || op == Op::kScatter;
}

// Of the first result where there are several.
double Elements(const Instr& instr) {
  const Shape& shape = instr.shape.is_tuple ? instr.shape.elements[0] : instr.shape;
  return std::max<double>(1, static_cast<double>(ElementCount(shape)));
}

// Elements that an instruction reads of its first operand, repetitions counted; 0: no more than
// there are.
double ReadsOf(const Instr& reader) {
  switch (reader.op) {
    case Op::kBroadcast:
    case Op::kGather: return Elements(reader);
    case Op::kReduceWindow: {
      double window = 1;
      for (const WindowDim& dim : reader.As<WindowAttrs>().window) {
        window *= static_cast<double>(dim.size);
      }
      return window * Elements(reader);
    }
    default: return 0;
  }
}

// Rows only: the reduced dims are the minor ones.
bool ReducesMinorDims(const Instr& reduce, const Shape& operand) {
  const auto& dims = reduce.As<DimsAttrs>().dims;
  const int64_t first = operand.rank() - static_cast<int64_t>(dims.size());
  return std::all_of(dims.begin(), dims.end(), [&](int64_t dim) { return dim >= first; });
}

}  // namespace

ComputePlanner::ComputePlanner(const Module& module, ComputationId id, const PlanChoices& choices)
    : module_(module),
      id_(id),
      computation_(module[id]),
      choices_(choices),
      users_(Users(computation_)),
      live_(Live(computation_)) {}

Result<ComputationPlan> ComputePlanner::Run() {
  while (true) {
    const size_t count = computation_.instrs.size();
    placement_.assign(count, Placement::kStructural);
    group_.assign(count, kNoGroup);
    where_.assign(count, {});
    cost_.assign(count, 0);
    reads_.assign(count, {});
    copies_.assign(count, 1);
    members_.assign(count, 0);
    attention_.clear();
    FindRowGroups();
    FindAttention();
    FindEpilogues();
    PlaceAll();
    const size_t dissolved = dissolved_.size();
    auto plan = Assemble();
    if (!plan.ok() || dissolved_.size() == dissolved) return plan;
  }
}

bool ComputePlanner::HasChoice(uint32_t index) const {
  return choices_.contains({id_.index, index});
}

bool ComputePlanner::Choice(uint32_t index, bool otherwise) const {
  const auto it = choices_.find({id_.index, index});
  return it == choices_.end() ? otherwise : it->second;
}

// ---- row groups

bool ComputePlanner::JoinsRow(uint32_t index, const Shape& full, const Dims& reduced,
                              const Marks& inside) const {
  const Instr& instr = At(index);
  if (!instr.shape.is_array()) return false;
  Dims kept;
  for (int64_t dim = 0; dim < full.rank(); ++dim) {
    if (std::find(reduced.begin(), reduced.end(), dim) == reduced.end()) kept.push_back(dim);
  }
  Dims kept_dims;
  for (const int64_t dim : kept) kept_dims.push_back(full.dims[static_cast<size_t>(dim)]);
  if (instr.op == Op::kReduce) {
    const Shape& operand = computation_[instr.operands[0]].shape;
    Dims dims = instr.As<DimsAttrs>().dims;
    std::sort(dims.begin(), dims.end());
    return operand.dims == full.dims && dims == reduced;
  }
  if (IsElementwise(instr.op)) {
    return instr.shape.dims == full.dims || instr.shape.dims == kept_dims;
  }
  if (instr.op == Op::kBroadcast && inside[instr.operands[0]]) {
    return instr.shape.dims == full.dims && instr.As<DimsAttrs>().dims == kept &&
           computation_[instr.operands[0]].shape.dims == kept_dims;
  }
  return false;
}

std::vector<uint32_t> ComputePlanner::GrowRowGroup(uint32_t reduce) const {
  const Shape& full = computation_[At(reduce).operands[0]].shape;
  Dims reduced = At(reduce).As<DimsAttrs>().dims;
  std::sort(reduced.begin(), reduced.end());
  Marks inside(reduce, computation_.instrs.size()), depends = inside;
  inside.Set(reduce);
  depends.Set(reduce);
  std::vector<uint32_t> group{reduce};
  for (uint32_t i = reduce + 1; i < inside.end() && group.size() < kMaxMembers / 2; ++i) {
    if (!live_[i]) continue;
    bool outside_dependence = false, joins = false;
    for (const InstrId operand : At(i).operands) {
      if (depends[operand]) depends.Set(i);
      joins = joins || inside[operand];
      outside_dependence = outside_dependence || (depends[operand] && !inside[operand]);
    }
    // A second reduce of the same row joins even if it only shares what it reads.
    if (!joins || outside_dependence || group_[i] != kNoGroup) continue;
    if (!JoinsRow(i, full, reduced, inside)) continue;
    inside.Set(i);
    group.push_back(i);
  }
  return group;
}

void ComputePlanner::FindRowGroups() {
  for (uint32_t i = 0; i < computation_.instrs.size(); ++i) {
    const Instr& instr = At(i);
    if (!live_[i] || instr.op != Op::kReduce || instr.shape.is_tuple) continue;
    if (group_[i] != kNoGroup || dissolved_.contains(i) || Choice(i, false)) continue;
    if (!ReducesMinorDims(instr, computation_[instr.operands[0]].shape)) continue;
    if (const auto group = GrowRowGroup(i); group.size() > 1) {
      for (const uint32_t member : group) group_[member] = i;
    }
  }
}

// ---- attention

void ComputePlanner::FindAttention() {
  std::map<uint32_t, std::vector<uint32_t>> rows;  // members of the row groups
  for (uint32_t i = 0; i < group_.size(); ++i) {
    if (group_[i] != kNoGroup) rows[group_[i]].push_back(i);
  }
  for (uint32_t i = 0; i < computation_.instrs.size() && !rows.empty(); ++i) {
    if (!live_[i] || At(i).op != Op::kDot) continue;
    for (const InstrId operand : At(i).operands) {
      const auto row = rows.find(group_[operand.index]);
      if (row == rows.end()) continue;
      const auto group =
          MatchAttention(computation_, users_, live_, i, {row->second, operand.index});
      if (group.empty()) continue;
      const uint32_t name = group[0];
      const bool taken = std::any_of(group.begin(), group.end(), [&](uint32_t member) {
        return group_[member] != kNoGroup && group_[member] != row->first;
      });
      if (taken || dissolved_.contains(name) || Choice(name, false)) continue;
      for (const uint32_t member : group) group_[member] = name;
      attention_.insert(name);
      rows.erase(row);
      break;
    }
  }
}

// ---- epilogues

// Elementwise instructions on the result of a contraction that need nothing which comes later.
std::vector<uint32_t> ComputePlanner::ReadersInTile(uint32_t contraction) const {
  Marks inside(contraction, computation_.instrs.size()), depends = inside;
  inside.Set(contraction);
  depends.Set(contraction);
  std::vector<uint32_t> readers{contraction};
  for (uint32_t i = contraction + 1; i < inside.end() && readers.size() < kMaxEpilogue; ++i) {
    if (!live_[i]) continue;
    bool late = false;
    for (const InstrId operand : At(i).operands) {
      if (depends[operand]) depends.Set(i);
      late = late || (depends[operand] && !inside[operand]);
    }
    const bool joins = depends[i] && !late && group_[i] == kNoGroup && IsElementwise(At(i).op) &&
                       At(i).shape.dims == At(contraction).shape.dims;
    if (!joins) continue;
    inside.Set(i);
    readers.push_back(i);
  }
  return readers;
}

// The largest part of them that leads to one value. Beside it one more may be read elsewhere (the
// pre-activation, for the backward pass); further results would cost more to store than to compute
// again.
std::vector<uint32_t> ComputePlanner::GrowEpilogue(uint32_t contraction) const {
  const std::vector<uint32_t> readers = ReadersInTile(contraction);
  std::vector<uint32_t> best;
  for (const uint32_t last : readers) {
    std::set<uint32_t> part{last};
    for (size_t i = readers.size(); i-- > 0;) {
      const auto& users = users_[readers[i]];
      const bool leads = std::any_of(users.begin(), users.end(),
                                     [&](InstrId user) { return part.contains(user.index); });
      if (leads) part.insert(readers[i]);
    }
    const auto read_elsewhere = [&](uint32_t index) {
      const auto& users = users_[index];
      return computation_.root.index == index ||
             std::any_of(users.begin(), users.end(), [&](InstrId user) {
               return live_[user.index] && !part.contains(user.index);
             });
    };
    const auto results = std::count_if(part.begin(), part.end(), read_elsewhere);
    if (results <= 2 && part.size() > best.size()) best.assign(part.begin(), part.end());
  }
  return best;
}

void ComputePlanner::FindEpilogues() {
  for (uint32_t i = 0; i < computation_.instrs.size(); ++i) {
    const bool contraction = ClassOf(At(i).op) == OpClass::Contract;
    if (!live_[i] || !contraction || dissolved_.contains(i) || Choice(i, false)) continue;
    if (group_[i] != kNoGroup) continue;
    if (const auto group = GrowEpilogue(i); group.size() > 1) {
      for (const uint32_t member : group) group_[member] = i;
    }
  }
}

// ---- placement

bool ComputePlanner::CanInline(const Instr& instr) const {
  if (!instr.shape.is_array()) return false;
  return IsElementwise(instr.op) || ClassOf(instr.op) == OpClass::Index;
}

bool ComputePlanner::TakesInline(const Instr& user, size_t position, const Instr& operand) const {
  switch (user.op) {
    case Op::kDot:
    case Op::kConvolution: return false;  // a library kernel reads memory
    case Op::kDynamicUpdateSlice:
    case Op::kScatter: return position != 0;  // updated in place
    case Op::kSort:
    case Op::kTopK: return true;  // every element is read once
    case Op::kGather: return position != 0 || operand.op == Op::kReshape;
    case Op::kSelectAndScatter: return false;
    case Op::kReduceWindow: return FlopsPerElement(operand) <= 1;
    default: return true;
  }
}

bool ComputePlanner::MustMaterialise(uint32_t index, Placement* why) const {
  *why = Placement::kOutput;
  if (computation_.root.index == index) return true;
  for (const InstrId user : users_[index]) {
    if (!live_[user.index]) continue;
    const Instr& reader = computation_[user];
    if (IsStructural(reader.op)) return true;
    for (size_t position = 0; position < reader.operands.size(); ++position) {
      if (reader.operands[position].index != index) continue;
      if (TakesInline(reader, position, At(index))) continue;
      *why = Placement::kMemory;
      return true;
    }
  }
  return false;
}

bool ComputePlanner::ShouldMaterialise(uint32_t index, Placement* why) const {
  const Instr& instr = At(index);
  std::set<uint32_t> kernels;
  double copies = 0, widest = 0;
  for (const InstrId user : users_[index]) {
    if (!live_[user.index]) continue;
    kernels.insert(where_[user.index].begin(), where_[user.index].end());
    const Instr& reader = computation_[user];
    const double times = copies_[user.index];
    // Elementwise readers at the same index share one computation; others see it at their own
    // index.
    if (IsElementwise(reader.op) || reader.op == Op::kReduce) {
      widest = std::max(widest, times);
    } else {
      copies += times * std::max(1.0, ReadsOf(reader) / Elements(instr));
    }
  }
  copies += widest;
  if (MovesOnly(instr.op) || ElementCount(instr.shape) == 1) return false;
  const double elements = Elements(instr), cost = cost_[index];
  const auto readers = static_cast<double>(kernels.size());
  const double once = ArraysRead(index) + cost / kFlopsPerLoad;
  const double saved = readers * once - (once + 1 + readers);
  if (saved * elements > kLaunchLoads || reads_[index].size() > kMaxReads) {
    *why = Placement::kShared;
    return kernels.size() > 1;
  }
  *why = Placement::kRecompute;
  return copies > 1.5 && cost * copies > kFreeFlops &&
         cost * copies * elements > kLaunchLoads * kFlopsPerLoad;
}

// Arrays as large as the value that computing it inline reads; smaller ones count in proportion.
double ComputePlanner::ArraysRead(uint32_t index) const {
  const double elements = Elements(At(index));
  double arrays = 0;
  for (const uint32_t read : reads_[index]) {
    const Shape& shape = At(read).shape;
    if (shape.is_array()) {
      arrays += std::min(1.0, static_cast<double>(ElementCount(shape)) / elements);
    }
  }
  return arrays;
}

// An update that finds its operand read in its own kernel has to copy it first: a read that is much
// smaller than the copy is done before. What is never ours to write over is copied anyway.
bool ComputePlanner::ReadsWhatIsUpdated(uint32_t index, const std::set<uint32_t>& kernels) const {
  constexpr double kMuchSmaller = 4;
  const auto& operands = At(index).operands;
  return std::any_of(kernels.begin(), kernels.end(), [&](uint32_t kernel) {
    if (!UpdatesInPlace(At(kernel).op)) return false;
    const InstrId old = At(kernel).operands[0];
    const Op source = computation_[old].op;
    return source != Op::kParameter && source != Op::kConstant &&
           std::find(operands.begin(), operands.end(), old) != operands.end() &&
           kMuchSmaller * Elements(At(index)) <= Elements(computation_[old]);
  });
}

void ComputePlanner::Materialise(uint32_t index, Placement why) {
  placement_[index] = why;
  where_[index] = {group_[index] != kNoGroup ? group_[index] : index};
  copies_[index] = 1;
}

void ComputePlanner::Place(uint32_t index) {
  const Instr& instr = At(index);
  if (IsStructural(instr.op)) return;
  Placement why = Placement::kAnchor;
  if (group_[index] != kNoGroup) {
    // Members of a row kernel are computed there; those read elsewhere become its results.
    placement_[index] = Placement::kInGroup;
    where_[index] = {group_[index]};
    return;
  }
  if (!CanInline(instr) || MustMaterialise(index, &why)) return Materialise(index, why);
  const bool profit = ShouldMaterialise(index, &why);
  if (Choice(index, profit)) return Materialise(index, HasChoice(index) ? Placement::kChosen : why);
  placement_[index] = HasChoice(index) ? Placement::kChosen : Placement::kInlined;
  std::set<uint32_t> kernels;
  double widest = 1;
  for (const InstrId user : users_[index]) {
    if (!live_[user.index]) continue;
    kernels.insert(where_[user.index].begin(), where_[user.index].end());
    widest = std::max(widest, copies_[user.index]);
  }
  const bool full = std::any_of(kernels.begin(), kernels.end(),
                                [&](uint32_t kernel) { return members_[kernel] >= kMaxMembers; });
  if (full) return Materialise(index, Placement::kFull);
  if (ReadsWhatIsUpdated(index, kernels)) return Materialise(index, Placement::kMemory);
  for (const uint32_t kernel : kernels) ++members_[kernel];
  where_[index].assign(kernels.begin(), kernels.end());
  copies_[index] = widest;
}

// Forward: what one element costs, and which arrays it reads, if everything that can be inlined is.
void ComputePlanner::Cost(uint32_t index) {
  const Instr& instr = At(index);
  if (instr.op == Op::kConstant && ElementCount(instr.shape) == 1) return;
  Placement why = Placement::kAnchor;
  if (!CanInline(instr) || group_[index] != kNoGroup || MustMaterialise(index, &why)) {
    reads_[index] = {index};
    return;
  }
  const double elements = Elements(instr);
  std::set<uint32_t> reads;
  cost_[index] = FlopsPerElement(instr);
  for (const InstrId operand : instr.operands) {
    // What is smaller than its consumer gets a buffer of its own if it is dear.
    const auto operand_elements = static_cast<double>(ElementCount(computation_[operand].shape));
    cost_[index] += cost_[operand.index] * std::min(1.0, operand_elements / elements);
    reads.insert(reads_[operand.index].begin(), reads_[operand.index].end());
  }
  cost_[index] = std::min(cost_[index], 1e6);
  reads_[index].assign(reads.begin(), reads.end());
}

void ComputePlanner::PlaceAll() {
  for (uint32_t i = 0; i < computation_.instrs.size(); ++i) Cost(i);
  for (size_t i = computation_.instrs.size(); i-- > 0;) {
    if (live_[i]) Place(static_cast<uint32_t>(i));
  }
}

// ---- kernels

Result<ComputationPlan> ComputePlanner::Assemble() {
  std::map<uint32_t, KernelPlan> by_name;
  for (uint32_t i = 0; i < computation_.instrs.size(); ++i) {
    if (!live_[i] || placement_[i] == Placement::kStructural) continue;
    const bool row = placement_[i] == Placement::kInGroup;
    const bool root =
        row ? std::any_of(users_[i].begin(), users_[i].end(),
                          [&](InstrId user) {
                            return live_[user.index] && group_[user.index] != group_[i];
                          }) ||
                  computation_.root.index == i
            : where_[i].size() == 1 && where_[i][0] == i;
    for (const uint32_t kernel : where_[i]) {
      (root ? by_name[kernel].roots : by_name[kernel].members).push_back({i});
    }
  }
  std::vector<KernelPlan> kernels;
  for (auto& [name, kernel] : by_name) {
    const bool row = group_[name] == name && At(name).op == Op::kReduce;
    kernel.klass = attention_.contains(name) ? loops::KernelClass::kAttention
                   : row                     ? loops::KernelClass::kRow
                                             : loops::ClassOfInstr(module_, id_, {name});
    kernels.push_back(std::move(kernel));
  }
  bool dissolved = false;
  FM_RETURN_IF_ERROR(LowerGroups(kernels, &dissolved));
  if (dissolved) return ComputationPlan{};
  return InOrder(std::move(kernels));
}

// Asks the lowering about every kernel that is more than one instruction.
Result<void> ComputePlanner::LowerGroups(std::vector<KernelPlan>& kernels, bool* dissolved) {
  for (const KernelPlan& kernel : kernels) {
    const auto lowered = loops::Lower(
        {&module_, id_, kernel.roots, kernel.members, kernel.klass, loops::Rounding::kAtStores});
    const uint32_t group = group_[kernel.roots[0].index];
    const bool fits = kernel.members.size() + kernel.roots.size() <= kMaxMembers;
    // Without its epilogue a contraction may be the library's.
    const bool epilogue = group != kNoGroup && kernel.klass == loops::KernelClass::kContraction;
    const bool good = !epilogue || (lowered.ok() && loops::SuitsOwnCode(lowered->kernel));
    if (lowered.ok() && (group == kNoGroup || (fits && good))) continue;
    if (group == kNoGroup) return lowered.error();
    dissolved_.insert(group);
    *dissolved = true;
  }
  return Ok();
}

// By kernel: the kernels whose results it reads, directly or through structural values.
std::vector<std::set<uint32_t>> ComputePlanner::Needs(
    const std::vector<KernelPlan>& kernels) const {
  std::vector<uint32_t> producer(computation_.instrs.size(), UINT32_MAX);
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    for (const InstrId root : kernels[k].roots) producer[root.index] = k;
  }
  // Structural values (tuples, loops) stand between kernels: what they read flows through them.
  std::vector<std::vector<uint32_t>> needs(computation_.instrs.size());
  std::vector<std::set<uint32_t>> before(kernels.size());
  for (uint32_t i = 0; i < computation_.instrs.size(); ++i) {
    if (!IsStructural(At(i).op)) continue;
    std::set<uint32_t> all;
    for (const InstrId operand : At(i).operands) {
      if (producer[operand.index] != UINT32_MAX) all.insert(producer[operand.index]);
      all.insert(needs[operand.index].begin(), needs[operand.index].end());
    }
    if (At(i).op != Op::kParameter) needs[i].assign(all.begin(), all.end());
  }
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    const auto read = [&](InstrId instr) {
      for (const InstrId operand : computation_[instr].operands) {
        const uint32_t from = producer[operand.index];
        if (from != UINT32_MAX && from != k) before[k].insert(from);
        for (const uint32_t need : needs[operand.index]) {
          if (need != k) before[k].insert(need);
        }
      }
    };
    for (const InstrId member : kernels[k].members) read(member);
    for (const InstrId root : kernels[k].roots) read(root);
  }
  return before;
}

// Other kernels that read what an update writes over are to run before it, where they can: else it
// has to copy.
bool ComputePlanner::IsBetterLate(const std::vector<KernelPlan>& kernels, uint32_t update) const {
  const InstrId root = kernels[update].roots[0];
  if (!UpdatesInPlace(computation_[root].op)) return false;
  const InstrId old = computation_[root].operands[0];
  return std::any_of(users_[old.index].begin(), users_[old.index].end(), [&](InstrId user) {
    const auto& where = where_[user.index];
    return user != root && live_[user.index] && !where.empty() &&
           std::find(where.begin(), where.end(), root.index) == where.end();
  });
}

// Two groups may each read a result of the other: one on such a cycle is dissolved.
ComputationPlan ComputePlanner::InOrder(std::vector<KernelPlan> kernels) {
  const std::vector<std::set<uint32_t>> before = Needs(kernels);
  std::vector<std::vector<uint32_t>> after(kernels.size());
  std::vector<size_t> waiting(kernels.size());
  using Ready = std::pair<bool, uint32_t>;  // those better late come last
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto is_ready = [&](uint32_t k) { ready.emplace(IsBetterLate(kernels, k), k); };
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    waiting[k] = before[k].size();
    for (const uint32_t b : before[k]) after[b].push_back(k);
    if (waiting[k] == 0) is_ready(k);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t k = ready.top().second;
    ready.pop();
    order.push_back(k);
    for (const uint32_t next : after[k]) {
      if (--waiting[next] == 0) is_ready(next);
    }
  }
  if (order.size() < kernels.size()) {
    DissolveCycle(kernels, after);
    return {};
  }
  ComputationPlan plan;
  for (const uint32_t k : order) plan.kernels.push_back(std::move(kernels[k]));
  return plan;
}

void ComputePlanner::DissolveCycle(const std::vector<KernelPlan>& kernels,
                                   const std::vector<std::vector<uint32_t>>& after) {
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    if (group_[kernels[k].roots[0].index] == kNoGroup) continue;
    std::vector<bool> reached(kernels.size(), false);
    std::vector<uint32_t> open = {k};
    while (!open.empty() && !reached[k]) {
      const uint32_t from = open.back();
      open.pop_back();
      for (const uint32_t next : after[from]) {
        if (!reached[next]) open.push_back(next);
        reached[next] = true;
      }
    }
    if (!reached[k]) continue;
    dissolved_.insert(group_[kernels[k].roots[0].index]);
    return;
  }
  FM_CHECK(false, "kernels wait for each other and none of them is a group");
}

}  // namespace fusemark
