"""The verification server: budgets, answers at fixed times, and every step on record."""
