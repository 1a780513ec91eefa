"""How fast the library is beside plain code, and how much memory it takes; run by ``make bench``."""
