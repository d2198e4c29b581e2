/* Many actions looked at through a sketch of their vectors, an eighth as large: it bounds what a row can be, and the
 * few rows that may matter are looked at exactly. What comes out is what looking at all rows gives.
 * Made by `rules/races.py`. */

/* A direction as the sketch's codes see it: <direction, a_k> is within `error` of base + <codes, q_k>. Infinite: look
 * at all rows. */
typedef struct { const float *codes; double base, error; } Sight;

/* How many rows may be looked at exactly, of n: one in this number. And how many may tie at a time. */
enum { ONE_IN = 16, HOPEFUL = 256, CHUNKS = 4096 };

/* `codes` provides room for dim numbers. */
static Sight see(const Sketch *sketch, const double *restrict direction, float *restrict codes)
{
    const int64_t dim = sketch->axes.rows;
    const double *axes = sketch->axes.at, *centre = sketch->centre.at;
    double base = 0.0, sum = 0.0, length = 0.0, middle = 0.0, scale = 0.0;
    for (int64_t i = 0; i < dim; i++) {
        double code = 0.0;
        /* An axis for each row. */
        for (int64_t j = 0; j < dim; j++) {
            code += axes[i * dim + j] * direction[j];
            scale += axes[i * dim + j] * axes[i * dim + j];
        }
        codes[i] = (float)code;
        sum += fabs(code);
        base += centre[i] * direction[i];
        length += direction[i] * direction[i];
        middle += centre[i] * centre[i];
    }
    /* Codes are rounded to whole numbers of at most 127, and sums of `dim` products to 24 bits; the rest is
     * what double precision leaves of the vectors, wherever they are. */
    const double rounded = 0.5 + 1e-6 + 127.0 * (double)(dim + 2) * 0x1p-23;
    const double precise = 1e-12 * (double)dim * (sqrt(middle) + 127.0 * sqrt(scale)) * sqrt(length);
    /* Numbers that single precision does not hold, with all their digits, show nothing. */
    if (!(sum == 0.0 || (sum > 1e-30 && sum < 1e30))) return (Sight){codes, base, INFINITY};
    return (Sight){codes, base, rounded * sum + precise};
}

/* Eight rows at a time: the sums stay in registers while all axes are gone through. */
#ifdef WITH_AVX2
typedef __m256 Eight;
static inline Eight nothing(void) { return _mm256_setzero_ps(); }
static inline Eight eight_codes(const int8_t *codes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)codes)));
}
static inline Eight add_product(Eight sums, float factor, Eight codes)
{
    return _mm256_fmadd_ps(_mm256_set1_ps(factor), codes, sums);
}
static inline void put(Eight sums, float *out) { _mm256_storeu_ps(out, sums); }
#else
typedef struct { float of[8]; } Eight;
static inline Eight nothing(void) { return (Eight){{0.0f}}; }
static inline Eight eight_codes(const int8_t *codes)
{
    Eight all;
    for (int t = 0; t < 8; t++) all.of[t] = codes[t];
    return all;
}
static inline Eight add_product(Eight sums, float factor, Eight codes)
{
    for (int t = 0; t < 8; t++) sums.of[t] += factor * codes.of[t];
    return sums;
}
static inline void put(Eight sums, float *out) { memcpy(out, sums.of, sizeof sums.of); }
#endif

/* <codes, q_k> for a block of rows along one direction. */
static inline void look_along(const Sketch *sketch, int64_t first, const float *restrict along, float *restrict out)
{
    const int64_t dim = sketch->axes.rows, tiles = smaller(BLOCK / TILE, sketch->codes.blocks - first / TILE);
    for (int64_t tile = 0; tile < tiles; tile++)
        for (int64_t b = 0; b < TILE; b += 32) {
            const int8_t *codes = sketch->codes.at + (first / TILE + tile) * dim * TILE + b;
            Eight s0 = nothing(), s1 = nothing(), s2 = nothing(), s3 = nothing();
            for (int64_t i = 0; i < dim; i++, codes += TILE) {
                s0 = add_product(s0, along[i], eight_codes(codes));
                s1 = add_product(s1, along[i], eight_codes(codes + 8));
                s2 = add_product(s2, along[i], eight_codes(codes + 16));
                s3 = add_product(s3, along[i], eight_codes(codes + 24));
            }
            put(s0, out + tile * TILE + b);
            put(s1, out + tile * TILE + b + 8);
            put(s2, out + tile * TILE + b + 16);
            put(s3, out + tile * TILE + b + 24);
        }
}

/* The same along RACES directions by one read. */
static inline void look_along_all(const Sketch *sketch, int64_t first, const float *const *along,
                                  float out[RACES][BLOCK])
{
    const int64_t dim = sketch->axes.rows, tiles = smaller(BLOCK / TILE, sketch->codes.blocks - first / TILE);
    const float *a0 = along[0], *a1 = along[1], *a2 = along[2], *a3 = along[3];
    for (int64_t tile = 0; tile < tiles; tile++)
        for (int64_t b = 0; b < TILE; b += 16) {
            const int8_t *codes = sketch->codes.at + (first / TILE + tile) * dim * TILE + b;
            const int64_t at = tile * TILE + b;
            Eight s0 = nothing(), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
            for (int64_t i = 0; i < dim; i++, codes += TILE) {
                const Eight one = eight_codes(codes), other = eight_codes(codes + 8);
                s0 = add_product(s0, a0[i], one), t0 = add_product(t0, a0[i], other);
                s1 = add_product(s1, a1[i], one), t1 = add_product(t1, a1[i], other);
                s2 = add_product(s2, a2[i], one), t2 = add_product(t2, a2[i], other);
                s3 = add_product(s3, a3[i], one), t3 = add_product(t3, a3[i], other);
            }
            put(s0, out[0] + at), put(t0, out[0] + at + 8);
            put(s1, out[1] + at), put(t1, out[1] + at + 8);
            put(s2, out[2] + at), put(t2, out[2] + at + 8);
            put(s3, out[3] + at), put(t3, out[3] + at + 8);
        }
}

/* <direction, a_k> exactly, for one row. */
static inline double product_with(const Matrix *columns, Layout layout, int64_t k, const double *restrict direction)
{
    double product;
    project_block(columns, layout, direction, k, 1, &product);
    return product;
}
