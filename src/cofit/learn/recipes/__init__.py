"""Ways to train with privacy, a package each: settings, plan, party program, statement, cleartext twin."""
