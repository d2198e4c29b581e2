/* All verbs, once for each kind of processor: this file is included with its instructions switched on. */
#include "verbs.h"

#include "dense.h"
#include "covariances.h"
#include "choice.h"
#include "independent.h"
#include "positive.h"
#include "robust.h"
#include "medians.h"
#include "alternatives.h"
#include "vertices.h"
#include "games.h"
#include "streams.h"
