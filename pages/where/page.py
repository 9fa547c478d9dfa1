"""Where: in which groups of people the model discriminates, as conditions in plain words."""

from pages.shared.app import entry, frame, navigation
from pages.where import view


def main() -> None:
    """Draw the groups of the open review."""
    frame.heading(
        navigation.WHERE.title,
        "For whom a protected attribute alone changes the decision: groups in plain conditions, each with its share.",
    )
    review = entry.require(navigation.WHERE)
    frame.alone(view.draw)(review)


main()
