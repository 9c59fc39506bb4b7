"""The verification server: budgets, answers at fixed times, and a log of every action."""
