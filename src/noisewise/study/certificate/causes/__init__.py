"""What may be wrong when measurements do not fit: each cause with a remedy that was tried."""
