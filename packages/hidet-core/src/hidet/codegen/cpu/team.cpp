// The team of threads that runs the parallel loops of kernels; a process has one.
//
// A caller says when the kernels of a plan begin and end (`hidet_team_begin`, `hidet_team_end`). A
// parallel loop is published in the caller's place (`hidet_team_run`): its iterations are cut into as many
// neighbouring shares as there are threads. Each thread claims iterations of its own share and then of
// the others', until none are left; then the caller waits for what helpers have claimed, and never
// for a helper that has claimed nothing. All waits spin for a bounded time and sleep then, so that
// other processes get the cores.
//
// A thread has the same share of each loop, so that what it writes in one is in its own cache when
// it reads that in the next.
//
// Several callers at once have a place each and share the helpers. A call that begins while others
// keep all cores busy runs alone, since helpers would only take turns with them; so do a caller for
// whom there is no place left, and a loop within a loop.
//
// It needs POSIX threads alone: no part of C++'s library that has to be linked.

#include <atomic>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#ifdef __linux__
#include <sched.h>
#endif
#if defined(__linux__) && !defined(HIDET_TEAM_WITHOUT_FUTEX)
#define HIDET_TEAM_FUTEX
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

using Iterations = long long;
using Nanoseconds = long long;
using Task = void (*)(const void *arguments, Iterations begin, Iterations end);

// What the calls of one plan have shown; `runtime/team.py` keeps it, zeros at first.
struct Habit {
  Nanoseconds alone, shared;  // how long a call takes without helpers, and of late with them
  int calls_alone;            // how many of the next calls run alone
  int next_alone;             // how many will after helpers have stalled again
  int loops;                  // whether the latest call had loops for the team
};

