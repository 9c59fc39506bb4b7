/* Inner loops of trees, draws and distances. Python has each in numpy, with the same results.

   Sums are of whole numbers, or have the order of kernels.py; no product and sum may be fused
   (-ffp-contract=off). So a dataset has the same bytes with and without a compiler. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BINS 1024

/* Wider vectors where the processor has them; results are the same. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* Increase it with every change of an argument. */
int32_t kernels_version(void) { return 9; }

/* ---- Trees ---- */

/* A node that waits for its split: rows[start, end). */
typedef struct {
    int64_t start, end;
    int32_t parent, depth; /* parent: -1 for the root and for left children */
    uint64_t key;
    int64_t *table; /* counts and sums of all bins, NULL if they were not computed */
} Node;

typedef struct {
    int32_t n_features, width, stride, min_leaf, n_candidates;
    const uint16_t *const *bins; /* bin of each row, by feature */
    const int32_t *n_bins;
    const int64_t *first; /* position of each feature in a table, in bins; last: all bins */
    const int32_t *classes; /* class of each row, or NULL */
    const int64_t *response; /* width numbers for each row, if classes is NULL */
    int64_t *scratch, *left, *total;
    int32_t *order; /* features, those that a node has tried in front */
} Data;

typedef struct { int32_t feature, left_bin, right_bin; double score; } Split;

