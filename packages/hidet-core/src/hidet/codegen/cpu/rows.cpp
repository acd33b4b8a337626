// Copies an array whose axes lie in any order into rows without gaps, on the team of threads.
//
// It is a part of the team's unit, behind `team.cpp`: arrays that a caller transposed are not in the
// order that kernels were compiled for. Elements come through a tile of the first cache, which is
// filled along the axis whose elements are neighbours in the source and emptied along the last one.
// So each line of memory is read and written once.

namespace {

constexpr int MOST_AXES = 16;
constexpr Iterations DOWN = 16, ACROSS = 32;  // a tile
constexpr Iterations STRETCH = 32 * ACROSS;   // elements of a row in one iteration

// Axes in the order of the result; `near` is the one whose elements are closest in the source.
struct Array {
  int axes, near;
  Iterations sizes[MOST_AXES], source[MOST_AXES], result[MOST_AXES];  // strides in elements
  void *to;
  const void *from;
};

Iterations least(Iterations a, Iterations b) { return a < b ? a : b; }
Iterations parts(Iterations size, Iterations each) { return (size + each - 1) / each; }

// What one iteration copies: a band of axis `near` by a stretch of the last axis.
struct Part {
  Iterations source, result, rows, columns;
};

Iterations iterations_of(const Array &x) {
  Iterations count = parts(x.sizes[x.axes - 1], STRETCH);
  for (int axis = 0; axis < x.axes - 1; axis++)
    count *= axis == x.near ? parts(x.sizes[axis], DOWN) : x.sizes[axis];
  return count;
}

Part part_of(const Array &x, Iterations iteration) {
  Part part = {0, 0, 1, 0};
  for (int axis = x.axes - 1; axis >= 0; axis--) {
    const Iterations each = axis == x.axes - 1 ? STRETCH : axis == x.near ? DOWN : 1;
    const Iterations count = parts(x.sizes[axis], each), first = iteration % count * each;
    iteration /= count;
    part.source += first * x.source[axis];
    part.result += first * x.result[axis];
    if (axis == x.axes - 1) part.columns = least(x.sizes[axis] - first, each);
    else if (axis == x.near) part.rows = least(x.sizes[axis] - first, each);
  }
  return part;
}

// A tile of `rows` by `columns`; `down` and `across` are the source's strides, `line` the result's.
template <class T>
void copy_tile(T *to, const T *from, Iterations rows, Iterations columns, Iterations down, Iterations across, Iterations line) {
  T held[DOWN][ACROSS];
  if (rows == DOWN && columns == ACROSS && down == 1) {  // known to the compiler: vectors
    for (Iterations j = 0; j < ACROSS; j++)
      for (Iterations i = 0; i < DOWN; i++) held[i][j] = from[i + j * across];
    for (Iterations i = 0; i < DOWN; i++) __builtin_memcpy(to + i * line, held[i], sizeof held[i]);
    return;
  }
  for (Iterations j = 0; j < columns; j++)
    for (Iterations i = 0; i < rows; i++) held[i][j] = from[i * down + j * across];
  for (Iterations i = 0; i < rows; i++)
    for (Iterations j = 0; j < columns; j++) to[i * line + j] = held[i][j];
}

template <class T>
void copy_parts(const void *arguments, Iterations begin, Iterations end) {
  const Array &x = *static_cast<const Array *>(arguments);
  const Iterations down = x.source[x.near], across = x.source[x.axes - 1], line = x.result[x.near];
  for (Iterations iteration = begin; iteration < end; iteration++) {
    const Part part = part_of(x, iteration);
    T *to = static_cast<T *>(x.to) + part.result;
    const T *from = static_cast<const T *>(x.from) + part.source;
    for (Iterations j = 0; j < part.columns; j += ACROSS)
      copy_tile(to + j, from + j * across, part.rows, least(part.columns - j, ACROSS), down, across,
                line);
  }
}

}  // namespace

// Copies elements of 1, 2, 4 or 8 bytes; `sizes` and `strides` (in elements) are of two axes at
// least, `near` is not the last one. Returns whether it could: a caller copies all else itself.
EXPORT int hidet_rows(void *to, const void *from, int bytes, int axes, int near, const Iterations *sizes,
                      const Iterations *strides) {
  if (axes > MOST_AXES) return 0;
  Array x = {axes, near, {}, {}, {}, to, from};
  Iterations line = 1;
  for (int axis = axes - 1; axis >= 0; axis--) {
    x.sizes[axis] = sizes[axis], x.source[axis] = strides[axis], x.result[axis] = line;
    line *= sizes[axis];
  }
  const Iterations count = iterations_of(x);
  switch (bytes) {
    case 1: hidet_team_run(copy_parts<unsigned char>, &x, count); return 1;
    case 2: hidet_team_run(copy_parts<unsigned short>, &x, count); return 1;
    case 4: hidet_team_run(copy_parts<unsigned int>, &x, count); return 1;
    case 8: hidet_team_run(copy_parts<unsigned long long>, &x, count); return 1;
  }
  return 0;
}
