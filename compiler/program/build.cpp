#include "compiler/program/build.h"

#include <algorithm>

#include "compiler/fusion/planner.h"
#include "compiler/ir/users.h"
#include "compiler/loops/block_layout.h"
#include "compiler/loops/in_place.h"
#include "compiler/loops/load_analysis.h"
#include "compiler/loops/lower.h"
#include "compiler/loops/print.h"
#include "compiler/program/library_call.h"
#include "compiler/program/slots.h"

namespace fusemark {
namespace {

// Applies `fn(Place&)` to every place of a step.
struct PlaceVisitor {
  template <class Fn>
  static void All(std::vector<Place>& places, const Fn& fn) {
    for (Place& place : places) fn(place);
  }
  template <class Fn>
  static void Visit(LaunchStep& step, const Fn& fn) {
    All(step.operands, fn);
    All(step.results, fn);
    fn(step.scratch);
  }
  template <class Fn>
  static void Visit(LibraryStep& step, const Fn& fn) {
    for (Place* place : {&step.lhs, &step.rhs, &step.result, &step.scratch}) fn(*place);
  }
  template <class Fn>
  static void Visit(HostCallStep& step, const Fn& fn) {
    All(step.operands, fn);
    All(step.results, fn);
    fn(step.scratch);
  }
  template <class Fn>
  static void Visit(CopyStep& step, const Fn& fn) {
    fn(step.from);
    fn(step.to);
  }
  template <class Fn>
  static void Visit(WhileStep& step, const Fn& fn) {
    All(step.initial, fn);
    All(step.state, fn);
    All(step.other, fn);
    fn(step.flag);
    fn(step.arena);
  }
  template <class Fn>
  static void Visit(NativeStep& step, const Fn& fn) {
    All(step.places, fn);
    fn(step.arena);
  }
  template <class Fn>
  static void Visit(ConditionalStep& step, const Fn& fn) {
    for (auto& arguments : step.arguments) All(arguments, fn);
    All(step.results, fn);
    fn(step.selector);
    fn(step.arena);
  }
  template <class Fn>
  static void Visit(CallStep& step, const Fn& fn) {
    All(step.arguments, fn);
    All(step.results, fn);
    fn(step.arena);
  }
};

// Output leaves of a loop body that are the parameter leaf of the same number.
std::vector<bool> InvariantLeaves(const Computation& body) {
  const Slots slots(body, {});
  std::vector<bool> invariant;
  for (int64_t leaf = 0; leaf < static_cast<int64_t>(slots.output_leaves().size()); ++leaf) {
    const ValueLeaf definition = slots.Definition({body.root, leaf});
    invariant.push_back(body[definition.instr].op == Op::kParameter && definition.leaf == leaf);
  }
  return invariant;
}

}  // namespace

class ProgramBuilder::ComputationBuilder {
 public:
  // `is_body`: of a loop; then `invariant` says which leaves of its state never change.
  ComputationBuilder(ProgramBuilder& owner, ComputationId id, bool is_body,
                     std::vector<bool> invariant)
      : owner_(owner),
        id_(id),
        computation_(owner.module_[id]),
        slots_(computation_, invariant),
        is_body_(is_body),
        updated_(slots_.output_leaves().size(), false),
        users_(Users(computation_)),
        view_(computation_.instrs.size(), false),
        resident_(computation_.instrs.size(), false),
        program_(std::make_unique<Program>()) {
    program_->computation = computation_.name;
  }

  Result<void> Build() {
    FM_RETURN_IF_ERROR(MakeHostCalls());
    if (id_ == owner_.module_.entry) FindResidents();
    FindLastReaders();
    for (const KernelPlan& kernel : Plan().kernels) FM_RETURN_IF_ERROR(Kernel(kernel));
    for (int64_t leaf = 0; leaf < static_cast<int64_t>(slots_.output_leaves().size()); ++leaf) {
      Need({computation_.root, leaf});
    }
    for (const auto& [source, leaf] : slots_.MissingOutputs()) {
      CopyStep copy{source, {Place::Storage::kOutput, leaf}, 0};
      copy.bytes = ByteSizeOf(slots_.output_leaves()[static_cast<size_t>(leaf)]);
      Append(computation_.root, copy);
    }
    return Ok();
  }

