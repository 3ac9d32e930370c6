#include "autotuner/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace fusemark {
namespace {

// Per candidate: enough for a median, little enough for many candidates.
constexpr int64_t kTrialNs = 60'000'000;
constexpr int64_t kTrialWarmupNs = 10'000'000;
constexpr int64_t kTrialIterations = 5;
// Candidates in alternation with the default; fewer rounds where a launch takes long.
constexpr int64_t kTrialRounds = 30, kSlowTrialRounds = 3;
constexpr int64_t kTrialRoundNs = 2'000'000;
constexpr int64_t kSlowNs = 100'000'000;
// A first run so much slower than the best is not measured further.
constexpr int64_t kHopeless = 4;
// Share of the budget kept for the confirmation.
constexpr double kConfirmShare = 0.25;
// Best of the search that compete for the confirmation, and rounds of that competition.
constexpr size_t kFinalists = 8;
constexpr int64_t kFinalRounds = 10;
constexpr int64_t kConfirmRounds = 40;
// A strategy that repeats itself so often in a row has nothing new.
constexpr int kMaxRepeats = 200;

class Tuner {
 public:
  Tuner(const SearchSpace& space, TuningDevice& device, const OutputCheck& check, TrialLog& log,
        const TuneOptions& options)
      : space_(space),
        device_(device),
        check_(check),
        log_(log),
        options_(options),
        random_(options.seed),
        start_ns_(options.clock.Now()) {}

  Result<TuneResult> Run() {
    FM_RETURN_IF_ERROR(MeasureDefault());
    FM_RETURN_IF_ERROR(MeasureInForce());
    FM_RETURN_IF_ERROR(Search());
    if (!Cancelled()) FM_RETURN_IF_ERROR(Decide());
    result_.interrupted = Cancelled();
    if (result_.interrupted) {
      result_.adopt = false;
      result_.why = "interrupted before the best was confirmed";
    }
    return std::move(result_);
  }

 private:
  bool Cancelled() const {
    return options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed);
  }
  int64_t Elapsed() const { return options_.clock.Now() - start_ns_; }
  int64_t SearchBudget() const {
    return static_cast<int64_t>(static_cast<double>(options_.budget_ns) * (1 - kConfirmShare));
  }

  // ---- trials

  // Compiles, checks and measures; what fails is the trial's outcome, not an error.
  Trial Try(const Candidate& candidate) {
    Trial trial;
    trial.number = result_.trials;
    trial.config_text = candidate.text;
    trial.config_id = ToHex(candidate.id);
    trial.decisions = space_.Differences(candidate);
    auto prepared = device_.Prepare(candidate.text);
    if (!prepared.ok()) {
      return Failed(std::move(trial), TrialOutcome::kCompileFailed, prepared.error());
    }
    trial.compile_ns = (*prepared)->compile_ns();
    const Result<int64_t> first = TimeOf(**prepared);
    if (!first.ok()) return Failed(std::move(trial), TrialOutcome::kRunFailed, first.error());
    const Result<double> error = check_((*prepared)->outputs());
    if (!error.ok()) return Failed(std::move(trial), TrialOutcome::kWrong, error.error());
    trial.max_error = *error;
    const Result<void> timed = default_ != nullptr ? TimeBeside(**prepared, *first, trial)
                                                   : TimeDefault(**prepared, trial);
    if (!timed.ok()) return Failed(std::move(trial), TrialOutcome::kRunFailed, timed.error());
    if (default_ == nullptr) default_ = std::move(prepared).value();
    return trial;
  }

  Result<void> TimeDefault(PreparedCandidate& prepared, Trial& trial) {
    MeasureOptions measure;
    measure.warmup = {Warmup::Kind::kDuration, kTrialWarmupNs, kTrialWarmupNs};
    measure.duration_ns = kTrialNs;
    measure.min_iterations = kTrialIterations;
    measure.cancelled = options_.cancelled;
    measure.clock = options_.clock;
    FM_TRY(Measurement measured, Measure([&] { return prepared.Run(); }, measure));
    if (measured.samples_ns.empty()) return Error{Code::kCancelled, "interrupted"};
    trial.samples_ns = std::move(measured.samples_ns);
    trial.ratio = 1;
    default_least_ns_ = LeastOf(trial.samples_ns);
    return Ok();
  }

