// Copies an array whose axes lie in any order into rows without gaps, on the team of threads.
//
// It is a part of the team's unit, behind `team.cpp`: arrays that a caller transposed are not in the
// order that kernels were compiled for. Elements come through a tile of the first cache, which is
// filled along the axis whose elements are neighbours in the source and emptied along the last one.
// So each line of memory is read and written once.

namespace {

constexpr int MOST_AXES = 16;
constexpr Turns DOWN = 16, ACROSS = 32;  // a tile
constexpr Turns STRETCH = 32 * ACROSS;   // elements of a row in one turn

// Axes in the order of the result; `near` is the one whose elements are closest in the source.
struct Array {
  int axes, near;
  Turns sizes[MOST_AXES], source[MOST_AXES], result[MOST_AXES];  // strides in elements
  void *to;
  const void *from;
};

Turns least(Turns a, Turns b) { return a < b ? a : b; }
Turns parts(Turns size, Turns each) { return (size + each - 1) / each; }

// What one turn copies: a band of axis `near` by a stretch of the last axis.
struct Part {
  Turns source, result, rows, columns;
};

Turns turns_of(const Array &x) {
  Turns count = parts(x.sizes[x.axes - 1], STRETCH);
  for (int axis = 0; axis < x.axes - 1; axis++)
    count *= axis == x.near ? parts(x.sizes[axis], DOWN) : x.sizes[axis];
  return count;
}

Part part_of(const Array &x, Turns turn) {
  Part part = {0, 0, 1, 0};
  for (int axis = x.axes - 1; axis >= 0; axis--) {
    const Turns each = axis == x.axes - 1 ? STRETCH : axis == x.near ? DOWN : 1;
    const Turns count = parts(x.sizes[axis], each), first = turn % count * each;
    turn /= count;
    part.source += first * x.source[axis];
    part.result += first * x.result[axis];
    if (axis == x.axes - 1) part.columns = least(x.sizes[axis] - first, each);
    else if (axis == x.near) part.rows = least(x.sizes[axis] - first, each);
  }
  return part;
}

// A tile of `rows` by `columns`; `down` and `across` are the source's strides, `line` the result's.
template <class T>
void copy_tile(T *to, const T *from, Turns rows, Turns columns, Turns down, Turns across, Turns line) {
  T held[DOWN][ACROSS];
  if (rows == DOWN && columns == ACROSS && down == 1) {  // known to the compiler: vectors
    for (Turns j = 0; j < ACROSS; j++)
      for (Turns i = 0; i < DOWN; i++) held[i][j] = from[i + j * across];
    for (Turns i = 0; i < DOWN; i++) __builtin_memcpy(to + i * line, held[i], sizeof held[i]);
    return;
  }
  for (Turns j = 0; j < columns; j++)
    for (Turns i = 0; i < rows; i++) held[i][j] = from[i * down + j * across];
  for (Turns i = 0; i < rows; i++)
    for (Turns j = 0; j < columns; j++) to[i * line + j] = held[i][j];
}

template <class T>
void copy_parts(const void *arguments, Turns begin, Turns end) {
  const Array &x = *static_cast<const Array *>(arguments);
  const Turns down = x.source[x.near], across = x.source[x.axes - 1], line = x.result[x.near];
  for (Turns turn = begin; turn < end; turn++) {
    const Part part = part_of(x, turn);
    T *to = static_cast<T *>(x.to) + part.result;
    const T *from = static_cast<const T *>(x.from) + part.source;
    for (Turns j = 0; j < part.columns; j += ACROSS)
      copy_tile(to + j, from + j * across, part.rows, least(part.columns - j, ACROSS), down, across,
                line);
  }
}

}  // namespace

// Copies elements of 1, 2, 4 or 8 bytes; `sizes` and `strides` (in elements) are of two axes at
// least, `near` is not the last one. Returns whether it could: a caller copies all else itself.
EXPORT int hidet_rows(void *to, const void *from, int bytes, int axes, int near, const Turns *sizes,
                      const Turns *strides) {
  if (axes > MOST_AXES) return 0;
  Array x = {axes, near, {}, {}, {}, to, from};
  Turns line = 1;
  for (int axis = axes - 1; axis >= 0; axis--) {
    x.sizes[axis] = sizes[axis], x.source[axis] = strides[axis], x.result[axis] = line;
    line *= sizes[axis];
  }
  const Turns count = turns_of(x);
  switch (bytes) {
    case 1: hidet_team_run(copy_parts<unsigned char>, &x, count); return 1;
    case 2: hidet_team_run(copy_parts<unsigned short>, &x, count); return 1;
    case 4: hidet_team_run(copy_parts<unsigned int>, &x, count); return 1;
    case 8: hidet_team_run(copy_parts<unsigned long long>, &x, count); return 1;
  }
  return 0;
}
