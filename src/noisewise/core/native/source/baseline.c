/* The verbs for any processor. */
#include "body.h"

#define ENTRY(result, name, parameters) .name = name,
const Verbs baseline_verbs = {VERBS(ENTRY)};