static uint64_t mixed(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u; /* SplitMix64: Steele, Lea and Flood 2014 */
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Count a row, and add its class or its numbers. */
static inline void add_row(const Data *d, int64_t row, int64_t *cell)
{
    cell[0]++;
    if (d->classes) cell[1 + d->classes[row]]++;
    else for (int32_t k = 0; k < d->width; k++) cell[1 + k] += d->response[row * d->width + k];
}

/* Add the rows of a node to the table of one feature: per bin a count, then the sums. */
static void fill(const Data *d, int32_t feature, const int32_t *rows, int64_t n, int64_t *table)
{
    const uint16_t *bins = d->bins[feature];
    for (int64_t i = 0; i < n; i++) add_row(d, rows[i], table + (int64_t)bins[rows[i]] * d->stride);
}

static int64_t *filled(const Data *d, const int32_t *rows, int64_t n, int64_t *table)
{
    memset(table, 0, d->first[d->n_features] * d->stride * sizeof(int64_t));
    for (int32_t j = 0; j < d->n_features; j++)
        fill(d, j, rows, n, table + d->first[j] * d->stride);
    return table;
}

/* Sum of squared sums, less those of others if any, over the count: the larger, the purer. */
static inline double score(const int64_t *sums, const int64_t *less, int32_t width, int64_t count)
{
    double squares = 0.0;
    for (int32_t k = 0; k < width; k++) {
        double sum = (double)(less ? sums[k] - less[k] : sums[k]);
        squares += sum * sum;
    }
    return squares / (double)count;
}

/* Improve the best split by one feature; total has the count and the sums of the node. */
static void scan(const Data *d, int32_t feature, const int64_t *table, Split *best)
{
    int64_t *left = d->left, n = d->total[0];
    int32_t last = -1;
    memset(left, 0, d->stride * sizeof(int64_t));
    for (int32_t b = 0; b < d->n_bins[feature]; b++) {
        const int64_t *cell = table + (int64_t)b * d->stride;
        if (!cell[0]) continue;
        if (last >= 0 && left[0] >= d->min_leaf && n - left[0] >= d->min_leaf) {
            double value = score(left + 1, NULL, d->width, left[0])
                + score(d->total + 1, left + 1, d->width, n - left[0]);
            if (value > best->score) *best = (Split){feature, last, b, value};
        }
        for (int32_t k = 0; k < d->stride; k++) left[k] += cell[k];
        last = b;
    }
}

/* Return the j-th feature, in the order of the node's key, that a node tries. */
static int32_t candidate(const Data *d, uint64_t key, int32_t j)
{
    int32_t p = d->n_features, *order = d->order;
    if (d->n_candidates >= p) return j;
    for (int32_t k = 0; j == 0 && k < p; k++) order[k] = k;
    int32_t other = j + (int32_t)(mixed(key + (uint64_t)j) % (uint64_t)(p - j));
    int32_t chosen = order[other];
    order[other] = order[j];
    return order[j] = chosen;
}

/* Try n_candidates features, and further ones while there is no split. */
static Split best_split(const Data *d, const Node *node, const int32_t *rows)
{
    int64_t n = node->end - node->start;
    Split best = {-1, -1, -1, -1.0};
    memset(d->total, 0, d->stride * sizeof(int64_t));
    for (int64_t i = node->start; i < node->end; i++) add_row(d, rows[i], d->total);
    for (int32_t tried = 0; tried < d->n_features; tried++) {
        if (tried >= d->n_candidates && best.feature >= 0) break;
        int32_t j = candidate(d, node->key, tried);
        int64_t *table = d->scratch;
        if (node->table) {
            table = node->table + d->first[j] * d->stride;
        } else {
            memset(table, 0, (int64_t)d->n_bins[j] * d->stride * sizeof(int64_t));
            fill(d, j, rows + node->start, n, table);
        }
        scan(d, j, table, &best);
    }
    return best;
}

/* Move the rows of the left child to the front, in order; return their number. */
static int64_t divide(const uint16_t *bins, int32_t left_bin, int32_t *rows, int64_t n, int32_t *moved)
{
    int64_t n_left = 0, n_right = 0;
    for (int64_t i = 0; i < n; i++) {
        if (bins[rows[i]] <= left_bin) rows[n_left++] = rows[i];
        else moved[n_right++] = rows[i];
    }
    memcpy(rows + n_left, moved, n_right * sizeof(int32_t));
    return n_left;
}

/* Give the larger child its table: that of the parent minus that of the smaller child. The table
   is dropped if counting the rows is cheaper. */
static void inherit(const Data *d, Node *parent, Node *larger, const Node *smaller,
                    const int32_t *rows, int64_t *spare)
{
    int64_t cells = d->first[d->n_features] * d->stride;
    if (!parent->table) return;
    if ((larger->end - larger->start) * d->n_features < cells) {
        free(parent->table);
        return;
    }
    filled(d, rows + smaller->start, smaller->end - smaller->start, spare);
    for (int64_t i = 0; i < cells; i++) parent->table[i] -= spare[i];
    larger->table = parent->table;
}

/* Grow a tree; return its number of nodes, -1 if memory lacks. Nodes are numbered depth-first.

   A split puts bins up to left_bin to the left; right_bin is the next one with rows. It lowers the
   summed squares within the children by more than min_gain. ``rows`` are put in another order. */
int32_t grow(int32_t *rows, int64_t n, int32_t n_features, const uint16_t *const *bins,
             const int32_t *n_bins, const int64_t *first, int32_t width, const int32_t *classes,
             const int64_t *response, int32_t min_leaf, int32_t max_depth, double min_gain,
             int32_t n_candidates, uint64_t key, int64_t max_cells, int32_t *feature,
             int32_t *left_bin, int32_t *right_bin, int32_t *right)
{
    Data d = {n_features, width, width + 1, min_leaf, n_candidates, bins, n_bins, first, classes,
              response, NULL, NULL, NULL, NULL};
    int64_t cells = first[n_features] * d.stride, n_waiting = 0;
    int32_t n_nodes = 0;
    Node *waiting = malloc((n / min_leaf + 1) * sizeof(Node)); /* they share no row */
    int32_t *moved = malloc(n * sizeof(int32_t));
    int64_t *spare = calloc(cells <= max_cells ? cells : 1, sizeof(int64_t));
    int64_t *table = cells <= max_cells ? malloc(cells * sizeof(int64_t)) : NULL;
    d.scratch = malloc(MAX_BINS * d.stride * sizeof(int64_t));
    d.left = malloc(2 * d.stride * sizeof(int64_t));
    d.total = d.left ? d.left + d.stride : NULL;
    d.order = malloc(n_features * sizeof(int32_t));
    if (!waiting || !moved || !spare || !d.scratch || !d.left || !d.order
        || (cells <= max_cells && !table)) {
        free(table);
        n_nodes = -1;
    } else {
        waiting[n_waiting++] = (Node){0, n, -1, 0, key, table ? filled(&d, rows, n, table) : NULL};
    }
    while (n_waiting) {
        Node node = waiting[--n_waiting];
        int64_t size = node.end - node.start;
        int32_t number = n_nodes++;
        Split split = {-1, -1, -1, -1.0};
        if (node.parent >= 0) right[node.parent] = number;
        if (size >= 2 * (int64_t)min_leaf && (max_depth < 0 || node.depth < max_depth))
            split = best_split(&d, &node, rows);
        if (split.feature < 0 || !(split.score - score(d.total + 1, NULL, width, size) > min_gain)) {
            feature[number] = right[number] = -1;
            free(node.table);
            continue;
        }
        feature[number] = split.feature;
        left_bin[number] = split.left_bin;
        right_bin[number] = split.right_bin;
        int64_t middle = node.start
            + divide(bins[split.feature], split.left_bin, rows + node.start, size, moved);
        Node sides[2] = {{middle, node.end, number, node.depth + 1, mixed(2 * node.key + 2), NULL},
                         {node.start, middle, -1, node.depth + 1, mixed(2 * node.key + 1), NULL}};
        int smaller = sides[0].end - sides[0].start > sides[1].end - sides[1].start;
        inherit(&d, &node, &sides[1 - smaller], &sides[smaller], rows, spare);
        waiting[n_waiting++] = sides[0];
        waiting[n_waiting++] = sides[1];
    }
    free(waiting), free(moved), free(spare), free(d.scratch), free(d.left), free(d.order);
    return n_nodes;
}

/* Find the leaf of each of n rows; element (i, j) of the matrix is at i * of_row + j * of_column. */
void find_leaves(const float *matrix, int64_t n, int64_t of_row, int64_t of_column, const int32_t *feature,
                 const double *threshold, const int32_t *right, int64_t *leaves)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t node = 0;
        while (feature[node] >= 0)
            node = matrix[i * of_row + feature[node] * of_column] > threshold[node] ? right[node] : node + 1;
        leaves[i] = node;
    }
}