  std::unique_ptr<Program> Finish() {
    ForEachStep([&](Step& step) {
      if (auto* launch = std::get_if<LaunchStep>(&step)) {
        slots_.Resize(launch->scratch, owner_.kernels_[launch->kernel].scratch_bytes);
      }
    });
    // Callees precede callers: their arenas are known.
    for (const auto& [place, callee] : callee_arenas_) {
      slots_.Resize(place, callee->arena_bytes);
    }
    program_->arena_bytes = slots_.Assign();
    program_->slot_bytes = slots_.SlotBytes();
    ForEachStep([&](Step& step) {
      std::visit([&](auto& s) { PlaceVisitor::Visit(s, [&](Place& p) { p = slots_.Final(p); }); },
                 step);
    });
    program_->constants = slots_.TakeConstants();
    return std::move(program_);
  }

  Program* program() { return program_.get(); }
  // Leaves of a loop's state that its body changes where they are: no second copy is needed.
  bool IsUpdated(size_t leaf) const { return updated_[leaf]; }

 private:
  const ComputationPlan& Plan() const { return owner_.config_.plan.computations[id_.index]; }
  const Instr& At(InstrId id) const { return computation_[id]; }

  template <class Fn>
  void ForEachStep(const Fn& fn) {
    for (Step& step : program_->resident_steps) fn(step);
    for (Step& step : program_->steps) fn(step);
  }

  // All of them before the first step, so that an unknown target is an error of the build.
  Result<void> MakeHostCalls() {
    const std::vector<bool> live = Live(computation_);
    for (uint32_t i = 0; i < computation_.instrs.size(); ++i) {
      if (!live[i] || computation_.instrs[i].op != Op::kCustomCall) continue;
      auto call = MakeHostCall(computation_, {i});
      if (!call.ok() && !owner_.allow_unknown_calls_) return call.error();
      owner_.set_.host_calls.push_back(call.ok() ? std::move(*call)
                                                 : MakeRefusedCall(call.error()));
      host_calls_[{i}] = owner_.set_.host_calls.back().get();
    }
    return Ok();
  }

  // What kernels of one result compute from resident parameters and constants alone. Not through
  // control flow, whose programs own no place that outlives a run; not what the caller receives.
  // Where every parameter is resident nothing would be left to run: then only weights are packed.
  void FindResidents() {
    const bool all = owner_.residents_.size() >= computation_.parameters.size();
    std::vector<bool> stays(computation_.instrs.size(), true);
    for (const KernelPlan& kernel : Plan().kernels) {
      for (const InstrId root : kernel.roots) {
        stays[root.index] = kernel.roots.size() == 1 && !IsOutput(root);
      }
    }
    for (uint32_t i = 0; i < computation_.instrs.size(); ++i) {
      const Instr& instr = computation_.instrs[i];
      const bool of_residents =
          std::all_of(instr.operands.begin(), instr.operands.end(),
                      [&](InstrId operand) { return resident_[operand.index]; });
      const bool value = instr.op == Op::kTuple || instr.op == Op::kGetTupleElement ||
                         instr.op == Op::kConstant || !IsStructural(instr.op);
      resident_[i] = instr.op == Op::kParameter
                         ? IsResidentParameter(instr)
                         : of_residents && value && stays[i] && (!all || IsStructural(instr.op)) &&
                               ClassOf(instr.op) != OpClass::Random;
    }
  }

  bool IsResidentParameter(const Instr& parameter) const {
    const auto& residents = owner_.residents_;
    return std::find(residents.begin(), residents.end(), parameter.As<ParameterAttrs>().number) !=
           residents.end();
  }

  bool IsOutput(InstrId root) const {
    for (int64_t leaf = 0; leaf < LeafCount(At(root).shape); ++leaf) {
      if (slots_.IsOutput({root, leaf})) return true;
    }
    return false;
  }

  void Append(InstrId computes, Step step) {
    const auto number = static_cast<int64_t>(program_->steps.size());
    std::visit([&](auto& s) { PlaceVisitor::Visit(s, [&](Place& p) { slots_.Touch(p, number); }); },
               step);
    program_->steps.push_back(std::move(step));
    program_->step_names.push_back(At(computes).name);
  }

  // The places of a resident step are its own from the first step to the last.
  void AppendResident(Step step) {
    std::visit([&](auto& s) { PlaceVisitor::Visit(s, [&](Place& p) { slots_.Keep(p); }); }, step);
    program_->resident_steps.push_back(std::move(step));
  }

