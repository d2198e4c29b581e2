"""How the actions' vectors may lie in memory, each as a function of rows of vectors."""

import numpy as np

#: Rows of features, rows of actions; in double or single precision; and what compiled verbs leave to NumPy.
LAYOUTS = {
    "by feature": lambda vectors: np.ascontiguousarray(vectors.T),
    "by action": lambda vectors: np.ascontiguousarray(vectors).T,
    "by feature, single": lambda vectors: np.ascontiguousarray(vectors.T, dtype=np.float32),
    "by action, single": lambda vectors: np.ascontiguousarray(vectors, dtype=np.float32).T,
    "strided": lambda vectors: np.repeat(vectors.T, 2, axis=1)[:, ::2],
    "swapped": lambda vectors: vectors.T.astype(">f8"),
}