/* ---- Draws ---- */

/* exp in single precision, relative error below 2e-7; 0 below -87. Cephes (Moshier 1989), with
   basic operations only, so that every machine returns the same. */
static inline float exponential(float x)
{
    float high = x > 88.0f ? 88.0f : x, low = high < -87.0f ? -87.0f : high;
    float k = (low * 1.44269504f + 12582912.0f) - 12582912.0f; /* rounds to a whole number */
    float r = (low - k * 0.693359375f) - k * -2.12194440e-4f;
    float y = 1.9875691500e-4f;
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
    int32_t bits = ((int32_t)k + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return high < -87.0f ? 0.0f : y * scale;
}

/* Add offsets, if any, to n rows of scores, and replace them by probabilities. If classes are given,
   write the score of each row's class and the sum of exponentials, both relative to the largest. */
WIDE void softmax(float *scores, const float *offsets, int64_t n, int32_t n_classes,
             const int64_t *classes, float *observed, float *sums)
{
    for (int64_t i = 0; i < n; i += 16) { /* sums of several rows do not wait */
        const int64_t n_rows = n - i < 16 ? n - i : 16, n_cells = n_rows * n_classes;
        float *rows = scores + i * n_classes, *row[16], top[16], sum[16] = {0.0f};
        for (int64_t c = 0; offsets && c < n_cells; c++) rows[c] += offsets[i * n_classes + c];
        for (int j = 0; j < 16; j++) row[j] = rows + (j < n_rows) * j * n_classes, top[j] = row[j][0];
        for (int32_t k = 1; k < n_classes; k++)
            for (int j = 0; j < 16; j++) top[j] = row[j][k] > top[j] ? row[j][k] : top[j];
        for (int j = 0; j < n_rows; j++)
            for (int32_t k = 0; k < n_classes; k++) row[j][k] -= top[j];
        for (int j = 0; classes && j < n_rows; j++) observed[i + j] = row[j][classes[i + j]];
        for (int64_t c = 0; c < n_cells; c++) rows[c] = exponential(rows[c]);
        for (int32_t k = 0; k < n_classes; k++)
            for (int j = 0; j < 16; j++) sum[j] += row[j][k];
        for (int j = 0; j < n_rows; j++)
            for (int32_t k = 0; k < n_classes; k++) row[j][k] /= sum[j];
        if (classes) memcpy(sums + i, sum, n_rows * sizeof(float));
    }
}

/* Draw the class at a point in [0, 1) of each row of weights, and the position within the class. */
void draw_classes(const float *weights, int64_t n, int32_t n_classes, const double *uniform,
                  int64_t *classes, double *rest)
{
    for (int64_t i = 0; i < n; i++) {
        const float *row = weights + i * n_classes;
        double total = 0.0, below = 0.0;
        int32_t last = n_classes - 1;
        for (int32_t k = 0; k < n_classes; k++) {
            total += (double)row[k];
            if (row[k] > 0.0f) last = k;
        }
        double point = uniform[i] * total;
        int32_t k = 0;
        while (k < last && below + (double)row[k] <= point) below += (double)row[k++];
        double position = (point - below) / (double)row[k];
        classes[i] = k;
        rest[i] = position < 0.0 ? 0.0 : position > 1.0 - 1e-12 ? 1.0 - 1e-12 : position;
    }
}

/* Add rows of a table to each of n rows: those at k positions, -1 for none, times their weights.

   Positions are k lists of n. A list without weights, NULL, has weight 1. */
void add_rows(const float *table, int32_t width, const int32_t *positions, const float *const *weights,
              int32_t k, int64_t n, float *out)
{
    for (int64_t begin = 0; begin < n; begin += 256) { /* rows that stay in the cache */
        int64_t end = begin + 256 < n ? begin + 256 : n;
        for (int32_t j = 0; j < k; j++) {
            const int32_t *position = positions + j * n;
            for (int64_t i = begin; i < end; i++) {
                if (position[i] < 0) continue;
                const float *added = table + (int64_t)position[i] * width;
                const float weight = weights[j] ? weights[j][i] : 1.0f;
                float *row = out + i * width;
                for (int32_t h = 0; h < width; h++) row[h] += weight * added[h];
            }
        }
    }
}

/* Let rows choose their group again, batch after batch; see balance.Balance.

   Cells, logs and pull are tables of J cells a row, of n_groups logarithms a row, and of n_groups
   numbers a cell. Counts less their expectation are updated after each batch, and change no
   logarithm by more than `most`. */
WIDE void choose_again(const int64_t *order, const int64_t *ends, int64_t n_batches, const int32_t *cells,
                  int32_t n_factors, int32_t n_groups, const float *logs, const float *pull,
                  const double *uniform, float *excess, int64_t *chosen, int64_t *drawn, float *cost, float most)
{
    for (int64_t b = 0, start = 0; b < n_batches; start = ends[b++]) {
        for (int64_t i = start; i < ends[b]; i++) {
            const int32_t *row_cells = cells + order[i] * n_factors;
            const float *log_share = logs + order[i] * n_groups;
            int64_t old = chosen[order[i]];
            float top, sum = 0.0f;
            for (int32_t h = 0; h < n_groups; h++) cost[h] = 0.0f;
            for (int32_t j = 0; j < n_factors; j++) {
                const float *weight = pull + (int64_t)row_cells[j] * n_groups;
                const float *count = excess + (int64_t)row_cells[j] * n_groups;
                for (int32_t h = 0; h < n_groups; h++) cost[h] += weight[h] * (count[h] + 0.5f);
                cost[old] -= weight[old]; /* the row itself is counted */
            }
            for (int32_t h = 0; h < n_groups; h++)
                cost[h] = log_share[h] - (cost[h] > most ? most : cost[h] < -most ? -most : cost[h]);
            top = cost[0];
            for (int32_t h = 1; h < n_groups; h++) top = cost[h] > top ? cost[h] : top;
            for (int32_t h = 0; h < n_groups; h++) cost[h] = exponential(cost[h] - top);
            for (int32_t h = 0; h < n_groups; h++) cost[h] = sum += cost[h];
            double point = uniform[i] * (double)sum;
            int64_t group = 0;
            for (int32_t h = 0; h < n_groups; h++) group += (double)cost[h] <= point;
            drawn[i] = group;
        }
        for (int64_t i = start; i < ends[b]; i++) {
            for (int32_t j = 0; j < n_factors; j++) {
                float *count = excess + (int64_t)cells[order[i] * n_factors + j] * n_groups;
                count[chosen[order[i]]] -= 1.0f, count[drawn[i]] += 1.0f;
            }
            chosen[order[i]] = drawn[i];
        }
    }
}

/* Let persons choose one of their k rows again, one after the other; see careers.choice.Choice.

   The counts of a row are those of a sparse array, and products of a second one of `width` columns
   with the features of the person, which have a column and a weight each. */
typedef struct { const int32_t *cells; const double *numbers; const int64_t *ends; } Rows;

static double product(const Rows *rows, int64_t row, const double *factors, const double *halves)
{
    double sum = 0.0;
    for (int64_t e = rows->ends[row]; e < rows->ends[row + 1]; e++) {
        double number = rows->numbers[e];
        sum += number * (factors[rows->cells[e]] + number * halves[rows->cells[e]]);
    }
    return sum;
}

void choose_rows(const int64_t *order, int64_t n, int32_t k, const int32_t *cells, const double *numbers,
                 const int64_t *ends, const int32_t *of_products, const double *much,
                 const int64_t *ends_of_products, int32_t width, int32_t n_features,
                 const double *known, const int64_t *columns, const double *weights,
                 const double *worth, double *beyond, int64_t *chosen, const double *halves,
                 double *by_person)
{
    const Rows alone = {cells, numbers, ends}, spent = {of_products, much, ends_of_products};
    for (int64_t j = 0; j < n; j++) {
        const int64_t person = order[j], first = person * k;
        const double *features = known + person * n_features;
        for (int32_t sign = -1; sign < 2; sign += 2) {
            int64_t row = first + chosen[person];
            for (int64_t e = alone.ends[row]; e < alone.ends[row + 1]; e++)
                beyond[alone.cells[e]] += sign * alone.numbers[e];
            for (int64_t e = spent.ends[row]; e < spent.ends[row + 1]; e++)
                for (int32_t f = 0; f < n_features; f++) {
                    int64_t at = (int64_t)f * width + spent.cells[e];
                    beyond[columns[at]] += sign * (features[f] * weights[at] * spent.numbers[e]);
                }
            if (sign > 0) continue; /* the new choice is counted */
            double *of_person = by_person + width; /* half the squares of all weights */
            for (int32_t w = 0; w < 2 * width; w++) by_person[w] = 0.0;
            for (int32_t f = 0; f < n_features; f++)
                for (int32_t w = 0; w < width; w++) {
                    int64_t at = (int64_t)f * width + w;
                    double weight = features[f] * weights[at];
                    by_person[w] += weight * beyond[columns[at]];
                    of_person[w] += weight * weight / 2;
                }
            double most = 0.0;
            for (int32_t c = 0; c < k; c++) {
                double pull = product(&alone, first + c, beyond, halves)
                              + product(&spent, first + c, by_person, of_person);
                if (c && worth[first + c] - pull <= most) continue;
                most = worth[first + c] - pull;
                chosen[person] = c;
            }
        }
    }
}

/* ---- Distances ---- */

/* Find the first nearest of m others for each of n rows, and the distances of the two nearest: sums
   over p variables, in order, of differences up to a limit. Others are sorted, in blocks of 64 by
   variable; order has their numbers. Coarse values are whole numbers, differences modulo 2^16: their
   sum is at most scale times the distance, plus p. The search begins at the home block of a row, and
   leaves a block when all coarse sums exceed the second nearest. */
WIDE void nearest_rows(int64_t n, int64_t m, int32_t p, double scale, const double *rows,
                  const double *others, const double *limits, const uint16_t *coarse,
                  const uint16_t *coarse_others, const uint16_t *coarse_limits,
                  const int64_t *order, const int64_t *home, int64_t *nearest, double *first,
                  double *second)
{
    for (int64_t i = 0, n_blocks = (m + 63) / 64; i < n; i++) {
        for (int64_t b = 0; b < n_blocks; b++) {
            const int64_t start = 64 * ((home[i] + b) % n_blocks);
            double sums[64], top = scale * second[i] + p + 1;
            uint16_t least[64] = {0}, lowest = 0, most = top < 65535.0 ? (uint16_t)top : 65535;
            for (int32_t k = 0; k < p && lowest <= most; k++) {
                const uint16_t *other = coarse_others + start * p + 64 * k, x = coarse[i * p + k];
                const uint16_t limit = coarse_limits[k];
                for (int j = 0; j < 64; j++) {
                    uint16_t up = other[j] - x, down = -up, apart = up < down ? up : down;
                    least[j] += apart < limit ? apart : limit;
                }
                lowest = 65535;
                for (int j = 0; j < 64; j++) lowest = least[j] < lowest ? least[j] : lowest;
            }
            if (lowest > most) continue;
            memset(sums, 0, sizeof sums);
            for (int32_t k = 0; k < p; k++) {
                const double *other = others + start * p + 64 * k;
                const double x = rows[i * p + k], limit = limits[k];
                for (int j = 0; j < 64; j++) {
                    double apart = fabs(other[j] - x);
                    sums[j] += apart < limit ? apart : limit;
                }
            }
            for (int j = 0; j < 64 && start + j < m; j++) {
                int is_earlier = sums[j] == first[i] && order[start + j] < nearest[i];
                if (sums[j] < second[i]) second[i] = sums[j] < first[i] ? first[i] : sums[j];
                if (sums[j] < first[i] || is_earlier)
                    first[i] = sums[j], nearest[i] = order[start + j];
            }
        }
    }
}