  void AppendKernel(InstrId root, Step step) {
    if (resident_[root.index]) return AppendResident(std::move(step));
    ++program_->launches;
    Append(root, std::move(step));
  }

  // Makes sure the leaf has been computed: control flow is emitted when its first reader comes.
  void Need(ValueLeaf value) {
    if (slots_.IsDefined(value)) return;
    const InstrId definition = slots_.Definition(value).instr;
    const Instr& instr = At(definition);
    for (const InstrId operand : instr.operands) {
      for (int64_t leaf = 0; leaf < LeafCount(At(operand).shape); ++leaf) Need({operand, leaf});
    }
    switch (instr.op) {
      case Op::kWhile: return While(definition);
      case Op::kConditional: return Conditional(definition);
      case Op::kCall: return Call(definition);
      case Op::kCustomCall: return CustomCall(definition);
      case Op::kAfterAll: slots_.Define({definition, 0}, 0); return;
      default: FM_CHECK(false, "`" + instr.name + "` is read before it is computed");
    }
  }

  std::vector<Place> Leaves(InstrId id) {
    std::vector<Place> places;
    for (int64_t leaf = 0; leaf < LeafCount(At(id).shape); ++leaf) {
      Need({id, leaf});
      places.push_back(slots_.PlaceOf({id, leaf}));
    }
    return places;
  }

  std::vector<Place> DefineLeaves(InstrId id) {
    std::vector<Shape> leaves;
    FlattenLeaves(At(id).shape, leaves);
    std::vector<Place> places;
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      places.push_back(slots_.Define({id, static_cast<int64_t>(leaf)}, ByteSizeOf(leaves[leaf])));
    }
    return places;
  }

  Place CalleeArena(const Program* callee, Place place) {
    callee_arenas_.emplace_back(place, callee);
    return place;
  }

  Program* Callee(ComputationId id) { return owner_.builders_[id.index]->program(); }

  // ---- kernels

  template <class Fn>
  void ForEachRead(InstrId reader, const Fn& fn) const {
    for (const InstrId operand : At(reader).operands) {
      for (int64_t leaf = 0; leaf < LeafCount(At(operand).shape); ++leaf)
        fn(slots_.Definition({operand, leaf}));
    }
  }

  static std::vector<InstrId> Inside(const KernelPlan& plan) {
    std::vector<InstrId> inside = plan.members;
    inside.insert(inside.end(), plan.roots.begin(), plan.roots.end());
    return inside;
  }

