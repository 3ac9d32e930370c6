#include "compiler/pipeline.h"

#include <algorithm>
#include <chrono>

#include "compiler/ir/verify.h"
#include "compiler/support/strings.h"

namespace fusemark {
namespace {

// Read this first: the compiler's graph passes, in order. The marked group in the middle runs until
// nothing changes, because each member makes work for the others.
constexpr PassEntry kGraphPipeline[] = {
    {"resolve-dynamic", ResolveDynamic},  // first: no other pass knows sizes below the bound
    {"remove-dead", RemoveDead},          // early: nothing is spent on code that never runs
    // Before inline-calls: a callee is expanded once, not once per caller.
    {"expand-composites", ExpandComposites},
    // Before inline-calls: rng is seeded by the names of the text, and regions of scans are called.
    {"expand-numerics", ExpandNumerics},
    {"inline-calls", InlineCalls},
    {"expand-complex", ExpandComplex},
    {"simplify-algebra", SimplifyAlgebra, true},
    {"fold-constants", FoldConstants, true},
    {"simplify-control", SimplifyControl, true},
    // After simplify-algebra: equal values have become equal instructions.
    {"merge-duplicates", MergeDuplicates, true},
    // Before canonicalise-dot: makes dots of convolutions without spatial dims.
    {"canonicalise-conv", CanonicaliseConv, true},
    {"canonicalise-dot", CanonicaliseDot, true},
};

// Rounds of the group; real graphs settle in three or four. Stopping early is safe: every state
// between passes is a correct module.
constexpr int kMaxRounds = 12;

const PassEntry* Find(std::string_view name) {
  for (const PassEntry& entry : kGraphPipeline) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Error UnknownPass(std::string_view name) {
  // Bounded: the name is user input.
  const std::string_view start = name.substr(0, 64);
  std::vector<std::pair<size_t, std::string>> near;
  for (const PassEntry& entry : kGraphPipeline) {
    near.emplace_back(EditDistance(start, entry.name), entry.name);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (const auto& [distance, candidate] : near) {
    if (names.size() < 3) names.push_back("'" + candidate + "'");
  }
  return Invalid("unknown pass '" + std::string(start) + "'; nearest: " + Join(names, ", "));
}

Result<void> CheckNames(const PipelineOptions& options) {
  for (const auto* list : {&options.only, &options.disabled, &options.print_after}) {
    for (const std::string& name : *list) {
      const bool all = name == "all" && list == &options.print_after;
      if (!all && Find(name) == nullptr) return UnknownPass(name);
    }
  }
  if (!options.stop_after.empty() && Find(options.stop_after) == nullptr) {
    return UnknownPass(options.stop_after);
  }
  return Ok();
}

bool Lists(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Runner {
 public:
  Runner(Module& module, const PipelineOptions& options) : module_(module), options_(options) {}

  // Runs one pass unless disabled; true if it changed the module.
  Result<bool> Run(const PassEntry& entry) {
    if (Lists(options_.disabled, entry.name)) return false;
    const auto begin = std::chrono::steady_clock::now();
    FM_TRY(const bool changed, entry.run(module_, options_.context));
    const auto end = std::chrono::steady_clock::now();
    PassReport& report = ReportOf(entry.name);
    ++report.runs;
    report.changed += changed ? 1 : 0;
    report.time_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
    if (options_.verify) {
      const auto verified = VerifyModule(module_);
      FM_CHECK(verified.ok(),
               "after pass " + std::string(entry.name) + ": " + verified.error().message);
    }
    const bool wanted =
        Lists(options_.print_after, entry.name) || Lists(options_.print_after, "all");
    if (wanted && options_.print) options_.print(entry.name, module_);
    return changed;
  }

  // Until no member changes anything: a member runs again only if something changed since its last
  // run.
  Result<void> RunGroup(std::span<const PassEntry> group) {
    std::vector<int64_t> seen(group.size(), -1);  // version of the module each member last saw
    int64_t version = 0;
    for (int round = 0; round < kMaxRounds; ++round) {
      bool any = false;
      for (size_t i = 0; i < group.size(); ++i) {
        if (seen[i] == version) continue;
        any = true;
        FM_TRY(const bool changed, Run(group[i]));
        if (changed) ++version;
        seen[i] = version;
        // A pass need not be done after one run: its own change counts as new for it too.
        if (changed) seen[i] = version - 1;
      }
      if (!any) break;
    }
    return Ok();
  }

  std::vector<PassReport> TakeReports() { return std::move(reports_); }

 private:
  PassReport& ReportOf(std::string_view name) {
    for (PassReport& report : reports_) {
      if (report.name == name) return report;
    }
    reports_.push_back({std::string(name)});
    return reports_.back();
  }

  Module& module_;
  const PipelineOptions& options_;
  std::vector<PassReport> reports_;
};

}  // namespace

std::span<const PassEntry> GraphPasses() {
  return kGraphPipeline;
}

Result<std::vector<PassReport>> RunPipeline(Module& module, const PipelineOptions& options) {
  FM_RETURN_IF_ERROR(CheckNames(options));
  Runner runner(module, options);
  if (!options.only.empty()) {
    for (const std::string& name : options.only) {
      FM_TRY([[maybe_unused]] const bool changed, runner.Run(*Find(name)));
      if (name == options.stop_after) break;
    }
    return runner.TakeReports();
  }
  const std::span<const PassEntry> all(kGraphPipeline);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].repeat) {
      FM_TRY([[maybe_unused]] const bool changed, runner.Run(all[i]));
      if (all[i].name == options.stop_after) break;
      continue;
    }
    // The group: the entries from here on that repeat, up to where the caller wants to stop.
    size_t end = i;
    bool stop = false;
    while (end < all.size() && all[end].repeat && !stop) {
      stop = all[end++].name == options.stop_after;
    }
    FM_RETURN_IF_ERROR(runner.RunGroup(all.subspan(i, end - i)));
    if (stop) break;
    i = end - 1;
  }
  return runner.TakeReports();
}

}  // namespace fusemark
