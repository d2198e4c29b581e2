"""The paper's algorithms: VAEE, VAGD, and VAEE for heavy tails."""