namespace {

constexpr Nanoseconds SPIN = 30000;     // spinning while a plan runs, before a thread sleeps
constexpr Nanoseconds LINGER = 200000;  // helpers' spinning after a plan: the next call is near
constexpr Nanoseconds MOST_LINGER = 3000000;  // the same where calls were seen to be near
constexpr Nanoseconds SHORT = 20000, LONG = 100000;  // a claim should take between these
constexpr int PLACES = 16, MOST_HELPERS = 255;
constexpr Iterations MOST_PIECES = 1LL << 31;
constexpr int FIRST_CALLS_ALONE = 4, MOST_CALLS_ALONE = 64;

Nanoseconds now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

// ---- sleeping ------------------------------------------------------------------------------------

#ifdef HIDET_TEAM_FUTEX
// Sleeps unless the word has changed from what was `seen`; may wake for no reason.
void sleep_on(std::atomic<unsigned> &word, unsigned seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
// Wakes so many sleepers; whoever changes the word calls it afterwards.
void wake(std::atomic<unsigned> &word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}
#else
pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t alarm_clock = PTHREAD_COND_INITIALIZER;
// The word is read under the lock that the waker takes after its change: no wake is lost.
void sleep_on(std::atomic<unsigned> &word, unsigned seen) {
  pthread_mutex_lock(&bed);
  if (word.load(std::memory_order_seq_cst) == seen) pthread_cond_wait(&alarm_clock, &bed);
  pthread_mutex_unlock(&bed);
}
void wake(std::atomic<unsigned> &, int) {
  pthread_mutex_lock(&bed);
  pthread_cond_broadcast(&alarm_clock);
  pthread_mutex_unlock(&bed);
}
#endif

// ---- places --------------------------------------------------------------------------------------

// The pieces of a loop that one thread takes first, as long as nobody has claimed them: the number
// of the first one in the upper half, that behind the last one in the lower half.
struct Share {
  alignas(64) std::atomic<unsigned long long> pieces{0};
};

// The loop that a caller runs. A piece is an iteration, or several where there are too many to count.
// Plain members are written by the caller while `unfinished` is 0, and read by who has claimed
// pieces, which keeps it above 0: so nobody reads what is being written.
struct Place {
  alignas(64) std::atomic<Iterations> unfinished{0};  // pieces that are not done
  std::atomic<unsigned> bell{0};                 // what the caller sleeps on
  std::atomic<bool> waiting{false};              // whether it does
  alignas(64) Task task = nullptr;
  const void *arguments = nullptr;
  Iterations count = 0, each = 1;    // iterations, and those of a piece
  std::atomic<int> threads{0};  // the caller's and those of the helpers that may come
  std::atomic<bool> taken{false};
  Share shares[MOST_HELPERS + 1];  // the caller's is the first
};

struct Team {
  Place places[PLACES];
  alignas(64) std::atomic<unsigned> generation{0};  // changes with each loop; what helpers sleep on
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<int> plans{0};    // how many places are taken
  std::atomic<int> callers{0};  // how many calls there are, those that run alone among them
  std::atomic<Nanoseconds> ended{0}, pause{MOST_LINGER};  // the latest plan's end; the pause before
  std::atomic<Nanoseconds> linger{LINGER};
  std::atomic<int> helpers{0};  // changes under `lock` only
  std::atomic<bool> over{false};
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_t threads[MOST_HELPERS];
  std::atomic<int> kept_off{-1};  // the core that helpers may not run on; all may if it is -1
  bool renewed_in_children = false;
} team;

// What a thread that calls plans knows of the call it is in.
struct Caller {
  int depth = 0;  // calls within calls: a step of a framework may run another model
  int threads = 1;
  bool alone = false, busy = false, crowded = false;
  int loops = 0;
  Place *place = nullptr;
  Habit *habit = nullptr;
  Nanoseconds begun = 0, stalled = 0;
  int slept = 0;
};
thread_local Caller caller;

// Claims so many pieces of a share, a few if 0, but at most half of what is left, for those who come
// to help: its owner the first ones, others the last ones. The first and the one behind the last are
// set; whether there were any.
//
// `acquire` pairs with the `release` in `publish`: the loop's task and arguments are seen. Claiming
// hands nothing on, so it need not release.
bool claim(Share &share, bool own, Iterations wish, Iterations &first, Iterations &end) {
  unsigned long long pieces = share.pieces.load(std::memory_order_relaxed);
  for (;;) {
    Iterations begin = Iterations(pieces >> 32), behind = Iterations(pieces & 0xffffffff);
    if (begin >= behind) return false;
    Iterations half = (behind - begin) / 2, count = wish ? wish : half / 64;
    count = count < half ? count : half;
    count = count > 1 ? count : 1;
    first = own ? begin : behind - count;
    end = first + count;
    unsigned long long rest = own ? pieces + (static_cast<unsigned long long>(count) << 32)
                                  : pieces - static_cast<unsigned long long>(count);
    if (share.pieces.compare_exchange_weak(pieces, rest, std::memory_order_acquire,
                                           std::memory_order_relaxed))
      return true;
  }
}

void run(const Place &place, Iterations first, Iterations end) {
  Iterations last = end * place.each;
  place.task(place.arguments, first * place.each, last < place.count ? last : place.count);
}

// Runs the pieces of a share, then those of the next ones, until none are left; how many were run.
// A claim begins small and grows while it takes less than SHORT.
Iterations work(Place &place, int own) {
  Iterations done = 0, wish = 0, first, end;
  Nanoseconds before = 0;
  int threads = place.threads.load(std::memory_order_relaxed);
  for (int n = 0; n < threads; n++) {
    int at = own + n < threads ? own + n : own + n - threads;
    while (claim(place.shares[at], n == 0, wish, first, end)) {
      if (!before) before = now();
      run(place, first, end);
      done += end - first;
      Nanoseconds after = now();
      Iterations count = end - first;
      wish = after - before < SHORT ? 2 * count : after - before > LONG ? count / 2 : count;
      wish = wish > 1 ? wish : 1;
      before = after;
    }
  }
  return done;
}

// A helper has run so many pieces. Sequentially consistent, with `wait_for_helpers`: either the
// caller sees that all is finished, or we see that it waits. The subtraction also releases what the
// iterations have written to the caller. The place may be another caller's by the time of the last lines:
// it wakes for no reason then, and looks again.
void finish(Place &place, Iterations pieces) {
  if (place.unfinished.fetch_sub(pieces, std::memory_order_seq_cst) != pieces) return;
  place.bell.fetch_add(1, std::memory_order_seq_cst);
  if (place.waiting.load(std::memory_order_seq_cst)) wake(place.bell, 1);
}

// Waits until helpers have run what they claimed; `acquire` shows what they have written.
void wait_for_helpers(Place &place) {
  Nanoseconds from = now();
  for (int n = 1; place.unfinished.load(std::memory_order_acquire) != 0; n++) {
    relax();
    if (n % 16 || now() - from < SPIN) continue;
    caller.slept++;
    place.waiting.store(true, std::memory_order_seq_cst);
    for (;;) {
      unsigned seen = place.bell.load(std::memory_order_seq_cst);
      if (place.unfinished.load(std::memory_order_seq_cst) == 0) break;
      sleep_on(place.bell, seen);
    }
    place.waiting.store(false, std::memory_order_relaxed);
    break;
  }
  caller.stalled += now() - from;
}

// Lets helpers look for work; of those that sleep so many are woken, or all where only some may come.
// Sequentially consistent, with `rest`: either a helper that falls asleep sees the new iteration, or we
// see that it sleeps.
void call_helpers(int threads, Iterations count) {
  team.generation.fetch_add(1, std::memory_order_seq_cst);
  if (team.sleepers.load(std::memory_order_seq_cst) == 0) return;
  int all = team.helpers.load(std::memory_order_relaxed);
  wake(team.generation, threads - 1 < all || count > all ? all : int(count));
}

void publish(Place &place, Task task, const void *arguments, Iterations count) {
  place.task = task;
  place.arguments = arguments;
  place.count = count;
  place.each = count / MOST_PIECES + 1;
  Iterations pieces = (count + place.each - 1) / place.each;
  place.unfinished.store(pieces, std::memory_order_relaxed);  // released with the shares
  int threads = place.threads.load(std::memory_order_relaxed);
  for (int n = 0; n < threads; n++) {
    unsigned long long first = pieces * n / threads, end = pieces * (n + 1) / threads;
    place.shares[n].pieces.store(first << 32 | end, std::memory_order_release);
  }
  call_helpers(threads, count - 1);
}

// ---- cores ---------------------------------------------------------------------------------------

#ifdef __linux__
// Keeps helpers off the caller's core. Linux may wake a thread on the core of who wakes it though
// others are idle: after a pause all have the same load, and those of a virtual machine that sleep do
// not count as idle. There the two would share a core until one of them is moved.
void keep_helpers_off() {
  int core = sched_getcpu();
  cpu_set_t cores;
  if (core < 0 || team.kept_off.load(std::memory_order_relaxed) == core) return;
  if (team.plans.load(std::memory_order_relaxed)) return;  // another caller's core is as good
  if (sched_getaffinity(0, sizeof cores, &cores)) return;
  CPU_CLR(core, &cores);
  if (CPU_COUNT(&cores) == 0 || pthread_mutex_trylock(&team.lock)) return;
  for (int n = 0; n < team.helpers; n++)
    pthread_setaffinity_np(team.threads[n], sizeof cores, &cores);
  team.kept_off.store(core, std::memory_order_relaxed);
  pthread_mutex_unlock(&team.lock);
}
#else
void keep_helpers_off() {}
#endif

// Whether so many other calls leave no core for a helper, and this call no thread.
bool is_crowded(int others) {
  if (others < caller.threads - 1) return false;
#ifdef __linux__
  cpu_set_t cores;
  if (!sched_getaffinity(0, sizeof cores, &cores)) return others >= CPU_COUNT(&cores) - 1;
#endif
  return true;
}

// ---- helpers -------------------------------------------------------------------------------------

// Which share of a place's loops is a helper's, or 0 if it may not work there: callers that use
// fewer threads than there are get different ones.
int share_of(int helper, int place) {
  int all = team.helpers.load(std::memory_order_relaxed);
  int wanted = team.places[place].threads.load(std::memory_order_relaxed) - 1;
  if (wanted >= all) return helper + 1;
  int first = int((long long)place * wanted % all), number = (helper - first + all) % all;
  return number < wanted ? number + 1 : 0;
}

// Spins, then sleeps, until the iteration is another one than was `seen`, or for no reason.
void rest(unsigned seen) {
  Nanoseconds from = now();
  for (int n = 1; team.generation.load(std::memory_order_acquire) == seen; n++) {
    relax();
    if (n % 64) continue;
    Nanoseconds linger = team.linger.load(std::memory_order_relaxed);
    if (now() - from < (team.plans.load(std::memory_order_relaxed) ? SPIN : linger)) continue;
    team.sleepers.fetch_add(1, std::memory_order_seq_cst);
    sleep_on(team.generation, seen);
    team.sleepers.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
}

void *help(void *number) {
  int helper = int(reinterpret_cast<long>(number));
  while (!team.over.load(std::memory_order_acquire)) {
    unsigned seen = team.generation.load(std::memory_order_acquire);
    for (int n = 0; n < PLACES; n++) {
      Place &place = team.places[n];
      if (place.unfinished.load(std::memory_order_relaxed) == 0) continue;
      int share = share_of(helper, n);
      if (Iterations done = share ? work(place, share) : 0) finish(place, done);
    }
    rest(seen);
  }
  return nullptr;
}

// A child process has the thread that forked alone, and the state of all others as it was. Places
// are given up; a caller within a plan takes a new one at its next loop.
void renew_in_child() {
  for (Place &place : team.places) {
    place.unfinished = 0;
    for (Share &share : place.shares) share.pieces = 0;
    place.waiting = place.taken = false;
  }
  team.sleepers = team.plans = team.helpers = 0;
  team.callers = caller.depth && caller.threads > 1 ? 1 : 0;
  team.over = false;
  team.lock = PTHREAD_MUTEX_INITIALIZER;
#ifndef HIDET_TEAM_FUTEX
  bed = PTHREAD_MUTEX_INITIALIZER;
  alarm_clock = PTHREAD_COND_INITIALIZER;
#endif
  caller.place = nullptr;
}

// Starts the helpers that are missing. Signals are for the threads of the program: a system call of
// theirs ends when one comes. Where the system gives no more threads there are fewer helpers.
void grow(int threads) {
  if (team.helpers.load(std::memory_order_relaxed) >= threads - 1) return;
  pthread_mutex_lock(&team.lock);
  if (!team.renewed_in_children)
    team.renewed_in_children = pthread_atfork(nullptr, nullptr, renew_in_child) == 0;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  team.kept_off = -1;  // new ones may run wherever their caller may
  for (long n = team.helpers; n < threads - 1 && n < MOST_HELPERS; n++) {
    if (pthread_create(&team.threads[n], nullptr, help, reinterpret_cast<void *>(n))) break;
#ifdef __linux__
    pthread_setname_np(team.threads[n], "hidet-team");
#endif
    team.helpers = int(n + 1);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_mutex_unlock(&team.lock);
}

// ---- plans ---------------------------------------------------------------------------------------

// Helpers linger after a plan for twice the lesser of the latest two pauses between plans, if that
// is not too long. Between calls in a row a framework looks at a model's weights, which takes longer
// than a helper needs to fall asleep.
void note_pause() {
  Nanoseconds pause = now() - team.ended.load(std::memory_order_relaxed);
  Nanoseconds before = team.pause.exchange(pause, std::memory_order_relaxed);
  Nanoseconds twice = 2 * (pause < before ? pause : before);
  bool near = LINGER < twice && twice <= MOST_LINGER;
  team.linger.store(near ? twice : LINGER, std::memory_order_relaxed);
}

// A place for the caller, unless it runs alone or there is none.
void take_place() {
  note_pause();
  grow(caller.threads);
  keep_helpers_off();
  for (int n = 0; n < PLACES && !caller.place; n++) {
    Place &place = team.places[n];
    if (place.taken.load(std::memory_order_relaxed)) continue;
    // Acquires what the place's caller before has left, which `give_back_place` releases.
    if (place.taken.exchange(true, std::memory_order_acquire)) continue;
    place.threads.store(caller.threads, std::memory_order_relaxed);
    team.plans.fetch_add(1, std::memory_order_relaxed);
    caller.place = &place;
  }
}

void give_back_place() {
  team.ended.store(now(), std::memory_order_relaxed);
  team.plans.fetch_sub(1, std::memory_order_relaxed);
  caller.place->taken.store(false, std::memory_order_release);
  caller.place = nullptr;
}

// Whether the next calls use helpers. They stall a call where other processes take the cores while
// helpers hold iterations; then it is learned how long the plan takes alone, and what was faster of late
// is chosen, for longer each time.
void learn(Habit &habit, Nanoseconds took) {
  if (caller.alone) {
    habit.calls_alone--;
    bool better = habit.alone == 0 || took < habit.alone;
    habit.alone = better ? took : (4 * habit.alone + took) / 5;
    return;
  }
  bool stalled = caller.slept && caller.stalled > took / 10;
  habit.shared = stalled && habit.shared ? (habit.shared + took) / 2 : took;
  if (!stalled) {
    habit.next_alone = FIRST_CALLS_ALONE;
  } else if (habit.alone == 0) {
    habit.calls_alone = 1;
  } else if (habit.alone < habit.shared - habit.shared / 20) {
    habit.calls_alone = habit.next_alone ? habit.next_alone : FIRST_CALLS_ALONE;
    int twice = 2 * habit.calls_alone;
    habit.next_alone = twice < MOST_CALLS_ALONE ? twice : MOST_CALLS_ALONE;
    habit.shared = 0;
  }
}

}  // namespace

// The kernels of a plan begin, on this thread: they may use so many threads, it among them. Helpers
// are called at once if the plan had loops for them at its latest call.
EXPORT void hidet_team_begin(int threads, Habit *habit) {
  if (caller.depth++) return;
  caller.threads = threads < 1 ? 1 : threads > MOST_HELPERS + 1 ? MOST_HELPERS + 1 : threads;
  caller.habit = habit;
  caller.loops = caller.slept = 0;
  caller.stalled = 0;
  if (caller.threads == 1) return;
  caller.crowded = is_crowded(team.callers.fetch_add(1, std::memory_order_relaxed));
  caller.alone = caller.crowded || habit->calls_alone > 0;
  caller.begun = now();
  if (!caller.alone && habit->loops) {
    take_place();
    if (caller.place) call_helpers(caller.threads, caller.threads - 1);
  }
}

// The kernels of the plan have ended.
EXPORT void hidet_team_end() {
  if (--caller.depth || caller.threads == 1) return;
  team.callers.fetch_sub(1, std::memory_order_relaxed);
  if (caller.place) give_back_place();
  caller.habit->loops = caller.loops;
  if (caller.loops && !caller.crowded) learn(*caller.habit, now() - caller.begun);
}

// Runs `task` on parts of the iterations 0 to `count`, each iteration once, and returns when all are done.
EXPORT void hidet_team_run(Task task, const void *arguments, Iterations count) {
  Caller &me = caller;
  if (me.depth == 0 || me.threads == 1 || me.busy || count <= 1) return task(arguments, 0, count);
  me.loops = 1;
  if (!me.place && !me.alone) take_place();
  if (!me.place) return task(arguments, 0, count);
  me.busy = true;  // a loop in an iteration of this one runs where it is met
  publish(*me.place, task, arguments, count);
  Iterations done = work(*me.place, 0);
  // Our own iterations need no release: nobody but us waits for them.
  if (me.place->unfinished.fetch_sub(done, std::memory_order_acquire) != done)
    wait_for_helpers(*me.place);
  me.busy = false;
}

// Ends all helpers, and waits until they are gone; the next loop starts new ones.
EXPORT void hidet_team_stop() {
  pthread_mutex_lock(&team.lock);
  team.over.store(true, std::memory_order_release);
  team.generation.fetch_add(1, std::memory_order_seq_cst);
  wake(team.generation, MOST_HELPERS);
  for (int n = 0; n < team.helpers; n++) pthread_join(team.threads[n], nullptr);
  team.helpers = 0;
  team.over.store(false, std::memory_order_relaxed);
  pthread_mutex_unlock(&team.lock);
}