  Result<void> TimeBeside(PreparedCandidate& prepared, int64_t first_ns, Trial& trial) {
    if (Hopeless(first_ns)) {
      // The machine may have been busy just then.
      FM_TRY(const int64_t second_ns, TimeOf(prepared));
      if (Hopeless(second_ns)) {
        trial.samples_ns = {std::min(first_ns, second_ns)};
        trial.ratio = Ratio(trial.samples_ns[0], default_least_ns_);
        return Ok();
      }
    }
    PairedOptions paired;
    paired.rounds = first_ns > kSlowNs ? kSlowTrialRounds : kTrialRounds;
    paired.round_ns = kTrialRoundNs;
    paired.min_iterations = 1;
    paired.seed = options_.seed;
    paired.cancelled = options_.cancelled;
    paired.clock = options_.clock;
    FM_TRY(PairedMeasurement pairs,
           MeasurePaired([&] { return default_->Run(); }, [&] { return prepared.Run(); }, paired));
    if (pairs.b_ns.empty()) return Error{Code::kCancelled, "interrupted"};
    trial.ratio = QuietMean(pairs.b_ns) / QuietMean(pairs.a_ns);
    trial.samples_ns = std::move(pairs.b_ns);
    return Ok();
  }

  static int64_t LeastOf(std::span<const int64_t> samples) {
    return *std::min_element(samples.begin(), samples.end());
  }
  // Of the fastest third: others on the machine can only slow a round down, and the mean of several
  // wanders less than the fastest one.
  static double QuietMean(std::vector<int64_t> samples) {
    std::sort(samples.begin(), samples.end());
    samples.resize((samples.size() + 2) / 3);
    double sum = 0;
    for (const int64_t sample : samples) sum += static_cast<double>(sample);
    return std::max(sum, 1.0) / static_cast<double>(samples.size());
  }
  static double Ratio(int64_t a, int64_t b) {
    return static_cast<double>(std::max<int64_t>(a, 1)) /
           static_cast<double>(std::max<int64_t>(b, 1));
  }

  Result<int64_t> TimeOf(PreparedCandidate& prepared) const {
    const int64_t before = options_.clock.Now();
    FM_RETURN_IF_ERROR(prepared.Run());
    return options_.clock.Now() - before;
  }

  bool Hopeless(int64_t run_ns) const {
    return run_ns > kHopeless * result_.best_ns + kTrialWarmupNs;
  }

  static Trial Failed(Trial trial, TrialOutcome outcome, const Error& error) {
    trial.outcome = outcome;
    trial.message = error.message;
    return trial;
  }

  Result<void> Record(const Candidate& candidate, const Trial& trial) {
    tried_.insert(candidate.id);
    history_.push_back({candidate, Count(trial)});
    Report(false);
    return log_.Record(trial);
  }

  // The ratio of a trial that went well.
  std::optional<double> Count(const Trial& trial) {
    ++result_.trials;
    ++result_.outcomes[static_cast<size_t>(trial.outcome)];
    if (trial.outcome != TrialOutcome::kOk) return std::nullopt;
    if (*trial.ratio < best_ratio_) {
      best_ratio_ = *trial.ratio;
      result_.best_ns = LeastOf(trial.samples_ns);
    }
    return trial.ratio;
  }

  void Report(bool confirming) const {
    if (options_.progress) {
      options_.progress({result_.trials, result_.default_ns, best_ratio_, Elapsed(), confirming});
    }
  }

  Result<void> MeasureDefault() {
    const Trial trial = Try(space_.Default());
    if (Cancelled()) return Ok();
    if (trial.outcome == TrialOutcome::kOk) result_.default_ns = MedianNs(trial.samples_ns);
    FM_RETURN_IF_ERROR(Record(space_.Default(), trial));
    switch (trial.outcome) {
      case TrialOutcome::kOk: return Ok();
      case TrialOutcome::kCompileFailed: return Error{Code::kCompileFailed, trial.message};
      case TrialOutcome::kRunFailed: return Error{Code::kLaunchFailed, trial.message};
      case TrialOutcome::kWrong: return Error{Code::kWrongResult, trial.message};
    }
    return Ok();
  }

