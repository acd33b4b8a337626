// Exercises the team of threads; linked with `team.cpp`. Its argument names what is tried.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

struct Habit {
  long long alone, shared;
  int calls_alone, next_alone, loops;
};
using Task = void (*)(const void *, long long, long long);
extern "C" void hidet_team_begin(int threads, Habit *habit);
extern "C" void hidet_team_end();
extern "C" void hidet_team_run(Task task, const void *arguments, long long count);
extern "C" void hidet_team_stop();

static void must(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

struct Loop {
  std::vector<int> *runs;
  int work;
};

// Plain memory: ThreadSanitizer sees where nothing orders two accesses.
static void iteration(const void *arguments, long long begin, long long end) {
  const Loop &loop = *static_cast<const Loop *>(arguments);
  for (long long i = begin; i < end; i++) {
    volatile int spent = 0;
    for (int n = 0; n < loop.work; n++) spent = spent + 1;
    (*loop.runs)[i]++;
  }
}

static void loop_of(int count, int work) {
  std::vector<int> runs(count, 0);
  Loop loop{&runs, work};
  hidet_team_run(iteration, &loop, count);
  for (int each : runs) must(each == 1, "each iteration runs once, and is seen by the caller");
}

static void sizes() {
  for (int threads : {1, 2, 3, 5}) {
    Habit habit{};
    for (int count = 0; count <= 257; count++) {
      hidet_team_begin(threads, &habit);
      for (int work : {0, 300, 9}) loop_of(count, work);
      hidet_team_end();
    }
    for (int count : {65536, 100003}) {
      hidet_team_begin(threads, &habit);
      loop_of(count, 1);
      hidet_team_end();
    }
  }
}

static void *calls(void *number) {
  Habit habit{};
  long n = reinterpret_cast<long>(number);
  for (int call = 0; call < 60; call++) {
    hidet_team_begin(21 + n % 3, &habit);  // there are never so many callers
    for (int count : {1, 2, 7, 129, 1009}) loop_of(count, 100);
    hidet_team_end();
  }
  return nullptr;
}

// More callers than there are places.
static void callers() {
  pthread_t threads[20];
  for (long n = 0; n < 20; n++)
    pthread_create(&threads[n], nullptr, calls, reinterpret_cast<void *>(n));
  for (pthread_t each : threads) pthread_join(each, nullptr);
}

static void outer(const void *, long long begin, long long end) {
  for (long long i = begin; i < end; i++) loop_of(33, 10);
}

static void nested() {
  Habit habit{}, other{};
  hidet_team_begin(3, &habit);
  hidet_team_begin(2, &other);
  hidet_team_run(outer, nullptr, 50);
  hidet_team_end();
  loop_of(100, 10);
  hidet_team_end();
  must(habit.loops == 1 && other.loops == 0, "a call within a call is part of it");
  loop_of(100, 10);  // outside of any plan
}

static void stop() {
  for (int round = 0; round < 20; round++) {
    Habit habit{};
    hidet_team_begin(4, &habit);
    loop_of(500, 100);
    if (round % 2) hidet_team_stop();
    loop_of(500, 100);
    hidet_team_end();
    hidet_team_stop();
  }
}

static void use(int threads) {
  Habit habit{};
  hidet_team_begin(threads, &habit);
  for (int n = 0; n < 20; n++) loop_of(1000, 100);
  hidet_team_end();
}

static void children() {
  use(3);
  Habit habit{};
  hidet_team_begin(3, &habit);
  loop_of(1000, 100);
  for (int n = 0; n < 10; n++) {
    pid_t child = fork();
    if (child == 0) {
      loop_of(1000, 100);  // still within the plan
      hidet_team_end();
      use(3);
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    must(status == 0, "a child can use a team of its own");
  }
  hidet_team_end();
  use(3);
}

static pthread_t first;
static void nap(const void *, long long begin, long long end) {
  for (long long i = begin; i < end; i++) {
    timespec span{0, pthread_self() == first ? 100000 : 50000000};
    nanosleep(&span, nullptr);
  }
}

// Helpers that are held up while they have iterations: after a while calls run alone.
static void stalls() {
  first = pthread_self();
  Habit habit{};
  bool alone = false;
  for (int call = 0; call < 50 && !alone; call++) {
    hidet_team_begin(2, &habit);
    hidet_team_run(nap, nullptr, 20);
    hidet_team_end();
    alone = habit.calls_alone > 1;
  }
  must(alone, "calls run alone where helpers stall");
}

// The first iteration of a loop that the caller runs, and the first one of its helper; -1 for none.
struct Firsts {
  long long own = -1, helper = -1;
};
static void note(const void *arguments, long long begin, long long end) {
  Firsts &firsts = *static_cast<Firsts *>(const_cast<void *>(arguments));
  long long &mine = pthread_self() == first ? firsts.own : firsts.helper;
  if (mine < 0) mine = begin;
  timespec span{0, 20000 * (end - begin)};
  nanosleep(&span, nullptr);
}

// Each thread begins with its own share, in whichever loop, also where it comes late.
static void shares() {
  first = pthread_self();
  int helped = 0;
  for (int call = 0; call < 500 && helped < 20; call++) {
    Habit habit{};
    hidet_team_begin(2, &habit);
    for (int count : {32, 64, 129}) {
      Firsts firsts;
      hidet_team_run(note, &firsts, count);
      must(firsts.own == 0, "the caller begins with the first iteration");
      must(firsts.helper == -1 || firsts.helper == count / 2, "a helper begins with its share");
      helped += firsts.helper != -1;
    }
    hidet_team_end();
  }
  must(helped > 0, "a helper comes");
}

static pthread_barrier_t begun, done;
static void *hold(void *) {
  Habit habit{};
  hidet_team_begin(2, &habit);
  pthread_barrier_wait(&begun);
  pthread_barrier_wait(&done);
  hidet_team_end();
  return nullptr;
}

// While others keep all cores busy a call runs alone, and nothing is learned of that.
static void crowd() {
  std::vector<pthread_t> threads(sysconf(_SC_NPROCESSORS_ONLN));
  for (pthread_barrier_t *each : {&begun, &done})
    pthread_barrier_init(each, nullptr, threads.size() + 1);
  for (pthread_t &each : threads) pthread_create(&each, nullptr, hold, nullptr);
  pthread_barrier_wait(&begun);
  first = pthread_self();
  Habit habit{};
  for (int call = 0; call < 9; call++) {
    Firsts firsts;
    hidet_team_begin(2, &habit);
    hidet_team_run(note, &firsts, 129);
    hidet_team_end();
    must(firsts.own == 0 && firsts.helper == -1, "no helper comes");
  }
  must(habit.loops == 1 && habit.alone == 0 && habit.calls_alone == 0, "nothing is learned");
  pthread_barrier_wait(&done);
  for (pthread_t each : threads) pthread_join(each, nullptr);
  shares();  // helpers come again
}

static void pass(const void *arguments, long long begin, long long end) {
  *static_cast<std::atomic<long long> *>(const_cast<void *>(arguments)) += end - begin;
}

// More iterations than a share can count one by one.
static void many() {
  Habit habit{};
  for (long long count : {(1LL << 31) - 1, 1LL << 31, (5LL << 32) + 7}) {
    std::atomic<long long> passed{0};
    hidet_team_begin(3, &habit);
    hidet_team_run(pass, &passed, count);
    hidet_team_end();
    must(passed == count, "all iterations run");
  }
}

int main(int, char **names) {
  struct {
    const char *name;
    void (*run)();
  } all[] = {{"sizes", sizes},   {"callers", callers}, {"nested", nested},
             {"stop", stop},     {"children", children}, {"stalls", stalls},
             {"shares", shares}, {"crowd", crowd},   {"many", many}};
  for (auto &each : all)
    if (!strcmp(each.name, names[1])) return each.run(), 0;
  return 2;
}
