"""What all designs share: the rows as stored, frames, spans, one BLAS."""
