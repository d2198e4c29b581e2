/* Where a stream of random numbers begins: the seeding of NumPy's SFC64 by a SeedSequence of three words.
 *
 * The numbers are a published part of NumPy (numpy.random.SeedSequence, after O'Neill's seed_seq_fe; SFC64 by
 * Doty-Humphrey). Asking NumPy for it takes longer than everything else that a live round does.
 */
enum { POOL = 4, WORDS = 6 };

static inline uint32_t hashed(uint32_t value, uint32_t *multiplier, uint32_t factor)
{
    value ^= *multiplier;
    *multiplier *= factor;
    value *= *multiplier;
    return value ^ (value >> 16);
}

static inline uint32_t mixed(uint32_t one, uint32_t other)
{
    const uint32_t sum = 0xca01f9ddu * one - 0x4973f715u * other;
    return sum ^ (sum >> 16);
}

static void seed_stream(uint32_t seed, uint32_t purpose, uint32_t index, uint64_t *state)
{
    const uint32_t given[POOL] = {seed, purpose, index, 0};
    uint32_t pool[POOL], words[WORDS], multiplier = 0x43b0d7e5u;
    for (int i = 0; i < POOL; i++) pool[i] = hashed(given[i], &multiplier, 0x931e8875u);
    for (int from = 0; from < POOL; from++)
        for (int to = 0; to < POOL; to++)
            if (from != to) pool[to] = mixed(pool[to], hashed(pool[from], &multiplier, 0x931e8875u));
    multiplier = 0x8b51f9ddu;
    for (int i = 0; i < WORDS; i++) words[i] = hashed(pool[i % POOL], &multiplier, 0x58f38dedu);
    for (int i = 0; i < 3; i++) state[i] = (uint64_t)words[2 * i] | (uint64_t)words[2 * i + 1] << 32;
    state[3] = 1;
    for (int turn = 0; turn < 12; turn++) {
        const uint64_t sum = state[0] + state[1] + state[3]++;
        state[0] = state[1] ^ (state[1] >> 11);
        state[1] = state[2] + (state[2] << 3);
        state[2] = (state[2] << 24 | state[2] >> 40) + sum;
    }
}