  // The last kernel that reads each value. Views hand it on, and control flow runs when its first
  // reader comes: those count as after all kernels.
  void FindLastReaders() {
    const auto read = [&](InstrId reader, size_t kernel) {
      ForEachRead(reader, [&](ValueLeaf value) {
        size_t& last = last_reader_[value];
        last = std::max(last, kernel);
      });
    };
    const auto& kernels = Plan().kernels;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const bool view = IsView(computation_, kernels[i], users_);
      for (const InstrId instr : Inside(kernels[i])) read(instr, view ? kernels.size() : i);
    }
    for (uint32_t i = 0; i < computation_.instrs.size(); ++i) {
      const Op op = computation_.instrs[i].op;
      const bool looked_through = op == Op::kTuple || op == Op::kGetTupleElement;
      if (IsStructural(op) && !looked_through) read({i}, kernels.size());
    }
  }

  // Does the kernel read each element of the operand before it writes over it? kUnknown: then
  // nothing but an update of the operand may read it.
  enum class OwnReads : uint8_t { kUnknown, kInTime };

  // Does anything that may run after the first write of the kernel read the old value?
  bool IsReadLater(const KernelPlan& plan, ValueLeaf old, OwnReads own) const {
    const auto here = static_cast<size_t>(&plan - Plan().kernels.data());
    const auto last = last_reader_.find(old);
    if (last != last_reader_.end() && last->second > here) return true;
    if (own == OwnReads::kInTime) return false;
    int64_t reads = 0, of_update = 0;
    for (const InstrId instr : Inside(plan)) {
      ForEachRead(instr, [&](ValueLeaf value) {
        reads += value == old ? 1 : 0;
        of_update += value == old && instr == plan.roots[0] ? 1 : 0;
      });
    }
    return reads > std::min<int64_t>(of_update, 1);
  }

  // May the kernel write over its operand? Only if it is ours and nobody reads it later.
  bool DiesHere(const KernelPlan& plan, InstrId operand, OwnReads own) {
    const InstrId definition = slots_.Definition({operand, 0}).instr;
    if (definition != operand || IsStructural(At(operand).op) || view_[operand.index] ||
        resident_[operand.index] || IsReadLater(plan, {operand, 0}, own)) {
      return false;
    }
    return slots_.PlaceOf({operand, 0}).storage == Place::Storage::kArena &&
           !slots_.IsOutput({plan.roots[0], 0});
  }

  // The leaf of the loop's state that is the operand of this update, if its result is the same leaf
  // of the next state and nothing that runs later reads the old one. -1: there is none.
  int64_t UpdatedLeaf(const KernelPlan& plan, InstrId operand) const {
    const InstrId root = plan.roots[0];
    const ValueLeaf old = slots_.Definition({operand, 0});
    if (!is_body_ || At(old.instr).op != Op::kParameter || IsStructural(At(root).op)) return -1;
    for (size_t leaf = 0; leaf < updated_.size(); ++leaf) {
      const ValueLeaf next = slots_.Definition({computation_.root, static_cast<int64_t>(leaf)});
      const bool same = static_cast<int64_t>(leaf) == old.leaf;
      if ((next == ValueLeaf{root, 0}) != same || next == old) return -1;
    }
    return IsReadLater(plan, old, OwnReads::kUnknown) ? -1 : old.leaf;
  }

  Result<void> Kernel(const KernelPlan& plan) {
    if (IsView(computation_, plan, users_)) return View(plan.roots[0]);
    loops::LowerRequest request{&owner_.module_, id_,        plan.roots,
                                plan.members,    plan.klass, loops::Rounding::kAtStores};
    FM_TRY(loops::Lowered lowered, loops::Lower(request));
    const Hash128 id = loops::TaskId(lowered.kernel);
    const auto entry = owner_.config_.schedules.find(id);
    const loops::Schedule schedule = entry != owner_.config_.schedules.end()
                                         ? entry->second.schedule
                                         : loops::DefaultSchedule(lowered.kernel);
    Task& task = owner_.set_.tasks[id];
    task.id = id;
    task.klass = plan.klass;
    task.default_schedule = loops::DefaultSchedule(lowered.kernel);
    ++task.launches;
    const Op op = At(plan.roots[0]).op;
    const bool contraction = ClassOf(op) == OpClass::Contract && plan.members.empty();
    if (contraction && plan.roots.size() == 1) {
      auto library = MakeLibraryKernel(owner_.module_, id_, plan.roots[0]);
      task.library = library != nullptr;
      if (library != nullptr && schedule.use_library) {
        return LibraryCall(plan.roots[0], std::move(library));
      }
    }
    const bool one_result = lowered.kernel.results.size() == 1;
    if (plan.klass == loops::KernelClass::kUpdate && plan.roots.size() == 1 && one_result) {
      const int32_t in_place = lowered.kernel[lowered.kernel.results[0]].in_place_of;
      const int64_t updated =
          in_place < 0 ? -1 : UpdatedLeaf(plan, lowered.operands[static_cast<size_t>(in_place)]);
      if (updated >= 0) updated_[static_cast<size_t>(updated)] = true;
      if (updated >= 0 ||
          (in_place >= 0 &&
           DiesHere(plan, lowered.operands[static_cast<size_t>(in_place)], OwnReads::kUnknown))) {
        request.in_place = true;
        FM_TRY(loops::Lowered again, loops::Lower(request));
        return Launch(plan, again, schedule, updated < 0);
      }
    }
    return Launch(plan, lowered, schedule, WritesOver(plan, lowered));
  }

  // Marks the operand that the result takes the place of, if there is one.
  bool WritesOver(const KernelPlan& plan, loops::Lowered& lowered) {
    if (plan.roots.size() != 1 || plan.klass == loops::KernelClass::kUpdate) return false;
    for (const int32_t operand : loops::OverwritableOperands(lowered.kernel)) {
      if (!DiesHere(plan, lowered.operands[static_cast<size_t>(operand)], OwnReads::kInTime))
        continue;
      lowered.kernel.buffers[lowered.kernel.results[0].index].in_place_of = operand;
      return true;
    }
    return false;
  }

  Result<void> View(InstrId reshape) {
    const ValueLeaf source{At(reshape).operands[0], 0};
    Need(source);
    slots_.DefineAt({reshape, 0}, slots_.PlaceOf(source));
    view_[reshape.index] = true;
    return Ok();
  }

  Result<void> Launch(const KernelPlan& plan, const loops::Lowered& lowered,
                      const loops::Schedule& schedule, bool in_place) {
    LaunchStep step;
    std::vector<bool> lasting;
    for (const InstrId operand : lowered.operands) lasting.push_back(resident_[operand.index]);
    FM_TRY(step.kernel, owner_.kernels_.Add(lowered.kernel, schedule, lasting));
    const std::vector<int64_t> runs = owner_.kernels_.Runs(step.kernel);
    for (size_t i = 0; i < lowered.operands.size(); ++i) {
      const ValueLeaf value{lowered.operands[i], 0};
      Need(value);
      Place place = slots_.PlaceOf(value);
      if (runs[i] > 0) {
        FM_TRY(place, Blocked(value, runs[i]));
      }
      step.operands.push_back(place);
    }
    if (in_place) {
      const int32_t operand = lowered.kernel[lowered.kernel.results[0]].in_place_of;
      slots_.DefineAt({plan.roots[0], 0}, step.operands[static_cast<size_t>(operand)]);
      step.results.push_back(step.operands[static_cast<size_t>(operand)]);
    } else {
      for (const InstrId root : plan.roots) {
        const auto places = DefineLeaves(root);
        step.results.insert(step.results.end(), places.begin(), places.end());
      }
    }
    step.scratch = slots_.Temporary(0);
    AppendKernel(plan.roots.back(), std::move(step));
    return Ok();
  }

  // A resident value in a blocked layout, made when the residents are bound.
  Result<Place> Blocked(ValueLeaf value, int64_t run) {
    const ValueLeaf definition = slots_.Definition(value);
    const auto [made, fresh] = blocked_.try_emplace({definition, run});
    if (!fresh) return made->second;
    const Shape& shape = At(value.instr).shape;
    const loops::Kernel kernel = loops::BlockingKernel(shape.dtype, shape.dims, run);
    LaunchStep step;
    FM_TRY(step.kernel, owner_.kernels_.Add(kernel, loops::DefaultSchedule(kernel)));
    step.operands = {slots_.PlaceOf(value)};
    made->second = slots_.Temporary(ByteSizeOf(shape));
    step.results = {made->second};
    step.scratch = slots_.Temporary(0);
    AppendResident(std::move(step));
    return made->second;
  }

  Result<void> LibraryCall(InstrId root, std::unique_ptr<LibraryKernel> kernel) {
    LibraryStep step;
    step.kernel = kernel.get();
    step.lhs = Leaves(At(root).operands[0])[0];
    step.rhs = Leaves(At(root).operands[1])[0];
    step.result = DefineLeaves(root)[0];
    step.scratch = slots_.Temporary(kernel->scratch_bytes());
    step.rhs_is_resident = resident_[At(root).operands[1].index];
    owner_.set_.library.push_back(std::move(kernel));
    AppendKernel(root, step);
    return Ok();
  }

  // ---- control flow

  void While(InstrId id) {
    const Instr& instr = At(id);
    WhileStep step;
    step.condition = Callee(instr.called[0]);
    step.body = Callee(instr.called[1]);
    step.initial = Leaves(instr.operands[0]);
    step.invariant = InvariantLeaves(owner_.module_[instr.called[1]]);
    std::vector<Shape> leaves;
    FlattenLeaves(instr.shape, leaves);
    for (size_t i = 0; i < leaves.size(); ++i) {
      const ValueLeaf value{id, static_cast<int64_t>(i)};
      step.bytes.push_back(ByteSizeOf(leaves[i]));
      if (step.invariant[i]) {
        slots_.DefineAt(value, step.initial[i]);
        step.state.push_back(step.initial[i]);
        step.other.push_back(step.initial[i]);
      } else {
        step.state.push_back(slots_.Define(value, step.bytes[i]));
        const bool updated = owner_.builders_[instr.called[1].index]->IsUpdated(i);
        step.other.push_back(updated ? step.state[i] : slots_.Temporary(step.bytes[i]));
      }
    }
    step.flag = slots_.Temporary(1);
    step.arena = slots_.Temporary(0);
    CalleeArena(step.condition, step.arena);
    CalleeArena(step.body, step.arena);
    program_->launches += step.condition->launches + step.body->launches;
    Append(id, std::move(step));
  }

  void Conditional(InstrId id) {
    const Instr& instr = At(id);
    ConditionalStep step;
    step.selector = Leaves(instr.operands[0])[0];
    step.selector_is_pred = At(instr.operands[0]).shape.dtype == DType::kPred;
    step.arena = slots_.Temporary(0);
    for (size_t branch = 0; branch < instr.called.size(); ++branch) {
      step.branches.push_back(Callee(instr.called[branch]));
      step.arguments.push_back(Leaves(instr.operands[branch + 1]));
      CalleeArena(step.branches.back(), step.arena);
      program_->launches += step.branches.back()->launches;
    }
    step.results = DefineLeaves(id);
    Append(id, std::move(step));
  }

  void Call(InstrId id) {
    const Instr& instr = At(id);
    CallStep step;
    step.callee = Callee(instr.called[0]);
    for (const InstrId operand : instr.operands) {
      const auto places = Leaves(operand);
      step.arguments.insert(step.arguments.end(), places.begin(), places.end());
    }
    step.arena = CalleeArena(step.callee, slots_.Temporary(0));
    program_->launches += step.callee->launches;
    step.results = DefineLeaves(id);
    Append(id, std::move(step));
  }

  void CustomCall(InstrId id) {
    HostCallStep step;
    step.call = host_calls_.at(id);
    for (const InstrId operand : At(id).operands) {
      const auto places = Leaves(operand);
      step.operands.insert(step.operands.end(), places.begin(), places.end());
    }
    step.results = DefineLeaves(id);
    step.scratch = slots_.Temporary(step.call->scratch_bytes());
    ++program_->launches;
    Append(id, std::move(step));
  }

  ProgramBuilder& owner_;
  ComputationId id_;
  const Computation& computation_;
  Slots slots_;
  bool is_body_;
  std::vector<bool> updated_;  // by leaf of the result, see UpdatedLeaf
  std::vector<std::vector<InstrId>> users_;
  std::vector<bool> view_;                   // by instruction: shares the memory of its operand
  std::vector<bool> resident_;               // by instruction, see FindResidents
  std::map<ValueLeaf, size_t> last_reader_;  // by value: a kernel of the plan
  std::map<std::pair<ValueLeaf, int64_t>, Place> blocked_;  // by value and run, see Blocked
  std::unique_ptr<Program> program_;
  std::vector<std::pair<Place, const Program*>> callee_arenas_;
  std::map<InstrId, const HostCall*> host_calls_;  // by custom call
};

