"""What is claimed and how it is decided: of use without a book, with NumPy alone."""
