/* Replications as one would write them in C by hand, for one rule each: what compiled loops are measured against.
 *
 * Everything is known here: the rule, the layout, the instructions of this machine.
 */
#include "knowledge.h"
#include "vage.h"

void vaee(int64_t dim, int64_t n, const double *columns, const Limits *limits, const World *world,
          int32_t *pulled)
{
    Knowledge k = begin(dim, n, columns, limits->ridge, limits->doubt);
    for (int64_t t = 0; t < world->rounds; t++) {
        const int64_t action = widest(&k);
        learn(&k, action, world->means[action] + world->sigma[t] * world->noise[t], world->sigma[t]);
        drop(&k, radius(&k));
        pulled[t] = (int32_t)action;
    }
    end(&k);
}

void weighted_oful(int64_t dim, int64_t n, const double *columns, const Limits *limits, const World *world,
                   int32_t *pulled)
{
    Knowledge k = begin(dim, n, columns, limits->ridge, limits->doubt);
    for (int64_t t = 0; t < world->rounds; t++) {
        const double reach = radius(&k);
        for (int64_t a = 0; a < n; a++) k.scratch[a] = k.means[a] + reach * sqrt(k.squared_widths[a]);
        const double top = largest(k.scratch, n);
        const int64_t winner = first_above(k.scratch, n, top);
        const double tolerance = TIE * sqrt(k.squared_widths[winner]) + ROUNDING * fabs(top);
        const int64_t action = first_above(k.scratch, n, top - tolerance);
        learn(&k, action, world->means[action] + world->sigma[t] * world->noise[t], world->sigma[t]);
        pulled[t] = (int32_t)action;
    }
    end(&k);
}

void vage(int64_t dim, int64_t n, const double *columns, const Limits *limits, const World *world, int32_t *pulled)
{
    Knowledge k = begin(dim, n, columns, limits->ridge, limits->doubt);
    Races r = begin_races(&k);
    for (int64_t t = 0; t < world->rounds; t++) {
        int64_t action = is_due(&r, limits) ? -1 : most_settling(&k, &r, limits);
        if (action < 0) action = first_above(k.squared_widths, n, r.widest - TIE * r.widest);
        const double sigma = world->sigma[t];
        book(&k, &r, action, sigma);
        learn(&k, action, world->means[action] + sigma * world->noise[t], sigma);
        drop(&k, radius(&k));
        r.widest = largest(k.squared_widths, n);
        pulled[t] = (int32_t)action;
    }
    end_races(&r);
    end(&k);
}