  // The stored config is a trial like others but no start for mutations: its plan may be one that
  // this version's planner does not make.
  Result<void> MeasureInForce() {
    if (options_.in_force.empty() || options_.in_force == space_.Default().text) return Ok();
    if (Cancelled()) return Ok();
    Candidate stored;
    stored.text = options_.in_force;
    stored.id = HashText(stored.text);
    const Trial trial = Try(stored);
    if (Cancelled()) return Ok();
    tried_.insert(stored.id);
    in_force_ = Count(trial);
    // A run may fail for want of memory, which is not the config's fault.
    const bool stale =
        trial.outcome == TrialOutcome::kCompileFailed || trial.outcome == TrialOutcome::kWrong;
    if (stale) result_.stale = trial.message;
    Report(false);
    return log_.Record(trial);
  }

  // ---- search

  bool Exhausted() const {
    return Cancelled() || Elapsed() >= SearchBudget() ||
           (options_.max_trials > 0 && result_.trials > options_.max_trials);
  }

  Result<void> Search() {
    if (space_.empty()) return Ok();
    const std::unique_ptr<Strategy> strategy = MakeStrategy(options_.strategy);
    FM_CHECK(strategy != nullptr, "the caller names a strategy of the table");
    while (!Exhausted()) {
      FM_TRY(const std::optional<Candidate> candidate, Fresh(*strategy));
      if (!candidate) return Ok();
      const Trial trial = Try(*candidate);
      if (Cancelled()) return Ok();
      FM_RETURN_IF_ERROR(Record(*candidate, trial));
    }
    return Ok();
  }

  // Nothing when the strategy has no candidate that was not tried.
  Result<std::optional<Candidate>> Fresh(Strategy& strategy) {
    for (int repeat = 0; repeat < kMaxRepeats && !Exhausted(); ++repeat) {
      FM_TRY(Candidate candidate, strategy.Propose(space_, history_, random_));
      if (!tried_.contains(candidate.id)) return std::optional(std::move(candidate));
    }
    return std::optional<Candidate>();
  }

  // ---- decision

  struct Finalist {
    std::string text, id;
    std::unique_ptr<PreparedCandidate> prepared;
    PairedComparison comparison;
  };

  // The fastest of the search that would replace what is in force.
  std::vector<const Evaluated*> Shortlist() const {
    std::vector<const Evaluated*> list;
    const double limit = std::min(1.0, in_force_.value_or(1.0));
    for (size_t i = 1; i < history_.size(); ++i) {
      const auto& ratio = history_[i].ratio;
      if (ratio && *ratio < limit) list.push_back(&history_[i]);
    }
    std::sort(list.begin(), list.end(),
              [](const Evaluated* a, const Evaluated* b) { return *a->ratio < *b->ratio; });
    if (list.size() > kFinalists) list.resize(kFinalists);
    return list;
  }

  // Within this part of what the budget leaves; at least as long as it takes to have an interval.
  Result<PairedMeasurement> Pair(PreparedCandidate& a, PreparedCandidate& b, int64_t rounds,
                                 double part) {
    PairedOptions paired;
    paired.rounds = rounds;
    const auto left = static_cast<double>(std::max<int64_t>(options_.budget_ns - Elapsed(), 0));
    paired.round_ns = std::clamp<int64_t>(static_cast<int64_t>(left * part) / (2 * rounds),
                                          1'000'000, 50'000'000);
    paired.seed = random_.Next();
    paired.cancelled = options_.cancelled;
    paired.clock = options_.clock;
    return MeasurePaired([&] { return a.Run(); }, [&] { return b.Run(); }, paired);
  }

