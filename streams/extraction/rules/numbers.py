"""Chinese numerals, as the dates read them."""

from projections.dates.numerals import NUMERAL, number

__all__ = ["NUMERAL", "number"]
