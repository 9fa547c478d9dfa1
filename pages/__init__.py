"""The app's screens: one thin script a page, and what they share in ``components``."""