  Result<void> Decide() {
    const std::vector<const Evaluated*> shortlist = Shortlist();
    if (shortlist.empty()) {
      result_.why = result_.trials == 1 ? "no other config was tried"
                    : in_force_         ? "no config was faster than the stored one, which stays"
                                        : "no config was faster than the default";
      return Ok();
    }
    Report(true);
    FM_TRY(const std::optional<Finalist> best, BestFinalist(*default_, shortlist));
    if (!best || Cancelled()) return Ok();
    result_.best_text = best->text;
    result_.best_id = best->id;
    FM_TRY(const PairedMeasurement pairs,
           Pair(*default_, *best->prepared, kConfirmRounds, in_force_ ? 0.5 : 1));
    if (pairs.interrupted || pairs.a_ns.empty()) return Ok();
    result_.confirmation = ComparePairs(pairs.a_ns, pairs.b_ns);
    result_.confirmed_default_ns = MedianNs(pairs.a_ns);
    result_.confirmed_best_ns = MedianNs(pairs.b_ns);
    if (!result_.confirmation->has_interval || result_.confirmation->ratio_high >= 1) {
      result_.why = "in alternation with the default the best config was not surely faster";
      return Ok();
    }
    return AgainstInForce(*best->prepared);
  }

  // Few rounds each against the default: the shortlist came from single measurements, of which the
  // smallest flatters.
  Result<std::optional<Finalist>> BestFinalist(PreparedCandidate& base,
                                               std::span<const Evaluated* const> shortlist) {
    std::optional<Finalist> best;
    // Half of what is left for all of them together.
    auto others = static_cast<double>(2 * shortlist.size());
    for (const Evaluated* evaluated : shortlist) {
      Finalist finalist{evaluated->candidate.text, ToHex(evaluated->candidate.id), nullptr, {}};
      FM_TRY(finalist.prepared, device_.Prepare(finalist.text));
      if (shortlist.size() > 1) {
        FM_TRY(const PairedMeasurement pairs,
               Pair(base, *finalist.prepared, kFinalRounds, 1 / others--));
        if (pairs.interrupted || pairs.a_ns.empty()) return best;
        finalist.comparison = ComparePairs(pairs.a_ns, pairs.b_ns);
      }
      if (!best || finalist.comparison.ratio < best->comparison.ratio) best = std::move(finalist);
    }
    return best;
  }

  // A stored config goes only for one that beats it.
  Result<void> AgainstInForce(PreparedCandidate& best) {
    const std::string& in_force = options_.in_force;
    result_.adopt = true;
    result_.why = "surely faster than the default";
    if (!result_.stale.empty()) {
      result_.why += "; the stored config no longer fits: " + result_.stale;
      return Ok();
    }
    if (!in_force_) return Ok();
    FM_TRY(const auto stored, device_.Prepare(in_force));
    FM_TRY(const PairedMeasurement pairs, Pair(*stored, best, kConfirmRounds, 1));
    if (pairs.interrupted || pairs.a_ns.empty()) return Ok();
    const PairedComparison comparison = ComparePairs(pairs.a_ns, pairs.b_ns);
    result_.adopt = comparison.has_interval && comparison.ratio_high < 1;
    result_.why = result_.adopt ? "surely faster than the default and than the stored config"
                                : "faster than the default, but not surely faster than the stored "
                                  "config, which stays";
    return Ok();
  }

  const SearchSpace& space_;
  TuningDevice& device_;
  const OutputCheck& check_;
  TrialLog& log_;
  const TuneOptions& options_;
  Random random_;
  int64_t start_ns_;
  TuneResult result_;
  std::vector<Evaluated> history_;
  std::unique_ptr<PreparedCandidate> default_;  // every candidate is timed beside it
  int64_t default_least_ns_ = 0;
  double best_ratio_ = HUGE_VAL;
  std::optional<double> in_force_;  // ratio of the stored config, if it holds
  std::set<Hash128> tried_;
};

}  // namespace

std::string_view TrialOutcomeName(TrialOutcome outcome) {
  switch (outcome) {
    case TrialOutcome::kOk: return "ok";
    case TrialOutcome::kCompileFailed: return "compile failed";
    case TrialOutcome::kRunFailed: return "run failed";
    case TrialOutcome::kWrong: return "wrong result";
  }
  return "?";
}

Result<TuneResult> Tune(const SearchSpace& space, TuningDevice& device, const OutputCheck& check,
                        TrialLog& log, const TuneOptions& options) {
  return Tuner(space, device, check, log, options).Run();
}

}  // namespace fusemark