ProgramBuilder::ProgramBuilder(const Module& module, const Config& config,
                               const std::vector<int64_t>& residents, bool allow_unknown_calls,
                               KernelSet& kernels)
    : module_(module),
      config_(config),
      residents_(residents),
      allow_unknown_calls_(allow_unknown_calls),
      kernels_(kernels) {}

ProgramBuilder::~ProgramBuilder() = default;

Result<void> ProgramBuilder::Build() {
  // A computation that is the body of one loop may be called elsewhere too; invariant leaves are
  // then still written by nobody, so a body is only treated as such where every caller is a loop.
  const size_t count = module_.computations.size();
  std::vector<bool> is_body(count, false), is_other(count, false);
  for (const ComputationId id : WholeComputations(module_)) {
    for (const Instr& instr : module_[id].instrs) {
      if (!IsStructural(instr.op)) continue;
      for (size_t role = 0; role < instr.called.size(); ++role) {
        const bool body = instr.op == Op::kWhile && role == 1;
        (body ? is_body : is_other)[instr.called[role].index] = true;
      }
    }
  }
  builders_.resize(count);
  for (const ComputationId id : WholeComputations(module_)) {
    std::vector<bool> invariant;
    if (is_body[id.index]) invariant = InvariantLeaves(module_[id]);
    if (is_body[id.index] && (is_other[id.index] || id == module_.entry)) {
      return Unsupported("computation `" + module_[id].name +
                         "` is a loop body and is called in another role too");
    }
    builders_[id.index] =
        std::make_unique<ComputationBuilder>(*this, id, is_body[id.index], std::move(invariant));
    FM_RETURN_IF_ERROR(builders_[id.index]->Build());
  }
  return Ok();
}

ProgramSet ProgramBuilder::Finish() {
  set_.programs.resize(builders_.size());
  for (size_t i = 0; i < builders_.size(); ++i) {
    if (builders_[i] != nullptr) set_.programs[i] = builders_[i]->Finish();
  }
  return std::move(set_);
}

}  // namespace fusemark
